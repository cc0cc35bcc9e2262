package specstore

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-dev/pawl/spec"
)

// Lookalike finds the origin of the latest version whose content had digest.
func (s *Store) Lookalike(ctx context.Context, tenant string, key spec.Key, digest string) (spec.Origin, bool, error) {
	found, err := s.Lookalikes(ctx, tenant, []spec.Lookup{{Key: key, Digest: digest, Upto: math.MaxInt64}})
	if err != nil {
		return spec.Origin{}, false, err
	}
	return found[0], found[0].Version != 0, nil
}

// Lookalikes finds, for each of wanted, the origin of the latest version up to Upto
// whose content had the digest; Version 0 = there was none, or its origin is beyond
// the cap. Two round trips for each 1,000, and one more for each step back over
// versions after Upto.
func (s *Store) Lookalikes(ctx context.Context, tenant string, wanted []spec.Lookup) ([]spec.Origin, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return nil, err
	}
	found := make([]spec.Origin, 0, len(wanted))
	for len(wanted) > 0 {
		n := min(readBatch, len(wanted))
		batch, err := s.lookBack(ctx, tenant, wanted[:n])
		if err != nil {
			return nil, fmt.Errorf("read origins of %s: %w", tenant, err)
		}
		found, wanted = append(found, batch...), wanted[n:]
	}
	return found, nil
}

// lookBack begins at the digest index and follows SameDigest until Upto.
func (s *Store) lookBack(ctx context.Context, tenant string, wanted []spec.Lookup) ([]spec.Origin, error) {
	next, err := s.indexed(ctx, tenant, wanted)
	if err != nil {
		return nil, err
	}
	found := make([]spec.Origin, len(wanted))
	for pending := true; pending; {
		origins, err := s.originsOf(ctx, tenant, wanted, next)
		if err != nil {
			return nil, err
		}
		pending = false
		for i, o := range origins {
			switch {
			case next[i] == "":
			case o.Version <= wanted[i].Upto: // also when it is beyond the cap: the zero Origin
				found[i], next[i] = o, ""
			case o.SameDigest > 0 && o.SameDigest < o.Version:
				next[i], pending = strconv.FormatInt(o.SameDigest, 10), true
			default:
				next[i] = ""
			}
		}
	}
	return found, nil
}

// indexed reads the latest version with each digest; empty = none.
func (s *Store) indexed(ctx context.Context, tenant string, wanted []spec.Lookup) ([]string, error) {
	pipe := s.rdb.Pipeline()
	cmds := make([]*redis.StringCmd, len(wanted))
	for i, w := range wanted {
		if err := spec.CheckName(w.Key.Name); err != nil {
			return nil, err
		}
		cmds[i] = pipe.HGet(ctx, s.key.origins(tenant, w.Key), digestPrefix+w.Digest)
	}
	if err := exec(ctx, pipe); err != nil {
		return nil, err
	}
	numbers := make([]string, len(wanted))
	for i, cmd := range cmds {
		var err error
		if numbers[i], err = present(cmd); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// originsOf reads the origin of one version of each spec; the zero Origin where no
// version is asked for, or it is gone.
func (s *Store) originsOf(ctx context.Context, tenant string, wanted []spec.Lookup, versions []string) ([]spec.Origin, error) {
	pipe := s.rdb.Pipeline()
	cmds := make([]*redis.StringCmd, len(wanted))
	for i, w := range wanted {
		if versions[i] != "" {
			cmds[i] = pipe.HGet(ctx, s.key.origins(tenant, w.Key), versions[i])
		}
	}
	if err := exec(ctx, pipe); err != nil {
		return nil, err
	}
	origins := make([]spec.Origin, len(wanted))
	for i, cmd := range cmds {
		if cmd == nil {
			continue
		}
		raw, err := present(cmd)
		if err != nil {
			return nil, err
		}
		if raw == "" {
			continue
		}
		if origins[i], err = decodeOrigin(tenant, wanted[i].Key, raw); err != nil {
			return nil, err
		}
	}
	return origins, nil
}

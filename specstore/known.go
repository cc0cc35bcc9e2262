package specstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-dev/pawl/spec"
)

// readBatch is how many keys one round trip asks for.
const readBatch = 1000

// Cursor reads where a tenant stands; the zero Cursor if it was never applied.
func (s *Store) Cursor(ctx context.Context, tenant string) (spec.Cursor, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return spec.Cursor{}, err
	}
	h, err := s.rdb.HGetAll(ctx, s.key.cursor(tenant)).Result()
	if err != nil {
		return spec.Cursor{}, fmt.Errorf("read cursor of %s: %w", tenant, readErr(err))
	}
	return decodeCursor(tenant, h)
}

// Rev counts the changes of a tenant: equal numbers mean that nothing was
// written in between. 0 = never anything.
func (s *Store) Rev(ctx context.Context, tenant string) (int64, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return 0, err
	}
	n, err := s.rdb.Get(ctx, s.key.rev(tenant)).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("read revision of %s: %w", tenant, readErr(err))
	}
	return n, nil
}

// Known reads what the store knows of specs, in the order of keys: one round trip
// for each 1,000. While a range is written in several steps (Cursor.Target), the
// answer is the one from before its first step.
func (s *Store) Known(ctx context.Context, tenant string, keys []spec.Key) ([]spec.Known, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return nil, err
	}
	known := make([]spec.Known, 0, len(keys))
	for len(keys) > 0 {
		n := min(readBatch, len(keys))
		batch, err := s.knownBatch(ctx, tenant, keys[:n], true)
		if err != nil {
			return nil, fmt.Errorf("read specs of %s: %w", tenant, err)
		}
		known, keys = append(known, batch...), keys[n:]
	}
	return known, nil
}

// knownReply are the promised replies for one spec.
type knownReply struct {
	live, number *redis.StringCmd
	facts        *redis.SliceCmd
}

// knownBatch reads what is there now, or was before a range that is being written.
func (s *Store) knownBatch(ctx context.Context, tenant string, keys []spec.Key, before bool) ([]spec.Known, error) {
	pipe := s.rdb.Pipeline()
	replies := make([]knownReply, len(keys))
	wases := make([]string, len(keys))
	for i, k := range keys {
		if err := spec.CheckName(k.Name); err != nil {
			return nil, err
		}
		wases[i] = wasPrefix + k.String()
		replies[i] = knownReply{
			live:   pipe.HGet(ctx, s.key.live(tenant, k.Kind), k.Name),
			number: pipe.HGet(ctx, s.key.numbers(tenant, k.Kind), k.Name),
			facts:  pipe.HMGet(ctx, s.key.origins(tenant, k), fieldOwner, fieldAdopted, fieldSuspend, fieldPath),
		}
	}
	span := pipe.HMGet(ctx, s.key.span(tenant), wases...)
	if err := exec(ctx, pipe); err != nil {
		return nil, err
	}
	known := make([]spec.Known, len(keys))
	for i, k := range keys {
		f, err := replies[i].read()
		if err != nil {
			return nil, err
		}
		if was := text(span.Val(), i); before && was != "" {
			f = parseWas(was)
		}
		if known[i], err = f.known(tenant, k); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// specFacts are what is stored of one spec, as text.
type specFacts struct {
	last, owner, adopted, suspend, path, raw string
}

func (r knownReply) read() (f specFacts, err error) {
	if f.last, err = present(r.number); err != nil {
		return f, err
	}
	if f.raw, err = present(r.live); err != nil {
		return f, err
	}
	facts, err := r.facts.Result()
	if err != nil {
		return f, readErr(err)
	}
	f.owner, f.adopted, f.suspend, f.path = text(facts, 0), text(facts, 1), text(facts, 2), text(facts, 3)
	return f, nil
}

// parseWas reads what lua/apply.lua notes of a spec at the beginning of a range:
// "last owner adopted suspend", the path and the record, each after a line break.
func parseWas(was string) (f specFacts) {
	words, rest, _ := strings.Cut(was, "\n")
	f.path, f.raw, _ = strings.Cut(rest, "\n")
	for i, word := range strings.Fields(words) {
		if word == "-" {
			word = ""
		}
		switch i {
		case 0:
			f.last = word
		case 1:
			f.owner = word
		case 2:
			f.adopted = word
		case 3:
			f.suspend = word
		}
	}
	return f
}

func (f specFacts) known(tenant string, key spec.Key) (spec.Known, error) {
	k := spec.Known{Key: key}
	if f.last != "" {
		last, err := strconv.ParseInt(f.last, 10, 64)
		if err != nil {
			return k, fmt.Errorf("version of %s/%s is no number", tenant, key)
		}
		k.Last = last
	}
	if f.raw == "" {
		return k, nil
	}
	rec, err := decodeRecord(tenant, key, f.raw, f.suspend == "1")
	if err != nil {
		return k, err
	}
	k.Current = &rec
	k.Last = max(k.Last, rec.Version)
	k.Foreign = f.owner != ownerGit
	k.Adopted = f.adopted != ""
	k.Path = f.path
	return k, nil
}

// exec runs a pipeline of plain reads; the absence of a value is no error.
func exec(ctx context.Context, pipe redis.Pipeliner) error {
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return readErr(err)
	}
	return nil
}

// present gives a value, or the empty string if there is none.
func present(cmd *redis.StringCmd) (string, error) {
	v, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return v, readErr(err)
}

// text gives the i-th value of an HMGET, or the empty string.
func text(values []any, i int) string {
	if s, ok := values[i].(string); ok {
		return s
	}
	return ""
}

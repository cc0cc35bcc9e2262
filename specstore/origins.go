package specstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// Entry is a line of a spec's ledger.
type Entry struct {
	spec.Origin
	AppliedAt int64 // ms, Redis time; 0 if not known
	Removal   bool  // it removed Version instead of making it
}

// Origin reads what is known of one version; spec.ErrNotFound if it never was or
// is beyond the cap.
func (s *Store) Origin(ctx context.Context, tenant string, key spec.Key, version int64) (spec.Origin, error) {
	if err := errors.Join(spec.CheckTenant(tenant), spec.CheckName(key.Name)); err != nil {
		return spec.Origin{}, err
	}
	return s.originAt(ctx, tenant, key, strconv.FormatInt(version, 10))
}

func (s *Store) originAt(ctx context.Context, tenant string, key spec.Key, field string) (spec.Origin, error) {
	raw, err := present(s.rdb.HGet(ctx, s.key.origins(tenant, key), field))
	if err != nil {
		return spec.Origin{}, fmt.Errorf("read origin of %s/%s: %w", tenant, key, err)
	}
	if raw == "" {
		return spec.Origin{}, fmt.Errorf("origin %s of %s/%s: %w", field, tenant, key, spec.ErrNotFound)
	}
	return decodeOrigin(tenant, key, raw)
}

// Origins reads the whole ledger of a spec, oldest first.
func (s *Store) Origins(ctx context.Context, tenant string, key spec.Key) ([]Entry, error) {
	if err := errors.Join(spec.CheckTenant(tenant), spec.CheckName(key.Name)); err != nil {
		return nil, err
	}
	pipe := s.rdb.Pipeline()
	originsCmd := pipe.HGetAll(ctx, s.key.origins(tenant, key))
	appliedCmd := pipe.HGetAll(ctx, s.key.applied(tenant, key))
	if err := exec(ctx, pipe); err != nil {
		return nil, fmt.Errorf("read origins of %s/%s: %w", tenant, key, err)
	}
	when := decoder{h: appliedCmd.Val(), what: tenant + "/" + key.String() + ": applied"}
	var entries []Entry
	for field, raw := range originsCmd.Val() {
		number, removal := strings.CutPrefix(field, removedPrefix)
		if strings.Trim(number, "0123456789") != "" || number == "" {
			continue // a fact or the digest index
		}
		o, err := decodeOrigin(tenant, key, raw)
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Origin: o, AppliedAt: when.int(field), Removal: removal})
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(btoi(a.Removal), btoi(b.Removal)))
	})
	return entries, when.err
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

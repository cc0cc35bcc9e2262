package specstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// Keys lists the specs that a tenant has now, whoever made them, sorted. While a
// range is being written in steps, those that it touched are among them: Known
// tells what they were before.
func (s *Store) Keys(ctx context.Context, tenant string) ([]spec.Key, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return nil, err
	}
	var keys []spec.Key
	for _, kind := range []spec.Kind{spec.KindJob, spec.KindSubscription} {
		names, err := s.scan(ctx, s.key.live(tenant, kind))
		if err != nil {
			return nil, fmt.Errorf("list specs of %s: %w", tenant, err)
		}
		for name := range names {
			keys = append(keys, spec.Key{Kind: kind, Name: name})
		}
	}
	noted, err := s.rdb.HKeys(ctx, s.key.span(tenant)).Result()
	if err != nil {
		return nil, fmt.Errorf("list specs of %s: %w", tenant, readErr(err))
	}
	for _, field := range noted {
		if name, was := strings.CutPrefix(field, wasPrefix); was {
			keys = append(keys, spec.ParseKey(name))
		}
	}
	slices.SortFunc(keys, spec.Key.Compare)
	return slices.Compact(keys), nil
}

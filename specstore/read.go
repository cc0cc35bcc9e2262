package specstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-dev/pawl/spec"
)

// Get reads one job with its status, lease and restarts; spec.ErrNotFound if there
// is none.
func (s *Store) Get(ctx context.Context, tenant, name string) (spec.JobView, error) {
	if err := checkJob(tenant, name); err != nil {
		return spec.JobView{}, err
	}
	raw, err := present(s.rdb.HGet(ctx, s.key.jobs(tenant), name))
	if err != nil {
		return spec.JobView{}, fmt.Errorf("get %s/%s: %w", tenant, name, err)
	}
	if raw == "" {
		return spec.JobView{}, fmt.Errorf("get %s/%s: %w", tenant, name, spec.ErrNotFound)
	}
	views, err := s.views(ctx, tenant, map[string]string{name: raw}, true)
	if err != nil {
		return spec.JobView{}, fmt.Errorf("get %s/%s: %w", tenant, name, err)
	}
	if views[0].Record.Spec == nil {
		_, err = decodeJob(tenant, name, raw, false)
	}
	return views[0], err
}

// Current reads the record of a spec of either kind; spec.ErrNotFound if it is not
// there now.
func (s *Store) Current(ctx context.Context, tenant string, key spec.Key) (spec.Record, error) {
	if err := errors.Join(spec.CheckTenant(tenant), spec.CheckName(key.Name)); err != nil {
		return spec.Record{}, err
	}
	known, err := s.knownBatch(ctx, tenant, []spec.Key{key}, false)
	if err != nil {
		return spec.Record{}, fmt.Errorf("read %s/%s: %w", tenant, key, err)
	}
	if known[0].Current == nil {
		return spec.Record{}, fmt.Errorf("read %s/%s: %w", tenant, key, spec.ErrNotFound)
	}
	return *known[0].Current, nil
}

// Now is the store's clock in ms, for comparing with leases. On a cluster it is
// the clock of any of its servers.
func (s *Store) Now(ctx context.Context) (int64, error) {
	now, err := s.rdb.Time(ctx).Result()
	if err != nil {
		return 0, fmt.Errorf("read the store's clock: %w", readErr(err))
	}
	return now.UnixMilli(), nil
}

// List reads all jobs of a tenant, by name. A record that cannot be read has no
// Spec: it is there, and is to be left alone.
func (s *Store) List(ctx context.Context, tenant string) ([]spec.JobView, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return nil, err
	}
	raws, err := s.scan(ctx, s.key.jobs(tenant))
	if err != nil {
		return nil, fmt.Errorf("list jobs of %s: %w", tenant, err)
	}
	views, err := s.views(ctx, tenant, raws, true)
	if err != nil {
		return nil, fmt.Errorf("list jobs of %s: %w", tenant, err)
	}
	return views, nil
}

// Subscriptions reads all subscriptions of a tenant, by name.
func (s *Store) Subscriptions(ctx context.Context, tenant string) ([]spec.Record, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return nil, err
	}
	raws, err := s.scan(ctx, s.key.subs(tenant))
	if err != nil {
		return nil, fmt.Errorf("list subscriptions of %s: %w", tenant, err)
	}
	recs := make([]spec.Record, 0, len(raws))
	for name, raw := range raws {
		rec, err := decodeSubscription(tenant, name, raw)
		if err != nil {
			return nil, err
		}
		recs = append(recs, rec)
	}
	slices.SortFunc(recs, func(a, b spec.Record) int { return strings.Compare(a.Key.Name, b.Key.Name) })
	return recs, nil
}

// History reads the replaced records of a spec, oldest first, as many as the cap
// keeps. What is known of older versions are their Origins.
func (s *Store) History(ctx context.Context, tenant string, key spec.Key) ([]spec.Record, error) {
	if err := errors.Join(spec.CheckTenant(tenant), spec.CheckName(key.Name)); err != nil {
		return nil, err
	}
	raws, err := s.rdb.LRange(ctx, s.key.history(tenant, key), 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("read history of %s/%s: %w", tenant, key, readErr(err))
	}
	recs := make([]spec.Record, 0, len(raws))
	for _, raw := range raws {
		rec, err := decodeRecord(tenant, key, raw, false)
		if err != nil {
			return nil, err
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// Status reads what is known of a job's run; the zero Status if nothing is.
func (s *Store) Status(ctx context.Context, tenant, job string) (spec.Status, error) {
	if err := checkJob(tenant, job); err != nil {
		return spec.Status{}, err
	}
	h, err := s.rdb.HGetAll(ctx, s.key.status(tenant, job)).Result()
	if err != nil {
		return spec.Status{}, fmt.Errorf("read status of %s/%s: %w", tenant, job, readErr(err))
	}
	return decodeStatus(tenant, job, h)
}

// Tenants lists the tenants that there are, sorted; default only if it has jobs
// or a cursor.
func (s *Store) Tenants(ctx context.Context) ([]string, error) {
	names, err := s.rdb.SMembers(ctx, s.key.tenants()).Result()
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", readErr(err))
	}
	n, err := s.rdb.Exists(ctx, s.key.jobs(defaultTenant), s.key.cursor(defaultTenant)).Result()
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", readErr(err))
	}
	names = slices.DeleteFunc(names, func(t string) bool { return t == defaultTenant || spec.CheckTenant(t) != nil })
	if n > 0 {
		names = append(names, defaultTenant)
	}
	slices.Sort(names)
	return names, nil
}

// scan reads a whole hash in pieces, so that no single command is long.
func (s *Store) scan(ctx context.Context, key string) (map[string]string, error) {
	all := map[string]string{}
	for cursor := uint64(0); ; {
		flat, next, err := s.rdb.HScan(ctx, key, cursor, "", 2*readBatch).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, readErr(err)
		}
		for i := 0; i+1 < len(flat); i += 2 {
			all[flat[i]] = flat[i+1]
		}
		if next == 0 {
			return all, nil
		}
		cursor = next
	}
}

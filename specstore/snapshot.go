package specstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-dev/pawl/spec"
)

// snapshotTries bounds how often a snapshot starts anew because the cursor moved.
const snapshotTries = 5

// Snapshot reads all that an agent needs of a tenant. The cursor is read first and
// last: the jobs are those of one commit, or of a batch that Cursor.Target names.
// Suspend of a job is not read, for the status says what is desired. A record that
// cannot be read has no Spec: leave what runs of it alone.
func (s *Store) Snapshot(ctx context.Context, tenant string) (spec.Snapshot, error) {
	for range snapshotTries {
		snap, moved, err := s.snapshot(ctx, tenant)
		if err != nil {
			return spec.Snapshot{}, fmt.Errorf("snapshot of %s: %w", tenant, err)
		}
		if !moved {
			return snap, nil
		}
	}
	return spec.Snapshot{}, fmt.Errorf("snapshot of %s: %w: its cursor moved during %d readings", tenant, ErrUnavailable, snapshotTries)
}

func (s *Store) snapshot(ctx context.Context, tenant string) (snap spec.Snapshot, moved bool, err error) {
	cursor, err := s.Cursor(ctx, tenant)
	if err != nil {
		return snap, false, err
	}
	raws, err := s.scan(ctx, s.key.jobs(tenant))
	if err != nil {
		return snap, false, err
	}
	views, err := s.views(ctx, tenant, raws, false)
	if err != nil {
		return snap, false, err
	}
	reply, err := s.run(ctx, "clock", []string{s.key.cursor(tenant)})
	if errors.Is(err, ErrUnknown) { // a read has no outcome
		err = fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	if err != nil {
		return snap, false, err
	}
	if len(reply) != 5 {
		return snap, false, strange("clock", reply)
	}
	now, err := strconv.ParseInt(reply[1], 10, 64)
	if err != nil {
		return snap, false, fmt.Errorf("script clock: %w", err)
	}
	moved = reply[2] != cursor.Applied || reply[3] != cursor.Target || reply[4] != strconv.FormatInt(cursor.Step, 10)
	return spec.Snapshot{Tenant: tenant, Cursor: cursor, Now: now, Jobs: views}, moved, nil
}

// views joins job records with status, lease and restarts, by name; suspend costs
// one more read a job.
func (s *Store) views(ctx context.Context, tenant string, raws map[string]string, suspend bool) ([]spec.JobView, error) {
	restarts, err := s.rdb.HGetAll(ctx, s.key.restarts(tenant)).Result()
	if err != nil {
		return nil, readErr(err)
	}
	count := decoder{h: restarts, what: tenant + ": restarts"}
	views := make([]spec.JobView, 0, len(raws))
	for names := range slices.Chunk(slices.Sorted(maps.Keys(raws)), readBatch) {
		pipe := s.rdb.Pipeline()
		replies := make([]viewReply, len(names))
		for i, name := range names {
			replies[i].status = pipe.HGetAll(ctx, s.key.status(tenant, name))
			replies[i].lease = pipe.HGetAll(ctx, s.key.jobLease(tenant, name))
			if suspend {
				replies[i].suspend = pipe.HGet(ctx, s.key.origins(tenant, spec.Key{Kind: spec.KindJob, Name: name}), fieldSuspend)
			}
		}
		if err := exec(ctx, pipe); err != nil {
			return nil, err
		}
		for i, name := range names {
			v, err := replies[i].view(tenant, name, raws[name])
			if err != nil {
				return nil, err
			}
			v.Restart = count.int(name)
			views = append(views, v)
		}
	}
	return views, count.err
}

// viewReply are the promised replies for one job.
type viewReply struct {
	status, lease *redis.MapStringStringCmd
	suspend       *redis.StringCmd // nil = not asked for
}

func (r viewReply) view(tenant, name, raw string) (v spec.JobView, err error) {
	var suspended string
	if r.suspend != nil {
		if suspended, err = present(r.suspend); err != nil {
			return v, err
		}
	}
	rec, err := decodeJob(tenant, name, raw, suspended == "1")
	if err != nil {
		rec = spec.Record{Tenant: tenant, Key: spec.Key{Kind: spec.KindJob, Name: name}, Raw: raw}
	}
	v.Record = rec
	status, err := r.status.Result()
	if err != nil {
		return v, readErr(err)
	}
	if v.Status, err = decodeStatus(tenant, name, status); err != nil {
		return v, err
	}
	lease, err := r.lease.Result()
	if err != nil {
		return v, readErr(err)
	}
	v.Lease, err = decodeLease(tenant+"/"+name, lease)
	return v, err
}

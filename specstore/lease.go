package specstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// Acquire takes the right to write a tenant's ledger for ttl. An owner that still
// holds it keeps its generation; else the generation grows, and every write that
// carries an older one is refused from then on. spec.ErrTaken: another owner's
// lease has not run out. Source: CONTRACT section 4 (leases and fences).
func (s *Store) Acquire(ctx context.Context, tenant, owner string, ttl time.Duration) (spec.Lease, error) {
	if err := checkLease(tenant, owner, ttl); err != nil {
		return spec.Lease{}, err
	}
	if err := s.enrol(ctx, tenant); err != nil {
		return spec.Lease{}, fmt.Errorf("acquire %s: %w", tenant, err)
	}
	reply, err := s.run(ctx, "lease_acquire", []string{s.key.lease(tenant)}, owner, ttl.Milliseconds())
	if err != nil {
		return spec.Lease{}, fmt.Errorf("acquire %s: %w", tenant, err)
	}
	if reply[0] == "taken" {
		return spec.Lease{}, fmt.Errorf("acquire %s: %w (%s)", tenant, spec.ErrTaken, reply[1])
	}
	return granted("lease_acquire", reply, owner, ttl)
}

// enrol enters a tenant into the list of tenants. On a cluster that list lies in
// another slot, so it cannot be part of a script; it comes first, so that nothing
// is ever stored where no agent looks.
func (s *Store) enrol(ctx context.Context, tenant string) error {
	if tenant == defaultTenant {
		return nil
	}
	return readErr(s.rdb.SAdd(ctx, s.key.tenants(), tenant).Err())
}

// Renew makes a lease last another TTL from now. spec.ErrLost: it ran out or was
// taken; stop writing at once.
func (s *Store) Renew(ctx context.Context, tenant string, lease spec.Lease) (spec.Lease, error) {
	ttl := time.Duration(lease.TTL) * time.Millisecond
	if err := checkLease(tenant, lease.Owner, ttl); err != nil {
		return spec.Lease{}, err
	}
	reply, err := s.run(ctx, "lease_renew", []string{s.key.lease(tenant)}, lease.Owner, lease.Generation, lease.TTL)
	if err != nil {
		return spec.Lease{}, fmt.Errorf("renew %s: %w", tenant, err)
	}
	if reply[0] == "lost" {
		return spec.Lease{}, fmt.Errorf("renew %s: %w", tenant, lost(lease, reply))
	}
	return granted("lease_renew", reply, lease.Owner, ttl)
}

// Release hands a lease back, so that the next owner need not wait for it.
// Releasing twice is no error; releasing what another took is spec.ErrLost.
func (s *Store) Release(ctx context.Context, tenant string, lease spec.Lease) error {
	if err := spec.CheckTenant(tenant); err != nil {
		return err
	}
	reply, err := s.run(ctx, "lease_release", []string{s.key.lease(tenant)}, lease.Owner, lease.Generation)
	if err != nil {
		return fmt.Errorf("release %s: %w", tenant, err)
	}
	if reply[0] == "lost" {
		return fmt.Errorf("release %s: %w", tenant, lost(lease, reply))
	}
	return nil
}

func checkLease(tenant, owner string, ttl time.Duration) error {
	if err := spec.CheckTenant(tenant); err != nil {
		return err
	}
	if owner == "" || len(owner) > 200 {
		return fmt.Errorf("lease of %s: owner of %d bytes (1 to 200)", tenant, len(owner))
	}
	if ttl < time.Millisecond || ttl > 24*time.Hour {
		return fmt.Errorf("lease of %s: ttl %v (1ms to 24h)", tenant, ttl)
	}
	return nil
}

// granted reads {ok, generation, until}.
func granted(script string, reply []string, owner string, ttl time.Duration) (spec.Lease, error) {
	if reply[0] != "ok" || len(reply) != 3 {
		return spec.Lease{}, strange(script, reply)
	}
	generation, err1 := strconv.ParseInt(reply[1], 10, 64)
	until, err2 := strconv.ParseInt(reply[2], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return spec.Lease{}, fmt.Errorf("script %s: %w", script, err)
	}
	return spec.Lease{Owner: owner, Generation: generation, Until: until, TTL: ttl.Milliseconds()}, nil
}

// lost tells our generation from the one that stands.
func lost(lease spec.Lease, reply []string) error {
	if reply[1] == lease.Owner && reply[2] == strconv.FormatInt(lease.Generation, 10) {
		return fmt.Errorf("%w: generation %d ran out", spec.ErrLost, lease.Generation)
	}
	return fmt.Errorf("%w: ours is generation %d, %q holds %s", spec.ErrLost, lease.Generation, reply[1], reply[2])
}

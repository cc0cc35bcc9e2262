package specstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// Claim takes the right to run version of a job for ttl. Allowed is a job that is
// to run, is at that version, and that nobody has: no owner in its status, or a
// lease that was handed back, is ours, or has lapsed for longer than takeoverAfter
// by Redis time (0 = never). A job that a foreign instance runs without a lease of
// ours (a Java agent's) is never touched, and neither is one that such an agent is
// launching. Each claim has a higher generation than all before it; an owner that
// claims its own job again fences its earlier self.
//
// spec.ErrTaken: another has it, and the error says how. *spec.ConflictError: it is
// at another version, or stopped. spec.ErrNotFound: it is gone. Source: R-A6, R-B4.
func (s *Store) Claim(ctx context.Context, tenant, job string, version int64, owner string, ttl, takeoverAfter time.Duration) (spec.Lease, error) {
	if err := checkJob(tenant, job); err != nil {
		return spec.Lease{}, err
	}
	if err := checkLease(tenant, owner, ttl); err != nil {
		return spec.Lease{}, err
	}
	keys := []string{s.key.jobs(tenant), s.key.versions(tenant), s.key.status(tenant, job), s.key.jobLease(tenant, job), s.key.claim(tenant, job)}
	reply, err := s.run(ctx, "job_claim", keys, job, version, owner, ttl.Milliseconds(), takeoverAfter.Milliseconds())
	if err != nil {
		return spec.Lease{}, fmt.Errorf("claim %s/%s: %w", tenant, job, err)
	}
	what := tenant + "/" + job
	want := "version " + strconv.FormatInt(version, 10)
	switch reply[0] {
	case "absent":
		return spec.Lease{}, fmt.Errorf("claim %s: %w", what, spec.ErrNotFound)
	case "moved":
		return spec.Lease{}, &spec.ConflictError{What: what, Want: want, Have: "version " + reply[1]}
	case "stopped":
		return spec.Lease{}, &spec.ConflictError{What: what, Want: want + " to be run", Have: string(spec.DesiredStopped)}
	case "taken":
		return spec.Lease{}, fmt.Errorf("claim %s: %w: %q %s", what, spec.ErrTaken, reply[1], reply[2])
	}
	return granted("job_claim", reply, owner, ttl)
}

// renewBatch is how many claims one script renews.
const renewBatch = 100

// RenewClaims makes claims last another TTL from now and names, sorted, those that
// are not ours any more: stop those jobs at once. A lapsed claim that nobody took
// over is still ours. A claim whose record is gone altogether, because the store
// was emptied, is put back, so that a rebuild disturbs nothing that runs.
func (s *Store) RenewClaims(ctx context.Context, tenant string, claims map[string]spec.Lease) (lost []string, err error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return nil, err
	}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(claims)), renewBatch) {
		var keys []string
		var args []any
		for _, job := range names {
			c := claims[job]
			if err := checkJob(tenant, job); err != nil {
				return lost, err
			}
			if err := checkLease(tenant, c.Owner, time.Duration(c.TTL)*time.Millisecond); err != nil {
				return lost, err
			}
			keys = append(keys, s.key.jobLease(tenant, job), s.key.claim(tenant, job))
			args = append(args, c.Owner, c.Generation, c.TTL)
		}
		reply, err := s.run(ctx, "job_renew", keys, args...)
		if err != nil {
			return lost, fmt.Errorf("renew claims of %s: %w", tenant, err)
		}
		if len(reply) != len(names)+1 {
			return lost, strange("job_renew", reply)
		}
		for i, job := range names {
			if reply[i+1] != "1" {
				lost = append(lost, job)
			}
		}
	}
	return lost, nil
}

// Report writes an agent's word on a job, and a row if it says anything new.
// spec.ErrLost: the claim is not exactly the one that stands; nothing was written.
// What is desired is not the agent's to change: a stop that came meanwhile stays
// stopped, with the new facts beside it; DESIRED_STOPPED reported for a job that is
// to run again becomes PENDING_DEPLOY. Source: R-A6, R-A8, R-B4.
func (s *Store) Report(ctx context.Context, r spec.Report) error {
	if err := checkJob(r.Tenant, r.Job); err != nil {
		return err
	}
	switch r.State {
	case spec.DesiredStopped, spec.PendingDeploy, spec.Running, spec.Failed:
	default:
		return fmt.Errorf("report of %s/%s: no such state %q", r.Tenant, r.Job, r.State)
	}
	t := r.Tenant
	keys := []string{s.key.jobLease(t, r.Job), s.key.status(t, r.Job), s.key.jobs(t), s.key.audit(t), s.key.claim(t, r.Job), s.key.rev(t)}
	reply, err := s.run(ctx, "job_report", keys, t, s.key.channel(), s.cfg.AuditCap, r.Job, r.Claim.Owner, r.Claim.Generation,
		string(r.State), clean(r.Detail, maxDetail), r.RunningVersion, clean(r.RunningHash, maxActor), r.Attempt)
	if err != nil {
		return fmt.Errorf("report of %s/%s: %w", t, r.Job, err)
	}
	if reply[0] == "lost" {
		return fmt.Errorf("report of %s/%s: %w", t, r.Job, lost(r.Claim, reply))
	}
	return nil
}

// ReleaseClaim hands a claim back: others may claim the job at once. A status that
// still shows it running here becomes PENDING_DEPLOY. Releasing twice is no error;
// what another took is spec.ErrLost.
func (s *Store) ReleaseClaim(ctx context.Context, tenant, job string, lease spec.Lease) error {
	if err := checkJob(tenant, job); err != nil {
		return err
	}
	keys := []string{s.key.jobLease(tenant, job), s.key.status(tenant, job), s.key.audit(tenant), s.key.claim(tenant, job), s.key.rev(tenant)}
	reply, err := s.run(ctx, "job_release", keys, tenant, s.key.channel(), s.cfg.AuditCap, job, lease.Owner, lease.Generation)
	if err != nil {
		return fmt.Errorf("release %s/%s: %w", tenant, job, err)
	}
	if reply[0] == "lost" {
		return fmt.Errorf("release %s/%s: %w", tenant, job, lost(lease, reply))
	}
	return nil
}

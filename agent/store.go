package agent

import (
	"context"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// Store is what an agent asks of the store. Errors that mean something are
// spec.ErrTaken, spec.ErrLost, spec.ErrNotFound and *spec.ConflictError.
type Store interface {
	// Tenants lists the tenants there are.
	Tenants(ctx context.Context) ([]string, error)
	// Snapshot reads what is desired and known of a tenant's jobs.
	Snapshot(ctx context.Context, tenant string) (spec.Snapshot, error)
	// Claim takes the right to run a job at a version. spec.ErrTaken means: not
	// now. An owner that has the claim already gets it anew.
	Claim(ctx context.Context, tenant, job string, version int64, owner string, ttl, takeoverAfter time.Duration) (spec.Lease, error)
	// RenewClaims extends claims and lists the jobs whose claim is lost. After an
	// error nothing is known of those it does not list.
	RenewClaims(ctx context.Context, tenant string, held map[string]spec.Lease) (lost []string, err error)
	// Report stores an agent's word. spec.ErrLost means that the claim in it is
	// not the one that stands.
	Report(ctx context.Context, r spec.Report) error
	// ReleaseClaim gives a claim back, so that another may take it at once.
	ReleaseClaim(ctx context.Context, tenant, job string, lease spec.Lease) error
}

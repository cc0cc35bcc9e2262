package runner

import (
	"context"

	"github.com/pawl-dev/pawl/spec"
)

// Task is one job at one version, ready to be launched.
type Task struct {
	Tenant     string
	GID        string // empty = not known
	Job        spec.Job
	Version    int64
	Generation int64 // of the claim under which it is launched
}

// Name is tenant/job, the name of a task in messages.
func (t Task) Name() string { return t.Tenant + "/" + t.Job.Name }

// Launcher starts jobs of one factory.
type Launcher interface {
	// Launch starts t and returns once all of it has been started. On an error
	// nothing of it runs. changed is called, from any goroutine, whenever Health
	// may have changed; it does not block. The copy outlives ctx.
	Launch(ctx context.Context, t Task, changed func()) (Running, error)
}

// Running is one launched copy of a job.
type Running interface {
	// Health tells what is really seen of the copy.
	Health() Health
	// Rescale brings the copy to the parallelism of t, which differs from what
	// runs in nothing that a restart would be needed for. On an error as much
	// runs as before.
	Rescale(ctx context.Context, t Task) error
	// Stop ends the copy and returns when nothing of it runs any more; when ctx
	// ends first, it is no longer asked but killed. After an error something may
	// still run: call it again.
	Stop(ctx context.Context) error
}

// Health is what a launcher sees of a copy.
type Health struct {
	State   spec.State // spec.Running or spec.Failed; a failed copy is still tried again
	Detail  string     // why it failed; never a secret
	Attempt int64      // deaths in a row, 0 while all is well
}

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
)

// work is one worker of a job: it runs until ctx is over. An error, or an end
// before that, is a failure of the job.
type work func(ctx context.Context, job spec.Job, index int) error

// goroutines is a launcher of our own: a job is as many goroutines of this
// process as its parallelism says. They end with the process. A launcher whose
// jobs have secrets would resolve them here, with runner.Secrets.
type goroutines struct{ work work }

// Launch starts the workers of t. They outlive ctx, which is that of the
// launching alone.
func (g goroutines) Launch(ctx context.Context, t runner.Task, changed func()) (runner.Running, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &crew{work: g.work, changed: changed}
	c.resize(t.Job, t.Job.Parallelism)
	return c, nil
}

// crew is a running copy of a job.
type crew struct {
	work    work
	changed func()
	members sync.WaitGroup // all goroutines that have not ended

	mu      sync.Mutex // guards what follows
	dismiss []context.CancelFunc
	failure error // of the worker that failed first
}

// resize starts or dismisses workers, the highest index first; those who stay
// are not disturbed.
func (c *crew) resize(job spec.Job, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for index := len(c.dismiss); index < size; index++ {
		ctx, dismiss := context.WithCancel(context.Background())
		c.dismiss = append(c.dismiss, dismiss)
		c.members.Go(func() { c.serve(ctx, job, index) })
	}
	for last := len(c.dismiss) - 1; last >= size; last-- {
		c.dismiss[last]()
		c.dismiss = c.dismiss[:last]
	}
}

func (c *crew) serve(ctx context.Context, job spec.Job, index int) {
	err := c.work(ctx, job, index)
	if ctx.Err() != nil {
		return // dismissed
	}
	if err == nil {
		err = errors.New("it ended by itself")
	}
	c.mu.Lock()
	if c.failure == nil {
		c.failure = fmt.Errorf("worker %d: %w", index, err)
	}
	c.mu.Unlock()
	c.changed()
}

// Health is what is seen of the crew.
func (c *crew) Health() runner.Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return runner.Health{State: spec.Failed, Detail: c.failure.Error(), Attempt: 1}
	}
	return runner.Health{State: spec.Running}
}

// Rescale changes the number of workers.
func (c *crew) Rescale(_ context.Context, t runner.Task) error {
	c.resize(t.Job, t.Job.Parallelism)
	return nil
}

// Stop dismisses all workers and waits for them.
func (c *crew) Stop(ctx context.Context) error {
	c.resize(spec.Job{}, 0)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c.members.Wait()
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("workers do not end: %w", ctx.Err())
	}
}

package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
)

// running is one launched copy of a job.
type running struct {
	l         *Launcher
	log       *slog.Logger
	dir, file string
	vars      []string // JOB_CONFIG_ variables, secrets resolved
	changed   func()

	op       sync.Mutex // one of Rescale and Stop at a time
	mu       sync.Mutex // guards children
	children map[int]*child
}

// Health is as bad as the worst process.
func (c *running) Health() runner.Health {
	h := runner.Health{State: spec.Running}
	for _, ch := range c.sorted() {
		deaths, why := ch.state()
		h.Attempt = max(h.Attempt, int64(deaths))
		if deaths >= c.l.cfg.Restart.FailAfter && h.State == spec.Running {
			h.State, h.Detail = spec.Failed, fmt.Sprintf("process %d: %s", ch.index, why)
		}
	}
	return h
}

// Rescale starts or ends processes until there are as many as t says, the
// highest index first; the others keep their pid and their environment.
func (c *running) Rescale(ctx context.Context, t runner.Task) error {
	if n := t.Job.Parallelism; n < 1 || n > spec.MaxParallelism {
		return fmt.Errorf("parallelism %d is not within 1 and %d", n, spec.MaxParallelism)
	}
	c.op.Lock()
	defer c.op.Unlock()
	if err := c.shrink(ctx, t.Job.Parallelism); err != nil {
		return err
	}
	return c.grow(ctx, t)
}

// Stop ends all processes and removes the config file.
func (c *running) Stop(ctx context.Context) error {
	c.op.Lock()
	defer c.op.Unlock()
	if err := c.shrink(ctx, 0); err != nil {
		return err
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("remove config file: %w", err)
	}
	return nil
}

// grow starts what is missing for t; on an error what it started is gone again.
func (c *running) grow(ctx context.Context, t runner.Task) error {
	before := len(c.sorted())
	for i := range t.Job.Parallelism {
		if c.child(i) != nil {
			continue
		}
		if err := c.add(ctx, t, i); err != nil {
			killed, cancel := context.WithCancel(context.WithoutCancel(ctx))
			cancel()
			return errors.Join(fmt.Errorf("start process %d: %w", i, err), c.shrink(killed, before))
		}
	}
	return nil
}

func (c *running) add(ctx context.Context, t runner.Task, index int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	log := c.log.With("index", index)
	env := slices.Concat(c.l.base, jobEnv(t, index, c.file), c.vars)
	ch := &child{
		index: index, grace: c.l.cfg.Factory.Grace, restart: c.l.cfg.Restart, log: log, changed: c.changed,
		start:    func() (*proc, error) { return start(c.l.spawn, c.l.cfg.Factory.Command, env, log) },
		stopping: make(chan struct{}), kill: make(chan struct{}), done: make(chan struct{}),
	}
	p, err := ch.start()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.children[index] = ch
	c.mu.Unlock()
	go ch.run(p)
	return nil
}

// shrink ends every process from index keep on, all at the same time.
func (c *running) shrink(ctx context.Context, keep int) error {
	all := c.sorted()
	slices.Reverse(all)
	var ending []*child
	for _, ch := range all {
		if ch.index >= keep || ch.halting() {
			ch.stop()
			ending = append(ending, ch)
		}
	}
	defer context.AfterFunc(ctx, func() {
		for _, ch := range ending {
			ch.forced()
		}
	})()
	var errs []error
	for _, ch := range ending {
		if err := ch.gone(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		c.mu.Lock()
		delete(c.children, ch.index)
		c.mu.Unlock()
	}
	return errors.Join(errs...)
}

// discard ends a copy that could not be launched, for the reason given.
func (c *running) discard(ctx context.Context, reason error) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	return errors.Join(reason, c.Stop(ctx))
}

func (c *running) child(index int) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.children[index]
}

// sorted lists the children by index.
func (c *running) sorted() []*child {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*child
	for _, i := range slices.Sorted(maps.Keys(c.children)) {
		out = append(out, c.children[i])
	}
	return out
}

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/agent"
	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

const (
	tenant  = "shop"
	name    = "orders"
	alice   = "Alice <alice@shop.example>"
	bob     = "Bob <bob@shop.example>"
	mallory = "Mallory <mallory@elsewhere.example>"

	stepTime = 30 * time.Second // the longest wait for a step to be seen
)

// outcome is what the story came to.
type outcome struct {
	Ran      []ran
	Conflict error // of the second upgrader
	Denied   error // of whom the authoriser refused
	Jobs     []spec.JobView
	Audit    []spec.AuditRow
}

// ran is a version that was seen running, and how many workers were at work.
type ran struct{ Version, Workers int64 }

// story is one telling: a store and an agent that serves it.
type story struct {
	store   *specstore.Store
	out     io.Writer
	workers atomic.Int64 // at work now
	outcome outcome
}

// tell plays the whole story below a prefix of its own, which is removed after it.
func tell(ctx context.Context, url string, out io.Writer) (o outcome, err error) {
	rdb, err := specstore.Dial(ctx, url)
	if err != nil {
		return o, err
	}
	prefix := "pawl-embed-" + rand.Text() + ":"
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTime)
		defer cancel()
		keys, scanErr := rdb.Keys(ctx, prefix+"*").Result()
		if len(keys) > 0 {
			scanErr = errors.Join(scanErr, rdb.Del(ctx, keys...).Err())
		}
		err = errors.Join(err, scanErr, rdb.Close())
	}()
	store, err := specstore.New(rdb, specstore.Config{Prefix: prefix, Authorize: onlyFrom("shop.example")})
	if err != nil {
		return o, err
	}
	s := &story{store: store, out: out}
	err = s.withAgent(ctx, s.play)
	return s.outcome, err
}

// withAgent runs an agent, which looks whenever the store changed, for as long
// as play takes.
func (s *story) withAgent(ctx context.Context, play func(context.Context) error) error {
	a, err := agent.New(agent.Config{Owner: "embed-" + rand.Text(), Tenants: []string{tenant}, Every: 5 * time.Second},
		agent.Deps{Store: s.store, Launchers: map[string]runner.Launcher{"count": goroutines{s.count}}})
	if err != nil {
		return err
	}
	serving, end := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- a.Run(serving) }()
	go func() { ended <- s.store.Subscribe(serving, a.Kick) }()
	err = play(ctx)
	end()
	return errors.Join(err, <-ended, <-ended)
}

// count is the work of factory "count": it only counts itself.
func (s *story) count(ctx context.Context, _ spec.Job, _ int) error {
	s.workers.Add(1)
	defer s.workers.Add(-1)
	<-ctx.Done()
	return nil
}

func (s *story) play(ctx context.Context) error {
	for _, act := range []func(context.Context) error{s.submit, s.upgrade, s.rivals, s.rollback, s.stopAndResume, s.list, s.audit} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

func orders(parallelism int) spec.Job {
	return spec.Job{Name: name, Factory: "count", Parallelism: parallelism, Config: map[string]string{"input.topic": "orders"}}
}

func (s *story) submit(ctx context.Context) error {
	rec, err := s.store.Submit(ctx, tenant, alice, orders(1))
	if err != nil {
		return err
	}
	s.say("%s submits %s: version %d", alice, name, rec.Version)
	return s.running(ctx, rec.Version, 1)
}

// upgrade changes the parallelism alone, so what runs is rescaled in place.
func (s *story) upgrade(ctx context.Context) error {
	rec, err := s.store.Upgrade(ctx, tenant, alice, orders(3), 1)
	if err != nil {
		return err
	}
	s.say("%s upgrades version 1 to three workers: version %d", alice, rec.Version)
	return s.running(ctx, rec.Version, 3)
}

// rivals are somebody who read version 1 too, and somebody who may not.
func (s *story) rivals(ctx context.Context) error {
	_, err := s.store.Upgrade(ctx, tenant, bob, orders(2), 1)
	if conflict := new(spec.ConflictError); !errors.As(err, &conflict) {
		return fmt.Errorf("an upgrade of a version that is gone: %w", unexpected(err))
	}
	s.outcome.Conflict = err
	s.say("%s upgrades version 1 as well: %v", bob, err)

	_, err = s.store.Upgrade(ctx, tenant, mallory, orders(9), 2)
	if !errors.Is(err, spec.ErrDenied) {
		return fmt.Errorf("an upgrade by a stranger: %w", unexpected(err))
	}
	s.outcome.Denied = err
	s.say("%s tries: %v", mallory, err)
	return nil
}

func unexpected(err error) error {
	if err == nil {
		return errors.New("it was let through")
	}
	return err
}

func (s *story) rollback(ctx context.Context) error {
	rec, err := s.store.Rollback(ctx, tenant, bob, name, 1, 2)
	if err != nil {
		return err
	}
	s.say("%s rolls back to version 1: version %d", bob, rec.Version)
	return s.running(ctx, rec.Version, 1)
}

func (s *story) stopAndResume(ctx context.Context) error {
	if err := s.store.Stop(ctx, tenant, alice, name); err != nil {
		return err
	}
	if err := s.seen(ctx, spec.DesiredStopped, 0, 0); err != nil {
		return err
	}
	s.say("%s stops it: no worker is left", alice)
	if err := s.store.Resume(ctx, tenant, alice, name); err != nil {
		return err
	}
	s.say("%s resumes it", alice)
	return s.running(ctx, 3, 1)
}

func (s *story) list(ctx context.Context) (err error) {
	if s.outcome.Jobs, err = s.store.List(ctx, tenant); err != nil {
		return err
	}
	for _, v := range s.outcome.Jobs {
		s.say("job %s: version %d by %s, %s", v.Record.Key, v.Record.Version, v.Record.UpdatedBy, v.Status.State)
	}
	return nil
}

// audit reads every row from the start, as a follower that goes on would.
func (s *story) audit(ctx context.Context) error {
	for since := "0"; ; {
		rows, next, err := s.store.Tail(ctx, specstore.AuditQuery{Tenant: tenant, Since: since}, 50*time.Millisecond)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil // nothing new for a moment
		}
		for _, r := range rows {
			s.say("audit: %s %s by %s: %s", r.Op, r.Result, r.Actor, r.Detail)
		}
		s.outcome.Audit, since = append(s.outcome.Audit, rows...), next
	}
}

// running waits until the agent has reported a version and so many workers are at work.
func (s *story) running(ctx context.Context, version, workers int64) error {
	if err := s.seen(ctx, spec.Running, version, workers); err != nil {
		return err
	}
	s.outcome.Ran = append(s.outcome.Ran, ran{version, workers})
	s.say("  version %d is RUNNING with %d at work", version, workers)
	return nil
}

func (s *story) seen(ctx context.Context, state spec.State, version, workers int64) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	return eventually(ctx, func() error {
		v, err := s.store.Get(ctx, tenant, name)
		if err != nil {
			return err
		}
		at := s.workers.Load()
		if v.Status.State != state || v.Status.RunningVersion != version || at != workers {
			return fmt.Errorf("%s is %s at version %d with %d at work, not %s at %d with %d",
				name, v.Status.State, v.Status.RunningVersion, at, state, version, workers)
		}
		return nil
	})
}

func (s *story) say(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
}

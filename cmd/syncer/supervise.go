package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/loop"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/pawl-dev/pawl/syncer"
)

// configEvery is how often the configuration is read again. A configuration in
// Git is also looked at as soon as its branch moves.
const configEvery = 5 * time.Second

// settled is how long a configuration must stay as it is before it is taken: a
// folder that is being written is not.
const settled = 300 * time.Millisecond

// supervisor follows every tenant of a configuration by itself, so that a broken
// one delays nobody, and follows the configuration too.
type supervisor struct {
	app   *app
	state *stateDir
	store *specstore.Store
	log   *slog.Logger
	out   *teller
	tell  func(syncer.Event) // nil = out

	mu        sync.Mutex
	followers map[string]*follower
}

// follower is one tenant that is being followed.
type follower struct {
	worker
	log  *slog.Logger
	loop *loop.Loop
	end  context.CancelFunc
	done sync.WaitGroup

	asked     atomic.Bool // somebody kicked: look now
	notBefore time.Time   // when a source that failed is looked at again by itself
	said      string      // the last failure that was told
	moved     string      // where the server sent us, if told
}

// kick asks for a pass that begins after now.
func (f *follower) kick() {
	f.asked.Store(true)
	f.loop.Kick()
}

// look is one pass. A source that fails is asked less and less, never more; a
// kick looks all the same, within what the server allows.
func (f *follower) look(ctx context.Context) error {
	if !f.asked.Swap(false) && time.Now().Before(f.notBefore) {
		return nil
	}
	_, err := f.Pass(ctx)
	if to := f.repo.Moved(); to != "" && to != f.moved {
		f.moved = to
		f.log.Warn("the repository moved: put the new address into source.url", "to", to)
	}
	switch again, wait := gitsource.RetryAfter(err); {
	case errors.Is(err, spec.ErrTaken):
		return nil // another syncer works this tenant
	case err == nil:
		f.notBefore, f.said = time.Time{}, ""
	case !wait:
		return err // the store: the loop comes back soon
	default:
		f.notBefore = again
		if err.Error() != f.said {
			f.said = err.Error()
			f.log.Error("the source cannot be read", "error", err, "again", again.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// run follows until ctx is over. read gives the configuration as it is now;
// watched, if not empty, is a repository whose changes are looked at at once.
func (s *supervisor) run(ctx context.Context, read func(context.Context) ([]spec.Pavilion, error), watched string) error {
	pavs, err := read(ctx)
	if err != nil {
		return err // at the start a wrong configuration is wrong usage
	}
	s.followers = map[string]*follower{}
	defer s.stopAll(ctx)
	if err := s.reconcile(ctx, pavs); err != nil {
		return err
	}
	config := loop.New(configEvery, func(ctx context.Context) error { return s.reload(ctx, read) }, loop.Log(s.log))
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if err := s.store.Looks(ctx, s.kick); err != nil {
			s.log.Warn("requests to look are seen at the next interval only", "error", err)
		}
	})
	if watched != "" {
		wg.Go(func() { s.watch(ctx, watched, s.app.branch, config.Kick) })
	}
	if err := config.Run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil // told to stop
}

// reload takes a new configuration over; a wrong one is told and changes nothing.
func (s *supervisor) reload(ctx context.Context, read func(context.Context) ([]spec.Pavilion, error)) error {
	pavs, err := read(ctx)
	if err != nil {
		return fmt.Errorf("the configuration is not taken over, the old one stays in force: %w", err)
	}
	if s.same(pavs) {
		return nil
	}
	select {
	case <-time.After(settled):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	again, err := read(ctx)
	if err != nil || !reflect.DeepEqual(pavs, again) {
		return err // it is being written: the next look will see it whole
	}
	return s.reconcile(ctx, pavs)
}

// same tells whether exactly these tenants are followed.
func (s *supervisor) same(pavs []spec.Pavilion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(pavs) != len(s.followers) {
		return false
	}
	for _, p := range pavs {
		if f := s.followers[p.Name]; f == nil || !reflect.DeepEqual(f.pav, p) {
			return false
		}
	}
	return true
}

// reconcile starts what is new, starts anew what changed, and stops following
// what is gone. A tenant that is gone is left as it is: nothing of it is stopped.
func (s *supervisor) reconcile(ctx context.Context, pavs []spec.Pavilion) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := map[string]spec.Pavilion{}
	for _, p := range pavs {
		wanted[p.Name] = p
	}
	for name, f := range s.followers {
		p, stays := wanted[name]
		if stays && reflect.DeepEqual(f.pav, p) {
			continue
		}
		if !stays {
			s.log.Warn("the tenant is not in the configuration any more; it is left as it is", "tenant", name)
		}
		s.stop(ctx, f)
		delete(s.followers, name)
	}
	var errs []error
	for _, p := range pavs {
		if s.followers[p.Name] != nil {
			continue
		}
		f, err := s.start(ctx, p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.followers[p.Name] = f
	}
	return errors.Join(errs...)
}

// start begins to follow one tenant.
func (s *supervisor) start(ctx context.Context, p spec.Pavilion) (*follower, error) {
	w, err := s.app.worker(p, s.state, s.store, s.log, s.out)
	if err != nil {
		return nil, err
	}
	if s.tell != nil {
		w.Tell = s.tell
	}
	ctx, end := context.WithCancel(ctx)
	f := &follower{worker: w, log: s.log.With("tenant", p.Name), end: end}
	f.loop = loop.New(p.Source.Interval, f.look, loop.Log(f.log))
	w.Again = f.kick
	f.done.Go(func() {
		if err := f.loop.Run(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the tenant is not followed any more", "tenant", p.Name, "error", err)
		}
	})
	f.done.Go(func() { s.watch(ctx, p.Source.URL, p.Source.Branch, f.kick) })
	return f, nil
}

// watch kicks when a local repository changes; without it the timer remains.
func (s *supervisor) watch(ctx context.Context, url, branch string, kick func()) {
	if err := gitsource.Watch(ctx, url, branch, kick); err != nil && ctx.Err() == nil {
		s.log.Warn("changes are seen at the next interval only", "source", gitsource.Redact(url), "error", err)
	}
}

// kick looks at a tenant now; "" = at all of them.
func (s *supervisor) kick(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, f := range s.followers {
		if tenant == "" || tenant == name {
			f.kick()
		}
	}
}

// stop ends a follower, waits for it, and hands its lease back.
func (s *supervisor) stop(ctx context.Context, f *follower) {
	f.end()
	f.done.Wait()
	if err := closeAll(ctx, []worker{f.worker}); err != nil {
		s.log.Error("stop following", "tenant", f.Name(), "error", err)
	}
}

func (s *supervisor) stopAll(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.followers {
		f.end()
	}
	for name, f := range s.followers {
		s.stop(ctx, f)
		delete(s.followers, name)
	}
}

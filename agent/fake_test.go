package agent_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
)

var errAway = errors.New("connection refused")

// fakeStore keeps the rules of claims and reports in memory; atomicity and the
// rest are proven on the real store elsewhere.
type fakeStore struct {
	mu      sync.Mutex
	cursor  map[string]spec.Cursor
	jobs    map[string]map[string]*spec.JobView
	away    bool
	hang    bool                             // calls wait for their deadline instead of failing
	claims  func(job string) (reply error)   // what becomes of the answer to a claim, after it took effect
	slow    map[string]time.Duration         // delay of the answer to a claim, by job
	early   time.Duration                    // delay of a claim before it takes effect
	stale   time.Duration                    // delay of a snapshot after it was read
	reports []spec.Report                    // accepted ones that say something new, as the audit has them
	lose    func(r spec.Report) (fail error) // instead of accepting a report
}

func newStore() *fakeStore {
	return &fakeStore{cursor: map[string]spec.Cursor{}, jobs: map[string]map[string]*spec.JobView{}, slow: map[string]time.Duration{}}
}

// put stores a job as a commit would.
func (s *fakeStore) put(tenant string, j spec.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[tenant] == nil {
		s.jobs[tenant] = map[string]*spec.JobView{}
		s.cursor[tenant] = spec.Cursor{Applied: "c1", Epoch: "e1", CID: "X8FD", Pavilion: "NT:1"}
	}
	v := s.jobs[tenant][j.Name]
	if v == nil {
		v = &spec.JobView{Status: spec.Status{State: spec.PendingDeploy}}
		s.jobs[tenant][j.Name] = v
	}
	v.Record = spec.Record{Tenant: tenant, Key: j.Key(), Spec: j, Version: v.Record.Version + 1, SpecHash: j.SpecHash(tenant)}
}

// edit changes a job's view under the lock.
func (s *fakeStore) edit(tenant, job string, change func(*spec.JobView)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.jobs[tenant][job])
}

func (s *fakeStore) desire(tenant, job string, state spec.State) {
	s.edit(tenant, job, func(v *spec.JobView) {
		v.Status.State = state
		if state == spec.PendingDeploy {
			v.Status = spec.Status{State: state}
		}
	})
}

func (s *fakeStore) get(tenant, job string) spec.JobView {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.jobs[tenant][job]; v != nil {
		return *v
	}
	return spec.JobView{}
}

func (s *fakeStore) told() []spec.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reports)
}

func (s *fakeStore) set(change func(*fakeStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// enter waits and fails as an unreachable store does.
func (s *fakeStore) enter(ctx context.Context) error {
	s.mu.Lock()
	away, hang := s.away, s.hang
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if away {
		return errAway
	}
	return ctx.Err()
}

func (s *fakeStore) Tenants(ctx context.Context) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.jobs)), nil
}

func (s *fakeStore) Snapshot(ctx context.Context, tenant string) (spec.Snapshot, error) {
	if err := s.enter(ctx); err != nil {
		return spec.Snapshot{}, err
	}
	snap, late := s.read(tenant)
	<-time.After(late)
	return snap, nil
}

func (s *fakeStore) read(tenant string) (spec.Snapshot, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := spec.Snapshot{Tenant: tenant, Cursor: s.cursor[tenant], Now: time.Now().UnixMilli()}
	for _, name := range slices.Sorted(maps.Keys(s.jobs[tenant])) {
		if v := s.jobs[tenant][name]; v.Record.Version > 0 {
			snap.Jobs = append(snap.Jobs, *v)
		}
	}
	return snap, s.stale
}

func (s *fakeStore) Claim(ctx context.Context, tenant, job string, version int64, owner string, ttl, takeoverAfter time.Duration) (spec.Lease, error) {
	if err := s.enter(ctx); err != nil {
		return spec.Lease{}, err
	}
	s.mu.Lock()
	early := s.early
	s.mu.Unlock()
	<-time.After(early)
	lease, delay, err := s.claim(tenant, job, version, owner, ttl, takeoverAfter)
	if err == nil && delay > 0 {
		<-time.After(delay)
	}
	return lease, err
}

func (s *fakeStore) claim(tenant, job string, version int64, owner string, ttl, takeoverAfter time.Duration) (spec.Lease, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.jobs[tenant][job]
	if v == nil || v.Record.Version == 0 {
		return spec.Lease{}, 0, spec.ErrNotFound
	}
	now := time.Now().UnixMilli()
	switch {
	case v.Record.Version != version:
		return spec.Lease{}, 0, &spec.ConflictError{What: tenant + "/" + job, Want: fmt.Sprint(version), Have: fmt.Sprint(v.Record.Version)}
	case v.Status.State == spec.DesiredStopped:
		return spec.Lease{}, 0, spec.ErrTaken
	case v.Lease.Owner != "" && v.Lease.Owner != owner && (takeoverAfter == 0 || now < v.Lease.Until+takeoverAfter.Milliseconds()):
		return spec.Lease{}, 0, spec.ErrTaken
	}
	v.Lease = spec.Lease{Owner: owner, Generation: v.Lease.Generation + 1, Until: now + ttl.Milliseconds(), TTL: ttl.Milliseconds()}
	delay := s.slow[job]
	delete(s.slow, job)
	if s.claims != nil {
		if err := s.claims(job); err != nil {
			return spec.Lease{}, 0, err
		}
	}
	return v.Lease, delay, nil
}

func (s *fakeStore) RenewClaims(ctx context.Context, tenant string, held map[string]spec.Lease) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost []string
	for _, job := range slices.Sorted(maps.Keys(held)) {
		v, l := s.jobs[tenant][job], held[job]
		if v == nil || v.Lease.Generation == 0 { // emptied: put back
			if v == nil {
				if s.jobs[tenant] == nil {
					s.jobs[tenant] = map[string]*spec.JobView{}
				}
				v = &spec.JobView{}
				s.jobs[tenant][job] = v
			}
			v.Lease = l
		}
		if v.Lease.Owner != l.Owner || v.Lease.Generation != l.Generation {
			lost = append(lost, job)
			continue
		}
		v.Lease.Until = time.Now().UnixMilli() + l.TTL
	}
	return lost, nil
}

func (s *fakeStore) Report(ctx context.Context, r spec.Report) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lose != nil {
		if err := s.lose(r); err != nil {
			return err
		}
	}
	v := s.jobs[r.Tenant][r.Job]
	if v == nil || v.Lease.Owner != r.Claim.Owner || v.Lease.Generation != r.Claim.Generation {
		return spec.ErrLost
	}
	if v.Status.State != r.State || v.Status.Detail != r.Detail || v.Status.RunningVersion != r.RunningVersion {
		s.reports = append(s.reports, r)
	}
	state := r.State
	if v.Status.State == spec.DesiredStopped || v.Record.Version == 0 {
		state = spec.DesiredStopped
	} else if state == spec.DesiredStopped {
		state = spec.PendingDeploy
	}
	v.Status = spec.Status{State: state, InstanceID: r.Claim.Owner, Detail: r.Detail, RunningVersion: r.RunningVersion, RunningHash: r.RunningHash, Generation: r.Claim.Generation, Attempt: r.Attempt}
	if r.RunningVersion == 0 && r.State != spec.Failed {
		v.Status.InstanceID = ""
	}
	return nil
}

func (s *fakeStore) ReleaseClaim(ctx context.Context, tenant, job string, lease spec.Lease) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.jobs[tenant][job]
	if v == nil || v.Lease.Owner != lease.Owner || v.Lease.Generation != lease.Generation {
		return spec.ErrLost
	}
	v.Lease.Owner, v.Lease.Until = "", 0
	return nil
}

// world is where copies run; it sees when one job runs twice.
type world struct {
	mu       sync.Mutex
	running  map[string]int
	twice    []string
	events   []string // "launch acme/orders v1 x2", "stop …", "kill …", "rescale … x3"
	failing  map[string]error
	stopTime map[string]time.Duration
	panics   map[string]bool
	copies   map[string]*fakeCopy // the latest of each job
}

func newWorld() *world {
	return &world{running: map[string]int{}, failing: map[string]error{}, stopTime: map[string]time.Duration{}, panics: map[string]bool{}, copies: map[string]*fakeCopy{}}
}

func (w *world) set(change func(*world)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

func (w *world) note(format string, args ...any) {
	w.events = append(w.events, fmt.Sprintf(format, args...))
}

func (w *world) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

func (w *world) copiesOf(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[name]
}

func (w *world) Launch(_ context.Context, t runner.Task, changed func()) (runner.Running, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.panics[t.Name()] {
		panic("no such plugin")
	}
	if err := w.failing[t.Name()]; err != nil {
		w.note("fail %s v%d", t.Name(), t.Version)
		return nil, err
	}
	w.running[t.Name()]++
	if w.running[t.Name()] > 1 {
		w.twice = append(w.twice, t.Name())
	}
	w.note("launch %s v%d x%d", t.Name(), t.Version, t.Job.Parallelism)
	c := &fakeCopy{w: w, name: t.Name(), changed: changed, health: runner.Health{State: spec.Running}}
	w.copies[t.Name()] = c
	return c, nil
}

type fakeCopy struct {
	w       *world
	name    string
	changed func()
	health  runner.Health
	stopped bool
}

func (c *fakeCopy) Health() runner.Health {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.health
}

func (w *world) sicken(name string, h runner.Health) {
	w.mu.Lock()
	c := w.copies[name]
	c.health = h
	w.mu.Unlock()
	c.changed()
}

func (c *fakeCopy) Rescale(_ context.Context, t runner.Task) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if err := c.w.failing[c.name]; err != nil {
		return err
	}
	c.w.note("rescale %s v%d x%d", c.name, t.Version, t.Job.Parallelism)
	return nil
}

func (c *fakeCopy) Stop(ctx context.Context) error {
	c.w.mu.Lock()
	takes := c.w.stopTime[c.name]
	c.w.mu.Unlock()
	how := "stop"
	if ctx.Err() != nil {
		how = "kill"
	} else if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			how = "kill"
		}
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if !c.stopped {
		c.stopped = true
		c.w.running[c.name]--
		c.w.note("%s %s", how, c.name)
	}
	return nil
}

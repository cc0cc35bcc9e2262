package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
)

// take begins a step in a goroutine of its own; false if too many are under way.
func (a *Agent) take(ctx context.Context, act Action) bool {
	key := jobKey{act.Tenant, act.Job}
	if act.Verb == Drop { // never waits for a slot
		a.mu.Lock()
		defer a.mu.Unlock()
		if h := a.held[key]; h != nil {
			a.finish(h, &ending{why: act.Why, deadline: time.Now()})
		}
		return true
	}
	select {
	case a.slots <- struct{}{}:
	default:
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.held[key]
	if a.stopping || (h == nil) != (act.Verb == Claim) || h != nil && (h.busy || h.over != nil) {
		<-a.slots
		return true // things moved on since the view was taken
	}
	if h == nil {
		h = &holding{key: key}
		a.held[key] = h
	}
	stepCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.occupy(h, cancel)
	a.steps.Go(func() {
		defer func() {
			cancel()
			<-a.slots
			a.done(h)
		}()
		a.guarded(stepCtx, h, act)
	})
	return true
}

// occupy marks h as being worked on. Agent.mu is held.
func (a *Agent) occupy(h *holding, cancel context.CancelFunc) {
	h.busy, h.cancel, h.idle = true, cancel, make(chan struct{})
}

// done ends a step: what came up meanwhile is seen to, and a pass is owed.
func (a *Agent) done(h *holding) {
	a.mu.Lock()
	h.busy = false
	close(h.idle)
	a.seq++
	a.touched[h.key] = a.seq
	switch {
	case h.gone:
		delete(a.held, h.key)
	case h.over != nil && !h.ending:
		a.finish(h, h.over)
	}
	a.mu.Unlock()
	a.Kick(h.key.tenant)
}

// guarded keeps a launcher that panics from taking the agent with it.
func (a *Agent) guarded(ctx context.Context, h *holding, act Action) {
	defer func() {
		if v := recover(); v != nil {
			step := string(act.Verb)
			if act.Verb == Claim {
				step = string(Launch)
			}
			h.fail(act, step, errors.New("the launcher panicked"))
			a.log.Error("launcher panicked", "tenant", h.key.tenant, "job", h.key.job, "value", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	a.step(ctx, h, act)
}

func (a *Agent) step(ctx context.Context, h *holding, act Action) {
	switch act.Verb {
	case Claim:
		if a.claim(ctx, h, act) {
			a.launch(ctx, h, act)
		}
	case Launch:
		a.launch(ctx, h, act)
	case Relaunch:
		if a.halt(ctx, h, act) {
			a.launch(ctx, h, act)
		}
	case Rescale:
		a.rescale(ctx, h, act)
	case Adopt:
		a.adopt(h, act)
		h.succeed()
		a.tell(ctx, h)
	case Report:
		a.tell(ctx, h)
	case Stop:
		if a.halt(ctx, h, act) {
			a.yield(ctx, h, spec.DesiredStopped, act.Why)
		}
	case HandBack:
		if a.halt(ctx, h, act) {
			a.yield(ctx, h, spec.PendingDeploy, act.Why)
		}
	}
}

// claim asks for the right to run a job.
func (a *Agent) claim(ctx context.Context, h *holding, act Action) bool {
	asked := time.Now()
	cctx, cancel := a.call(ctx)
	lease, err := a.store.Claim(cctx, h.key.tenant, h.key.job, act.View.Record.Version, a.cfg.Owner, a.cfg.Lease, a.cfg.TakeoverAfter)
	cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		h.gone = true
		r := a.refused[h.key]
		r.times++
		r.until = time.Now().Add(jittered(firstWait, maxRefused, int64(r.times)))
		a.refused[h.key] = r
		var moved *spec.ConflictError
		if errors.Is(err, spec.ErrTaken) || errors.Is(err, spec.ErrNotFound) || errors.As(err, &moved) {
			a.log.Debug("not claimed", "tenant", h.key.tenant, "job", h.key.job, "err", err)
		} else {
			a.log.Warn("claim", "tenant", h.key.tenant, "job", h.key.job, "err", err)
		}
		return false
	}
	delete(a.refused, h.key)
	h.lease, h.asked = lease, asked
	return true
}

// launch starts what act wants, if the claim surely stands.
func (a *Agent) launch(ctx context.Context, h *holding, act Action) {
	job, ok := act.View.Record.Spec.(spec.Job)
	if !ok || !a.trusted(h) || a.isStopping() {
		return // the claim is renewed first, or handed back; the next pass sees
	}
	launcher := a.launchers[job.Factory]
	task := runner.Task{Tenant: h.key.tenant, GID: act.GID, Job: job, Version: act.View.Record.Version, Generation: h.lease.Generation}
	running, err := launcher.Launch(ctx, task, func() { a.Kick(h.key.tenant) })
	if err != nil {
		h.fail(act, "launch", err)
		a.log.Warn("launch", "tenant", h.key.tenant, "job", h.key.job, "version", task.Version, "attempt", h.failures, "err", err)
	} else {
		h.copy, h.task, h.restart = running, task, act.View.Restart
		a.adopt(h, act)
		h.succeed()
		a.log.Info("launched", "tenant", h.key.tenant, "job", h.key.job, "version", task.Version, "parallelism", job.Parallelism, "why", act.Why)
	}
	a.tell(ctx, h)
}

// rescale changes the parallelism of what runs.
func (a *Agent) rescale(ctx context.Context, h *holding, act Action) {
	job, ok := act.View.Record.Spec.(spec.Job)
	if !ok || !a.trusted(h) {
		return
	}
	task := h.task
	task.Job, task.Version, task.GID = job, act.View.Record.Version, act.GID
	if err := h.copy.Rescale(ctx, task); err != nil {
		h.fail(act, "rescale", err)
		a.log.Warn("rescale", "tenant", h.key.tenant, "job", h.key.job, "version", task.Version, "attempt", h.failures, "err", err)
	} else {
		a.adopt(h, act)
		h.succeed()
		a.log.Info("rescaled", "tenant", h.key.tenant, "job", h.key.job, "version", task.Version, "parallelism", job.Parallelism)
	}
	a.tell(ctx, h)
}

// adopt notes that what runs is act's version.
func (a *Agent) adopt(h *holding, act Action) {
	if job, ok := act.View.Record.Spec.(spec.Job); ok {
		h.task.Job = job
	}
	h.task.Version, h.hash = act.View.Record.Version, act.View.Record.SpecHash
}

// halt stops the copy, if there is one.
func (a *Agent) halt(ctx context.Context, h *holding, act Action) bool {
	if h.copy == nil {
		return true
	}
	if err := h.copy.Stop(ctx); err != nil {
		h.fail(act, "stop", err)
		a.log.Warn("stop", "tenant", h.key.tenant, "job", h.key.job, "attempt", h.failures, "err", err)
		a.tell(ctx, h)
		return false
	}
	h.copy = nil
	a.log.Info("stopped", "tenant", h.key.tenant, "job", h.key.job, "version", h.task.Version, "why", act.Why)
	return true
}

// yield reports that nothing runs here any more and gives the claim back. What
// fails is done again by the next pass.
func (a *Agent) yield(ctx context.Context, h *holding, state spec.State, detail string) {
	err := a.send(ctx, spec.Report{Tenant: h.key.tenant, Job: h.key.job, Claim: h.lease, State: state, Detail: detail})
	if err == nil || errors.Is(err, spec.ErrNotFound) {
		cctx, cancel := a.call(ctx)
		err = a.store.ReleaseClaim(cctx, h.key.tenant, h.key.job, h.lease)
		cancel()
	}
	if err == nil || errors.Is(err, spec.ErrLost) || errors.Is(err, spec.ErrNotFound) {
		h.gone = true
		return
	}
	h.heard(err)
	a.log.Warn("hand back", "tenant", h.key.tenant, "job", h.key.job, "err", err)
}

// tell reports what is seen, if there is anything to say.
func (a *Agent) tell(ctx context.Context, h *holding) {
	r := h.seen()
	if r.State == spec.PendingDeploy || ctx.Err() != nil {
		return
	}
	switch err := a.send(ctx, r); {
	case err == nil:
		h.told = r
		h.heard(nil)
	case errors.Is(err, spec.ErrLost):
		a.contest(ctx, h)
	default:
		h.heard(err)
		a.log.Warn("report", "tenant", h.key.tenant, "job", h.key.job, "state", r.State, "err", err)
	}
}

func (a *Agent) send(ctx context.Context, r spec.Report) error {
	cctx, cancel := a.call(ctx)
	defer cancel()
	return a.store.Report(cctx, r)
}

func (a *Agent) isStopping() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopping
}

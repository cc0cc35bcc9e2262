package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
)

const (
	firstWait = time.Second // after a step that failed once
	maxWait   = time.Minute // after one that keeps failing
	// maxMuted bounds the wait after reports that were not heard.
	maxMuted = 10 * time.Second
	// maxRefused bounds the wait after refused claims: others may let go at any time.
	maxRefused = 15 * time.Second
)

// holding is one job that this agent has claimed, or is about to. While busy
// is set, the step's goroutine alone changes it, with Agent.mu held for lease,
// asked and over, which the keeper reads; else Agent.mu guards all.
type holding struct {
	key    jobKey
	busy   bool
	cancel context.CancelFunc // of the step under way
	idle   chan struct{}      // closed when that step has ended
	lease  spec.Lease         // zero until the claim is given
	asked  time.Time          // when the lease in force was asked for
	over   *ending            // the claim is no longer to be relied on
	ending bool               // the copy is being, or was to be, ended for that; the keeper tries again

	copy     runner.Running // nil = nothing runs
	task     runner.Task    // what was launched last
	hash     string
	restart  int64
	told     spec.Report
	failure  string // the step that failed last and why; empty = none
	failures int64  // in a row
	tried    Tried
	retryAt  time.Time
	unheard  int64     // calls in a row that the store did not answer
	muted    time.Time // no step before, for that reason
	awaits   bool      // no step before the claim is renewed
	gone     bool      // to be forgotten when the step ends
}

// ending says why and until when a copy must be gone.
type ending struct {
	why      string
	deadline time.Time // by force from then on
}

// seen is what there is to report of h.
func (h holding) seen() spec.Report {
	r := spec.Report{Tenant: h.key.tenant, Job: h.key.job, Claim: h.lease, State: spec.PendingDeploy, Attempt: h.failures}
	if h.copy != nil {
		health := h.copy.Health()
		r.State, r.Detail = health.State, health.Detail
		r.Attempt = max(r.Attempt, health.Attempt)
		r.RunningVersion, r.RunningHash = h.task.Version, h.hash
	}
	if h.failure != "" {
		r.State, r.Detail = spec.Failed, h.failure
	}
	return r
}

// value is h as Plan sees it. It asks the launcher: Agent.mu must not be held.
func (h holding) value(now time.Time) Held {
	return Held{
		Lease: h.lease, Copy: h.copy != nil, Job: h.task.Job, Version: h.task.Version, Hash: h.hash, Restart: h.restart,
		Seen: h.seen(), Told: h.told, Tried: h.tried, Waiting: h.failure != "" && now.Before(h.retryAt),
	}
}

// fail notes that a step did not succeed; it is due again after a while.
func (h *holding) fail(act Action, step string, err error) {
	h.failures++
	version := act.View.Record.Version
	if version == 0 || step == string(Stop) {
		version = h.task.Version
	}
	h.failure = fmt.Sprintf("%s v%d: %v", step, version, err)
	h.tried = Tried{act.Verb, act.View.Record.Version, act.View.Restart}
	if act.Verb == Claim || act.Verb == Relaunch && h.copy == nil {
		h.tried.Verb = Launch // that is what comes next
	}
	h.retryAt = time.Now().Add(jittered(firstWait, maxWait, h.failures))
}

// succeed forgets earlier failures.
func (h *holding) succeed() { h.failure, h.failures, h.tried, h.retryAt = "", 0, Tried{}, time.Time{} }

// heard notes whether the store answered; if not, it is left alone for a while.
func (h *holding) heard(err error) {
	if err == nil {
		h.unheard, h.muted = 0, time.Time{}
		return
	}
	h.unheard++
	h.muted = time.Now().Add(jittered(firstWait, maxMuted, h.unheard))
}

// jittered doubles first for each time after the first one, up to limit, ±10 %.
func jittered(first, limit time.Duration, times int64) time.Duration {
	d := first
	for i := int64(1); i < times && d < limit; i++ {
		d *= 2
	}
	return time.Duration(float64(min(d, limit)) * (0.9 + 0.2*rand.Float64()))
}

// elapsed is the time since t by the clock that says more: one of them stands
// still while a machine sleeps.
func elapsed(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// trusted tells whether h's claim surely still stands; if not, h waits until it
// is renewed.
func (a *Agent) trusted(h *holding) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	h.awaits = elapsed(h.asked) >= a.cfg.Lease-a.cfg.Lease/10
	return h.over == nil && !h.awaits
}

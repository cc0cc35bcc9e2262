package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// keep renews claims and ends copies whose claim is lost or could be taken
// over, until ctx ends. Passes may hang on the store; this must not.
func (a *Agent) keep(ctx context.Context) {
	tick := time.NewTicker(a.cfg.Lease / 15)
	defer tick.Stop()
	var renewed time.Time
	quiet := make(map[string]bool) // tenants whose renewal fails, logged once
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// a clock that jumped looks like a lapse: ask before ending anything
		if time.Since(renewed) >= a.cfg.Lease/3 || a.lapsing() {
			renewed = time.Now()
			a.renew(ctx, quiet)
		}
		a.endLapsed()
	}
}

// renew extends all claims, some tenants at a time.
func (a *Agent) renew(ctx context.Context, quiet map[string]bool) {
	claims := a.claims()
	var mu sync.Mutex
	var wg sync.WaitGroup
	free := make(chan struct{}, readers)
	for tenant, held := range claims {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			err := a.renewSome(ctx, tenant, held)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && !quiet[tenant] {
				a.log.Warn("claims cannot be renewed; jobs run on", "tenant", tenant, "jobs", len(held), "err", err)
			} else if err == nil && quiet[tenant] {
				a.log.Info("claims are renewed again", "tenant", tenant)
			}
			quiet[tenant] = err != nil
		})
	}
	wg.Wait()
	for tenant := range quiet {
		if claims[tenant] == nil {
			delete(quiet, tenant)
		}
	}
}

// renewSome extends claims of one tenant and ends what is lost.
func (a *Agent) renewSome(ctx context.Context, tenant string, held map[string]spec.Lease) error {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Lease/6)
	defer cancel()
	lost, err := a.store.RenewClaims(ctx, tenant, held)
	a.mu.Lock()
	defer a.mu.Unlock()
	again := false
	for job, lease := range held {
		h := a.held[jobKey{tenant, job}]
		if h == nil || h.lease != lease {
			continue // it is another claim by now
		}
		switch {
		case slices.Contains(lost, job):
			a.finish(h, &ending{why: "claim lost", deadline: asked})
		case err == nil && asked.After(h.asked):
			h.asked = asked
			if h.awaits {
				h.awaits = false
				again = true
			}
		}
	}
	if again {
		a.kicked[tenant] = true
		a.loop.Kick()
	}
	return err
}

// claims lists what is to be renewed, by tenant.
func (a *Agent) claims() map[string]map[string]spec.Lease {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make(map[string]map[string]spec.Lease)
	for k, h := range a.held {
		if h.lease.Generation == 0 || h.over != nil {
			continue
		}
		if out[k.tenant] == nil {
			out[k.tenant] = make(map[string]spec.Lease)
		}
		out[k.tenant][k.job] = h.lease
	}
	return out
}

// contest asks about a claim that a report was refused for. A store that was
// emptied knows no claim until it is renewed; only then is it lost.
func (a *Agent) contest(ctx context.Context, h *holding) {
	err := a.renewSome(ctx, h.key.tenant, map[string]spec.Lease{h.key.job: h.lease})
	if err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finish(h, &ending{why: "claim lost", deadline: time.Now()})
}

// limits gives when a lapsed copy is asked to stop, and when it is killed, as
// times since its claim was asked for: it is gone before others may take over.
// The stop begins a grace and a third of a lease early, but not while renewals
// are still due.
func (a *Agent) limits() (ask, kill time.Duration) {
	end := a.cfg.Lease + a.cfg.TakeoverAfter
	ask = max(end-a.cfg.Grace-a.cfg.Lease/3, min(end, a.cfg.Lease)-a.cfg.Lease/3)
	return ask, end - a.cfg.Lease/15
}

// lapsing tells whether a copy would have to be stopped.
func (a *Agent) lapsing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	ask, _ := a.limits()
	for _, h := range a.held {
		if a.cfg.TakeoverAfter > 0 && h.over == nil && h.lease.Generation > 0 && elapsed(h.asked) >= ask {
			return true
		}
	}
	return false
}

// endLapsed stops what others may take over soon, and tries again what could
// not be ended before.
func (a *Agent) endLapsed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	ask, kill := a.limits()
	for _, h := range a.held {
		switch {
		case h.over != nil:
			a.finish(h, h.over)
		case a.cfg.TakeoverAfter > 0 && h.lease.Generation > 0 && elapsed(h.asked) >= ask:
			a.finish(h, &ending{why: "the store is away, and others may take it over", deadline: time.Now().Add(kill - elapsed(h.asked))})
		}
	}
}

// finish ends a copy whose claim cannot be relied on, and reports nothing: at
// once, or right after the step under way, which is cut off. Agent.mu is held.
func (a *Agent) finish(h *holding, why *ending) {
	sooner := h.over == nil || why.deadline.Before(h.over.deadline)
	if sooner {
		h.over = why
	}
	if h.busy {
		if sooner {
			h.cancel() // a stop under way uses force from now on
		}
		return
	}
	over := *h.over
	ctx, cancel := context.WithDeadline(a.base, over.deadline)
	a.occupy(h, cancel)
	h.ending = true
	a.steps.Go(func() {
		defer a.done(h)
		defer cancel()
		log := a.log.With("tenant", h.key.tenant, "job", h.key.job, "why", over.why)
		if h.copy != nil {
			if err := h.copy.Stop(ctx); err != nil {
				log.Error("what runs without a claim cannot be stopped", "err", err)
				return
			}
			h.copy = nil
		}
		h.gone = true
		log.Warn("stopped and let go")
	})
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// patience is how long after the grace a shutdown waits for launchers that were
// told to use force, and for the store to hear of it.
const patience = 20 * time.Second

// shutdown stops all copies at the same time and hands their jobs back, so that
// another agent can take them at once.
func (a *Agent) shutdown(ctx context.Context) error {
	a.mu.Lock()
	a.stopping = true
	var all []*holding
	for _, h := range a.held {
		all = append(all, h)
	}
	a.mu.Unlock()
	hard, cancel := context.WithTimeout(ctx, a.cfg.Grace+patience)
	defer cancel()
	soft, cancel := context.WithTimeout(hard, a.cfg.Grace+time.Second)
	defer cancel()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, h := range all {
		wg.Go(func() { errs[i] = a.leave(soft, hard, h) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// leave ends one job: politely until soft ends, by force until hard does.
func (a *Agent) leave(soft, hard context.Context, h *holding) error {
	for tries := 0; ; tries++ {
		a.mu.Lock()
		idle := h.idle
		switch {
		case a.held[h.key] != h:
			a.mu.Unlock()
			return nil
		case hard.Err() != nil || tries > 4:
			a.mu.Unlock()
			return fmt.Errorf("%s/%s could not be stopped and handed back: its claim lapses by itself", h.key.tenant, h.key.job)
		case !h.busy && h.over != nil:
			a.finish(h, h.over)
			idle = h.idle
		case !h.busy:
			ctx, cancel := context.WithCancel(context.WithoutCancel(hard))
			a.occupy(h, cancel)
			idle = h.idle
			a.steps.Go(func() {
				defer a.done(h)
				defer cancel()
				if act := (Action{Verb: HandBack, Why: "agent stops"}); a.halt(ctx, h, act) {
					a.yield(hard, h, spec.PendingDeploy, act.Why)
				}
			})
		}
		cut := h.cancel
		a.mu.Unlock()
		select {
		case <-idle:
			continue
		case <-soft.Done():
			cut() // no more asking
		}
		select {
		case <-idle:
		case <-hard.Done():
		}
	}
}

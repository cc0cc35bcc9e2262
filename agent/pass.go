package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// readers bounds the tenants that are read at the same time.
const readers = 8

// defaultTenant is looked at even where no list of tenants names it.
const defaultTenant = "default"

// pass looks at the tenants that were kicked, or at all when that is due, and
// begins the steps that Plan asks for; it waits for none of them.
func (a *Agent) pass(ctx context.Context) error {
	mark, tenants, full := a.begin()
	if full {
		var err error
		if tenants, err = a.tenants(ctx, tenants); err != nil {
			a.owe("")
			return fmt.Errorf("tenants: %w", err)
		}
	}
	snaps, err := a.snapshots(ctx, tenants)
	for _, tenant := range tenants {
		snap, ok := snaps[tenant]
		if !ok {
			a.owe(tenant)
			continue
		}
		for _, act := range Plan(a.view(snap, mark)) {
			if !a.take(ctx, act) {
				a.owe(tenant) // no slot is free; the step that ends next kicks
			}
		}
	}
	if full && err == nil {
		a.prune(mark)
	}
	return err
}

// begin gives the moment that snapshots of this pass are not older than, and
// what to look at.
func (a *Agent) begin() (mark uint64, tenants []string, full bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	full = len(a.kicked) == 0 || a.kicked[""] || time.Since(a.lastFull) >= a.cfg.Every
	if full {
		a.lastFull = time.Now()
	}
	for _, t := range slices.Sorted(maps.Keys(a.kicked)) {
		if a.serves(t) {
			tenants = append(tenants, t)
		}
	}
	clear(a.kicked)
	return a.seq, tenants, full
}

// owe has the next pass look at a tenant, without kicking for it.
func (a *Agent) owe(tenant string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kicked[tenant] = true
}

// tenants lists what this agent serves: what the store has, default, what was
// kicked, what its configuration names, and whatever it holds a job of.
func (a *Agent) tenants(ctx context.Context, kicked []string) ([]string, error) {
	ctx, cancel := a.call(ctx)
	defer cancel()
	known, err := a.store.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{defaultTenant: true}
	for _, t := range slices.Concat(known, kicked, a.cfg.Tenants) {
		all[t] = true
	}
	a.mu.Lock()
	for k := range a.held {
		all[k.tenant] = true
	}
	a.mu.Unlock()
	maps.DeleteFunc(all, func(t string, _ bool) bool { return !a.serves(t) })
	return slices.Sorted(maps.Keys(all)), nil
}

func (a *Agent) serves(tenant string) bool {
	return spec.CheckTenant(tenant) == nil && slices.ContainsFunc(a.cfg.Tenants, func(glob string) bool {
		ok, err := path.Match(glob, tenant)
		return err == nil && ok
	})
}

// snapshots reads some tenants at a time. One that cannot be read keeps the
// others from nothing.
func (a *Agent) snapshots(ctx context.Context, tenants []string) (map[string]spec.Snapshot, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	snaps := make(map[string]spec.Snapshot, len(tenants))
	errs := make([]error, len(tenants))
	free := make(chan struct{}, readers)
	for i, tenant := range tenants {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			ctx, cancel := a.call(ctx)
			defer cancel()
			snap, err := a.store.Snapshot(ctx, tenant)
			if err != nil {
				errs[i] = fmt.Errorf("tenant %s: snapshot: %w", tenant, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			snap.Tenant = tenant
			snaps[tenant] = snap
		})
	}
	wg.Wait()
	return snaps, errors.Join(errs...)
}

// view is what Plan decides on for one tenant.
func (a *Agent) view(snap spec.Snapshot, mark uint64) View {
	a.mu.Lock()
	now := time.Now()
	v := View{
		Snapshot: snap, Owner: a.cfg.Owner, Held: map[string]Held{}, Skip: map[string]bool{}, Refused: map[string]bool{},
		Factories: a.offers, Room: a.cfg.Capacity - len(a.held), TakeoverAfter: a.cfg.TakeoverAfter,
		Unsettled: a.unsettled(snap, now),
	}
	var idle []holding
	for k, h := range a.held {
		if k.tenant != snap.Tenant {
			continue
		}
		if h.busy || h.over != nil || h.awaits || now.Before(h.muted) {
			v.Skip[k.job] = true
			continue
		}
		idle = append(idle, *h)
	}
	for k, at := range a.touched {
		if k.tenant == snap.Tenant && at > mark {
			v.Skip[k.job] = true // the snapshot may be older than that step
		}
	}
	for k, r := range a.refused {
		if k.tenant == snap.Tenant && now.Before(r.until) {
			v.Refused[k.job] = true
		}
	}
	a.mu.Unlock()
	for _, h := range idle {
		v.Held[h.key.job] = h.value(now)
	}
	return v
}

// unsettled tells whether the store was filled anew a moment ago, as this agent
// saw it: whoever runs jobs gets the time of a lease to renew its claims first.
func (a *Agent) unsettled(snap spec.Snapshot, now time.Time) bool {
	id, was := snap.Cursor.Epoch, a.epochs[snap.Tenant]
	if id != "" && id != was.id {
		next := epoch{id: id}
		if was.id != "" {
			next.settled = now.Add(a.cfg.Lease)
		}
		a.epochs[snap.Tenant] = next
	}
	return now.Before(a.epochs[snap.Tenant].settled)
}

// prune forgets what no later pass asks for.
func (a *Agent) prune(mark uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.touched, func(_ jobKey, at uint64) bool { return at <= mark })
	now := time.Now()
	maps.DeleteFunc(a.refused, func(_ jobKey, r refusal) bool { return now.Sub(r.until) > maxRefused })
}

package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/spec"
)

var agents = map[string]func(*testing.T, *hand){
	"of parallel claimers exactly one gets the job":                         parallelClaims,
	"a claim needs the version, and a job that is to run":                   claimConditions,
	"a lapsed claim is taken over only after takeoverAfter":                 takeover,
	"after a takeover the old claim changes nothing":                        staleClaim,
	"a job that a foreign instance runs or launches is not touched":         foreignInstance,
	"an owner that claims again fences its earlier self":                    claimAgain,
	"a renewal names what is lost, and puts back what a flush took":         renewals,
	"a released claim is free at once and its generation is not used again": released,
	"a report never changes what is desired":                                reportDesired,
	"a report without news is no row, and since stays":                      reportNews,
	"a reset job waits until the old claim is released":                     resetWaits,
	"a snapshot holds cursor, clock, jobs, statuses and leases":             snapshot,
	"whoever subscribes is told of changes":                                 subscribe,
}

func (h *hand) claim(name string, version int64, owner string, ttl, takeoverAfter time.Duration) (spec.Lease, error) {
	return h.Claim(h.ctx(), tenant, name, version, owner, ttl, takeoverAfter)
}

func parallelClaims(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := h.claim("orders", 1, "agent-"+string(rune('a'+i)), time.Minute, time.Minute)
			if err == nil {
				won.Add(1)
			} else if !isTaken(err) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
}

func claimConditions(t *testing.T, h *hand) {
	_, err := h.claim("ghost", 1, "agent-1", time.Minute, 0)
	require.ErrorIs(t, err, spec.ErrNotFound)
	h.apply(submitted(job("orders", 1)))
	var conflict *spec.ConflictError
	_, err = h.claim("orders", 2, "agent-1", time.Minute, 0)
	require.ErrorAs(t, err, &conflict)
	require.NoError(t, h.Stop(t.Context(), tenant, "alice", "orders"))
	_, err = h.claim("orders", 1, "agent-1", time.Minute, 0)
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, "DESIRED_STOPPED", conflict.Have)
	for _, ttl := range []time.Duration{0, -1, 25 * time.Hour} {
		_, err = h.claim("orders", 1, "agent-1", ttl, 0)
		require.ErrorContains(t, err, "ttl")
	}
	_, err = h.claim("orders", 1, "", time.Minute, 0)
	require.ErrorContains(t, err, "owner")
}

// lapse makes a job that dead-agent claimed and whose claim ran out.
func (h *hand) lapse(name string) spec.Lease {
	h.t.Helper()
	h.apply(submitted(job(name, 1)))
	lease, err := h.claim(name, 1, "dead-agent", 5*time.Millisecond, 0)
	require.NoError(h.t, err)
	require.NoError(h.t, h.Report(h.ctx(), spec.Report{Tenant: tenant, Job: name, Claim: lease, State: spec.Running, RunningVersion: 1}))
	h.waitPast(lease.Until + 5)
	return lease
}

func takeover(t *testing.T, h *hand) {
	old := h.lapse("orders")
	snap, err := h.Snapshot(t.Context(), tenant)
	require.NoError(t, err)
	require.True(t, snap.Jobs[0].Lapsed(snap.Now))
	_, err = h.claim("orders", 1, "agent-2", time.Minute, 0)
	require.ErrorIs(t, err, spec.ErrTaken, "0 = never")
	_, err = h.claim("orders", 1, "agent-2", time.Minute, time.Hour)
	require.ErrorIs(t, err, spec.ErrTaken, "too early")
	lease, err := h.claim("orders", 1, "agent-2", time.Minute, time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, old.Generation+1, lease.Generation)
}

func staleClaim(t *testing.T, h *hand) {
	old := h.lapse("orders")
	fresh, err := h.claim("orders", 1, "agent-2", time.Minute, time.Millisecond)
	require.NoError(t, err)
	before := h.dump()
	for _, stale := range []spec.Lease{old, {Owner: "agent-2", Generation: old.Generation, TTL: 1000}, {Owner: "dead-agent", Generation: fresh.Generation, TTL: 1000}} {
		err := h.Report(t.Context(), spec.Report{Tenant: tenant, Job: "orders", Claim: stale, State: spec.Failed, Detail: "stale"})
		require.ErrorIs(t, err, spec.ErrLost)
		require.ErrorIs(t, h.ReleaseClaim(t.Context(), tenant, "orders", stale), spec.ErrLost)
		stale.TTL = 1000
		lost, err := h.RenewClaims(t.Context(), tenant, map[string]spec.Lease{"orders": stale})
		require.NoError(t, err)
		require.Equal(t, []string{"orders"}, lost)
	}
	equal(t, before, h.dump())
	require.NoError(t, h.Report(t.Context(), spec.Report{Tenant: tenant, Job: "orders", Claim: fresh, State: spec.Running, RunningVersion: 1}))
}

func foreignInstance(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	ctx, rdb := t.Context(), h.world.RDB
	require.NoError(t, rdb.Set(ctx, h.key("claim:acme:orders"), "java-1", time.Minute).Err())
	_, err := h.claim("orders", 1, "agent-1", time.Minute, time.Millisecond)
	require.ErrorIs(t, err, spec.ErrTaken)
	require.ErrorContains(t, err, "launches it")
	require.NoError(t, rdb.Del(ctx, h.key("claim:acme:orders")).Err())

	require.NoError(t, rdb.HSet(ctx, h.key("status:acme:orders"), "state", "RUNNING", "instanceId", "java-1", "updatedAt", "1").Err())
	_, err = h.claim("orders", 1, "agent-1", time.Minute, time.Millisecond)
	require.ErrorIs(t, err, spec.ErrTaken)
	require.ErrorContains(t, err, "java-1")
	require.NoError(t, rdb.HSet(ctx, h.key("status:acme:orders"), "state", "PENDING_DEPLOY").Err())
	_, err = h.claim("orders", 1, "agent-1", time.Minute, time.Millisecond)
	require.ErrorIs(t, err, spec.ErrTaken)

	require.NoError(t, rdb.HSet(ctx, h.key("status:acme:orders"), "state", "FAILED", "instanceId", "").Err())
	lease, err := h.claim("orders", 1, "agent-1", time.Minute, time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, "agent-1", rdb.Get(ctx, h.key("claim:acme:orders")).Val(), "the Java agents' key is ours around the launch")
	require.Positive(t, rdb.PTTL(ctx, h.key("claim:acme:orders")).Val())
	require.NoError(t, h.Report(ctx, spec.Report{Tenant: tenant, Job: "orders", Claim: lease, State: spec.Running, RunningVersion: 1}))
	require.Zero(t, rdb.Exists(ctx, h.key("claim:acme:orders")).Val(), "and given back when it is launched")
}

func claimAgain(t *testing.T, h *hand) {
	first := h.running("orders")
	second, err := h.claim("orders", 1, "agent-1", time.Minute, 0)
	require.NoError(t, err)
	require.Equal(t, first.Generation+1, second.Generation)
	require.ErrorIs(t, h.Report(t.Context(), spec.Report{Tenant: tenant, Job: "orders", Claim: first, State: spec.Running}), spec.ErrLost)
}

func renewals(t *testing.T, h *hand) {
	held := map[string]spec.Lease{}
	for _, name := range []string{"a", "b", "c"} {
		held[name] = h.running(name)
	}
	require.NoError(t, h.ReleaseClaim(t.Context(), tenant, "b", held["b"]))
	_, err := h.claim("b", 1, "agent-2", time.Minute, 0)
	require.NoError(t, err)
	require.NoError(t, h.world.RDB.Del(t.Context(), h.own("joblease:c")).Err())
	lost, err := h.RenewClaims(t.Context(), tenant, held)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, lost)
	v, err := h.Get(t.Context(), tenant, "c")
	require.NoError(t, err)
	require.Equal(t, held["c"].Generation, v.Lease.Generation)
	require.Greater(t, v.Lease.Until, int64(0))
	lost, err = h.RenewClaims(t.Context(), tenant, nil)
	require.NoError(t, err)
	require.Empty(t, lost)
}

func released(t *testing.T, h *hand) {
	lease := h.running("orders")
	require.NoError(t, h.ReleaseClaim(t.Context(), tenant, "orders", lease))
	st := h.status("orders")
	require.Equal(t, spec.PendingDeploy, st.State)
	require.Empty(t, st.InstanceID)
	require.Equal(t, "PENDING_DEPLOY: handed back", h.lastRow().Detail)
	n := len(h.rows())
	require.NoError(t, h.ReleaseClaim(t.Context(), tenant, "orders", lease))
	require.Len(t, h.rows(), n, "released twice is released once")
	next, err := h.claim("orders", 1, "agent-2", time.Minute, 0)
	require.NoError(t, err)
	require.Equal(t, lease.Generation+1, next.Generation)
}

func reportDesired(t *testing.T, h *hand) {
	lease := h.running("orders")
	report := func(state spec.State, version int64) spec.Status {
		t.Helper()
		require.NoError(t, h.Report(t.Context(), spec.Report{Tenant: tenant, Job: "orders", Claim: lease, State: state, RunningVersion: version}))
		return h.status("orders")
	}
	require.NoError(t, h.Stop(t.Context(), tenant, "alice", "orders"))
	st := report(spec.Running, 1)
	require.Equal(t, spec.DesiredStopped, st.State, "a stop stays")
	require.EqualValues(t, 1, st.RunningVersion)
	st = report(spec.DesiredStopped, 0)
	require.Equal(t, spec.DesiredStopped, st.State)
	require.Empty(t, st.InstanceID)
	require.NoError(t, h.Resume(t.Context(), tenant, "alice", "orders"))
	st = report(spec.DesiredStopped, 0)
	require.Equal(t, spec.PendingDeploy, st.State, "a start stays")
	require.Empty(t, st.InstanceID)
	h.apply(removal(1, job("orders", 1).Key()))
	require.Equal(t, spec.DesiredStopped, report(spec.Running, 1).State, "what is gone is to be stopped")
	require.ErrorContains(t, h.Report(t.Context(), spec.Report{Tenant: tenant, Job: "orders", Claim: lease, State: "SLEEPING"}), "no such state")
}

func reportNews(t *testing.T, h *hand) {
	lease := h.running("orders")
	first, n := h.status("orders"), len(h.rows())
	require.NotZero(t, first.Since)
	require.Equal(t, "RUNNING", h.lastRow().Detail)
	require.Equal(t, spec.KindWorker, h.lastRow().Kind)
	r := spec.Report{Tenant: tenant, Job: "orders", Claim: lease, State: spec.Running, RunningVersion: 1, RunningHash: "h", Attempt: 1}
	h.waitPast(first.Since)
	require.NoError(t, h.Report(t.Context(), r))
	require.Len(t, h.rows(), n)
	require.Equal(t, first.Since, h.status("orders").Since)
	r.RunningVersion = 2
	require.NoError(t, h.Report(t.Context(), r))
	require.Greater(t, h.status("orders").Since, first.Since)
	r.State, r.Detail = spec.Failed, "exit status 3"
	require.NoError(t, h.Report(t.Context(), r))
	require.Len(t, h.rows(), n+2)
	require.Equal(t, "FAILED: exit status 3", h.lastRow().Detail)
	st := h.status("orders")
	require.Equal(t, lease.Generation, st.Generation)
	require.Equal(t, "h", st.RunningHash)
	require.EqualValues(t, 1, st.Attempt)
}

func resetWaits(t *testing.T, h *hand) {
	lease := h.running("orders")
	h.apply(removal(1, job("orders", 1).Key()))
	h.apply(item(spec.OpSubmit, 1, job("orders", 2), spec.WantRunning))
	_, err := h.claim("orders", 2, "agent-2", time.Minute, time.Millisecond)
	require.ErrorIs(t, err, spec.ErrTaken, "agent-1 may still run version 1")
	require.NoError(t, h.ReleaseClaim(t.Context(), tenant, "orders", lease))
	_, err = h.claim("orders", 2, "agent-2", time.Minute, time.Millisecond)
	require.NoError(t, err)
}

func snapshot(t *testing.T, h *hand) {
	lease := h.running("b")
	h.apply(submitted(job("a", 1)))
	snap, err := h.Snapshot(t.Context(), tenant)
	require.NoError(t, err)
	require.NotZero(t, snap.Now)
	require.Equal(t, spec.Synced, snap.Cursor.State)
	require.Len(t, snap.Jobs, 2)
	require.Equal(t, "a", snap.Jobs[0].Record.Key.Name, "by name")
	require.Equal(t, spec.Running, snap.Jobs[1].Status.State)
	require.Equal(t, lease.Owner, snap.Jobs[1].Lease.Owner)
	require.False(t, snap.Jobs[1].Lapsed(snap.Now))
	empty, err := h.Snapshot(t.Context(), "nobody")
	require.NoError(t, err)
	require.Empty(t, empty.Jobs)
	require.Empty(t, empty.Cursor.Applied)

	require.NoError(t, h.world.RDB.HSet(t.Context(), h.key("acme:jobs"), "broken", "{").Err())
	snap, err = h.Snapshot(t.Context(), tenant)
	require.NoError(t, err, "one broken record blinds nobody")
	require.Len(t, snap.Jobs, 3)
	require.Nil(t, snap.Jobs[2].Record.Spec)
}

func subscribe(t *testing.T, h *hand) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	kicks := make(chan string, 100)
	done := make(chan error, 1)
	go func() { done <- h.Subscribe(ctx, func(tenant string) { kicks <- tenant }) }()
	require.Equal(t, "", <-kicks, "at the start anything may have changed")
	before, err := h.Rev(t.Context(), tenant)
	require.NoError(t, err)
	h.apply(submitted(job("orders", 1)))
	require.Equal(t, tenant, <-kicks)
	after, err := h.Rev(t.Context(), tenant)
	require.NoError(t, err)
	require.Greater(t, after, before)
	cancel()
	require.NoError(t, <-done)
}

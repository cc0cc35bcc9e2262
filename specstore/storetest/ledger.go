package storetest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

var ledger = map[string]func(*testing.T, *hand){
	"a commit writes specs, versions, statuses, origins, rows and the cursor at once": commitWritesAll,
	"the stored job is the byte-exact line of the Java contract":                      storedBytes,
	"a step applied twice is done once":                                               appliedTwice,
	"a step from elsewhere is a conflict and writes nothing":                          cursorConflict,
	"a version that moved on is a conflict that names it and writes nothing":          versionConflict,
	"a fence refuses who lost the lease":                                              fenced,
	"a lease that ran out is lost although nobody took it":                            expired,
	"an owner keeps its generation until its lease runs out":                          generations,
	"history and origins keep to their caps and the digest index with them":           caps,
	"three hundred versions later the numbers are still numbers":                      manyVersions,
	"a removed spec keeps its number, and comes back one higher":                      removedAndBack,
	"a job that was not made from Git is not touched until it is adopted":             foreign,
	"a refused commit is one row for ever":                                            refusedOnce,
	"a lookalike is the latest version with a digest, up to a version":                lookalikes,
	"subscriptions are versions like jobs":                                            subscriptions,
	"a step that is too big or half right is refused before it is sent":               badSteps,
	"a cursor keeps all it was given, and since only moves with the state":            cursorFields,
}

func commitWritesAll(t *testing.T, h *hand) {
	cur := h.apply(submitted(job("orders", 1)), submitted(suspendedItem("paused")), submitted(sub("billing", "1.0.0")))
	require.Equal(t, spec.Synced, cur.State)
	require.NotEmpty(t, cur.Epoch)
	require.NotZero(t, cur.Since)

	v, err := h.Get(t.Context(), tenant, "orders")
	require.NoError(t, err)
	require.EqualValues(t, 1, v.Record.Version)
	require.Equal(t, "Dev One <dev@example.com>", v.Record.UpdatedBy)
	require.True(t, v.Record.Spec.Equal(job("orders", 1)))
	require.Equal(t, spec.PendingDeploy, v.Status.State)
	require.NotZero(t, v.Status.UpdatedAt)

	origins, err := h.Origins(t.Context(), tenant, job("orders", 1).Key())
	require.NoError(t, err)
	require.Len(t, origins, 1)
	require.Equal(t, spec.OpSubmit, origins[0].Op)
	require.NotZero(t, origins[0].AppliedAt)
	require.Len(t, h.rows(), 3)

	names, err := h.Tenants(t.Context())
	require.NoError(t, err)
	require.Contains(t, names, tenant)
}

func suspendedItem(name string) spec.Job { return suspended(job(name, 1)) }

func storedBytes(t *testing.T, h *hand) {
	j := spec.Job{Name: "orders", Factory: "kafka-to-redis", Parallelism: 4, Description: "处理订单 <&>\u2028",
		Config: map[string]string{"a": "1", "B": "3", "b": "2", "a.b": "4", "Ａ": "bmp", "😀": "smp", "q": "\"\\\n\x01"}}
	h.apply(submitted(j))
	raw := h.world.RDB.HGet(t.Context(), h.key("acme:jobs"), "orders").Val()
	require.Equal(t, `{"jobName":"orders","tenant":"acme","pipelineFactory":"kafka-to-redis","config":{"B":"3","a":"1","a.b":"4","b":"2",`+
		`"q":"\"\\\n\u0001","😀":"smp","Ａ":"bmp"},"parallelism":4,"version":1,"description":"处理订单 <&>`+"\u2028"+
		`","updatedBy":"Dev One <dev@example.com>","updatedAt":1700000000000,"specHash":"`+j.SpecHash(tenant)+`"}`, raw)
}

func appliedTwice(t *testing.T, h *hand) {
	cur, err := h.Cursor(t.Context(), tenant)
	require.NoError(t, err)
	step := spec.Step{Tenant: tenant, From: cur, To: cur.Arrived(h.nextCommit()), Items: []spec.Item{submitted(job("orders", 1))}}
	first, err := h.Apply(t.Context(), h.lease, step)
	require.NoError(t, err)
	before := h.dump()
	again, err := h.Apply(t.Context(), h.lease, step)
	require.NoError(t, err)
	require.Equal(t, first, again)
	equal(t, before, h.dump())
}

func cursorConflict(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	before := h.dump()
	_, err := h.Apply(t.Context(), h.lease, spec.Step{Tenant: tenant, To: spec.Cursor{}.Arrived(strings.Repeat("e", 40)),
		Items: []spec.Item{upgraded(1, job("orders", 2))}})
	var conflict *spec.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, tenant, conflict.What)
	equal(t, before, h.dump())
}

func versionConflict(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	before := h.dump()
	_, err := h.tryApply(h.nextCommit(), submitted(job("other", 1)), upgraded(7, job("orders", 2)))
	var conflict *spec.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, spec.ConflictError{What: "acme/orders", Want: "version 7", Have: "version 1"}, *conflict)
	equal(t, before, h.dump()) // other was not written either
}

func fenced(t *testing.T, h *hand) {
	old := h.lease
	require.NoError(t, h.Release(t.Context(), tenant, old))
	taken, err := h.Acquire(t.Context(), tenant, "syncer-2", time.Minute)
	require.NoError(t, err)
	require.Greater(t, taken.Generation, old.Generation)
	_, err = h.Acquire(t.Context(), tenant, "syncer-1", time.Minute)
	require.ErrorIs(t, err, spec.ErrTaken)
	before := h.dump()
	_, err = h.tryApply(h.nextCommit(), submitted(job("orders", 1)))
	require.ErrorIs(t, err, spec.ErrLost)
	_, err = h.Renew(t.Context(), tenant, old)
	require.ErrorIs(t, err, spec.ErrLost)
	require.ErrorIs(t, h.Release(t.Context(), tenant, old), spec.ErrLost)
	equal(t, before, h.dump())
}

func expired(t *testing.T, h *hand) {
	require.NoError(t, h.Release(t.Context(), tenant, h.lease))
	var err error
	h.lease, err = h.Acquire(t.Context(), tenant, "brief", time.Millisecond)
	require.NoError(t, err)
	h.waitPast(h.lease.Until)
	_, err = h.tryApply(h.nextCommit(), submitted(job("orders", 1)))
	require.ErrorIs(t, err, spec.ErrLost)
	require.ErrorContains(t, err, "ran out")
}

// waitPast polls the store's clock until it is after ms.
func (h *hand) waitPast(ms int64) {
	h.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		now, err := h.Now(h.ctx())
		require.NoError(h.t, err)
		if now > ms {
			return
		}
	}
	h.t.Fatalf("the store's clock does not reach %d", ms)
}

func generations(t *testing.T, h *hand) {
	again, err := h.Acquire(t.Context(), tenant, h.lease.Owner, time.Minute)
	require.NoError(t, err)
	require.Equal(t, h.lease.Generation, again.Generation)
	renewed, err := h.Renew(t.Context(), tenant, again)
	require.NoError(t, err)
	require.Equal(t, again.Generation, renewed.Generation)
	require.GreaterOrEqual(t, renewed.Until, again.Until)

	brief, err := h.Acquire(t.Context(), tenant, h.lease.Owner, time.Millisecond)
	require.NoError(t, err)
	h.waitPast(brief.Until)
	anew, err := h.Acquire(t.Context(), tenant, h.lease.Owner, time.Minute)
	require.NoError(t, err)
	require.Equal(t, h.lease.Generation+1, anew.Generation)
}

func caps(t *testing.T, h *hand) {
	h = h.with(func(c *specstore.Config) { c.HistoryCap, c.OriginCap = 3, 5 })
	k := job("orders", 1).Key()
	h.apply(submitted(job("orders", 1)))
	for n := int64(1); n < 9; n++ {
		h.apply(upgraded(n, job("orders", int(n)+1)))
	}
	past, err := h.History(t.Context(), tenant, k)
	require.NoError(t, err)
	require.Len(t, past, 3)
	require.EqualValues(t, 6, past[0].Version, "oldest first")
	origins, err := h.Origins(t.Context(), tenant, k)
	require.NoError(t, err)
	require.Len(t, origins, 5)
	require.EqualValues(t, 5, origins[0].Version)
	_, found, err := h.Lookalike(t.Context(), tenant, k, job("orders", 4).Digest())
	require.NoError(t, err)
	require.False(t, found, "version 4 is beyond the cap")
	o, found, err := h.Lookalike(t.Context(), tenant, k, job("orders", 5).Digest())
	require.NoError(t, err)
	require.True(t, found)
	require.EqualValues(t, 5, o.Version)
	fields := h.world.RDB.HLen(t.Context(), h.own("origins:orders")).Val()
	require.EqualValues(t, 5+5+3, fields, "five origins, five digests; owner, path and suspend")
	require.EqualValues(t, 5, h.world.RDB.HLen(t.Context(), h.own("applied:orders")).Val())
	_, err = h.Origin(t.Context(), tenant, k, 4)
	require.ErrorIs(t, err, spec.ErrNotFound)
}

func manyVersions(t *testing.T, h *hand) {
	k := job("orders", 1).Key()
	items := []spec.Item{submitted(job("orders", 1))}
	for n := int64(1); n < 300; n++ {
		items = append(items, upgraded(n, job("orders", int(n)+1)))
	}
	for i := range items { // as a fold, so that it is quick
		items[i].Newest = i == len(items)-1
		if i > 0 {
			was := items[i-1].Version
			items[i].Replaced = &spec.Record{Key: k, Spec: was.Spec, Version: was.Number, UpdatedBy: was.Origin.Actor, UpdatedAt: was.UpdatedAt}
		}
	}
	cur, err := h.Cursor(t.Context(), tenant)
	require.NoError(t, err)
	to := cur.Arrived(h.nextCommit())
	mid := cur
	mid.Target, mid.Step, mid.State = to.Applied, 1, spec.StateApplying
	cur, err = h.Apply(t.Context(), h.lease, spec.Step{Tenant: tenant, From: cur, To: mid, Items: items[:200]})
	require.NoError(t, err)
	_, err = h.Apply(t.Context(), h.lease, spec.Step{Tenant: tenant, From: cur, To: to, Items: items[200:]})
	require.NoError(t, err)
	require.EqualValues(t, 300, h.known(k).Last)
	o, found, err := h.Lookalike(t.Context(), tenant, k, job("orders", 3).Digest())
	require.NoError(t, err)
	require.True(t, found, "the content of version 3 is long out of the history")
	require.EqualValues(t, 3, o.Version)
	origins, err := h.Origins(t.Context(), tenant, k)
	require.NoError(t, err)
	for i, o := range origins {
		require.EqualValues(t, i+1, o.Version)
	}
}

func removedAndBack(t *testing.T, h *hand) {
	k := job("orders", 1).Key()
	h.apply(submitted(job("orders", 1)))
	h.apply(removal(1, k))
	known := h.known(k)
	require.Nil(t, known.Current)
	require.EqualValues(t, 1, known.Last)
	require.Equal(t, spec.DesiredStopped, h.status("orders").State)
	require.Equal(t, "1", h.world.RDB.HGet(t.Context(), h.own("tombstones"), "orders").Val())
	row := h.lastRow()
	require.Equal(t, spec.OpStop, row.Op)
	require.Equal(t, spec.Removed, row.Result)
	require.EqualValues(t, 1, row.From)
	require.Zero(t, row.To)

	h.apply(item(spec.OpRollback, 1, job("orders", 1), spec.WantRunning))
	require.EqualValues(t, 2, h.known(k).Current.Version)
	require.Equal(t, spec.PendingDeploy, h.status("orders").State)
	require.False(t, h.world.RDB.HExists(t.Context(), h.own("tombstones"), "orders").Val())
	past, err := h.History(t.Context(), tenant, k)
	require.NoError(t, err)
	require.Len(t, past, 1, "the removed version was pushed once, at its removal")
	origins, err := h.Origins(t.Context(), tenant, k)
	require.NoError(t, err)
	require.Len(t, origins, 3)
	require.Equal(t, []bool{false, true, false}, []bool{origins[0].Removal, origins[1].Removal, origins[2].Removal})
}

func foreign(t *testing.T, h *hand) {
	_, err := h.Submit(t.Context(), tenant, "alice", job("orders", 1))
	require.NoError(t, err)
	known := h.known(job("orders", 1).Key())
	require.True(t, known.Foreign)
	before := h.dump()
	_, err = h.tryApply(h.nextCommit(), upgraded(1, job("orders", 2)))
	require.ErrorIs(t, err, spec.ErrForeign)
	require.ErrorContains(t, err, "syncer adopt orders")
	equal(t, before, h.dump())

	require.NoError(t, h.Adopt(t.Context(), tenant, "alice", "orders"))
	known = h.known(job("orders", 1).Key())
	require.False(t, known.Foreign)
	require.True(t, known.Adopted)
	h.apply(upgraded(1, job("orders", 2)))
	known = h.known(job("orders", 1).Key())
	require.False(t, known.Adopted)
	require.Equal(t, "specs/orders.yaml", known.Path)
	require.ErrorIs(t, h.Adopt(t.Context(), tenant, "alice", "nothing"), spec.ErrNotFound)
}

func refusedOnce(t *testing.T, h *hand) {
	bad := h.nextCommit()
	refuse := func() {
		cur, err := h.Cursor(t.Context(), tenant)
		require.NoError(t, err)
		to := cur
		to.Seen, to.State, to.Refused = bad, spec.StateRefused, bad
		to.Findings = []spec.Finding{{Path: "a.yaml", Line: 3, Message: "unknown field"}}
		got, err := h.Apply(t.Context(), h.lease, spec.Step{Tenant: tenant, From: cur, To: to, Items: []spec.Item{{Refusal: &spec.AuditRow{
			Actor: dev.String(), Op: spec.OpReport, Job: "*", Detail: "a.yaml:3: unknown field", Result: spec.Refused, Commit: bad}}}})
		require.NoError(t, err)
		require.True(t, got.Same(to))
	}
	refuse()
	refuse()
	rows := h.rows()
	require.Len(t, rows, 1)
	require.Equal(t, spec.AuditRow{ID: rows[0].ID, TS: rows[0].TS, Tenant: tenant, Actor: dev.String(), Op: spec.OpReport, Job: "*",
		Detail: "a.yaml:3: unknown field", Kind: spec.KindGit, Result: spec.Refused, Commit: bad}, rows[0])
}

func lookalikes(t *testing.T, h *hand) {
	k := job("orders", 1).Key()
	h.apply(submitted(job("orders", 1)))
	h.apply(upgraded(1, job("orders", 2)))
	third := upgraded(2, job("orders", 1))
	third.Version.Origin.SameDigest = 1
	h.apply(third)
	digest := job("orders", 1).Digest()
	got, err := h.Lookalikes(t.Context(), tenant, []spec.Lookup{
		{Key: k, Digest: digest, Upto: math.MaxInt64}, {Key: k, Digest: digest, Upto: 2}, {Key: k, Digest: digest, Upto: 0},
		{Key: k, Digest: strings.Repeat("0", 64), Upto: 3}, {Key: job("never", 1).Key(), Digest: digest, Upto: 3}})
	require.NoError(t, err)
	var versions []string
	for _, o := range got {
		versions = append(versions, strconv.FormatInt(o.Version, 10))
	}
	require.Equal(t, []string{"3", "1", "0", "0", "0"}, versions)
}

func subscriptions(t *testing.T, h *hand) {
	k := sub("billing", "1").Key()
	h.apply(submitted(sub("billing", "1.0.0")))
	h.apply(upgraded(1, sub("billing", "1.1.0")))
	recs, err := h.Subscriptions(t.Context(), tenant)
	require.NoError(t, err)
	require.Len(t, recs, 1)
	require.True(t, recs[0].Spec.Equal(sub("billing", "1.1.0")))
	past, err := h.History(t.Context(), tenant, k)
	require.NoError(t, err)
	require.True(t, past[0].Spec.Equal(sub("billing", "1.0.0")))
	require.Equal(t, "subscription/billing", h.lastRow().Job)
	h.apply(removal(2, k))
	recs, err = h.Subscriptions(t.Context(), tenant)
	require.NoError(t, err)
	require.Empty(t, recs)
	_, err = h.Current(t.Context(), tenant, k)
	require.ErrorIs(t, err, spec.ErrNotFound)
	jobs, err := h.List(t.Context(), tenant)
	require.NoError(t, err)
	require.Empty(t, jobs, "a subscription is no job")
}

func badSteps(t *testing.T, h *hand) {
	var many []spec.Item
	for i := range specstore.MaxStepItems + 1 {
		many = append(many, submitted(job(fmt.Sprintf("job-%d", i), 1)))
	}
	wrongNumber := upgraded(3, job("orders", 1))
	wrongNumber.Version.Number = 9
	noOperation := submitted(job("orders", 1))
	noOperation.Version.Origin.Operation = ""
	for why, items := range map[string][]spec.Item{
		"split it":                  many,
		"cannot replace":            {wrongNumber},
		"no usable operation":       {noOperation},
		"its spec is of":            {{Version: &spec.Version{Key: spec.Key{Kind: spec.KindJob, Name: "a"}, Number: 1, Spec: job("b", 1)}}},
		"either a version":          {{}},
		"name \"UP\"":               {submitted(job("UP", 1))},
		"a whole commit is refused": {{Refusal: &spec.AuditRow{Result: spec.Healed, Commit: "c"}}},
		"version 0 cannot replace":  {removal(0, job("a", 1).Key())},
	} {
		_, err := h.tryApply(h.nextCommit(), items...)
		require.ErrorContains(t, err, why)
	}
	_, err := h.Apply(t.Context(), h.lease, spec.Step{Tenant: "history"})
	require.ErrorContains(t, err, "reserved")
	equal(t, map[string]string{}, h.dump())
}

func cursorFields(t *testing.T, h *hand) {
	first := h.apply()
	to := first
	to.Error, to.Errors, to.Specs, to.EnforceFrom, to.Pavilion, to.CID = "no route", 3, 42, strings.Repeat("a", 40), "NT:1", "X8FD"
	second, err := h.Apply(t.Context(), h.lease, spec.Step{Tenant: tenant, From: first, To: to})
	require.NoError(t, err)
	require.True(t, second.Same(to))
	require.Equal(t, first.Since, second.Since)
	require.Equal(t, first.Epoch, second.Epoch)
	h.waitPast(first.Since)
	to.State = spec.StateError
	third, err := h.Apply(t.Context(), h.lease, spec.Step{Tenant: tenant, From: second, To: to})
	require.NoError(t, err)
	require.Greater(t, third.Since, second.Since)
	read, err := h.Cursor(t.Context(), tenant)
	require.NoError(t, err)
	require.Equal(t, third, read)
	none, err := h.Cursor(t.Context(), "nobody")
	require.NoError(t, err)
	require.Equal(t, spec.Cursor{}, none)
	require.False(t, errors.Is(err, spec.ErrNotFound))
}

package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/spec"
)

var ranges = map[string]func(*testing.T, *hand){
	"a fold ends as commit by commit does":                           foldEqualsSteps,
	"a range taken up again is told what was there before it":        knownBefore,
	"a batch that is written again after a crash writes once":        batchAgain,
	"a fold whose newest version is an upgrade starts a new job":     foldStartsNewJob,
	"a fold remembers a stop that came before its newest version":    foldRemembersDesired,
	"a removal and a return within a fold push the old spec once":    foldRemoveReturn,
	"a removed spec within a fold that stays removed leaves nothing": foldRemoved,
}

// history is a story of a few specs: every op, removals and returns.
func history() []spec.Item {
	a, b := job("a", 1).Key(), job("b", 1).Key()
	return []spec.Item{
		submitted(job("a", 1)), submitted(suspended(job("b", 1))), upgraded(1, job("a", 2)), submitted(sub("s", "1")),
		upgraded(2, job("a", 3)), removal(3, a), item(spec.OpResume, 1, job("b", 1), spec.WantRunning), upgraded(1, sub("s", "2")),
		item(spec.OpSubmit, 3, job("a", 4), spec.WantRunning), removal(2, b), upgraded(4, job("a", 5)), submitted(job("c", 1)),
	}
}

// fold marks the newest version of each spec and gives the others what they replace.
func fold(items []spec.Item) []spec.Item {
	last := map[spec.Key]int{}
	for i := range items {
		v := items[i].Version
		if at, ok := last[v.Key]; ok {
			was := items[at].Version
			items[at].Newest = false
			if was.Spec != nil {
				items[i].Replaced = &spec.Record{Key: was.Key, Spec: was.Spec, Version: was.Number, UpdatedBy: was.Origin.Actor, UpdatedAt: was.UpdatedAt}
			}
		}
		last[v.Key] = i
	}
	return items
}

// batches writes items in steps of n towards one commit, from step `from` on.
func (h *hand) batches(items []spec.Item, n, from int, stop int) {
	h.t.Helper()
	target := fmt.Sprintf("%040x", 0xbeef)
	for i := from; i*n < len(items) && i != stop; i++ {
		cur, err := h.Cursor(h.ctx(), tenant)
		require.NoError(h.t, err)
		to := cur.Arrived(target)
		if (i+1)*n < len(items) {
			to = cur
			to.Target, to.Step, to.State = target, int64(i+1), spec.StateApplying
		}
		_, err = h.Apply(h.ctx(), h.lease, spec.Step{Tenant: tenant, From: cur, To: to, Items: items[i*n : min((i+1)*n, len(items))]})
		require.NoError(h.t, err)
	}
}

func foldEqualsSteps(t *testing.T, h *hand) {
	for _, it := range history() {
		h.apply(it)
	}
	want := h.dump()
	require.NotEmpty(t, want["history:acme:a"])
	delete(want, "status:acme:b") // it came and went within the fold: no agent ever saw it
	for n := 1; n <= 12; n++ {
		other := newHand(t, World{h.world.RDB, fmt.Sprintf("%d-%s", n, h.world.Prefix)}, nil)
		other.batches(fold(history()), n, 0, -1)
		t.Logf("in batches of %d", n)
		equal(t, want, other.dump())
	}
}

func knownBefore(t *testing.T, h *hand) {
	h.apply(submitted(job("a", 1)))
	h.apply(upgraded(1, job("a", 2)))
	a, b := job("a", 1).Key(), job("b", 1).Key()
	before := []spec.Known{h.known(a), h.known(b)}
	items := fold([]spec.Item{upgraded(2, job("a", 3)), submitted(job("b", 1)), upgraded(3, job("a", 4)), upgraded(1, job("b", 2))})
	h.batches(items, 1, 0, 3)
	require.Equal(t, before, []spec.Known{h.known(a), h.known(b)})
	rec, err := h.Current(t.Context(), tenant, a)
	require.NoError(t, err)
	require.EqualValues(t, 4, rec.Version, "what is there now is told to all others")
	h.batches(items, 1, 3, -1)
	require.EqualValues(t, 4, h.known(a).Current.Version)
	require.EqualValues(t, 2, h.known(b).Current.Version)
	require.Zero(t, h.world.RDB.Exists(t.Context(), h.own("range")).Val())
}

func batchAgain(t *testing.T, h *hand) {
	items := fold(history())
	h.batches(items, 5, 0, 1)
	cur, err := h.Cursor(t.Context(), tenant)
	require.NoError(t, err)
	require.EqualValues(t, 1, cur.Step)
	before := h.dump()
	// a syncer that did not see the reply sends the same step again
	_, err = h.Apply(t.Context(), h.lease, spec.Step{Tenant: tenant, To: cur, Items: items[:5]})
	require.NoError(t, err)
	equal(t, before, h.dump())
	// one that cut the batches otherwise sends items that are there already: they are skipped
	next := cur
	next.Step = 2
	_, err = h.Apply(t.Context(), h.lease, spec.Step{Tenant: tenant, From: cur, To: next, Items: items[:5]})
	require.NoError(t, err)
	equal(t, before, h.dump())
}

func foldStartsNewJob(t *testing.T, h *hand) {
	h.batches(fold([]spec.Item{submitted(job("a", 1)), upgraded(1, job("a", 2)),
		item(spec.OpSubmit, 0, suspended(job("b", 1)), spec.WantStopped), upgraded(1, suspended(job("b", 2)))}), 2, 0, -1)
	require.Equal(t, spec.PendingDeploy, h.status("a").State)
	require.Equal(t, spec.DesiredStopped, h.status("b").State)
}

func foldRemembersDesired(t *testing.T, h *hand) {
	h.apply(submitted(job("a", 1)))
	h.batches(fold([]spec.Item{item(spec.OpStop, 1, suspended(job("a", 1)), spec.WantStopped), upgraded(2, suspended(job("a", 2)))}), 1, 0, -1)
	require.Equal(t, spec.DesiredStopped, h.status("a").State)
}

func foldRemoveReturn(t *testing.T, h *hand) {
	k := job("a", 1).Key()
	h.apply(submitted(job("a", 1)))
	h.batches(fold([]spec.Item{removal(1, k), item(spec.OpSubmit, 1, job("a", 2), spec.WantRunning), upgraded(2, job("a", 3))}), 1, 0, -1)
	past, err := h.History(t.Context(), tenant, k)
	require.NoError(t, err)
	require.Len(t, past, 2)
	require.EqualValues(t, 1, past[0].Version)
	require.EqualValues(t, 2, past[1].Version)
}

func foldRemoved(t *testing.T, h *hand) {
	k := job("a", 1).Key()
	h.batches(fold([]spec.Item{submitted(job("a", 1)), upgraded(1, job("a", 2)), removal(2, k)}), 1, 0, -1)
	require.Nil(t, h.known(k).Current)
	require.EqualValues(t, 2, h.known(k).Last)
	require.Equal(t, spec.Status{}, h.status("a"), "it never ran, so nothing is to be stopped")
	past, err := h.History(t.Context(), tenant, k)
	require.NoError(t, err)
	require.Len(t, past, 2)
}

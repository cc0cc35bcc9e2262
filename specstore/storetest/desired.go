package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/spec"
)

var desired = map[string]func(*testing.T, *hand){
	"a stop wins over Git until it is resumed":            stopWins,
	"a resume of a running job leaves it alone":           resumeRunning,
	"suspend in Git needs two resumes after a stop":       resumeSuspended,
	"a restart is counted and shown":                      restart,
	"an upgrade leaves the status alone":                  upgradeLeaves,
	"a version of Git ends a person's start over suspend": gitEndsStart,
	"a stop keeps who runs the job readable":              stopKeepsOwner,
}

func stopWins(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	require.NoError(t, h.Stop(t.Context(), tenant, "alice", "orders"))
	require.Equal(t, spec.DesiredStopped, h.status("orders").State)
	require.EqualValues(t, 1, h.known(job("orders", 1).Key()).Last, "a stop makes no version")
	over, err := h.Overrides(t.Context(), tenant)
	require.NoError(t, err)
	require.Len(t, over, 1)
	require.Equal(t, spec.WantStopped, over[0].Desired)
	require.Equal(t, "alice", over[0].Actor)
	require.NotZero(t, over[0].Since)

	h.apply(item(spec.OpUpgrade, 1, job("orders", 2), spec.WantRunning))
	require.Equal(t, spec.DesiredStopped, h.status("orders").State)
	h.apply(removal(2, job("orders", 1).Key()))
	h.apply(item(spec.OpSubmit, 2, job("orders", 3), spec.WantRunning))
	require.Equal(t, spec.DesiredStopped, h.status("orders").State)

	require.NoError(t, h.Resume(t.Context(), tenant, "alice", "orders"))
	require.Equal(t, spec.PendingDeploy, h.status("orders").State)
	over, err = h.Overrides(t.Context(), tenant)
	require.NoError(t, err)
	require.Empty(t, over)
	row := h.lastRow()
	require.Equal(t, spec.OpResume, row.Op)
	require.Equal(t, []int64{3, 3}, []int64{row.From, row.To})
}

func resumeRunning(t *testing.T, h *hand) {
	lease := h.running("orders")
	before := h.status("orders")
	require.NoError(t, h.Resume(t.Context(), tenant, "alice", "orders"))
	require.Equal(t, before, h.status("orders"))
	require.Equal(t, "was not stopped", h.lastRow().Detail)
	require.NoError(t, h.Report(t.Context(), spec.Report{Tenant: tenant, Job: "orders", Claim: lease, State: spec.Running, RunningVersion: 1}))
}

func resumeSuspended(t *testing.T, h *hand) {
	h.apply(item(spec.OpSubmit, 0, suspended(job("orders", 1)), spec.WantStopped))
	require.NoError(t, h.Stop(t.Context(), tenant, "alice", "orders"))
	require.NoError(t, h.Resume(t.Context(), tenant, "alice", "orders"))
	require.Equal(t, spec.DesiredStopped, h.status("orders").State)
	require.NoError(t, h.Resume(t.Context(), tenant, "alice", "orders"))
	require.Equal(t, spec.PendingDeploy, h.status("orders").State)
	over, err := h.Overrides(t.Context(), tenant)
	require.NoError(t, err)
	require.Equal(t, spec.WantRunning, over[0].Desired)
}

func restart(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	for range 2 {
		require.NoError(t, h.Restart(t.Context(), tenant, "alice", "orders"))
	}
	snap, err := h.Snapshot(t.Context(), tenant)
	require.NoError(t, err)
	require.EqualValues(t, 2, snap.Jobs[0].Restart)
	require.Equal(t, spec.OpResume, h.lastRow().Op)
}

func upgradeLeaves(t *testing.T, h *hand) {
	h.running("orders")
	before := h.status("orders")
	h.apply(upgraded(1, job("orders", 2)))
	require.Equal(t, before, h.status("orders"))
	// a stop that the Java plane wrote, without an override, is not Git's to lift by an upgrade
	require.NoError(t, h.world.RDB.HSet(t.Context(), h.key("status:acme:orders"), "state", "DESIRED_STOPPED").Err())
	h.apply(upgraded(2, job("orders", 3)))
	require.Equal(t, spec.DesiredStopped, h.status("orders").State)
}

func gitEndsStart(t *testing.T, h *hand) {
	h.apply(item(spec.OpSubmit, 0, suspended(job("orders", 1)), spec.WantStopped))
	require.NoError(t, h.Resume(t.Context(), tenant, "alice", "orders"))
	h.apply(upgraded(1, suspended(job("orders", 2))))
	require.Equal(t, spec.PendingDeploy, h.status("orders").State, "an upgrade leaves the override alone")
	h.apply(item(spec.OpResume, 2, job("orders", 2), spec.WantRunning))
	over, err := h.Overrides(t.Context(), tenant)
	require.NoError(t, err)
	require.Empty(t, over)
}

func stopKeepsOwner(t *testing.T, h *hand) {
	h.running("orders")
	require.NoError(t, h.Stop(t.Context(), tenant, "alice", "orders"))
	st := h.status("orders")
	require.Equal(t, "agent-1", st.InstanceID)
	require.EqualValues(t, 1, st.RunningVersion)
}

// running makes a job that agent-1 has claimed and reported running.
func (h *hand) running(name string) spec.Lease {
	h.t.Helper()
	h.apply(submitted(job(name, 1)))
	lease, err := h.Claim(h.ctx(), tenant, name, 1, "agent-1", time.Minute, time.Minute)
	require.NoError(h.t, err)
	require.NoError(h.t, h.Report(h.ctx(), spec.Report{Tenant: tenant, Job: name, Claim: lease, State: spec.Running, RunningVersion: 1, RunningHash: "h"}))
	return lease
}

package spec_test

import (
	"flag"
	"os"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/STATES.md")

func TestTheStatesPageIsMadeFromTheTables(t *testing.T) {
	const page = "../docs/STATES.md"
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(spec.StatesPage()), 0o644))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, spec.StatesPage(), string(have), "run make docs")
}

func TestEveryStateIsExplained(t *testing.T) {
	explained := map[string]bool{}
	for _, m := range append(spec.TenantStates(), spec.JobStates()...) {
		require.NotEmpty(t, m.Means, m.State)
		require.NotEmpty(t, m.WayOut, m.State)
		explained[m.State] = true
	}
	for _, s := range []spec.TenantState{spec.Synced, spec.StateRefused, spec.StateHeld, spec.StateError, spec.StateWaiting, spec.StatePaused, spec.StateApplying} {
		require.True(t, explained[string(s)], s)
	}
	for _, s := range []spec.State{spec.DesiredStopped, spec.PendingDeploy, spec.Running, spec.Failed} {
		require.True(t, explained[string(s)], s)
	}
}

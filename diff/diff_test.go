package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/diff"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func job(parallelism int, change ...func(*spec.Job)) spec.Job {
	j := spec.Job{Name: "orders", Factory: "f", Parallelism: parallelism, Config: map[string]string{"topic": "orders"}}
	for _, c := range change {
		c(&j)
	}
	return j
}

func suspended(j *spec.Job) { j.Suspend = true }

func at(version int64, current spec.Spec) spec.Known {
	k := spec.Known{Key: spec.Key{Kind: spec.KindJob, Name: "orders"}, Last: version}
	if current != nil {
		k.Current = &spec.Record{Key: k.Key, Spec: current, Version: version}
	}
	return k
}

func TestWhatACommitMeansForASpec(t *testing.T) {
	reConfig := func(j *spec.Job) { j.Config = map[string]string{"topic": "other"} }
	for _, c := range []struct {
		name     string
		have     spec.Known
		want     spec.Spec
		same     int64
		op       spec.Op
		version  int64
		desired  spec.Desired
		class    diff.Class
		restores int64
	}{
		{"new", at(0, nil), job(2), 0, spec.OpSubmit, 1, spec.WantRunning, diff.Start, 0},
		{"new, suspended", at(0, nil), job(2, suspended), 0, spec.OpSubmit, 1, spec.WantStopped, diff.Stop, 0},
		{"changed", at(1, job(2)), job(2, reConfig), 0, spec.OpUpgrade, 2, spec.LeaveStatus, diff.Restart, 0},
		{"rescaled", at(1, job(2)), job(3), 0, spec.OpUpgrade, 2, spec.LeaveStatus, diff.Rescale, 0},
		{"described", at(1, job(2)), job(2, func(j *spec.Job) { j.Description = "d" }), 0, spec.OpUpgrade, 2, spec.LeaveStatus, diff.Nothing, 0},
		{"reverted", at(2, job(9)), job(2), 1, spec.OpRollback, 3, spec.LeaveStatus, diff.Rescale, 1},
		{"removed", at(4, job(2)), nil, 0, spec.OpStop, 4, spec.WantStopped, diff.Stop, 0},
		{"removed, then the same again", at(4, nil), job(2), 3, spec.OpRollback, 5, spec.WantRunning, diff.Start, 3},
		{"removed, then another", at(4, nil), job(7), 0, spec.OpSubmit, 5, spec.WantRunning, diff.Start, 0},
		{"suspend alone", at(1, job(2)), job(2, suspended), 0, spec.OpStop, 2, spec.WantStopped, diff.Stop, 0},
		{"resume alone goes before the rollback rule", at(2, job(2, suspended)), job(2), 1, spec.OpResume, 3, spec.WantRunning, diff.Start, 0},
		{"suspend and more", at(1, job(2)), job(3, suspended), 0, spec.OpUpgrade, 2, spec.WantStopped, diff.Stop, 0},
		{"resume by a revert of more", at(2, job(3, suspended)), job(2), 1, spec.OpRollback, 3, spec.WantRunning, diff.Start, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := diff.Decide(c.have, c.want, c.same)
			require.True(t, ok)
			require.Equal(t, []any{c.op, c.version, c.desired, c.class, c.restores, c.want == nil},
				[]any{got.Op, got.Version, got.Desired, got.Class, got.Restores, got.Removed})
			require.Equal(t, c.have.Last, got.IfVersion)
		})
	}
}

func TestEqualContentIsNothing(t *testing.T) {
	_, ok := diff.Decide(at(3, job(2)), job(2), 1)
	require.False(t, ok)
	_, ok = diff.Decide(at(3, nil), nil, 0)
	require.False(t, ok)
}

func TestWhyNamesFieldsAndMasksSecrets(t *testing.T) {
	was := job(2, func(j *spec.Job) { j.Config["secret.db"] = "canary-one"; j.Config["gone"] = "1" })
	want := job(4, func(j *spec.Job) { j.Config["secret.db"] = "env:DB"; j.Config["new"] = "a\nb" })
	c, ok := diff.Decide(at(1, was), want, 0)
	require.True(t, ok)
	require.Equal(t, []string{"config.gone", "config.new", "config.secret.db", "parallelism"}, c.Fields)
	require.Equal(t, []string{`config.gone: 1 -> (none)`, `config.new: "a\nb"`, `config.secret.db: *** -> env:DB`, `parallelism: 2 -> 4`}, c.Why)
}

// Versions only grow, decisions settle, and only a removal keeps its number.
func TestDecisionsSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) spec.Spec {
			if rapid.IntRange(0, 4).Draw(t, "there") == 0 {
				return nil
			}
			j := job(rapid.IntRange(1, 3).Draw(t, "p"))
			j.Suspend = rapid.Bool().Draw(t, "s")
			j.Description = rapid.SampledFrom([]string{"", "d"}).Draw(t, "d")
			return j
		})
		have := at(0, nil)
		seen := map[string]int64{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			want := gen.Draw(t, "want")
			var same int64
			if want != nil {
				same = seen[want.Digest()]
			}
			c, ok := diff.Decide(have, want, same)
			if ok {
				if c.IfVersion != have.Last || (c.Removed && c.Version != have.Last) || (!c.Removed && c.Version != have.Last+1) {
					t.Fatalf("from %d: %+v", have.Last, c)
				}
				if (c.Op == spec.OpRollback) != (c.Restores > 0) || c.Restores >= c.Version {
					t.Fatalf("restores %d at %d (%s)", c.Restores, c.Version, c.Op)
				}
				have = at(c.Version, want)
				if want != nil {
					seen[want.Digest()] = c.Version
				}
			}
			if again, ok := diff.Decide(have, want, 0); ok {
				t.Fatalf("not settled: %+v", again)
			}
		}
	})
}

func TestGuard(t *testing.T) {
	for _, c := range []struct {
		have, removed int64
		held          bool
	}{{1, 1, false}, {2, 2, true}, {2, 1, false}, {9, 8, false}, {10, 3, false}, {10, 4, true}, {100, 30, false}, {100, 31, true}, {0, 0, false}} {
		require.Equal(t, c.held, diff.Guard(c.have, c.removed, 30) != "", fmt.Sprint(c))
	}
	require.True(t, strings.Contains(diff.Guard(10, 4, 30), "4 of 10"))
}

func ExampleDecide() {
	have := at(2, job(9))
	c, _ := diff.Decide(have, job(2), 1)
	fmt.Println(c.Op, c.IfVersion, "->", c.Version, "restores", c.Restores, c.Class, c.Why)
	// Output: ROLLBACK 2 -> 3 restores 1 rescale [parallelism: 9 -> 2]
}

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// gitCase is one shape that a Git repository can take, with its fixture and
// what is held beyond the fixture's own expect.tsv.
type gitCase struct {
	dir  string // folder of the fixture; the part before the first '-' is the id
	what string

	path, second string         // folders of t1 and t2 in the repository; no second, no t2
	more         string         // further fields of the Pavilion's spec
	source       string         // what is followed instead of repo.git or live.git
	unreadable   bool           // its refusal is that the source cannot be read
	unlisted     map[string]int // "step object" -> versions that come without a line in expect.tsv
	running      bool           // it is held of a syncer that follows too: no restart is needed
	first        func(*caseRun) // runs before the first step
	middle       func(*caseRun) // runs before the pass of the last step

	also  []check
	ours  string // where the contract says something else than the case; the contract wins
	later string // what the case wants and Pawl does not have yet
}

// check is one thing that a case says in words, held after the pass of a step.
type check struct {
	step string // "" = after the last one
	says string
	hold func(*caseRun)
}

func (c gitCase) id() string {
	id, _, _ := strings.Cut(c.dir, "-")
	return id
}

// TestGitCases takes every fixture through its steps with the syncer as built.
//
// Where a case and docs/contract.md disagree, the contract wins. These are the
// places (field ours of the table):
//   - G14 says that a cold start makes version 1 of the newest content; by
//     contract a first sync replays the line from its root (history: full).
//   - G52 says "content of 1" of the last step; by contract a rollback is linked
//     to the latest version with that content, which is 3.
func TestGitCases(t *testing.T) {
	t.Parallel()
	for _, c := range gitCases() {
		t.Run(c.dir, func(t *testing.T) {
			t.Parallel()
			r := startCase(t, c)
			var steps []string
			for _, e := range r.wants {
				if !slices.Contains(steps, e.step) {
					steps = append(steps, e.step)
				}
			}
			if !r.cold() {
				for _, row := range tab(t, filepath.Join(r.dir, "steps.tsv")) {
					require.Contains(t, steps, row[0], "a step that nothing is expected of")
				}
			}
			if c.first != nil {
				c.first(r)
			}
			for _, step := range steps {
				r.advance(step)
				if c.middle != nil && step == steps[len(steps)-1] {
					c.middle(r)
				}
				r.pass()
				r.hold()
				for _, k := range c.also {
					if k.step == step {
						k.hold(r)
					}
				}
			}
			for _, k := range c.also {
				if k.step == "" {
					k.hold(r)
				}
			}
			r.again()
		})
	}
}

func TestEveryFixtureIsACase(t *testing.T) {
	t.Parallel()
	have, err := filepath.Glob(filepath.Join(builtCases(t), "G*"))
	require.NoError(t, err)
	var dirs []string
	for _, c := range gitCases() {
		dirs = append(dirs, filepath.Join(builtCases(t), c.dir))
		require.NotEmpty(t, c.what, c.dir)
	}
	require.ElementsMatch(t, have, dirs)
}

// TestARunningSyncerNeedsNoRestart takes the cases in which something is away
// for a while through their steps under one process.
func TestARunningSyncerNeedsNoRestart(t *testing.T) {
	t.Parallel()
	for _, c := range gitCases() {
		if !c.running {
			continue
		}
		t.Run(c.dir, func(t *testing.T) {
			t.Parallel()
			r := startCase(t, c)
			own := filepath.Join(t.TempDir(), c.dir) // its server is its own
			r.copyTree(r.dir, own)
			require.NoError(t, os.RemoveAll(filepath.Join(own, "live.git")))
			r.dir, r.url = own, filepath.Join(own, "live.git")
			r.configure("")
			var p *process
			for _, row := range tab(t, filepath.Join(own, "steps.tsv")) {
				r.advance(row[0])
				if p == nil {
					p = r.start("syncer", r.args("run")...)
				}
				for _, e := range r.wants {
					if e.step == row[0] {
						eventually(t, 20*time.Second, p.out.String, func() bool { return r.shows(p, e) })
					}
				}
			}
			require.Zero(t, p.stop(t), p.out.String())
		})
	}
}

// shows tells whether a running syncer has come to what is expected.
func (r *caseRun) shows(p *process, e expectation) bool {
	r.t.Helper()
	switch {
	case e.object == "tenant":
		return r.cursor("state") == e.op
	case e.makesVersion():
		_, name := e.subject()
		return strings.Contains(p.out.String(), fmt.Sprintf("t1 %s v%d %s by %s", name, e.version, ops[e.op].op, e.actor))
	}
	have, err := r.rdb.HGet(r.t.Context(), prefix+"t1:versions", strings.TrimPrefix(e.object, "job/")).Int64()
	require.NoError(r.t, err)
	return have == e.version
}

// gitCases are all of them, by number.
func gitCases() []gitCase {
	all := slices.Concat(refCases(), storeCases(), fileCases(), mergeCases(), revertCases(), peopleCases(), tenantCases())
	slices.SortFunc(all, func(a, b gitCase) int { return strings.Compare(a.dir, b.dir) })
	return all
}

package e2e_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// generate makes a repository with a history, and gives its path.
func generate(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "specs.git")
	r := command(t, "genspecs", append([]string{"-out", dir, "-tenants", "1"}, args...)...)
	require.Zero(t, r.code, r.stderr)
	return dir
}

// equalsFold holds what a run printed and stored against the independent fold.
func (w *world) equalsFold(stdout string, f fold) {
	w.t.Helper()
	require.Equal(w.t, strings.Join(f.lines, "\n"), strings.TrimSpace(stdout))
	stored, err := w.rdb.HGetAll(w.t.Context(), prefix+"acme:versions").Result()
	require.NoError(w.t, err)
	want := map[string]string{}
	for name, v := range f.versions {
		want[name] = strconv.FormatInt(v, 10)
	}
	require.Equal(w.t, want, stored)
}

func TestARealHistoryGivesTheVersionsOfAnIndependentFold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.repo = generate(t, "-files", "60", "-commits", "200", "-authors", "5", "-merge-pct", "12", "-revert-pct", "12", "-seed", "7")
	f := foldOf(t, w.repo, "acme")
	require.Greater(t, len(f.lines), 400)
	require.Contains(t, strings.Join(f.lines, "\n"), "ROLLBACK restores")
	w.equalsFold(w.must("run", "--once"), f)
	require.Empty(t, w.must("run", "--once"), "a second run has nothing to do")
}

func TestCommitByCommitIsTheSameAsAllAtOnce(t *testing.T) {
	t.Parallel()
	full := generate(t, "-files", "40", "-commits", "120", "-authors", "5", "-revert-pct", "15", "-bad-pct", "8", "-seed", "3")
	f := foldOf(t, full, "acme")
	require.NotEmpty(t, f.refused, "some commits are broken")

	w := newWorld(t)
	w.extra = []string{"--audit-cap", "100000"}
	w.repo = filepath.Join(t.TempDir(), "live.git")
	gitOut(t, ".", "init", "-q", "--bare", "-b", "main", w.repo)
	var stdout strings.Builder
	for i, commit := range strings.Fields(gitOut(t, full, "rev-list", "--first-parent", "--reverse", "main")) {
		if i%7 != 0 && i != 120 { // several commits at a time, now and then one
			continue
		}
		gitOut(t, full, "push", "-q", "--force", w.repo, commit+":refs/heads/main")
		stdout.WriteString(w.syncer("run", "--once").stdout)
	}
	w.equalsFold(stdout.String(), f)
	piecemeal := w.ledger()

	require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
	w.state = filepath.Join(t.TempDir(), "other-state")
	w.equalsFold(w.syncer("run", "--once").stdout, f)
	equalLedgers(t, piecemeal, w.ledger())
}

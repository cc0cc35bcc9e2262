package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// storeCases are about the objects of a repository: the source's, and those of
// the clone.
func storeCases() []gitCase {
	return []gitCase{
		{dir: "G10-shallow", what: "a shallow source", also: []check{
			{"", "the newest content is there", func(r *caseRun) { require.EqualValues(r.t, 4, r.field("orders", "parallelism")) }},
		}},
		{dir: "G11-corrupt-object", what: "a blob that is cut short", unreadable: true, also: []check{
			{"", "a source that cannot be read is the tenant's error", func(r *caseRun) {
				require.Equal(r.t, "error", r.stands["t1"].State)
				require.Empty(r.t, r.rows)
			}},
			{"", "as a clone that is there already it is set aside and cloned anew", func(r *caseRun) { r.placed("orders v1 SUBMIT") }},
			{"", "damage in our own clone removes nothing, and the clone is made anew", damaged},
		}},
		{dir: "G12-leftover-locks", what: "locks and half packs of a killed process", also: []check{
			{"", "in a clone they are removed", func(r *caseRun) { r.placed("orders v1 SUBMIT") }},
		}},
		{dir: "G13-inflating-blob", what: "a 64 MiB blob in a small pack", also: []check{
			{"", "the path, the size and the limit are named", func(r *caseRun) {
				require.Contains(r.t, r.out.stderr, "jobs/big.yaml: file of 67108")
				require.Contains(r.t, r.out.stderr, "limit 1048576")
			}},
			{"", "the rest of the commit is refused with it", func(r *caseRun) { r.version("orders", "1") }},
			{"", "memory stays flat", flatMemory},
		}},
		{dir: "G14-packed-and-loose", what: "packed-refs older than the loose ref", unlisted: map[string]int{"cold job/orders": 1},
			also: []check{{"", "the loose ref wins", func(r *caseRun) {
				require.EqualValues(r.t, 3, r.field("orders", "parallelism"))
				require.Equal(r.t, r.tip(""), r.stands["t1"].Applied)
			}}},
			ours: "version 1 is the first commit's and version 2 the tip's: a first sync replays the line from its root"},
		{dir: "G15-alternates", what: "a source that borrows its objects", also: []check{
			{"", "the clone borrows nothing", func(r *caseRun) {
				require.NoFileExists(r.t, filepath.Join(r.state, "clones", "t1", "objects", "info", "alternates"))
			}},
		}},
		{dir: "G16-linked-worktree", what: "a linked work tree as source", source: "tree"},
	}
}

// healthy is a source with the commit that most fixtures begin with.
func (r *caseRun) healthy() string {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "healthy.git")
	gittest.Run(r.t, r.dir, "init", "-q", "--bare", "-b", "main", dir)
	gittest.Run(r.t, dir, "fetch", "-q", filepath.Join(builtCases(r.t), "G28-exec-bit", "all.git"), "+refs/steps/1/heads/main:refs/heads/main")
	require.Equal(r.t, r.tip(""), gittest.Run(r.t, dir, "rev-parse", "main"), "the same first commit")
	return dir
}

// copyTree copies a folder with all that is in it.
func (r *caseRun) copyTree(from, to string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(to), 0o755))
	out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
	require.NoError(r.t, err, "%s", out)
}

// fresh begins with an empty store and an empty state folder.
func (r *caseRun) fresh() {
	r.t.Helper()
	require.NoError(r.t, r.rdb.FlushAll(r.t.Context()).Err())
	r.state, r.seen = filepath.Join(r.t.TempDir(), "state"), 0
	r.after = r.read()
}

// placed puts the fixture where the clone belongs, once as it is and once as a
// clone of ours, and wants one good pass from each.
func (r *caseRun) placed(want string) {
	r.t.Helper()
	source := r.healthy()
	for _, ours := range []bool{false, true} {
		r.fresh()
		clone := filepath.Join(r.state, "clones", "t1")
		r.copyTree(filepath.Join(r.dir, "repo.git"), clone)
		if ours {
			config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[remote \"origin\"]\n\turl = " + source +
				"\n\tfetch = +refs/heads/main:refs/remotes/origin/main\n"
			require.NoError(r.t, writeAll(filepath.Join(clone, "config"), config))
			require.NoError(r.t, os.MkdirAll(filepath.Join(clone, "refs", "remotes", "origin"), 0o755))
			require.NoError(r.t, writeAll(filepath.Join(clone, "refs", "remotes", "origin", "main"), r.tip("")+"\n"))
		}
		r.url = source
		r.configure("")
		for range 2 { // damage is found while reading; the pass after it has a new clone
			if r.pass(); r.out.code == 0 {
				break
			}
			require.Empty(r.t, r.rows, "ours %v\n%s", ours, r.trace())
		}
		require.Zero(r.t, r.out.code, "ours %v\n%s", ours, r.trace())
		require.Contains(r.t, r.out.stdout, want)
	}
}

// damaged spoils the clone under a tenant that is in sync.
func damaged(r *caseRun) {
	r.t.Helper()
	r.fresh()
	r.url = r.healthy()
	r.configure("")
	r.pass()
	require.Zero(r.t, r.out.code, r.trace())
	good := r.after
	objects := filepath.Join(r.state, "clones", "t1", "objects")
	require.NoError(r.t, os.RemoveAll(objects))
	r.copyTree(filepath.Join(r.dir, "repo.git", "objects"), objects)
	next := filepath.Join(r.t.TempDir(), "work")
	gittest.Run(r.t, r.dir, "clone", "-q", r.url, next)
	require.NoError(r.t, writeAll(filepath.Join(next, "jobs", "orders.yaml"), job("orders", 7)))
	gittest.Run(r.t, next, "commit", "-q", "-a", "-m", "seven")
	gittest.Run(r.t, next, "push", "-q", "origin", "main")
	for range 2 {
		if r.pass(); r.out.code == 0 {
			break
		}
		require.Equal(r.t, good, r.after, r.trace())
		require.Empty(r.t, r.rows)
	}
	require.Zero(r.t, r.out.code, r.trace())
	r.version("orders", "2")
	r.version("refunds", "1")
}

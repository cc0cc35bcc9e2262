package e2e_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// tenant is what `status -o json` says, as far as the stories ask.
type tenant struct {
	Tenant, State, Seen, Applied string
	Refused                      struct {
		Commit   string
		Findings []struct {
			Path         string
			Line, Column int
			Field        string
			Message      string
		}
	}
	Errors int
	Jobs   []struct {
		Job, State, Owner, Detail string
		Version, RunningVersion   int64
		Lapsed                    bool
		Generation                int64
	}
}

func (w *world) status() tenant {
	w.t.Helper()
	var s tenant
	require.NoError(w.t, json.Unmarshal([]byte(w.must("status", "-o", "json")), &s))
	return s
}

func TestARevertIsARollbackNeverANoOp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 2, "topic=orders"))
	r.Commit(ada, "orders")
	r.Write("jobs/orders.yaml", job("orders", 9, "topic=orders"))
	bad := r.Commit(grace, "more")
	back := r.Revert(alan, bad)
	require.Equal(t, strings.Join([]string{
		"acme orders v1 SUBMIT by " + ada + " in " + short(r.Git("rev-parse", "HEAD~2")),
		"acme orders v2 UPGRADE by " + grace + " in " + short(bad),
		"acme orders v3 ROLLBACK restores v1 by " + alan + " in " + short(back), "",
	}, "\n"), w.must("run", "--once"))
	require.Contains(t, w.must("history", "orders"), `v3 ROLLBACK restores v1 by `+alan)
	require.Contains(t, w.must("history", "orders", "-o", "json"), `"revertOf":"`+bad)
	blame := w.must("blame", "orders", "parallelism")
	require.Contains(t, blame, alan)
	require.Contains(t, blame, "v3")
	topic := w.must("blame", "orders", "topic")
	require.Contains(t, topic, ada)
	require.Contains(t, topic, "v1")
	d := w.syncer("diff", "orders", "v1", "v2")
	require.Equal(t, 1, d.code, d.stderr)
	require.Equal(t, "parallelism: 2 -> 9\n", d.stdout)
	require.Zero(t, w.syncer("diff", "orders", "1", "3").code)
}

// A commit with one bad file: nothing of it is stored, every bad file is named
// with line and column, and the next good commit goes through.
func TestABadCommitIsRefusedAsAWholeAndTheNextGoodOneGoesThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 2)).Write("jobs/refunds.yaml", job("refunds", 1))
	first := r.Commit(ada, "first")
	w.must("run", "--once")
	good := w.ledger()

	r.Write("jobs/orders.yaml", job("orders", 8))
	r.Write("jobs/refunds.yaml", strings.Replace(job("refunds", 1), "parallelism", "paralelism", 1))
	r.Write("jobs/new.yaml", "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata:\n  name: new\nspec:\n  pipelineFactory: [unclosed\n")
	bad := r.Commit(grace, "one good change, two broken files")
	once := w.syncer("run", "--once")
	require.Equal(t, 1, once.code)
	require.Empty(t, once.stdout)
	require.Contains(t, once.stderr, "jobs/refunds.yaml:7:3: spec.paralelism: unknown field (parallelism?)")
	require.Contains(t, once.stderr, "jobs/new.yaml:")
	s := w.status()
	require.Equal(t, "refused", s.State)
	require.Equal(t, []string{first, bad, bad}, []string{s.Applied, s.Seen, s.Refused.Commit})
	require.Len(t, s.Refused.Findings, 2)
	require.Equal(t, []int{7, 3}, []int{s.Refused.Findings[1].Line, s.Refused.Findings[1].Column})
	after := w.ledger()
	for k := range after {
		if _, there := good[k]; !there {
			require.Contains(t, after[k], "result=refused", k)
		}
	}
	require.Equal(t, 1, w.syncer("run", "--once").code, "it stays refused")
	require.Len(t, w.ledger(), len(good)+1, "one row ever")

	r.Write("jobs/refunds.yaml", job("refunds", 1))
	r.Remove("jobs/new.yaml")
	fix := r.Commit(alan, "mend it")
	require.Equal(t, "acme orders v2 UPGRADE by "+grace+" in "+short(bad)+"\n", w.must("run", "--once"),
		"the held change arrives under the name of who made it")
	require.Equal(t, fix, w.status().Applied)
	require.Equal(t, "synced", w.status().State)
}

func TestTwoFilesWithOneNameAreRefusedAndBothAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 2)).Write("jobs/refunds.yaml", job("refunds", 2))
	r.Commit(ada, "first")
	r.Git("mv", "jobs/orders.yaml", "jobs/moved.yaml") // no version, so the origin still says jobs/orders.yaml
	r.Commit(ada, "move")
	w.must("run", "--once")
	r.Write("jobs/orders.yaml", job("orders", 9))
	r.Commit(grace, "orders again")
	once := w.syncer("run", "--once")
	require.Equal(t, 1, once.code)
	require.Contains(t, once.stderr, `jobs/orders.yaml:1: metadata.name: JobSpec "orders" is declared twice, also in jobs/moved.yaml:1`)
	require.Contains(t, once.stderr, `jobs/moved.yaml:1: metadata.name: JobSpec "orders" is declared twice, also in jobs/orders.yaml:1`)
}

func TestEverySpecRemovedAtOnceIsHeldAndAnApprovalLetsItThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 2)).Write("jobs/refunds.yaml", job("refunds", 2))
	r.Commit(ada, "first")
	w.must("run", "--once")
	r.Remove("jobs").Write("README.md", "empty\n")
	gone := r.Commit(grace, "remove everything")
	once := w.syncer("run", "--once")
	require.Equal(t, 1, once.code)
	require.Contains(t, once.stderr, "would remove all 2 specs")
	require.Equal(t, "held", w.status().State)
	require.Equal(t, 2, w.syncer("approve", "0000000").code, "another commit is not what is held")

	w.must("approve", short(gone), "--actor", "Ops <ops@example.com>")
	require.Contains(t, w.must("audit", "--admin"), "Ops <ops@example.com>")
	require.Equal(t, "acme orders v1 STOP removed by "+grace+" in "+short(gone)+"\nacme refunds v1 STOP removed by "+grace+" in "+short(gone)+"\n", w.must("run", "--once"))

	// the approval is a fact: a rebuild of a lost store has it
	withoutRows := func() map[string]string { // a rebuild knows the approval beforehand and holds nothing
		l := w.ledger()
		maps.DeleteFunc(l, func(k, _ string) bool { return strings.HasPrefix(k, "audit ") })
		return l
	}
	kept := withoutRows()
	require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
	w.must("run", "--once")
	equalLedgers(t, kept, withoutRows())
}

func TestAStopByAPersonOutlivesALostStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 2)).Write("jobs/refunds.yaml", job("refunds", 2))
	r.Commit(ada, "first")
	w.must("run", "--once")
	w.must("stop", "orders", "--actor", "ops")
	w.must("run", "--once") // a pass copies it into the state folder
	require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
	w.must("run", "--once")
	for _, j := range w.status().Jobs {
		want := map[string]string{"orders": "DESIRED_STOPPED", "refunds": "PENDING_DEPLOY"}[j.Job]
		require.Equal(t, want, j.State, j.Job)
	}
	w.must("resume", "orders", "--actor", "ops")
	require.Equal(t, "PENDING_DEPLOY", w.status().Jobs[0].State)
}

func TestAnotherFolderOrBranchIsOneStepByDifference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("a/orders.yaml", job("orders", 1)).Write("a/stock.yaml", job("stock", 1)).Write("b/orders.yaml", job("orders", 2)).Write("b/prices.yaml", job("prices", 1))
	r.Commit(ada, "two folders")
	w.extra = []string{"--path", "a"}
	w.must("run", "--once")
	w.extra = []string{"--path", "c"}
	require.Equal(t, 1, w.syncer("run", "--once").code, "a folder that does not exist is no removal")
	require.Equal(t, "refused", w.status().State)
	w.extra = []string{"--path", "b"}
	tip := short(r.Tip())
	require.Equal(t, "acme orders v2 UPGRADE by "+ada+" in "+tip+"\nacme prices v1 SUBMIT by "+ada+" in "+tip+
		"\nacme stock v1 STOP removed by (unknown: branch main, path b followed since) in "+tip+"\n", w.must("run", "--once"))
	require.Empty(t, w.must("run", "--once"))
	r.Branch("next").Write("b/orders.yaml", job("orders", 3))
	next := short(r.Commit(grace, "three"))
	w.extra = []string{"--path", "b", "--branch", "next"}
	require.Equal(t, "acme orders v3 UPGRADE by "+grace+" in "+next+"\n", w.must("run", "--once"))
}

func TestAnApprovalMayStandInThePavilion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 2)).Write("jobs/refunds.yaml", job("refunds", 2))
	r.Commit(ada, "first")
	w.must("run", "--once")
	r.Remove("jobs").Write("README.md", "empty\n")
	gone := r.Commit(grace, "remove everything")
	require.Equal(t, 1, w.syncer("run", "--once").code)
	config := filepath.Join(t.TempDir(), "acme.yaml")
	pavilion := "apiVersion: pawl.dev/v1\nkind: Pavilion\nmetadata: {name: acme}\nspec:\n  id: \"NT:1\"\n  cid: X8FD\n  source: {url: \"" +
		r.Dir + "\"}\n  approved: [\"" + gone + "\"]\n"
	require.NoError(t, writeAll(config, pavilion))
	out := command(t, "syncer", "run", "--once", "--config", config, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--state-dir", w.state)
	require.Zero(t, out.code, out.stderr)
	require.Equal(t, "acme orders v1 STOP removed by "+grace+" in "+short(gone)+"\nacme refunds v1 STOP removed by "+grace+" in "+short(gone)+"\n", out.stdout)
}

func writeAll(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }

func TestAJobOfAnotherOwnerIsUntouchedUntilItIsAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 2))
	r.Commit(ada, "first")
	w.must("run", "--once")
	foreign := `{"jobName":"legacy","tenant":"acme","pipelineFactory":"f","config":{},"parallelism":1,"version":4,"description":null,"updatedBy":"someone","updatedAt":1,"specHash":"x"}`
	require.NoError(t, w.rdb.HSet(t.Context(), prefix+"acme:jobs", "legacy", foreign).Err())
	require.NoError(t, w.rdb.HSet(t.Context(), prefix+"acme:versions", "legacy", "4").Err())
	r.Write("jobs/legacy.yaml", job("legacy", 3))
	mine := r.Commit(grace, "legacy is ours now")
	once := w.syncer("run", "--once")
	require.Equal(t, 1, once.code)
	require.Contains(t, once.stderr, "syncer adopt legacy --tenant acme")
	require.Equal(t, foreign, w.rdb.HGet(t.Context(), prefix+"acme:jobs", "legacy").Val())
	w.must("adopt", "legacy", "--actor", "ops@example.com")
	require.Equal(t, "acme legacy v5 UPGRADE by "+grace+" in "+short(mine)+"\n", w.must("run", "--once"))
	require.Contains(t, w.must("audit", "--job", "legacy"), "ops@example.com")
}

func TestAnEmptyRepositoryWaitsAndAMissingBranchIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	w.must("run", "--once")
	require.Equal(t, "waiting", w.status().State)
	r.Write("jobs/orders.yaml", job("orders", 2))
	r.Commit(ada, "first")
	require.Contains(t, w.must("run", "--once"), "acme orders v1 SUBMIT")
	kept := w.ledger()
	r.Git("branch", "-m", "main", "trunk")
	once := w.syncer("run", "--once")
	require.Equal(t, 1, once.code)
	require.Contains(t, once.stderr, "trunk")
	require.Equal(t, "error", w.status().State)
	equalLedgers(t, kept, w.ledger())
	r.Git("branch", "-m", "trunk", "main")
	w.must("run", "--once")
	require.Equal(t, "synced", w.status().State)
}

func TestAForcePushIsOneStepByDifference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 2)).Write("jobs/refunds.yaml", job("refunds", 1))
	r.Commit(ada, "first")
	r.Write("jobs/orders.yaml", job("orders", 3))
	r.Commit(ada, "three")
	w.must("run", "--once")
	r.Git("reset", "-q", "--hard", "HEAD~1")
	r.Write("jobs/orders.yaml", job("orders", 4))
	amended := r.Commit(grace, "four")
	require.Equal(t, "acme orders v3 UPGRADE by "+grace+" in "+short(amended)+"\n", w.must("run", "--once"))
	r.Git("reset", "-q", "--hard", "HEAD~1")
	require.Equal(t, "acme orders v4 ROLLBACK restores v1 by (unknown: branch rewound to "+short(r.Tip())+") in "+short(r.Tip())+"\n", w.must("run", "--once"))
	require.Contains(t, w.must("audit"), "history rewritten: "+amended+" -> "+r.Tip())
}

// While a syncer follows, a commit is a version well within a second.
func TestACommitIsSeenWithoutBeingAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 1))
	r.Commit(ada, "first")
	p := w.start("syncer", w.args("run", "--interval", "1h")...)
	eventually(t, 20*time.Second, p.out.String, func() bool { return strings.Contains(p.out.String(), "orders v1 SUBMIT") })
	r.Write("jobs/orders.yaml", job("orders", 2))
	r.Commit(grace, "second")
	eventually(t, 20*time.Second, p.out.String, func() bool { return strings.Contains(p.out.String(), "orders v2 UPGRADE by "+grace) })
	r.Git("gc", "-q")
	r.Write("jobs/orders.yaml", job("orders", 3))
	r.Commit(alan, "after a gc")
	eventually(t, 20*time.Second, p.out.String, func() bool { return strings.Contains(p.out.String(), "orders v3 UPGRADE by "+alan) })
	require.Zero(t, p.stop(t), p.out.String())
}

// What .pawlignore names is no spec; a change of it is a step like any other.
func TestIgnoredFilesAreNoSpecs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("orders.yaml", job("orders", 1)).Write("deploy/chart.yaml", "apiVersion: apps/v1\nkind: Deployment\n").Write("stock.yaml", job("stock", 1))
	r.Commit(ada, "with something foreign")
	require.Contains(t, w.syncer("run", "--once").stderr, ".pawlignore")
	r.Write(".pawlignore", "deploy/\n")
	r.Commit(grace, "ignore it")
	require.Equal(t, "acme orders v1 SUBMIT by "+ada+" in "+short(r.Git("rev-parse", "HEAD~1"))+"\nacme stock v1 SUBMIT by "+ada+" in "+short(r.Git("rev-parse", "HEAD~1"))+"\n",
		w.must("run", "--once"))
	r.Write(".pawlignore", "deploy/\nstock.yaml\n")
	r.Commit(alan, "stock too")
	require.Equal(t, "acme stock v1 STOP removed by "+alan+" in "+short(r.Tip())+"\n", w.must("run", "--once"))
	r.Revert(grace, "HEAD")
	require.Equal(t, "acme stock v2 ROLLBACK restores v1 by "+grace+" in "+short(r.Tip())+"\n", w.must("run", "--once"))
	require.Contains(t, w.must("validate", r.Dir), "2 specs are valid", "validate ignores what the syncer ignores")
	r.Write(".pawlignore", strings.Repeat("x", 1<<17))
	r.Commit(ada, "far too long")
	require.Equal(t, 1, w.syncer("run", "--once").code)
	require.Equal(t, "refused", w.status().State)
}

// A private repository: the token is a reference, read at each use and seen nowhere.
func TestAPrivateRepositoryIsReadWithAReference(t *testing.T) {
	t.Parallel()
	const canary = "canary-token-81cc"
	w := newWorld(t)
	r := gittest.New(t)
	r.Write("orders.yaml", job("orders", 1))
	r.Commit(ada, "first")
	bare := r.Bare()
	url := gittest.Serve(t, filepath.Dir(bare), "x-access-token", canary) + "/" + filepath.Base(bare)
	secret := filepath.Join(t.TempDir(), "token")
	require.NoError(t, writeAll(secret, "wrong\n"))
	config := filepath.Join(t.TempDir(), "acme.yaml")
	require.NoError(t, writeAll(config, strings.Replace(pavilion("acme", "NT:1", url), "interval: 1h", "auth: {token: \"file:"+secret+"\"}", 1)))
	once := func() result {
		return command(t, "syncer", "run", "--once", "--config", config, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--state-dir", w.state)
	}
	refused := once()
	require.Equal(t, 1, refused.code)
	require.NotContains(t, refused.stdout+refused.stderr, "wrong")
	require.NoError(t, writeAll(secret, canary+"\n"))
	good := once()
	require.Zero(t, good.code, good.stderr)
	require.Contains(t, good.stdout, "acme orders v1 SUBMIT")
	require.NotContains(t, good.stdout+good.stderr+w.everythingElse()+files(t, w.state), canary)
}

// A .mailmap is for display: JSON, the ledger and policies see what a commit says.
func TestPeopleAreShownAsTheMailmapSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("orders.yaml", job("orders", 1)).Write(".mailmap", "Augusta Ada King <ada@example.com>\n")
	r.Commit(ada, "first")
	require.Contains(t, w.must("run", "--once"), ada)
	for _, args := range [][]string{{"history", "orders"}, {"blame", "orders"}, {"status"}} {
		require.Contains(t, w.must(args...), "Augusta Ada King <ada@example.com>", args)
		require.Contains(t, w.must(append(args, "-o", "json")...), ada, args)
	}
	r.Remove(".mailmap")
	r.Commit(ada, "no map")
	w.must("run", "--once")
	require.Contains(t, w.must("history", "orders"), ada)
}

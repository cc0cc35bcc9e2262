package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// bareWorld is a world whose repository is bare, as a server has it, with a work
// tree beside it that pushes to it.
func bareWorld(t *testing.T, fill func(r *gittest.Repo)) (*world, *gittest.Repo) {
	t.Helper()
	w, r := newWorld(t), gittest.New(t)
	fill(r)
	w.repo = r.Bare()
	r.Git("remote", "add", "origin", w.repo)
	r.Git("config", "user.name", "Nobody")
	return w, r
}

// versions pushes what the work tree has and lets the syncer look at it.
func (w *world) versions(r *gittest.Repo) string {
	w.t.Helper()
	r.Git("push", "-q", "origin", "main")
	return w.must("run", "--once")
}

// tip is where the bare repository has the branch, which must be sound.
func (w *world) tip() string {
	w.t.Helper()
	gittest.Run(w.t, w.repo, "fsck", "--strict", "--full")
	return gittest.Run(w.t, w.repo, "rev-parse", "main")
}

// show reads a file at the tip.
func (w *world) show(path string) string {
	w.t.Helper()
	return gittest.Run(w.t, w.repo, "show", "main:"+path)
}

func TestARollbackByCommandIsACommitOfThePersonAndAVersionOfTheNextLook(t *testing.T) {
	t.Parallel()
	w, r := bareWorld(t, func(r *gittest.Repo) {
		r.Write("jobs/orders.yaml", job("orders", 2)).Write("jobs/refunds.yaml", job("refunds", 1)).Write("README", "x").Commit(ada, "first")
		r.Write("jobs/orders.yaml", job("orders", 9)).Commit(grace, "more")
	})
	w.must("run", "--once")
	bad, good := r.Tip(), r.Git("rev-parse", "HEAD^{tree}")
	dry := w.must("rollback", "orders", "--author", alan, "--dry-run")
	require.Contains(t, dry, "--- a/jobs/orders.yaml\n+++ b/jobs/orders.yaml\n")
	require.Contains(t, dry, "-  parallelism: 9\n+  parallelism: 2\n")
	require.Equal(t, bad, w.tip(), "nothing is written")

	said := w.must("rollback", "orders", "--author", alan)
	back := w.tip()
	require.Contains(t, said, "acme orders is back at v1 in "+short(back)+" by "+alan)
	require.Equal(t, bad, gittest.Run(t, w.repo, "rev-parse", "main^"))
	require.Equal(t, gittest.Run(t, w.repo, "rev-parse", bad+"^^{tree}"), gittest.Run(t, w.repo, "rev-parse", "main^{tree}"), "as git revert makes it")
	require.Equal(t, alan+"\npawl <pawl@localhost>\nRoll back orders to v1\n\nThis reverts commit "+bad+".\n\nPawl-Restores: v1\nPawl-Job: orders",
		strings.TrimSpace(gittest.Run(t, w.repo, "log", "-1", "--format=%an <%ae>%n%cn <%ce>%n%B", "main")))
	require.Equal(t, "Pawl-Restores: v1\nPawl-Job: orders", strings.TrimSpace(gittest.Run(t, w.repo, "log", "-1", "--format=%(trailers)", "main")))
	require.Contains(t, gittest.Run(t, w.repo, "diff", "--stat", "main^", "main"), "1 file changed")
	require.Equal(t, "acme orders v3 ROLLBACK restores v1 by "+alan+" in "+short(back)+"\n", w.must("run", "--once"))

	require.Contains(t, w.must("rollback", "orders", "--author", alan, "--to", "v1"), "has the content of v1 already")
	require.Equal(t, back, w.tip())
	w.must("rollback", "orders", "--author", alan, "--to", "2", "--message", "Forward again", "--committer", grace)
	require.Equal(t, good, gittest.Run(t, w.repo, "rev-parse", "main^{tree}"))
	require.Equal(t, grace+"\nForward again", gittest.Run(t, w.repo, "log", "-1", "--format=%cn <%ce>%n%s", "main"))
	require.Contains(t, w.must("run", "--once"), "acme orders v4 ROLLBACK restores v2 by "+alan)
}

// A running syncer holds its state folder; a rollback beside it does not wait for that.
func TestARunningSyncerMakesTheRollbackAVersion(t *testing.T) {
	t.Parallel()
	w, _ := bareWorld(t, func(r *gittest.Repo) {
		r.Write("jobs/orders.yaml", job("orders", 2)).Commit(ada, "first")
		r.Write("jobs/orders.yaml", job("orders", 9)).Commit(grace, "more")
	})
	p := w.start("syncer", w.args("run", "--interval", "200ms")...)
	p.written(2)
	eventually(t, 20*time.Second, p.out.String, func() bool { return strings.Contains(p.out.String(), "acme orders v2 UPGRADE") })
	w.must("rollback", "orders", "--author", alan)
	eventually(t, 20*time.Second, p.out.String, func() bool {
		return strings.Contains(p.out.String(), "acme orders v3 ROLLBACK restores v1 by "+alan+" in "+short(w.tip()))
	})
	require.Zero(t, p.stop(t))
}

func TestOnlyTheJobsOwnDocumentIsRolledBackWhereverItIsByNow(t *testing.T) {
	t.Parallel()
	w, r := bareWorld(t, func(r *gittest.Repo) {
		r.Write("all.yaml", "# owners: team a\n\n"+job("orders", 2)+"---\n# about refunds\n"+job("refunds", 1)+"# the end\n").Commit(ada, "first")
	})
	require.NoError(t, os.Chmod(filepath.Join(r.Dir, "all.yaml"), 0o755))
	r.Write("all.yaml", "# owners: team a\n\n"+job("orders", 9)+"---\n# about refunds, which are many\n"+job("refunds", 7)+"# the end\n").Commit(grace, "more of both")
	w.versions(r)
	w.must("rollback", "orders", "--author", alan)
	require.Equal(t, "# owners: team a\n\n"+job("orders", 2)+"---\n# about refunds, which are many\n"+job("refunds", 7)+"# the end", w.show("all.yaml"))
	require.Contains(t, gittest.Run(t, w.repo, "ls-tree", "main", "all.yaml"), "100755")
	require.NotContains(t, gittest.Run(t, w.repo, "log", "-1", "--format=%B", "main"), "This reverts", "it does not: refunds stay")
	require.Contains(t, w.must("run", "--once"), "acme orders v3 ROLLBACK restores v1 by "+alan)

	r.Git("pull", "-q", "origin", "main")
	r.Write("all.yaml", job("refunds", 7)).Write("teams/a/deep/er/orders.yml", job("orders", 5)).Commit(ada, "moved and changed")
	w.versions(r)
	w.must("rollback", "orders", "--author", alan, "--to", "v2")
	require.Equal(t, strings.TrimSpace(job("orders", 9)), w.show("teams/a/deep/er/orders.yml"))
	require.Equal(t, strings.TrimSpace(job("refunds", 7)), w.show("all.yaml"))
	require.Contains(t, w.must("run", "--once"), "acme orders v5 ROLLBACK restores v2 by "+alan)

	r.Git("pull", "-q", "origin", "main")
	r.Git("mv", "teams/a/deep/er/orders.yml", "o.yaml") // moved only: no version says where it is
	r.Commit(ada, "moved")
	w.versions(r)
	w.must("rollback", "orders", "--author", alan, "--to", "v1")
	require.Equal(t, strings.TrimSpace(job("orders", 2)), w.show("o.yaml"))
	require.Contains(t, w.must("run", "--once"), "acme orders v6 ROLLBACK restores v3 by "+alan)
}

func TestAJobThatWasRemovedComesBackWhereItWas(t *testing.T) {
	t.Parallel()
	w, r := bareWorld(t, func(r *gittest.Repo) {
		r.Write("jobs/orders.yaml", "# about orders\n\n"+job("orders", 2)).Write("all.yaml", job("refunds", 1)+"---\n"+job("mails", 3)).Commit(ada, "first")
	})
	w.versions(r)
	r.Remove("jobs").Write("all.yaml", strings.TrimSpace(job("mails", 3))).Commit(grace, "fewer")
	require.Contains(t, w.versions(r), "acme orders v1 STOP removed by "+grace)
	w.must("rollback", "orders", "--author", alan)
	require.Equal(t, "# about orders\n\n"+strings.TrimSpace(job("orders", 2)), w.show("jobs/orders.yaml"))
	require.Contains(t, w.must("run", "--once"), "acme orders v2 ROLLBACK restores v1 by "+alan)
	dry := w.must("rollback", "refunds", "--author", alan, "--dry-run")
	require.Contains(t, dry, "\n+---\n+apiVersion: pawl.dev/v1\n")
	w.must("rollback", "refunds", "--author", alan)
	require.Equal(t, strings.TrimSpace(job("mails", 3)+"---\n"+job("refunds", 1)), w.show("all.yaml"))
	require.Contains(t, w.must("run", "--once"), "acme refunds v2 ROLLBACK restores v1 by "+alan)

	r.Git("pull", "-q", "origin", "main")
	r.Write(".pawlignore", "jobs/\n").Commit(ada, "not these")
	require.Contains(t, w.versions(r), "acme orders v2 STOP removed by "+ada)
	no := w.syncer("rollback", "orders", "--author", alan)
	require.Equal(t, 1, no.code)
	require.Contains(t, no.stderr, "jobs/orders.yaml is ignored by .pawlignore")
	require.Equal(t, r.Tip(), w.tip())
}

// The branch moves after the command has looked, before it pushes: it looks
// again, and the other's commit stays.
func TestARollbackThatLosesARaceIsDecidedAnew(t *testing.T) {
	t.Parallel()
	w, r := bareWorld(t, func(r *gittest.Repo) {
		r.Write("jobs/orders.yaml", job("orders", 2)).Write("jobs/refunds.yaml", job("refunds", 1)).Commit(ada, "first")
		r.Write("jobs/orders.yaml", job("orders", 9)).Commit(grace, "more")
	})
	bare := w.repo
	gittest.Run(t, bare, "config", "http.receivepack", "true")
	var rivals atomic.Int32
	always := false
	backend := gittest.Handler(t, filepath.Dir(bare), "", "")
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/git-receive-pack") && (always || rivals.Load() == 0) {
			rivals.Add(1)
			r.Write("jobs/refunds.yaml", job("refunds", 1+int(rivals.Load()))).Commit(ada, "a rival")
			r.Git("push", "-q", "origin", "main")
		}
		backend.ServeHTTP(rw, req)
	}))
	t.Cleanup(srv.Close)
	w.repo = srv.URL + "/bare.git"
	w.must("run", "--once")
	w.must("rollback", "orders", "--author", alan)
	w.repo = bare
	require.EqualValues(t, 1, rivals.Load())
	require.Equal(t, "Roll back orders to v1\na rival\nmore\nfirst", gittest.Run(t, bare, "log", "--format=%s", "main"))
	require.Equal(t, strings.TrimSpace(job("refunds", 2)), w.show("jobs/refunds.yaml"))
	require.Equal(t, strings.TrimSpace(job("orders", 2)), w.show("jobs/orders.yaml"))

	r.Git("pull", "-q", "origin", "main")
	w.repo, always = srv.URL+"/bare.git", true
	w.must("run", "--once")
	lost := w.syncer("rollback", "orders", "--author", alan, "--to", "v2")
	require.Equal(t, 1, lost.code)
	require.Contains(t, lost.stderr, "5 times in a row")
	require.EqualValues(t, 6, rivals.Load())
	w.repo = bare
	require.Equal(t, r.Tip(), w.tip())
}

func TestWhereAPushIsRefusedThePersonIsToldWhatToType(t *testing.T) {
	t.Parallel()
	w, r := bareWorld(t, func(r *gittest.Repo) {
		r.Write("all.yaml", job("orders", 2, "secret.db=canary-1aa2")+"---\n"+job("refunds", 1)).Commit(ada, "first")
		r.Write("all.yaml", job("orders", 9, "secret.db=canary-3bb4")+"---\n"+job("refunds", 1)).Commit(grace, "more")
	})
	w.must("run", "--once")
	hook := filepath.Join(w.repo, "hooks", "pre-receive")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\nwhile read old new ref; do test $ref != refs/heads/main || { echo 'main is protected' >&2; exit 1; }; done\n"), 0o755))
	before := w.tip()
	no := w.syncer("rollback", "orders", "--author", "Alan O'Turing <alan@example.com>")
	require.Equal(t, 1, no.code)
	require.Contains(t, no.stderr, "pre-receive hook declined (main is protected)")
	require.Contains(t, no.stderr, "syncer: hint: type the commands above")
	require.NotContains(t, no.stdout+no.stderr, "canary")
	require.Equal(t, before, w.tip())

	mine := filepath.Join(t.TempDir(), "mine")
	gittest.Run(t, filepath.Dir(mine), "clone", "-q", w.repo, mine)
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", no.stdout)
	cmd.Dir, cmd.Env = mine, gittest.Env()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", no.stdout, out)
	require.Equal(t, gittest.Run(t, w.repo, "rev-parse", "main^^{tree}"), gittest.Run(t, w.repo, "rev-parse", "roll-back-orders-to-v1^{tree}"))
	require.Equal(t, "Alan O'Turing <alan@example.com>\nRoll back orders to v1", gittest.Run(t, w.repo, "log", "-1", "--format=%an <%ae>%n%s", "roll-back-orders-to-v1"))
	require.Contains(t, gittest.Run(t, w.repo, "log", "-1", "--format=%(trailers)", "roll-back-orders-to-v1"), "Pawl-Restores: v1")
	r.Git("fetch", "-q", "origin")
	gittest.Run(t, w.repo, "update-ref", "refs/heads/main", "roll-back-orders-to-v1")
	require.Contains(t, w.must("run", "--once"), "acme orders v3 ROLLBACK restores v1 by Alan O'Turing")
}

// The clone's own server says no before anything is sent.
func TestARollbackWithoutTheRightToPushIsRefused(t *testing.T) {
	t.Parallel()
	w, _ := bareWorld(t, func(r *gittest.Repo) {
		r.Write("jobs/orders.yaml", job("orders", 2)).Commit(ada, "first")
		r.Write("jobs/orders.yaml", job("orders", 9)).Commit(grace, "more")
	})
	bare := w.repo
	w.repo = gittest.Serve(t, filepath.Dir(bare), "", "") + "/bare.git"
	w.must("run", "--once")
	no := w.syncer("rollback", "orders", "--author", alan, "-o", "json")
	require.Equal(t, 1, no.code)
	require.Contains(t, no.stderr, "no right to push")
	var out struct {
		Commands []string
		Commit   string
		Changed  bool
	}
	require.NoError(t, json.Unmarshal([]byte(no.stdout), &out))
	require.Len(t, out.Commands, 5)
	require.Empty(t, out.Commit)
}

func TestASecretIsRolledBackAndNotShown(t *testing.T) {
	t.Parallel()
	const first, second = "canary-91fe", "canary-02bd"
	w, _ := bareWorld(t, func(r *gittest.Repo) {
		r.Write("jobs/orders.yaml", job("orders", 2, "secret.db="+first, "secret.ref=env:A")).Commit(ada, "first")
		r.Write("jobs/orders.yaml", job("orders", 2, "secret.db="+second, "secret.ref=env:A")).Commit(grace, "another")
	})
	w.must("run", "--once")
	dry := w.syncer("rollback", "orders", "--author", alan, "--dry-run")
	require.Zero(t, dry.code, dry.stderr)
	require.Contains(t, dry.stdout, "-    secret.db: ***\n+    secret.db: ***\n     secret.ref: \"env:A\"")
	wet := w.syncer("rollback", "orders", "--author", alan)
	require.Zero(t, wet.code, wet.stderr)
	require.NotContains(t, dry.stdout+dry.stderr+wet.stdout+wet.stderr, "canary")
	require.Contains(t, w.show("jobs/orders.yaml"), first)
	require.Contains(t, w.must("run", "--once"), "acme orders v3 ROLLBACK restores v1 by "+alan)
}

func TestWhatCannotBeRolledBackSaysWhy(t *testing.T) {
	t.Parallel()
	w, r := bareWorld(t, func(r *gittest.Repo) {
		r.Write("jobs/orders.yaml", job("orders", 2)).Write("jobs/refunds.yaml", job("refunds", 1)).Commit(ada, "first")
		r.Write("jobs/orders.yaml", job("orders", 9)).Commit(grace, "more")
	})
	w.must("run", "--once")
	before := w.tip()
	refuse := func(code int, want string, args ...string) {
		t.Helper()
		no := w.syncer(append([]string{"rollback"}, args...)...)
		require.Equal(t, code, no.code, no.stdout+no.stderr)
		require.Contains(t, no.stderr, want)
		require.Contains(t, no.stderr, "syncer: hint: ")
		require.Empty(t, no.stdout)
	}
	refuse(1, "orders has no v7", "orders", "--author", alan, "--to", "7")
	refuse(2, `--to "old" is no version`, "orders", "--author", alan, "--to", "old")
	refuse(1, "refunds has no version before v1", "refunds", "--author", alan)
	refuse(1, "acme/nothing has no version from Git", "nothing", "--author", alan)
	refuse(2, `--author "Alan" is no person`, "orders", "--author", "Alan")
	refuse(2, `--committer "x" is no person`, "orders", "--author", alan, "--committer", "x")
	here := command(t, "syncer", "rollback", "orders", "--redis", w.redis.URL(), "--author", alan)
	require.Equal(t, 2, here.code)
	require.Contains(t, here.stderr, "no repository")
	require.Contains(t, here.stderr, "--repo")
	require.Equal(t, before, w.tip())

	// the branch has what is no version yet: what is "before" is not guessed at
	r.Write("jobs/orders.yaml", job("orders", 11)).Commit(ada, "not looked at")
	r.Git("push", "-q", "origin", "main")
	refuse(1, "is no version yet", "orders", "--author", alan)
	// a document that is not valid can be rolled back, a file that is not YAML cannot
	r.Write("jobs/orders.yaml", strings.Replace(job("orders", 11), "parallelism", "paralelism", 1)).Commit(ada, "a slip")
	r.Git("push", "-q", "origin", "main")
	require.Equal(t, 1, w.syncer("run", "--once").code)
	r.Write("jobs/orders.yaml", "metadata: [orders\n").Commit(ada, "broken")
	r.Git("push", "-q", "origin", "main")
	refuse(1, "may stand in what is not valid YAML", "orders", "--author", alan, "--to", "v2")
	r.Git("push", "-q", "-f", "origin", "HEAD~1:main")
	w.must("rollback", "orders", "--author", alan, "--to", "v2")
	require.Equal(t, strings.TrimSpace(job("orders", 9)), w.show("jobs/orders.yaml"))
	w.must("run", "--once")
	require.Equal(t, "synced", w.status().State)
}

func TestTheAuthorIsWhomGitKnows(t *testing.T) {
	t.Parallel()
	w, _ := bareWorld(t, func(r *gittest.Repo) {
		r.Write("jobs/orders.yaml", job("orders", 2)).Commit(ada, "first")
		r.Write("jobs/orders.yaml", job("orders", 9)).Commit(grace, "more")
	})
	w.must("run", "--once")
	config := filepath.Join(t.TempDir(), "gitconfig")
	require.NoError(t, os.WriteFile(config, []byte("[user]\n\tname = Grace Hopper\n\temail = grace@example.com\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "syncer"), w.args("rollback", "orders", "--dry-run", "--actor", alan)...)
	cmd.Dir, cmd.Env = t.TempDir(), append(nameless(env()), "GIT_CONFIG_GLOBAL="+config)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "by "+grace)

	cmd = exec.CommandContext(t.Context(), filepath.Join(bin, "syncer"), w.args("rollback", "orders", "--dry-run", "--actor", alan)...)
	cmd.Dir, cmd.Env = t.TempDir(), nameless(env())
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "by "+alan)

	cmd = exec.CommandContext(t.Context(), filepath.Join(bin, "syncer"), w.args("rollback", "orders", "--dry-run")...)
	cmd.Dir, cmd.Env = t.TempDir(), nameless(env())
	out, err = cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
	require.Contains(t, string(out), "has no mail address\nsyncer: hint: give --author")
}

// nameless is an environment in which git knows nobody.
func nameless(env []string) (out []string) {
	for _, kv := range env {
		if !strings.HasPrefix(kv, "GIT_AUTHOR_") && !strings.HasPrefix(kv, "GIT_COMMITTER_") {
			out = append(out, kv)
		}
	}
	return out
}

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

func pavilion(name, id, url string) string {
	return "apiVersion: pawl.dev/v1\nkind: Pavilion\nmetadata: {name: " + name + "}\nspec:\n  id: \"" + id +
		"\"\n  cid: X8FD\n  source: {url: \"" + url + "\", interval: 1h}\n"
}

// configured starts a syncer on a configuration, with one good repository a tenant.
func (w *world) configured(config string) *process {
	w.t.Helper()
	return w.start("syncer", "run", "--config", config, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--state-dir", w.state)
}

func (w *world) says(p *process, text string) {
	w.t.Helper()
	eventually(w.t, 30*time.Second, func() string { return "waiting for " + text + "\n" + p.out.String() }, func() bool { return strings.Contains(p.out.String(), text) })
}

func repoWith(t *testing.T, name string) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	r.Write(name+".yaml", job(name, 1))
	r.Commit(ada, "first")
	return r
}

func TestAConfigurationIsTakenOverWhileRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := repoWith(t, "orders"), repoWith(t, "stock")
	root := t.TempDir()
	write := func(version string, files map[string]string) { // a folder that is swapped as a whole, as Kubernetes does
		dir := filepath.Join(root, version)
		require.NoError(t, os.Mkdir(dir, 0o755))
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		link := filepath.Join(root, "new-link")
		require.NoError(t, os.Symlink(dir, link))
		require.NoError(t, os.Rename(link, filepath.Join(root, "current")))
	}
	write("v1", map[string]string{"acme.yaml": pavilion("acme", "NT:1", one.Dir)})
	p := w.configured(filepath.Join(root, "current"))
	w.says(p, "acme orders v1 SUBMIT")

	write("v2", map[string]string{"acme.yaml": pavilion("acme", "NT:1", one.Dir), "beta.yaml": pavilion("beta", "NT:2", two.Dir)})
	w.says(p, "beta stock v1 SUBMIT")

	write("v3", map[string]string{"acme.yaml": pavilion("acme", "NT:1", one.Dir), "beta.yaml": pavilion("beta", "NT:1", two.Dir)})
	w.says(p, "the old one stays in force")
	w.says(p, "2 Pavilions have the id X8FD-NT:1")
	two.Write("stock.yaml", job("stock", 2))
	two.Commit(grace, "two")
	w.says(p, "beta stock v2 UPGRADE")

	write("v4", map[string]string{"acme.yaml": pavilion("acme", "NT:1", one.Dir)})
	w.says(p, "left as it is")
	require.Equal(t, "stock", w.rdb.HKeys(t.Context(), prefix+"beta:jobs").Val()[0], "its jobs are not stopped")
	require.Equal(t, "PENDING_DEPLOY", w.rdb.HGet(t.Context(), prefix+"status:beta:stock", "state").Val())
	one.Write("orders.yaml", job("orders", 2))
	one.Commit(grace, "two")
	w.says(p, "acme orders v2 UPGRADE")
	require.Zero(t, p.stop(t), p.out.String())
}

func TestAConfigurationMayStandInGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := repoWith(t, "orders"), repoWith(t, "stock")
	config := gittest.New(t)
	config.Write("tenants/acme.yaml", pavilion("acme", "NT:1", one.Dir))
	config.Commit(ada, "acme")
	url := "file://" + config.Dir
	p := w.configured(url)
	w.says(p, "acme orders v1 SUBMIT")
	config.Write("tenants/beta.yaml", pavilion("beta", "NT:2", two.Dir))
	config.Commit(ada, "beta")
	w.says(p, "beta stock v1 SUBMIT")
	require.Zero(t, p.stop(t), p.out.String())
	once := command(t, "syncer", "run", "--once", "--config", url, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--state-dir", w.state)
	require.Zero(t, once.code, once.stderr)
}

// A request to look travels through the store to the syncer that follows.
func TestASyncIsAskedForThroughTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := repoWith(t, "orders")
	bare := r.Bare()
	srv := gittest.Serve(t, filepath.Dir(bare), "", "") // over HTTP nothing is watched
	w.repo = srv + "/bare.git"
	p := w.start("syncer", w.args("run", "--interval", "1h")...)
	w.says(p, "acme orders v1 SUBMIT")
	r.Write("orders.yaml", job("orders", 2))
	r.Commit(grace, "two")
	r.Git("push", "-q", bare, "main")
	w.must("sync", "--actor", "ops")
	w.says(p, "acme orders v2 UPGRADE")
	require.Contains(t, w.must("audit", "--admin"), "sync")
	require.Zero(t, p.stop(t), p.out.String())
}

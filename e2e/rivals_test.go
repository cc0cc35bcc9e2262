package e2e_test

import (
	"math/rand"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// Two syncers with a state folder each, one repository, one Redis, a minute of
// commits: every commit is one version, none is missing, none twice.
func TestTwoSyncersMakeNoVersionTwiceAndMissNone(t *testing.T) {
	t.Parallel()
	lasts := time.Minute
	if soak() {
		lasts = 10 * time.Minute
	}
	w := newWorld(t)
	w.extra = []string{"--audit-cap", "1000000", "--interval", "1s", "--lease", "1s"}
	r := gittest.New(t)
	r.Write("jobs/orders.yaml", job("orders", 1, "count=0"))
	r.Commit(ada, "first")
	w.repo = r.Dir
	one := w.start("syncer", w.args("run")...)
	w.state = filepath.Join(t.TempDir(), "second")
	two := w.start("syncer", w.args("run")...)

	rnd := rand.New(rand.NewSource(9))
	people := []string{ada, grace, alan}
	end := time.Now().Add(lasts)
	made := 1
	for time.Now().Before(end) {
		made++
		r.Write("jobs/orders.yaml", job("orders", 1+made%50, "count="+strconv.Itoa(made)))
		r.Commit(people[made%3], "change "+strconv.Itoa(made))
		pause(t, time.Duration(rnd.Intn(1200))*time.Millisecond)
	}
	tip := r.Tip()
	eventually(t, 30*time.Second, func() string { return one.out.String() + two.out.String() }, func() bool { return w.cursor("applied") == tip })
	first, second := one.out.String(), two.out.String()
	require.Zero(t, one.stop(t))
	require.Zero(t, two.stop(t))

	f := foldOf(t, r.Dir, "acme")
	require.Len(t, f.lines, made)
	var versions []string
	for line := range strings.Lines(first + second) {
		if strings.HasPrefix(line, "acme orders v") {
			versions = append(versions, strings.TrimSpace(line))
		}
	}
	require.ElementsMatch(t, f.lines, versions, "each version was made by exactly one of them")
	worked := strings.Contains(first, "acme orders v") && strings.Contains(second, "acme orders v")
	t.Logf("%d versions; both syncers made some: %v", made, worked)

	live := w.ledger()
	require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
	w.state = filepath.Join(t.TempDir(), "third")
	w.must("run", "--once")
	equalLedgers(t, w.ledger(), live)
}

// pause waits, unless the test ends.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

func TestAStandbyTakesOverFromAKilledSyncer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.extra = []string{"--interval", "200ms", "--lease", "1s"}
	r := gittest.New(t)
	r.Write("jobs/orders.yaml", job("orders", 1))
	r.Commit(ada, "first")
	w.repo = r.Dir
	one := w.start("syncer", w.args("run")...)
	eventually(t, 20*time.Second, one.out.String, func() bool { return w.cursor("applied") == r.Tip() })
	w.state = filepath.Join(t.TempDir(), "second")
	two := w.start("syncer", w.args("run")...)
	one.kill()
	r.Write("jobs/orders.yaml", job("orders", 2))
	tip := r.Commit(grace, "second")
	eventually(t, 20*time.Second, two.out.String, func() bool { return w.cursor("applied") == tip })
	require.Contains(t, two.out.String(), "acme orders v2 UPGRADE")
}

// A broken tenant delays no other.
func TestABrokenTenantDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := gittest.New(t)
	good.Write("jobs/orders.yaml", job("orders", 1))
	good.Commit(ada, "first")
	bad := gittest.New(t)
	bad.Write("jobs/orders.yaml", "{ broken: [\n")
	bad.Commit(grace, "broken")
	dir := t.TempDir()
	for name, url := range map[string]string{"acme": good.Dir, "bad": bad.Dir, "gone": filepath.Join(dir, "no-such-repository")} {
		id := name[:1]
		require.NoError(t, writeAll(filepath.Join(dir, name+".yaml"), "apiVersion: pawl.dev/v1\nkind: Pavilion\nmetadata: {name: "+name+"}\nspec:\n  id: \"NT:"+id+
			"\"\n  cid: X8FD\n  source: {url: \""+url+"\", interval: 1h}\n"))
	}
	once := command(t, "syncer", "run", "--once", "--config", dir, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--state-dir", w.state)
	require.Equal(t, 1, once.code)
	require.Contains(t, once.stdout, "acme orders v1 SUBMIT by "+ada)
	require.Contains(t, once.stderr, "jobs/orders.yaml:")
	require.Contains(t, once.stderr, "no-such-repository")
	p := w.start("syncer", "run", "--config", dir, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--state-dir", w.state)
	eventually(t, 20*time.Second, p.out.String, func() bool { return strings.Contains(p.out.String(), "no-such-repository") })
	good.Write("jobs/orders.yaml", job("orders", 2))
	good.Commit(ada, "second")
	eventually(t, 20*time.Second, p.out.String, func() bool { return strings.Contains(p.out.String(), "acme orders v2 UPGRADE") })
}

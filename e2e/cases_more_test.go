package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// silent listens, accepts and never says a word; every connection is kept until
// the test ends. accepted has a token once somebody waits.
func silent(t *testing.T) (addr string, accepted <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	some := make(chan struct{}, 1)
	var conns []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
			select {
			case some <- struct{}{}:
			default:
			}
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		wg.Wait()
		for _, c := range conns {
			require.NoError(t, c.Close())
		}
	})
	return l.Addr().String(), some
}

// G08: one tenant's server accepts and says nothing.
func TestAFetchThatHangsDelaysNoOtherTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, waiting := silent(t)
	good := repoWith(t, "orders")
	config := filepath.Join(t.TempDir(), "platform.yaml")
	require.NoError(t, writeAll(config, tenantDoc("t1", "X8FD", "http://"+addr+"/x.git", "", "")+"---\n"+tenantDoc("t2", "Y2KQ", good.Dir, "", "")))
	p := w.configured(config)
	select {
	case <-waiting:
	case <-time.After(20 * time.Second):
		t.Fatalf("nobody asked the silent server\n%s", p.out)
	}
	w.says(p, "t2 orders v1 SUBMIT")
	good.Write("orders.yaml", job("orders", 2))
	good.Commit(grace, "two")
	w.says(p, "t2 orders v2 UPGRADE by "+grace)
	require.NotContains(t, p.out.String(), "tenant=t1", "the other one still waits")
	require.Zero(t, p.stop(t), "a fetch that hangs keeps nobody from ending\n%s", p.out)
}

// G17: starts and restarts with whatever is on disk already.
func TestAStartGoesOnWithWhateverIsOnDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := repoWith(t, "orders")
	w.repo = r.Dir
	clone := filepath.Join(w.state, "clones", "acme")

	require.NoError(t, os.MkdirAll(clone, 0o755)) // a first clone that was killed
	require.NoError(t, writeAll(filepath.Join(clone, "HEAD"), "ref: refs/heads/main\n"))
	require.Contains(t, w.must("run", "--once"), "acme orders v1 SUBMIT")
	for n := 2; n < 5; n++ {
		require.Empty(t, w.must("run", "--once"), "a restart has nothing to do")
		r.Write("orders.yaml", job("orders", n))
		r.Commit(grace, "more")
		require.Contains(t, w.must("run", "--once"), fmt.Sprintf("acme orders v%d UPGRADE", n))
	}
	kept := w.ledger()
	require.NoError(t, os.RemoveAll(w.state))
	require.Empty(t, w.must("run", "--once"), "without the clone it goes on from the store's cursor")
	equalLedgers(t, kept, w.ledger())
}

// G17: two tenants with one URL, each on a branch of its own.
func TestTwoTenantsOfOneRepositoryKeepTheirBranchesApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := repoWith(t, "orders")
	r.Branch("next").Write("orders.yaml", job("orders", 9))
	r.Commit(grace, "nine")
	config := filepath.Join(t.TempDir(), "platform.yaml")
	docs := tenantDoc("t1", "X8FD", r.Dir, "", "") + "---\n" + strings.Replace(tenantDoc("t2", "Y2KQ", r.Dir, "", ""), "branch: main", "branch: next", 1)
	require.NoError(t, writeAll(config, docs))
	for range 2 {
		out := command(t, "syncer", "run", "--once", "--config", config, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--state-dir", w.state)
		require.Zero(t, out.code, out.stderr)
	}
	for name, want := range map[string][2]string{"t1": {"1", `"parallelism":1,`}, "t2": {"2", `"parallelism":9,`}} {
		require.Equal(t, want[0], w.rdb.HGet(t.Context(), prefix+name+":versions", "orders").Val())
		require.Contains(t, w.rdb.HGet(t.Context(), prefix+name+":jobs", "orders").Val(), want[1])
	}
}

// G98: three hundred versions, of which few contents are kept.
func TestThreeHundredVersionsKeepTheirOrderAndAnOldContentIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cap  string
		want string
	}{
		"the ledger knows the content": {"10000", "acme orders v301 ROLLBACK restores v3 by " + alan},
		"the ledger was cut":           {"20", "acme orders v301 UPGRADE by " + alan},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.extra = []string{"--history-cap", "20", "--origin-cap", c.cap}
			r := gittest.New(t)
			w.repo = r.Dir
			var stream strings.Builder
			for n := 1; n <= 300; n++ {
				text := job("orders", n)
				fmt.Fprintf(&stream, "commit refs/heads/main\nauthor %s %d +0000\ncommitter %s %d +0000\ndata 1\nx\nM 100644 inline orders.yaml\ndata %d\n%s\n",
					ada, 1767225600+n, ada, 1767225600+n, len(text), text)
			}
			r.FastImport(strings.NewReader(stream.String()))
			require.Equal(t, 300, strings.Count(w.must("run", "--once"), "\n"))
			require.EqualValues(t, 20, w.rdb.LLen(t.Context(), prefix+"history:acme:orders").Val())
			r.Write("orders.yaml", job("orders", 3))
			r.Commit(alan, "three again")
			require.Contains(t, w.must("run", "--once"), c.want)
			var all []origin
			require.NoError(t, json.Unmarshal([]byte(w.must("history", "orders", "-o", "json")), &all))
			for i, o := range all[1:] {
				require.Equal(t, all[i].Version+1, o.Version, "numbers in the order of numbers")
			}
			require.EqualValues(t, 301, all[len(all)-1].Version)
		})
	}
}

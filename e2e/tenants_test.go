package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// Two hundred tenants, twenty of them broken in five ways: the others are never
// later than one interval, and the process does not grow.
func TestTwentyBrokenTenantsDelayNoneOfTheOthers(t *testing.T) {
	t.Parallel()
	const tenants, broken = 200, 20
	w := newWorld(t)
	ways := []func(*testing.T) string{hanging(t), refusing(t), corrupt, brokenFile, otherBranch}
	config := t.TempDir()
	repos := map[string]*gittest.Repo{}
	for i := range tenants {
		name := fmt.Sprintf("t%03d", i)
		url := ""
		if i%(tenants/broken) == 0 {
			url = ways[i/(tenants/broken)%len(ways)](t)
		} else {
			r := gittest.New(t)
			r.Write("orders.yaml", job("orders", 1))
			r.Commit(ada, "first")
			repos[name], url = r, r.Dir
		}
		text := strings.Replace(pavilion(name, "NT:"+strconv.Itoa(i), url), "interval: 1h", "interval: 5s", 1)
		require.NoError(t, os.WriteFile(filepath.Join(config, name+".yaml"), []byte(text), 0o644))
	}
	p := w.configured(config)
	said := func() string { return p.out.String()[max(0, len(p.out.String())-4000):] }
	version := func(name string) string { return w.rdb.HGet(t.Context(), prefix+name+":versions", "orders").Val() }
	eventually(t, time.Minute, said, func() bool {
		for name := range repos {
			if version(name) != "1" {
				return false
			}
		}
		return true
	})
	early := memory(t, p.cmd.Process.Pid)
	for round := 2; round <= 5; round++ {
		n := 0
		for name, r := range repos {
			if n++; n > 12 {
				break
			}
			was := version(name)
			r.Write("orders.yaml", job("orders", 1+round, "round="+strconv.Itoa(round)))
			r.Commit(grace, "round "+strconv.Itoa(round))
			eventually(t, 5*time.Second, said, func() bool { return version(name) != was })
		}
	}
	late := memory(t, p.cmd.Process.Pid)
	t.Logf("resident after the first sync %d MiB, at the end %d MiB", early>>20, late>>20)
	require.Less(t, late, early+early/2+(64<<20), "the process grows")
	require.Zero(t, p.stop(t), said())
}

// hanging is a server that takes connections and never answers.
func hanging(t *testing.T) func(*testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	go func() {
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				for _, c := range held {
					if err := c.Close(); err != nil {
						return
					}
				}
				return
			}
			held = append(held, c)
		}
	}()
	return func(*testing.T) string { return "http://" + l.Addr().String() + "/specs.git" }
}

// refusing is a server that knows nobody.
func refusing(t *testing.T) func(*testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "who are you", http.StatusUnauthorized)
	}))
	t.Cleanup(srv.Close)
	return func(*testing.T) string { return srv.URL + "/specs.git" }
}

// corrupt is a repository whose newest blob is cut short.
func corrupt(t *testing.T) string {
	r := gittest.New(t)
	r.Write("orders.yaml", job("orders", 1))
	r.Commit(ada, "first")
	blob := r.Git("rev-parse", "HEAD:orders.yaml")
	file := filepath.Join(r.Dir, ".git", "objects", blob[:2], blob[2:])
	require.NoError(t, os.Chmod(file, 0o644))
	require.NoError(t, os.Truncate(file, 20))
	return r.Dir
}

func brokenFile(t *testing.T) string {
	r := gittest.New(t)
	r.Write("orders.yaml", "{ broken: [\n")
	r.Commit(ada, "first")
	return r.Dir
}

func otherBranch(t *testing.T) string {
	r := gittest.New(t)
	r.Write("orders.yaml", job("orders", 1))
	r.Commit(ada, "first")
	r.Git("branch", "-m", "main", "trunk")
	return r.Dir
}

// memory is what a process has resident, in bytes.
func memory(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// trace is a folder where every copy of a job notes its start and its end, so
// that it can be seen afterwards how many there were at any moment.
type trace struct {
	t   *testing.T
	dir string
}

// worker is a job's program: it notes who it is, holds a lock that only one copy
// of an index may hold, and waits for the end.
const workerScript = `#!/bin/sh
me="$TRACE/$JOB_NAME.$JOB_INDEX"
if ! mkdir "$me.alive" 2>/dev/null; then echo "$$" >> "$TRACE/double"; fi
echo "start $JOB_NAME $JOB_INDEX $JOB_VERSION $JOB_GENERATION $$" >> "$TRACE/log"
end() { echo "end $JOB_NAME $JOB_INDEX $$" >> "$TRACE/log"; rmdir "$me.alive"; exit 0; }
trap end TERM INT
while :; do sleep 0.1 & wait $!; done
`

func newTrace(t *testing.T) *trace {
	t.Helper()
	tr := &trace{t, t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(tr.dir, "worker.sh"), []byte(workerScript), 0o755))
	return tr
}

// config is an agent's configuration.
func (tr *trace) config(name, takeover string) string {
	file := filepath.Join(tr.dir, name+".yaml")
	require.NoError(tr.t, os.WriteFile(file, []byte(fmt.Sprintf(`apiVersion: pawl.dev/v1
kind: Agent
metadata: {name: %s}
spec:
  takeoverAfter: %s
  factories:
    - {name: enrich, process: {command: ["/bin/sh", "%s/worker.sh"], env: {TRACE: "%s"}, grace: 5s}}
`, name, takeover, tr.dir, tr.dir)), 0o644))
	return file
}

func (tr *trace) log() string {
	b, err := os.ReadFile(filepath.Join(tr.dir, "log"))
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(tr.t, err)
	return string(b)
}

// alive gives the process ids of the copies that are there now.
func (tr *trace) alive() map[string]int {
	pids := map[string]int{}
	for line := range strings.Lines(tr.log()) {
		f := strings.Fields(line)
		if f[0] == "start" {
			pid, err := strconv.Atoi(f[5])
			require.NoError(tr.t, err)
			if syscall.Kill(pid, 0) == nil {
				pids[f[1]+"."+f[2]] = pid
			}
		}
	}
	return pids
}

func (tr *trace) noDouble() {
	require.NoFileExists(tr.t, filepath.Join(tr.dir, "double"), "two copies of one job were alive at once")
}

func (w *world) agent(config string, args ...string) *process {
	return w.start("agent", append([]string{"run", "--config", config, "--redis", w.redis.URL(), "--interval", "200ms", "--lease", "2s"}, args...)...)
}

func (w *world) running(name string, version int64) func() bool {
	return func() bool {
		for _, j := range w.status().Jobs {
			if j.Job == name {
				return j.State == "RUNNING" && j.RunningVersion == version && !j.Lapsed
			}
		}
		return false
	}
}

// A commit runs; a change of parallelism alone starts or stops processes and
// leaves the others alone; any other change launches anew; removal stops.
func TestACommitBecomesARunningJob(t *testing.T) {
	t.Parallel()
	w, tr := newWorld(t), newTrace(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 2, "topic=a"))
	r.Commit(ada, "first")
	s := w.start("syncer", w.args("run")...)
	a := w.agent(tr.config("one", "6m"))
	said := func() string { return s.out.String() + a.out.String() + tr.log() + w.must("status") }
	eventually(t, 20*time.Second, said, w.running("orders", 1))
	eventually(t, 10*time.Second, said, func() bool { return len(tr.alive()) == 2 })
	before := tr.alive()

	r.Write("jobs/orders.yaml", job("orders", 3, "topic=a"))
	r.Commit(grace, "one more")
	eventually(t, 20*time.Second, said, w.running("orders", 2))
	eventually(t, 10*time.Second, said, func() bool { return len(tr.alive()) == 3 })
	after := tr.alive()
	require.Equal(t, []int{before["orders.0"], before["orders.1"]}, []int{after["orders.0"], after["orders.1"]}, "survivors keep their processes")

	r.Revert(alan, "HEAD")
	eventually(t, 20*time.Second, said, w.running("orders", 3))
	eventually(t, 10*time.Second, said, func() bool { return len(tr.alive()) == 2 })

	r.Write("jobs/orders.yaml", job("orders", 2, "topic=b"))
	r.Commit(grace, "another topic")
	eventually(t, 20*time.Second, said, w.running("orders", 4))
	eventually(t, 10*time.Second, said, func() bool { return len(tr.alive()) == 2 && tr.alive()["orders.0"] != before["orders.0"] })

	w.must("restart", "orders", "--actor", "ops")
	fourth := tr.alive()
	eventually(t, 20*time.Second, said, func() bool { return len(tr.alive()) == 2 && tr.alive()["orders.0"] != fourth["orders.0"] })

	w.must("stop", "orders", "--actor", "ops")
	eventually(t, 20*time.Second, said, func() bool { return len(tr.alive()) == 0 })
	eventually(t, 10*time.Second, said, func() bool { return w.status().Jobs[0].State == "DESIRED_STOPPED" && w.status().Jobs[0].Owner == "" })
	w.must("resume", "orders", "--actor", "ops")
	eventually(t, 20*time.Second, said, w.running("orders", 4))

	r.Remove("jobs/orders.yaml").Write("README.md", "nothing here\n")
	r.Commit(alan, "no more orders")
	eventually(t, 20*time.Second, said, func() bool { return len(tr.alive()) == 0 && len(w.status().Jobs) == 0 })
	tr.noDouble()
	require.Zero(t, a.stop(t), a.out.String())
}

// Two agents, one job: never two copies. The owner is killed with its children;
// its lease lapses by the store's clock, which status shows, and the other takes
// over after takeoverAfter.
func TestTwoAgentsNeverRunOneJobTwice(t *testing.T) {
	t.Parallel()
	w, tr := newWorld(t), newTrace(t)
	r := gittest.New(t)
	w.repo = r.Dir
	for i := range 8 {
		n := "job-" + strconv.Itoa(i)
		r.Write("jobs/"+n+".yaml", job(n, 1))
	}
	r.Commit(ada, "first")
	one, two := w.agent(tr.config("one", "3s")), w.agent(tr.config("two", "3s")) // both wait for the jobs
	w.must("run", "--once")
	said := func() string { return one.out.String() + two.out.String() + tr.log() + w.must("status") }
	eventually(t, 20*time.Second, said, func() bool { return len(tr.alive()) == 8 })
	eventually(t, 20*time.Second, said, func() bool {
		n := 0
		for _, j := range w.status().Jobs {
			if j.State == "RUNNING" {
				n++
			}
		}
		return n == 8
	})
	tr.noDouble()
	ours := 0
	for _, j := range w.status().Jobs {
		if strings.HasPrefix(j.Owner, "one") {
			ours++
		}
	}
	t.Logf("agent one runs %d of 8", ours)

	one.kill()
	eventually(t, 10*time.Second, said, func() bool { return len(tr.alive()) == 8-ours }) // they died with it
	for name := range map[string]bool{"job-0": true, "job-1": true, "job-2": true, "job-3": true, "job-4": true, "job-5": true, "job-6": true, "job-7": true} {
		if _, ok := tr.alive()[name+".0"]; !ok { // killed, so it could not note its end
			require.NoError(t, os.Remove(filepath.Join(tr.dir, name+".0.alive")))
		}
	}
	if ours > 0 {
		eventually(t, 10*time.Second, said, func() bool {
			for _, j := range w.status().Jobs {
				if j.Lapsed {
					return true
				}
			}
			return false
		})
	}
	eventually(t, 30*time.Second, said, func() bool { return len(tr.alive()) == 8 })
	eventually(t, 10*time.Second, said, func() bool {
		for _, j := range w.status().Jobs {
			if j.State != "RUNNING" || j.Lapsed || !strings.HasPrefix(j.Owner, "two") {
				return false
			}
		}
		return true
	})
	tr.noDouble()
	require.Zero(t, two.stop(t), two.out.String())
	require.Empty(t, tr.alive())
}

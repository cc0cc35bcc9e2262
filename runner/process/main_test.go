package process_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/runner/process"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

// asAgent makes this test binary an agent that launches sleepers and waits to be killed.
const asAgent = "PROCESS_TEST_AGENT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asAgent); dir != "" {
		if err := beAgent(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func beAgent(dir string) error {
	l, err := process.New(process.Config{Dir: dir, Factory: spec.ProcessLauncher{Command: []string{"/bin/sh", "-c", `echo $$ > "$OUT/$JOB_INDEX.pid"; exec sleep 600`}, Env: map[string]string{"OUT": dir}}})
	if err != nil {
		return err
	}
	if _, err := l.Launch(context.Background(), task(2), func() {}); err != nil {
		return err
	}
	fmt.Println("launched")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n') // until the end of time, or a kill
	return err
}

func task(parallelism int) runner.Task {
	return runner.Task{
		Tenant: "acme", GID: "X8FD-NT:1-orders", Version: 7, Generation: 3,
		Job: spec.Job{Name: "orders", Factory: "enrich", Parallelism: parallelism, Config: map[string]string{}},
	}
}

// bench is a launcher of one shell script, with a folder that it may write to as $OUT.
type bench struct {
	*process.Launcher
	out, dir string
	log      *logs
}

func launcher(t *testing.T, script string, change ...func(*process.Config)) bench {
	t.Helper()
	b := bench{out: t.TempDir(), dir: t.TempDir(), log: &logs{}}
	cfg := process.Config{
		Factory: spec.ProcessLauncher{Command: []string{"/bin/sh", "-c", script}, Env: map[string]string{"OUT": b.out}, Grace: 5 * time.Second},
		Dir:     b.dir, Log: slog.New(slog.NewTextHandler(b.log, nil)),
		Restart: process.Restart{First: 5 * time.Millisecond, Max: 40 * time.Millisecond, Steady: time.Minute},
	}
	for _, c := range change {
		c(&cfg)
	}
	l, err := process.New(cfg)
	require.NoError(t, err)
	b.Launcher = l
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return b
}

func (b bench) launch(t *testing.T, tk runner.Task) runner.Running {
	t.Helper()
	r, err := b.Launch(t.Context(), tk, func() {})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Stop(ended())) })
	return r
}

// ended is a context that has ended: whoever stops with it kills.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// file waits for a file that a child writes, and gives its content once it ends in a line break.
func (b bench) file(t *testing.T, name string) string {
	t.Helper()
	var content []byte
	until(t, "file "+name, func() bool {
		var err error
		content, err = os.ReadFile(filepath.Join(b.out, name))
		return err == nil && bytes.HasSuffix(content, []byte("\n"))
	})
	return string(content)
}

func (b bench) pid(t *testing.T, index int) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(b.file(t, strconv.Itoa(index)+".pid")))
	require.NoError(t, err)
	return pid
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ") // a zombie is dead
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			require.FailNow(t, "waited in vain for "+what)
		}
	}
}

// logs is a buffer that children's output and the test may share.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

var _ io.Writer = (*logs)(nil)

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

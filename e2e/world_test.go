package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/internal/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// bin is where TestMain builds both programs.
var bin string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pawl-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	out, err := exec.Command("go", "build", "-o", dir+"/", "../cmd/syncer", "../cmd/agent", "../bench/genspecs").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// soak tells whether the long versions of the stories are wanted.
func soak() bool { return os.Getenv("PAWL_E2E_SOAK") != "" }

// world is one Redis with whatever a story needs around it.
type world struct {
	t     *testing.T
	redis *redistest.Server
	rdb   *redis.Client
	repo  string   // path of the specs repository
	state string   // state folder of the first syncer
	extra []string // flags of every syncer call
	env   []string // further environment of processes in the background
}

func newWorld(t *testing.T) *world {
	t.Helper()
	srv := redistest.Start(t)
	w := &world{t: t, redis: srv, state: filepath.Join(t.TempDir(), "state")}
	opt, err := redis.ParseURL(srv.URL())
	require.NoError(t, err)
	w.rdb = redis.NewClient(opt)
	t.Cleanup(func() { require.NoError(t, w.rdb.Close()) })
	return w
}

// env is a clean environment: no PAWL_ variable of the person who runs the tests.
func env() []string {
	return slices.DeleteFunc(gittest.Env(), func(s string) bool { return strings.HasPrefix(s, "PAWL_") })
}

// args are the flags that connect a syncer with the world.
func (w *world) args(args ...string) []string {
	return append(append(args, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--tenant", "acme",
		"--cid", "X8FD", "--pavilion", "NT:1", "--repo", w.repo, "--state-dir", w.state), w.extra...)
}

type result struct {
	stdout, stderr string
	code           int
}

// syncer runs one command to its end.
func (w *world) syncer(args ...string) result {
	w.t.Helper()
	return command(w.t, "syncer", w.args(args...)...)
}

// must runs one command that has to succeed, and gives its output.
func (w *world) must(args ...string) string {
	w.t.Helper()
	r := w.syncer(args...)
	require.Zero(w.t, r.code, "syncer %v\n%s%s", args, r.stdout, r.stderr)
	return r.stdout
}

func command(t *testing.T, program string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, program), args...)
	cmd.Env = env()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "%s %v: %s", program, args, &stderr)
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		require.NoError(t, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// process is a program in the background; it is killed at the end of the test.
type process struct {
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
}

func (w *world) start(program string, args ...string) *process {
	w.t.Helper()
	p := &process{cmd: exec.Command(filepath.Join(bin, program), args...), out: newOutput(), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(env(), w.env...), p.out, p.out
	require.NoError(w.t, p.cmd.Start())
	go func() {
		defer close(p.done)
		p.out.ended(p.cmd.Wait())
	}()
	w.t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	if err := p.cmd.Process.Kill(); err != nil {
		p.out.ended(err) // it had ended
	}
	<-p.done
}

// stop asks the process to end and gives its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not stop\n%s", p.cmd.Path, p.out)
	}
	return p.cmd.ProcessState.ExitCode()
}

// written waits until the process has written so many lines, or ended.
func (p *process) written(lines int) {
	for p.out.lines() < lines {
		select {
		case <-p.out.more:
		case <-p.done:
			return
		}
	}
}

// output collects what a process writes; it is safe to read meanwhile.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	err  error
	more chan struct{} // holds a token after each write
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.buf.Write(b)
}

func (o *output) lines() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Count(o.buf.Bytes(), []byte("\n"))
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func (o *output) ended(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

// eventually waits until a condition holds; what describes the wait.
func eventually(t *testing.T, limit time.Duration, what func() string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what())
		}
		<-tick.C
	}
}

const prefix = "streaming:runtime:control:"

// cursor reads one field of the tenant's cursor.
func (w *world) cursor(field string) string {
	w.t.Helper()
	v, err := w.rdb.HGet(w.t.Context(), prefix+"pawl:acme:cursor", field).Result()
	if err == redis.Nil {
		return ""
	}
	require.NoError(w.t, err)
	return v
}

// ledger is what must be the same however a store came to be: jobs, versions,
// history, origins and audit rows, byte for byte, but for the time of a row.
func (w *world) ledger() map[string]string {
	w.t.Helper()
	ctx := w.t.Context()
	out := map[string]string{}
	keys, err := w.rdb.Keys(ctx, prefix+"*").Result()
	require.NoError(w.t, err)
	for _, k := range keys {
		name := strings.TrimPrefix(k, prefix)
		switch {
		case name == "acme:jobs", name == "acme:versions", strings.HasPrefix(name, "pawl:acme:origins:"),
			name == "pawl:acme:subs", name == "pawl:acme:subversions":
			h, err := w.rdb.HGetAll(ctx, k).Result()
			require.NoError(w.t, err)
			for _, f := range slices.Sorted(maps.Keys(h)) {
				out[name+" "+f] = h[f]
			}
		case strings.HasPrefix(name, "history:acme:"), strings.HasPrefix(name, "pawl:acme:subhistory:"):
			l, err := w.rdb.LRange(ctx, k, 0, -1).Result()
			require.NoError(w.t, err)
			out[name] = strings.Join(l, "\n")
		case name == "audit":
			rows, err := w.rdb.XRange(ctx, k, "-", "+").Result()
			require.NoError(w.t, err)
			for i, r := range rows {
				if r.Values["op"] == "REPORT_STATUS" && r.Values["kind"] == "agent" {
					continue
				}
				var b strings.Builder
				for _, f := range slices.Sorted(maps.Keys(r.Values)) {
					if f != "ts" {
						fmt.Fprintf(&b, "%s=%v ", f, r.Values[f])
					}
				}
				out["audit "+fmt.Sprintf("%06d", i)] = b.String()
			}
		}
	}
	return out
}

// equalLedgers compares two ledgers and names the first differences.
func equalLedgers(t *testing.T, want, have map[string]string) {
	t.Helper()
	var diffs []string
	all := maps.Clone(want)
	maps.Copy(all, have)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if want[k] != have[k] {
			diffs = append(diffs, fmt.Sprintf("%s\n  want %q\n  have %q", k, want[k], have[k]))
		}
	}
	if len(diffs) > 0 {
		t.Fatalf("%d differences, first:\n%s", len(diffs), strings.Join(diffs[:min(5, len(diffs))], "\n"))
	}
}

// job is a job spec as a file.
func job(name string, parallelism int, config ...string) string {
	s := "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata:\n  name: " + name +
		"\nspec:\n  pipelineFactory: enrich\n  parallelism: " + strconv.Itoa(parallelism) + "\n"
	if len(config) > 0 {
		s += "  config:\n"
		for _, kv := range config {
			k, v, _ := strings.Cut(kv, "=")
			s += fmt.Sprintf("    %s: %q\n", k, v)
		}
	}
	return s
}

// People of the stories.
const (
	ada   = "Ada Lovelace <ada@example.com>"
	grace = "Grace Hopper <grace@example.com>"
	alan  = "Alan Turing <alan@example.com>"
)

func short(id string) string { return id[:7] }

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/internal/redistest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

const canary = "canary-90ee"

const document = `apiVersion: pawl.dev/v1
kind: Agent
metadata: {name: pool-a}
spec:
  tenants: [acme]
  factories:
    - name: enrich
      process:
        command: ["/bin/sh", "-c", "echo started v$JOB_VERSION; trap 'rm -f $OUT/pid; exit 0' TERM; echo $$ > $OUT/pid; while :; do sleep 0.01; done"]
        env: {OUT: "%OUT%"}
        grace: 5s
`

func config(t *testing.T, text string) (path, out string) {
	t.Helper()
	out = t.TempDir()
	path = filepath.Join(out, "agent.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "%OUT%", out)), 0o600))
	return path, out
}

// output is a buffer that the program and the test may share.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func call(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs output
	code = run(t.Context(), args, environ, &out, &errs)
	return code, out.String(), errs.String()
}

func TestWrongUseExitsWithTwoAndSaysWhatToDo(t *testing.T) {
	good, dir := config(t, document)
	bad, _ := config(t, strings.Replace(document, "grace", "grase", 1))
	none := filepath.Join(dir, "none.yaml")
	require.NoError(t, os.WriteFile(none, []byte("apiVersion: pawl.dev/v1\nkind: Pavilion\nmetadata: {name: acme}\nspec: {id: \"NT:1\", cid: X8FD, source: {url: /x}}\n"), 0o600))
	two := filepath.Join(dir, "two.yaml")
	require.NoError(t, os.WriteFile(two, []byte(document+"---\n"+strings.Replace(document, "pool-a", "pool-b", 1)), 0o600))
	for _, c := range []struct {
		args []string
		env  string
		want string
	}{
		{[]string{"run"}, "", "agent: error: --config is missing\nagent: hint: give the file of an Agent document"},
		{[]string{"run", "--config", "/nowhere.yaml"}, "", "agent: error: --config: open /nowhere.yaml: no such file"},
		{[]string{"run", "--config", bad}, "", "spec.factories[0].process.grase: unknown field"},
		{[]string{"run", "--config", none}, "", "no Agent document in it"},
		{[]string{"run", "--config", two}, "", "agent: hint: choose one of pool-a, pool-b"},
		{[]string{"run", "--config", good, "--lease", "1ms", "--interval", "0s", "--name", "Pool_A", "-D", canary}, "",
			"agent: error: --lease 1ms is too short: at least 100ms\nagent: error: --interval 0s is too short: at least 100ms\n" +
				"agent: error: --name: name \"Pool_A\": lower-case letters, digits and - only, beginning and ending with a letter or digit\n" +
				"agent: error: -D number 1 is not name=value\n"},
		{[]string{"run", "--config", good, "--lease", "48h"}, "", "--lease 48h0m0s is too long"},
		{[]string{"run", "--config", good, "--log-format", "xml"}, "", "--log-format \"xml\" is unknown"},
		{[]string{"run", "--config", good}, "PAWL_LESE=15s", "agent: error: unknown environment variable PAWL_LESE\nagent: hint: did you mean PAWL_LEASE?"},
		{[]string{"run", "--config", good}, "PAWL_LEASE=" + canary, "environment variable PAWL_LEASE: not a valid duration for --lease"},
		{[]string{"walk"}, "", "agent: error: unknown command \"walk\""},
	} {
		code, stdout, stderr := call(t, []string{c.env}, c.args...)
		require.Equal(t, 2, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.want)
		require.NotContains(t, stderr, canary)
		require.Empty(t, stdout)
	}
}

func TestFactoriesThatCannotBeLaunchedAreRefusedTogether(t *testing.T) {
	server := redistest.Start(t)
	path, _ := config(t, `apiVersion: pawl.dev/v1
kind: Agent
metadata: {name: pool-a}
spec:
  factories:
    - {name: pipe, stream: {}}
    - {name: wired, process: {command: ["/opt/x"], wire: true}}
    - {name: named, process: {command: ["/opt/x"], env: {JOB_NAME: x}}}
    - {name: fine, process: {command: ["/opt/x"]}}
`)
	code, _, stderr := call(t, nil, "run", "--config", path, "--redis", server.URL())
	require.Equal(t, 2, code, stderr)
	require.Contains(t, stderr, "agent: error: factory pipe: this release launches processes only: give it a process\n")
	require.Contains(t, stderr, "agent: error: factory wired: process.wire is not spoken by this release: leave it out\n")
	require.Contains(t, stderr, "agent: error: factory named: process.env: JOB_NAME is set by the launcher")
	require.NotContains(t, stderr, "factory fine")
}

func TestAStoreThatIsAwayIsWaitedFor(t *testing.T) {
	path, _ := config(t, document)
	server := redistest.StartTCP(t)
	server.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs output
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"run", "--config", path, "--redis", server.URL()}, nil, &out, &errs)
	}()
	until(t, "is the Redis of --redis running and reachable?", func() bool { return strings.Contains(errs.String(), "is the Redis of --redis running and reachable?") })
	server.Restart()
	until(t, "agent serves", func() bool { return strings.Contains(errs.String(), "agent serves") })
	cancel()
	require.Zero(t, <-ended, errs.String())
}

func TestWaitingForAStoreNeverShowsItsPassword(t *testing.T) {
	path, _ := config(t, document)
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs output
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"run", "--config", path, "--redis", "redis://u:" + canary + "@127.0.0.1:1/0"}, nil, &out, &errs)
	}()
	until(t, "waiting for the store", func() bool { return strings.Contains(errs.String(), "waiting for the store") })
	cancel()
	<-ended
	require.NotContains(t, errs.String(), canary)
}

func TestVersionAndHelpAreForPeople(t *testing.T) {
	code, stdout, _ := call(t, nil, "version")
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(stdout, "agent "))
	code, stdout, _ = call(t, nil, "run", "--help")
	require.Zero(t, code)
	for _, flag := range []string{"--config", "--redis", "--prefix", "--name", "-D, --define", "--lease", "--interval", "--log-format"} {
		require.Contains(t, stdout, flag)
	}
	code, stdout, _ = call(t, nil, "completion", "bash")
	require.Zero(t, code)
	require.NotEmpty(t, stdout)
}

func TestIdentitiesAreNeverShared(t *testing.T) {
	a, b := identity("pool-a"), identity("pool-a")
	require.NotEqual(t, a, b)
	require.True(t, strings.HasPrefix(a, "pool-a-"))
	require.LessOrEqual(t, len(identity(strings.Repeat("x", 63))), 200)
}

// serving is an agent that runs in this process against a real store.
type serving struct {
	store *specstore.Store
	log   *output
	end   func() int
}

func serveOn(t *testing.T, server *redistest.Server, path string, environ ...string) serving {
	t.Helper()
	rdb, err := specstore.Dial(t.Context(), server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	store, err := specstore.New(rdb, specstore.Config{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	log, code := &output{}, make(chan int, 1)
	environ = append(environ, "PATH="+os.Getenv("PATH"), "TMPDIR="+t.TempDir(), "PAWL_LEASE=2s", "PAWL_CONFIG="+path, "PAWL_REDIS="+server.URL(), "PAWL_LOG_FORMAT=json")
	go func() { code <- run(ctx, []string{"run"}, environ, log, log) }()
	end := sync.OnceValue(func() int { cancel(); return <-code })
	t.Cleanup(func() {
		end()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return serving{store, log, end}
}

// until polls with a limit.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit, tick := time.After(20*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			require.FailNow(t, "waited in vain for "+what)
		}
	}
}

func (s serving) status(t *testing.T) spec.Status {
	t.Helper()
	st, err := s.store.Status(t.Context(), "acme", "orders")
	require.NoError(t, err)
	return st
}

func TestAJobIsRunUpgradedStoppedAndHandedBack(t *testing.T) {
	server := redistest.Start(t)
	path, out := config(t, document)
	s := serveOn(t, server, path, "ORDERS_DB="+canary)
	j := spec.Job{Name: "orders", Factory: "enrich", Parallelism: 1, Config: map[string]string{"secret.db": "env:ORDERS_DB"}}
	rec, err := s.store.Submit(t.Context(), "acme", "Dev One <dev@example.com>", j)
	require.NoError(t, err)
	until(t, "RUNNING", func() bool { return s.status(t).State == spec.Running })
	st := s.status(t)
	require.Equal(t, rec.Version, st.RunningVersion)
	require.Equal(t, rec.SpecHash, st.RunningHash)
	require.True(t, strings.HasPrefix(st.InstanceID, "pool-a-"))
	until(t, "output", func() bool { return strings.Contains(s.log.String(), `"line":"started v1"`) })

	j.Config["k"] = "v"
	rec, err = s.store.Upgrade(t.Context(), "acme", "Dev One <dev@example.com>", j, rec.Version)
	require.NoError(t, err)
	until(t, "version 2", func() bool { return s.status(t).RunningVersion == 2 })

	j.Config["secret.db"] = "env:NOT_THERE"
	_, err = s.store.Upgrade(t.Context(), "acme", "Dev One <dev@example.com>", j, rec.Version)
	require.NoError(t, err)
	until(t, "FAILED", func() bool { return s.status(t).State == spec.Failed })
	require.Equal(t, "launch v3: config secret.db: env:NOT_THERE is not set where the agent runs: set it and restart the agent", s.status(t).Detail)

	j.Config["secret.db"] = "env:ORDERS_DB"
	_, err = s.store.Upgrade(t.Context(), "acme", "Dev One <dev@example.com>", j, 3)
	require.NoError(t, err)
	until(t, "version 4", func() bool { return s.status(t).State == spec.Running && s.status(t).RunningVersion == 4 })

	require.NoError(t, s.store.Stop(t.Context(), "acme", "ops", "orders"))
	until(t, "confirmation", func() bool {
		st := s.status(t)
		return st.State == spec.DesiredStopped && st.RunningVersion == 0 && st.InstanceID == ""
	})
	require.NoFileExists(t, filepath.Join(out, "pid"))
	require.NoError(t, s.store.Resume(t.Context(), "acme", "ops", "orders"))
	until(t, "RUNNING again", func() bool { return s.status(t).State == spec.Running })
	until(t, "the child", func() bool { _, err := os.Stat(filepath.Join(out, "pid")); return err == nil })

	require.Equal(t, 0, s.end())
	require.NoFileExists(t, filepath.Join(out, "pid"))
	st = s.status(t)
	require.Equal(t, spec.PendingDeploy, st.State)
	require.Empty(t, st.InstanceID)
	require.NotContains(t, s.log.String(), canary)
	rows, err := s.store.Audit(t.Context(), specstore.AuditQuery{Tenant: "acme", Limit: 1000})
	require.NoError(t, err)
	require.Less(t, len(rows), 25, "the audit holds changes, not heartbeats")
	require.NotEmpty(t, rows)
}

func TestARestartedEmptyStoreDisturbsNothingThatRuns(t *testing.T) {
	server := redistest.StartTCP(t)
	path, out := config(t, document)
	s := serveOn(t, server, path)
	_, err := s.store.Submit(t.Context(), "acme", "dev", spec.Job{Name: "orders", Factory: "enrich", Parallelism: 1, Config: map[string]string{}})
	require.NoError(t, err)
	until(t, "RUNNING", func() bool { return s.status(t).State == spec.Running })
	until(t, "the child", func() bool { _, err := os.Stat(filepath.Join(out, "pid")); return err == nil })
	before, err := os.ReadFile(filepath.Join(out, "pid"))
	require.NoError(t, err)
	server.Restart()
	until(t, "renewal", func() bool {
		keys := server.Do("KEYS", "*lease*")
		return strings.Contains(keys, "orders")
	})
	after, err := os.ReadFile(filepath.Join(out, "pid"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	require.Equal(t, 0, s.end())
}

func TestMainEndsOnASignalWithZero(t *testing.T) {
	server := redistest.Start(t)
	path, _ := config(t, document)
	self, err := os.Executable()
	require.NoError(t, err)
	log := &output{}
	p, err := os.StartProcess(self, []string{"agent", "run", "--config", path, "--redis", server.URL()}, &os.ProcAttr{
		Env: []string{"PATH=" + os.Getenv("PATH"), asProgram + "=1"}, Files: pipeTo(t, log),
	})
	require.NoError(t, err)
	until(t, "the agent", func() bool { return strings.Contains(log.String(), "agent serves") })
	require.NoError(t, p.Signal(syscall.SIGTERM))
	state, err := p.Wait()
	require.NoError(t, err)
	require.Zero(t, state.ExitCode(), log.String())
}

package process_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/runner/process"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

const sleeper = `echo $$ > "$OUT/$JOB_INDEX.pid"; exec sleep 600`

func TestRescalingLeavesTheOthersAlone(t *testing.T) {
	b := launcher(t, sleeper)
	r := b.launch(t, task(2))
	first, second := b.pid(t, 0), b.pid(t, 1)
	require.NoError(t, r.Rescale(t.Context(), task(4)))
	third, fourth := b.pid(t, 2), b.pid(t, 3)
	require.NoError(t, r.Rescale(t.Context(), task(1)))
	require.True(t, alive(first))
	for _, pid := range []int{second, third, fourth} {
		require.False(t, alive(pid))
	}
	require.Equal(t, first, b.pid(t, 0))
	require.NoError(t, os.Remove(filepath.Join(b.out, "1.pid")))
	require.NoError(t, r.Rescale(t.Context(), task(2)))
	require.NotEqual(t, second, b.pid(t, 1))
	require.Equal(t, spec.Running, r.Health().State)
	require.ErrorContains(t, r.Rescale(t.Context(), task(1025)), "parallelism 1025")
}

func TestARescaleThatFailsLeavesAsManyAsBefore(t *testing.T) {
	b := launcher(t, sleeper)
	r := b.launch(t, task(1))
	first := b.pid(t, 0)
	require.Error(t, r.Rescale(ended(), task(3)))
	require.True(t, alive(first))
	require.NoFileExists(t, filepath.Join(b.out, "1.pid"))
	require.NoError(t, r.Rescale(t.Context(), task(2)))
	b.pid(t, 1)
}

func TestStopLetsAChildFinish(t *testing.T) {
	b := launcher(t, `trap 'echo bye > "$OUT/bye"; exit 0' TERM; echo $$ > "$OUT/0.pid"; while :; do sleep 0.01; done`)
	r := b.launch(t, task(1))
	pid := b.pid(t, 0)
	began := time.Now()
	require.NoError(t, r.Stop(t.Context()))
	require.Less(t, time.Since(began), 4*time.Second, "nobody waits for the whole grace")
	require.Equal(t, "bye\n", b.file(t, "bye"))
	require.False(t, alive(pid))
	require.NoError(t, r.Stop(t.Context()), "stopping twice is fine")
}

func TestAChildThatDoesNotListenIsKilledAfterTheGrace(t *testing.T) {
	b := launcher(t, `trap '' TERM; echo $$ > "$OUT/0.pid"; while :; do sleep 0.01; done`,
		func(c *process.Config) { c.Factory.Grace = 100 * time.Millisecond })
	r := b.launch(t, task(1))
	pid := b.pid(t, 0)
	began := time.Now()
	require.NoError(t, r.Stop(t.Context()))
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
	require.False(t, alive(pid))
}

func TestTheEndOfTheContextEndsTheGrace(t *testing.T) {
	b := launcher(t, `trap '' TERM; echo $$ > "$OUT/$JOB_INDEX.pid"; while :; do sleep 0.01; done`,
		func(c *process.Config) { c.Factory.Grace = time.Hour })
	r := b.launch(t, task(3))
	pids := []int{b.pid(t, 0), b.pid(t, 1), b.pid(t, 2)}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.NoError(t, r.Stop(ctx))
	for _, pid := range pids {
		require.False(t, alive(pid))
	}
}

func TestGrandchildrenGetTheGraceAndThenGoToo(t *testing.T) {
	b := launcher(t, `
		(trap 'sleep 0.05; echo done > "$OUT/polite"; exit 0' TERM; echo > "$OUT/ready1"; while :; do sleep 0.01; done) &
		(trap '' TERM; sh -c 'echo $PPID > "$OUT/0.pid"'; while :; do sleep 0.01; done) &
		wait`, func(c *process.Config) { c.Factory.Grace = 500 * time.Millisecond })
	r := b.launch(t, task(1))
	b.file(t, "ready1")
	rude := b.pid(t, 0)
	require.NoError(t, r.Stop(t.Context()))
	require.Equal(t, "done\n", b.file(t, "polite"))
	until(t, "the rude one to go", func() bool { return !alive(rude) })
}

func TestADeadChildIsStartedAgainAndFailsTheCopyAfterSomeDeaths(t *testing.T) {
	b := launcher(t, `echo x >> "$OUT/starts"; exit 3`)
	changes := make(chan struct{}, 100)
	r, err := b.Launch(t.Context(), task(1), func() {
		select {
		case changes <- struct{}{}:
		default:
		}
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Stop(ended())) })
	for r.Health().State != spec.Failed {
		<-changes
	}
	h := r.Health()
	require.Equal(t, "process 0: exit status 3", h.Detail)
	require.GreaterOrEqual(t, h.Attempt, int64(3))
	until(t, "more starts", func() bool { return strings.Count(b.file(t, "starts"), "x") >= 5 })
	require.Contains(t, b.log.String(), `msg="process died" tenant=acme job=orders index=0 how="exit status 3 after`)
}

func TestAChildThatHoldsOnIsWellAgain(t *testing.T) {
	b := launcher(t, `if [ $(wc -l < "$OUT/starts" || echo 0) -lt 4 ]; then echo x >> "$OUT/starts"; exit 1; fi; `+sleeper,
		func(c *process.Config) { c.Restart.Steady = 300 * time.Millisecond })
	require.NoError(t, os.WriteFile(filepath.Join(b.out, "starts"), nil, 0o600))
	r := b.launch(t, task(1))
	until(t, "failure", func() bool { return r.Health().State == spec.Failed })
	b.pid(t, 0)
	until(t, "health", func() bool { return r.Health().State == spec.Running })
	require.Zero(t, r.Health().Attempt)
	require.Empty(t, r.Health().Detail)
}

func TestAKilledProcessComesBackWithTheSameIndex(t *testing.T) {
	b := launcher(t, sleeper)
	b.launch(t, task(2))
	zero, one := b.pid(t, 0), b.pid(t, 1)
	require.NoError(t, os.Remove(filepath.Join(b.out, "1.pid")))
	require.NoError(t, syscall.Kill(one, syscall.SIGKILL))
	require.NotEqual(t, one, b.pid(t, 1))
	require.Equal(t, zero, b.pid(t, 0))
	require.True(t, alive(zero))
}

func TestWhatADeadChildLeavesInItsGroupDiesBeforeTheNextStart(t *testing.T) {
	b := launcher(t, `if [ -e "$OUT/0.pid" ]; then exec sleep 600; fi; sleep 600 & echo $! > "$OUT/0.pid"; exit 1`)
	b.launch(t, task(1))
	left := b.pid(t, 0)
	until(t, "the leftover to go", func() bool { return !alive(left) })
}

func TestChildrenOutliveTheThreadThatAskedForThem(t *testing.T) {
	b := launcher(t, sleeper)
	launched := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // this thread ends with the goroutine
		r, err := b.Launch(t.Context(), task(1), func() {})
		if err == nil {
			t.Cleanup(func() { require.NoError(t, r.Stop(ended())) })
		}
		launched <- err
	}()
	require.NoError(t, <-launched)
	pid := b.pid(t, 0)
	threads := make(chan struct{})
	for range 50 { // threads come and go
		go func() { runtime.LockOSThread(); threads <- struct{}{} }()
		<-threads
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 20 {
		<-tick.C
		require.True(t, alive(pid))
	}
}

func TestChildrenDieWithAKilledAgentAndItsFolderIsSweptLater(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // there is no parent-death signal elsewhere, as the package says
	}
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	agent := exec.Command(self)
	agent.Env = append(os.Environ(), asAgent+"="+dir)
	_, err = agent.StdinPipe()
	require.NoError(t, err)
	out, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "launched\n", line)
	b := bench{out: dir}
	pids := []int{b.pid(t, 0), b.pid(t, 1)}
	stale, err := filepath.Glob(filepath.Join(dir, "pawl-agent-*"))
	require.NoError(t, err)
	require.Len(t, stale, 1)

	l, err := process.New(process.Config{Factory: spec.ProcessLauncher{Command: []string{"/bin/true"}}, Dir: dir})
	require.NoError(t, err)
	require.DirExists(t, stale[0], "a living agent's folder stays")
	require.NoError(t, l.Close())

	require.NoError(t, agent.Process.Kill())
	require.Error(t, agent.Wait())
	for _, pid := range pids {
		until(t, "child "+strconv.Itoa(pid)+" to die", func() bool { return !alive(pid) })
	}
	l, err = process.New(process.Config{Factory: spec.ProcessLauncher{Command: []string{"/bin/true"}}, Dir: dir})
	require.NoError(t, err)
	require.NoDirExists(t, stale[0])
	require.NoError(t, l.Close())
}

func TestOutputGoesToTheLogLineByLine(t *testing.T) {
	b := launcher(t, `echo one; echo two >&2; printf 'bad \377 byte\n'; head -c 20000 /dev/zero | tr '\0' x; echo; printf 'no line break'; exec sleep 600 1>&- 2>&-`)
	b.launch(t, task(1))
	until(t, "output", func() bool { return strings.Contains(b.log.String(), "no line break") })
	lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
	require.Len(t, lines, 5)
	for i, want := range []string{"line=one", "line=two", `line="bad ` + "\uFFFD" + ` byte"`, "line=" + strings.Repeat("x", 8<<10) + " cut=true", `line="no line break"`} {
		require.True(t, strings.HasSuffix(lines[i], "tenant=acme job=orders index=0 "+want), "%.200s", lines[i])
	}
}

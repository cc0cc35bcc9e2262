package process

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"
)

const (
	pollGroup = 10 * time.Millisecond // between two looks at what is left of a group
	// afterKill is how long the group of a killed child may take to vanish, and
	// its output to end, before nobody waits for them any more.
	afterKill = 500 * time.Millisecond
)

// proc is one process that was started.
type proc struct {
	pid    int
	began  time.Time
	exited chan struct{} // closed once it was reaped; how is set before
	how    string        // "exit status 1", "signal: killed"
	output *os.File      // our end of its pipe
	read   chan struct{} // closed once its output has ended
	log    *slog.Logger
}

// start starts argv with env from the spawner's thread.
func start(s *spawner, argv, env []string, log *slog.Logger) (*proc, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = env, w, w, attr()
	err = s.start(cmd)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	p := &proc{pid: cmd.Process.Pid, began: time.Now(), exited: make(chan struct{}), output: r, read: make(chan struct{}), log: log}
	go func() {
		defer close(p.read)
		relay(r, log)
	}()
	go func() {
		defer close(p.exited)
		p.how = "exit status 0"
		if err := cmd.Wait(); err != nil {
			p.how = err.Error()
		}
	}()
	return p, nil
}

// died cleans up after a process that ended by itself: what is left of its
// group must not run beside its successor.
func (p *proc) died() {
	p.kill()
	p.drain()
}

// end asks the group to end, kills it when the grace is over or kill is
// closed, and returns when the process is gone, which a kernel may delay.
func (p *proc) end(grace time.Duration, kill <-chan struct{}) {
	p.told(ask(p.pid))
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	tick := time.NewTicker(pollGroup)
	defer tick.Stop()
	exited := p.exited
	for {
		select {
		case <-exited:
			exited = nil // from now on only the rest of the group is awaited
			if !p.told(alive(p.pid)) {
				p.drain()
				return
			}
		case <-tick.C:
			if exited == nil && !p.told(alive(p.pid)) {
				p.drain()
				return
			}
		case <-deadline.C:
			p.died()
			return
		case <-kill:
			p.died()
			return
		}
	}
}

// kill kills the group and waits until the process is reaped and, for a short
// while, until the others are gone.
func (p *proc) kill() {
	left := p.told(force(p.pid))
	<-p.exited
	if !left {
		return
	}
	limit := time.NewTimer(afterKill)
	defer limit.Stop()
	tick := time.NewTicker(pollGroup)
	defer tick.Stop()
	for p.told(force(p.pid)) {
		select {
		case <-tick.C:
		case <-limit.C:
			return // zombies that nobody reaps still count as members
		}
	}
}

// drain waits for the output to end; a process that left the group may hold the
// pipe open for ever.
func (p *proc) drain() {
	limit := time.NewTimer(afterKill)
	defer limit.Stop()
	select {
	case <-p.read:
	case <-limit.C:
	}
	if err := p.output.Close(); err != nil {
		p.log.Warn("output pipe", "err", err)
	}
	<-p.read
}

// told passes on whether anybody was there, and logs what should not happen,
// such as a child that runs as somebody else.
func (p *proc) told(there bool, err error) bool {
	if err != nil {
		p.log.Warn("signal", "pid", p.pid, "err", err)
		return false
	}
	return there
}

// life is how a death is told: "exit status 1 after 12ms".
func (p *proc) life() string {
	return fmt.Sprintf("%s after %s", p.how, time.Since(p.began).Round(time.Millisecond))
}

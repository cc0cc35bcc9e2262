package process

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
)

var errClosed = errors.New("the launcher is closed")

// spawner starts processes from one OS thread that lives until close: the
// kernel sends the parent-death signal when the thread ends that started a
// child, and Go ends idle threads as it likes.
type spawner struct {
	mu     sync.Mutex // guards closed and sends on work
	closed bool
	work   chan func()
	done   chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // never unlocked: the thread ends with this function
		for f := range s.work {
			f()
		}
	}()
	return s
}

// start is cmd.Start on the spawner's thread.
func (s *spawner) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	result := make(chan error, 1)
	s.work <- func() { result <- cmd.Start() }
	return <-result
}

// close ends the thread and waits for it.
func (s *spawner) close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.work)
	}
	s.mu.Unlock()
	<-s.done
}

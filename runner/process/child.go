package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// stuckAfter is how long a killed process may take to be gone before Stop gives
// up waiting: it hangs in the kernel then.
const stuckAfter = 10 * time.Second

// child keeps the process of one index of a job alive until it is stopped.
type child struct {
	index   int
	start   func() (*proc, error)
	grace   time.Duration
	restart Restart
	log     *slog.Logger
	changed func()

	stopOnce, killOnce sync.Once
	stopping, kill     chan struct{}
	done               chan struct{} // closed when nothing of it runs and nothing will

	mu     sync.Mutex // guards what follows
	deaths int        // in a row
	why    string     // how the last one ended
}

// run watches over p and its successors until it is stopped.
func (c *child) run(p *proc) {
	defer close(c.done)
	for p != nil {
		if c.watch(p) {
			return
		}
		p = c.again()
	}
}

// watch returns when p is gone; true if that was wanted.
func (c *child) watch(p *proc) (stopped bool) {
	steady := time.NewTimer(c.restart.Steady)
	defer steady.Stop()
	for {
		select {
		case <-c.stopping:
			p.end(c.grace, c.kill)
			return true
		case <-steady.C:
			c.note(0, "")
		case <-p.exited:
			p.died()
			deaths := c.note(1, p.how)
			c.log.Warn("process died", "how", p.life(), "pid", p.pid, "deaths", deaths)
			return false
		}
	}
}

// again starts a successor after the wait that is due; nil if it was stopped meanwhile.
func (c *child) again() *proc {
	for {
		wait := time.NewTimer(c.wait())
		select {
		case <-c.stopping:
			wait.Stop()
			return nil
		case <-wait.C:
		}
		p, err := c.start()
		if err == nil {
			return p
		}
		if errors.Is(err, errClosed) {
			return nil
		}
		c.note(1, "start: "+err.Error())
		c.log.Warn("process cannot be started again", "err", err)
	}
}

// note adds a death, or forgets them all for 0, and gives how many there are.
func (c *child) note(deaths int, why string) int {
	c.mu.Lock()
	if deaths == 0 {
		c.deaths = 0
	}
	c.deaths += deaths
	c.why = why
	n := c.deaths
	c.mu.Unlock()
	c.changed()
	return n
}

func (c *child) state() (deaths int, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaths, c.why
}

// wait is the time until the next start: twice as long after each death.
func (c *child) wait() time.Duration {
	deaths, _ := c.state()
	d := c.restart.First
	for i := 1; i < deaths && d < c.restart.Max; i++ {
		d *= 2
	}
	return time.Duration(float64(min(d, c.restart.Max)) * (0.9 + 0.2*rand.Float64()))
}

// stop asks the child to end; it does not wait.
func (c *child) stop() { c.stopOnce.Do(func() { close(c.stopping) }) }

// forced ends the grace of a child that was asked to end.
func (c *child) forced() { c.killOnce.Do(func() { close(c.kill) }) }

// gone waits for a child that was asked to end, and not for ever once ctx has
// ended, after which it is being killed.
func (c *child) gone(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
	}
	stuck := time.NewTimer(stuckAfter)
	defer stuck.Stop()
	select {
	case <-c.done:
		return nil
	case <-stuck.C:
		return fmt.Errorf("process %d is not gone %s after SIGKILL", c.index, stuckAfter)
	}
}

// halting tells whether the child was asked to end.
func (c *child) halting() bool {
	select {
	case <-c.stopping:
		return true
	default:
		return false
	}
}

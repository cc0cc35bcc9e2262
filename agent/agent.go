package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/internal/loop"
	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
)

// Defaults of a Config.
const (
	DefaultLease = 15 * time.Second
	DefaultEvery = time.Second
	// DefaultAtOnce bounds the steps under way, so that a store full of new jobs
	// does not start them all in one moment.
	DefaultAtOnce = 16
)

// maxRetry bounds the wait of the loop after errors, so that a store that is
// back is seen soon; it is no more than the loop's own interval if that is longer.
const maxRetry = 5 * time.Second

// Config says who an agent is and how it behaves. Zero fields get defaults,
// but for Owner and TakeoverAfter.
type Config struct {
	Owner         string        // unique among all processes that ever ran
	Tenants       []string      // globs as of path.Match; default *
	Capacity      int           // jobs at most
	TakeoverAfter time.Duration // others take a lapsed job after this; 0 = never; the same for all agents of a store
	Lease         time.Duration // how long a claim lasts without being renewed
	Every         time.Duration // between two passes when nobody kicks
	Grace         time.Duration // the longest that a copy takes to stop when asked
	AtOnce        int           // steps under way at the same time
}

// Deps is what an agent works with.
type Deps struct {
	Store     Store
	Launchers map[string]runner.Launcher // by pipeline factory
	Log       *slog.Logger               // nil = none
}

// Agent makes the running jobs match the store. Make it with New.
type Agent struct {
	cfg       Config
	store     Store
	launchers map[string]runner.Launcher
	offers    map[string]bool
	log       *slog.Logger
	loop      *loop.Loop
	base      context.Context // of work that must go on when the agent is to end; set by Run

	steps sync.WaitGroup // goroutines that take steps or end copies
	slots chan struct{}  // a token for each step under way

	mu       sync.Mutex // guards what follows
	held     map[jobKey]*holding
	refused  map[jobKey]refusal
	touched  map[jobKey]uint64 // when a step of a job ended last, in ticks of seq
	seq      uint64
	kicked   map[string]bool // tenants to look at; "" = all
	lastFull time.Time
	epochs   map[string]epoch
	stopping bool
}

// jobKey names a job world-wide: two tenants may have jobs of the same name.
type jobKey struct{ tenant, job string }

// epoch is which filling of the store a tenant was seen in last.
type epoch struct {
	id      string
	settled time.Time // until then, claims are left to those who held them before
}

// refusal is a claim that was not given.
type refusal struct {
	times int
	until time.Time
}

// New checks cfg and makes an agent. It starts nothing.
func New(cfg Config, deps Deps) (*Agent, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if deps.Store == nil {
		return nil, errors.New("agent: a store is missing")
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{
		cfg: cfg, store: deps.Store, launchers: deps.Launchers, offers: map[string]bool{}, log: deps.Log,
		slots: make(chan struct{}, cfg.AtOnce), held: map[jobKey]*holding{}, refused: map[jobKey]refusal{},
		touched: map[jobKey]uint64{}, kicked: map[string]bool{}, epochs: map[string]epoch{},
	}
	for name := range deps.Launchers {
		a.offers[name] = true
	}
	a.loop = loop.New(cfg.Every, a.pass, loop.Log(deps.Log), loop.MaxBackoff(maxRetry))
	return a, nil
}

func (c Config) withDefaults() Config {
	if len(c.Tenants) == 0 {
		c.Tenants = []string{"*"}
	}
	for p, def := range map[*time.Duration]time.Duration{&c.Lease: DefaultLease, &c.Every: DefaultEvery, &c.Grace: spec.DefaultGrace} {
		if *p == 0 {
			*p = def
		}
	}
	for p, def := range map[*int]int{&c.Capacity: spec.DefaultCapacity, &c.AtOnce: DefaultAtOnce} {
		if *p == 0 {
			*p = def
		}
	}
	return c
}

// check reports all mistakes at once.
func (c Config) check() error {
	var errs []error
	if c.Owner == "" {
		errs = append(errs, errors.New("owner is empty: give a name that no other process has"))
	}
	for _, glob := range c.Tenants {
		if _, err := path.Match(glob, ""); err != nil {
			errs = append(errs, fmt.Errorf("tenants: %q is no glob: * and ? stand for any characters, [ needs a ]", glob))
		}
	}
	if c.Lease < 100*time.Millisecond {
		errs = append(errs, fmt.Errorf("lease %s is too short: at least 100ms, better some seconds", c.Lease))
	}
	if c.Capacity < 0 || c.AtOnce < 0 || c.Every < 0 || c.Grace < 0 || c.TakeoverAfter < 0 {
		errs = append(errs, errors.New("capacity, times and numbers of steps cannot be negative"))
	}
	return errors.Join(errs...)
}

// Kick asks for a look at one tenant, or at all for the empty name. It never blocks.
func (a *Agent) Kick(tenant string) {
	a.mu.Lock()
	a.kicked[tenant] = true
	a.mu.Unlock()
	a.loop.Kick()
}

// Run serves until ctx ends; then it stops all copies, hands their jobs back
// and returns. An error tells what could not be stopped or handed back.
func (a *Agent) Run(ctx context.Context) error {
	going, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	a.base = going
	var keeper sync.WaitGroup
	keeper.Go(func() { a.keep(going) })
	cause := a.loop.Run(ctx)
	a.log.Info("stopping", "cause", cause)
	err := a.shutdown(going)
	end()
	keeper.Wait()
	if err == nil {
		a.steps.Wait() // else a launcher hangs, and is left behind
	}
	return err
}

// callTime bounds one call to the store.
func (a *Agent) callTime() time.Duration { return min(a.cfg.Lease/3, 5*time.Second) }

func (a *Agent) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.callTime())
}

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/agent"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/runner/process"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

// run wires the agent in the order in which things are needed, and serves.
func (a *app) run(ctx context.Context) (err error) {
	log, err := cli.Logger(a.stderr, a.logFormat)
	if err != nil {
		return err
	}
	sys, err := a.check()
	if err != nil {
		return err
	}
	cfg, warnings, err := readConfig(a.config, a.name)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log.Warn(w.String())
	}
	store, closeStore, err := a.await(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	launchers, closeLaunchers, err := a.launchers(cfg.Factories, runner.Secrets{Env: a.lookup, Sys: sys}, log)
	if err != nil {
		return errors.Join(err, closeLaunchers())
	}
	defer func() { err = errors.Join(err, closeLaunchers()) }()
	owner := identity(cfg.Name)
	ag, err := agent.New(agent.Config{
		Owner: owner, Tenants: cfg.Tenants, Capacity: cfg.Capacity, TakeoverAfter: cfg.TakeoverAfter,
		Lease: a.lease, Every: a.interval, Grace: longestGrace(cfg.Factories),
	}, agent.Deps{Store: store, Launchers: launchers, Log: log})
	if err != nil {
		return cli.Usage{Err: err}
	}
	log.Info("agent serves", "owner", owner, "tenants", cfg.Tenants, "factories", len(launchers), "capacity", cfg.Capacity, "version", cli.Version().String())
	return serve(ctx, ag, store, log)
}

// serve runs the agent, and listens for changes as long as it runs.
func serve(ctx context.Context, ag *agent.Agent, store *specstore.Store, log *slog.Logger) error {
	listening, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := store.Subscribe(listening, ag.Kick); err != nil {
			log.Warn("changes are only seen at each interval", "err", err)
		}
	})
	err := ag.Run(ctx)
	end()
	wg.Wait()
	return err
}

// tryAgain is how long an agent waits for a store that is not there.
const tryAgain = 500 * time.Millisecond

// await opens the store; one that cannot be reached yet is waited for and told
// once, since agents and stores are started in any order.
func (a *app) await(ctx context.Context, log *slog.Logger) (*specstore.Store, func() error, error) {
	for told := false; ; told = true {
		store, closeStore, err := a.open(ctx, log)
		if !errors.Is(err, specstore.ErrUnavailable) || ctx.Err() != nil {
			return store, closeStore, err
		}
		if !told {
			log.Warn("waiting for the store", "err", err, "hint", a.hint())
		}
		select {
		case <-time.After(tryAgain):
		case <-ctx.Done():
			return nil, nil, err
		}
	}
}

// hint says where to look for a store that is not there.
func (a *app) hint() string {
	if a.redis == "" {
		return "no --redis given, so the embedded store of a running `syncer run` was looked for on " + localStore
	}
	return "is the Redis of --redis running and reachable?"
}

// open connects to the store and checks that this release can work with it.
func (a *app) open(ctx context.Context, log *slog.Logger) (*specstore.Store, func() error, error) {
	url := a.redis
	if url == "" {
		url = localStore
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	rdb, err := specstore.Dial(ctx, url)
	if err != nil {
		return nil, nil, cli.ErrorHint(err, a.hint())
	}
	store, err := specstore.New(rdb, specstore.Config{Prefix: a.prefix})
	if err != nil {
		return nil, nil, errors.Join(cli.Usage{Err: err}, rdb.Close())
	}
	warnings, err := store.Check(ctx)
	for _, w := range warnings {
		log.Warn(w)
	}
	switch {
	case errors.Is(err, specstore.ErrUnsafe): // for versions, and those are the syncer's; claims are put back
		log.Warn("the store may forget", "err", err)
	case errors.Is(err, specstore.ErrSchema):
		return nil, nil, errors.Join(cli.Usage{Err: err}, rdb.Close())
	case err != nil:
		return nil, nil, errors.Join(cli.ErrorHint(err, a.hint()), rdb.Close())
	}
	return store, rdb.Close, nil
}

// launchers makes one for each factory; all are checked before any job starts.
// The function closes those that were made, also after an error.
func (a *app) launchers(factories []spec.Factory, secrets runner.Secrets, log *slog.Logger) (map[string]runner.Launcher, func() error, error) {
	out := make(map[string]runner.Launcher)
	var made []*process.Launcher
	var errs []error
	for _, f := range factories {
		if _, twice := out[f.Name]; twice {
			errs = append(errs, fmt.Errorf("factory %s: declared twice: keep one", f.Name))
			continue
		}
		if f.Process == nil {
			errs = append(errs, fmt.Errorf("factory %s: this release launches processes only: give it a process", f.Name))
			continue
		}
		if f.Process.Wire {
			errs = append(errs, fmt.Errorf("factory %s: process.wire is not spoken by this release: leave it out", f.Name))
			continue
		}
		l, err := process.New(process.Config{Factory: *f.Process, Secrets: secrets, Env: a.lookup, Log: log})
		if err != nil {
			errs = append(errs, fmt.Errorf("factory %s: %w", f.Name, err))
			continue
		}
		made = append(made, l)
		out[f.Name] = l
	}
	closeAll := func() error {
		var errs []error
		for _, l := range made {
			errs = append(errs, l.Close())
		}
		return errors.Join(errs...)
	}
	if len(errs) > 0 {
		return nil, closeAll, cli.Usage{Err: errors.Join(errs...)}
	}
	return out, closeAll, nil
}

// lookup reads the environment that the program was given.
func (a *app) lookup(name string) (string, bool) {
	for _, e := range a.environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// longestGrace is how long the slowest factory's copies may take to stop.
func longestGrace(factories []spec.Factory) time.Duration {
	longest := spec.DefaultGrace
	for i, f := range factories {
		if f.Process != nil && (i == 0 || f.Process.Grace > longest) {
			longest = f.Process.Grace
		}
	}
	return longest
}

// identity is an owner that no other process is or ever was: two agents of one
// name must not take each other's claims for their own.
func identity(name string) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	host, _, _ = strings.Cut(host, ".")
	return strings.Join([]string{name, host, strconv.Itoa(os.Getpid()), strings.ToLower(rand.Text()[:12])}, "-")
}

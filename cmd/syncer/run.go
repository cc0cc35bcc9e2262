package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

func (a *app) runCmd() *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use:   "run",
		Short: "Follow the repositories and turn every commit into versions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := cli.Logger(a.stderr, a.logFormat)
			if err != nil {
				return err
			}
			return a.follow(cmd.Context(), log, once)
		},
	}
	c.Flags().BoolVar(&once, "once", false, "one pass over all tenants, then exit: 1 if one ends refused, held or in error")
	return c
}

// worker is a tenant with what it works on.
type worker struct {
	*syncer.Tenant
	pav  spec.Pavilion
	repo *gitsource.Repo
}

// follow is `run`: it wires the tenants in the order that data flows.
func (a *app) follow(ctx context.Context, log *slog.Logger, once bool) (err error) {
	if !inGit(a.config) {
		if _, err := a.pavilions(); err != nil { // wrong use is told before anything is opened
			return err
		}
	}
	state, err := a.openState(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	read, watched, closeConfig, err := a.configuration(state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeConfig()) }()
	store, closeStore, err := a.open(ctx, log)
	if err != nil {
		return err
	}
	defer closeStore()
	out := a.teller(log, once)
	defer out.close()
	if !once {
		s := &supervisor{app: a, state: state, store: store, log: log, out: out}
		return s.run(ctx, read, watched)
	}
	a.driftEvery = 0 // one pass looks for commits; comparing everything is for who stays
	pavs, err := read(ctx)
	if err != nil {
		return err
	}
	var workers []worker
	defer func() { err = errors.Join(err, closeAll(ctx, workers)) }()
	for _, p := range pavs {
		w, err := a.worker(p, state, store, log, out)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	return a.once(ctx, workers)
}

// sourceOf says where a Pavilion's repository is and how to get at it.
func sourceOf(p spec.Pavilion, state *stateDir, limits *gitsource.Limits) gitsource.Config {
	return gitsource.Config{URL: p.Source.URL, Branch: p.Source.Branch, Path: p.Source.Path, Auth: p.Source.Auth,
		Dir: state.clone(p.Name), Limits: limits}
}

// worker makes the worker of one tenant.
func (a *app) worker(p spec.Pavilion, state *stateDir, store *specstore.Store, log *slog.Logger, out *teller) (worker, error) {
	repo, err := gitsource.Open(sourceOf(p, state, a.limits))
	if err != nil {
		return worker{}, fmt.Errorf("tenant %s: %w", p.Name, err)
	}
	judge, err := judgeOf(p)
	if err != nil {
		return worker{}, errors.Join(err, repo.Close())
	}
	t, err := syncer.New(p, syncer.Deps{Source: repo, Store: store, Facts: state, Trust: judge, Owner: state.owner, Lease: a.lease,
		Log: log, Tell: out.tell, Watch: out.progress, DriftEvery: a.driftEvery})
	if err != nil {
		return worker{}, errors.Join(err, repo.Close())
	}
	return worker{t, p, repo}, nil
}

// handBack bounds how long a stopping syncer takes to release its leases.
const handBack = 3 * time.Second

// closeAll hands the leases back, also when the work was cancelled.
func closeAll(ctx context.Context, ws []worker) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBack)
	defer cancel()
	var errs []error
	for _, w := range ws {
		if err := w.Close(ctx); err != nil && !errors.Is(err, spec.ErrLost) {
			errs = append(errs, fmt.Errorf("tenant %s: hand the lease back: %w", w.Name(), err))
		}
		errs = append(errs, w.repo.Close())
	}
	return errors.Join(errs...)
}

// maxAtOnce bounds how many tenants of `run --once` are worked at the same time.
const maxAtOnce = 8

// once is one pass over all tenants. A lease of another is awaited for one
// lease time.
func (a *app) once(ctx context.Context, ws []worker) error {
	bad := make([]error, len(ws))
	var g errgroup.Group
	g.SetLimit(maxAtOnce)
	for i, w := range ws {
		g.Go(func() error {
			cur, err := w.passOnce(ctx, a.lease)
			switch {
			case err != nil:
				bad[i] = fmt.Errorf("tenant %s: %w", w.Name(), err)
			case cur.State == spec.StateRefused, cur.State == spec.StateHeld, cur.State == spec.StateError:
				bad[i] = cli.Quiet(cli.ExitFailed) // its findings are told
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var loud []error
	quiet := false
	for _, err := range bad {
		var q cli.Quiet
		if errors.As(err, &q) {
			quiet = true
		} else if err != nil {
			loud = append(loud, err)
		}
	}
	if len(loud) == 0 && quiet {
		return cli.Quiet(cli.ExitFailed)
	}
	return errors.Join(loud...)
}

func (w worker) passOnce(ctx context.Context, lease time.Duration) (spec.Cursor, error) {
	deadline := time.Now().Add(lease + time.Second)
	for {
		cur, err := w.Pass(ctx)
		if !errors.Is(err, spec.ErrTaken) || time.Now().After(deadline) {
			return cur, err
		}
		select {
		case <-ctx.Done():
			return cur, context.Cause(ctx)
		case <-time.After(lease / 20):
		}
	}
}

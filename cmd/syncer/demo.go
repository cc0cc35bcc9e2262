package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/agent"
	"github.com/pawl-dev/pawl/examples/specs"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/runner/process"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/spf13/cobra"
)

func (a *app) demoCmd() *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "A commit becomes a running job, a revert a rollback: on this machine, with nothing but git",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.repo != "" || a.config != "" || a.redis != "" {
				return cli.ErrorHint(cli.Usagef("demo makes its own repository and store"), "for your own repository: syncer run --repo PATH --tenant T --cid X8FD --pavilion NT:1")
			}
			return a.demo(cmd.Context(), cmd.Flags().Changed("embedded-addr"), keep)
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "stay up afterwards and answer your own commits, until Ctrl-C")
	return c
}

// workerCmd is the job that the demo runs: it waits to be told to stop.
func (a *app) workerCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "demo-worker",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			<-cmd.Context().Done()
			return nil
		},
	}
}

// demoLimit bounds each wait of the demo.
const demoLimit = 15 * time.Second

// demonstration is a small installation in one process.
type demonstration struct {
	*app
	repo    demoRepo
	store   *specstore.Store
	told    chan syncer.Event
	mu      sync.Mutex // of stdout
	started time.Time  // of the last commit
}

func (a *app) demo(ctx context.Context, fixedAddr, keep bool) (err error) {
	dir, err := os.MkdirTemp("", "pawl-demo-")
	if err != nil {
		return err
	}
	if !keep {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if !fixedAddr {
		a.embeddedAddr = freeAddr(a.embeddedAddr)
	}
	a.repo, a.tenant, a.cid, a.pavilion = filepath.Join(dir, "specs"), "acme", "X8FD", "NT:1"
	a.stateDir = filepath.Join(dir, "state")
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	d := &demonstration{app: a, repo: demoRepo{dir: a.repo}, told: make(chan syncer.Event, 1000)}
	if err := d.repo.init(ctx); err != nil {
		return err
	}
	return d.up(ctx, log, keep)
}

// up starts store, syncer and agent, tells the story, and takes them down again.
func (d *demonstration) up(ctx context.Context, log *slog.Logger, keep bool) (err error) {
	pavs, err := d.pavilions()
	if err != nil {
		return err
	}
	state, err := d.openState(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	store, closeStore, err := d.open(ctx, log)
	if err != nil {
		return err
	}
	defer closeStore()
	d.store = store
	out := d.teller(log, false)
	sup := &supervisor{app: d.app, state: state, store: store, log: log, out: out, tell: func(e syncer.Event) { d.told <- e }}
	launcher, err := demoLauncher()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, launcher.Close()) }()
	ag, err := agent.New(agent.Config{Owner: "demo-agent", Every: 200 * time.Millisecond}, agent.Deps{Store: store, Log: log,
		Launchers: map[string]runner.Launcher{"enrich": launcher}})
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	errs := make(chan error, 3)
	wg.Go(func() {
		errs <- sup.run(inner, func(context.Context) ([]spec.Pavilion, error) { return pavs, nil }, "")
	})
	wg.Go(func() { errs <- ag.Run(inner) })
	wg.Go(func() { errs <- store.Subscribe(inner, ag.Kick) })
	story := d.story(ctx)
	if story == nil && keep {
		story = d.keepUp(ctx)
	}
	cancel()
	wg.Wait()
	close(errs)
	for e := range errs {
		if e != nil && !errors.Is(e, context.Canceled) {
			story = errors.Join(story, e)
		}
	}
	return story
}

func demoLauncher() (*process.Launcher, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	secrets := func(name string) (string, bool) { // what REFUNDS_DB_PASSWORD would be in an agent's environment
		if name == "REFUNDS_DB_PASSWORD" {
			return "made up for the demo", true
		}
		return os.LookupEnv(name)
	}
	return process.New(process.Config{Factory: spec.ProcessLauncher{Command: []string{self, "demo-worker"}},
		Secrets: runner.Secrets{Env: secrets}, Env: os.LookupEnv})
}

// freeAddr is addr, or another port of the same host if it is taken.
func freeAddr(addr string) string {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		host, _, _ := net.SplitHostPort(addr)
		if l, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
			return addr // opening the store will say why not
		}
	}
	free := l.Addr().String()
	if err := l.Close(); err != nil {
		return addr
	}
	return free
}

func (d *demonstration) say(format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := fmt.Fprintf(d.stdout, format+"\n", args...)
	return err
}

// story tells the main job as it happens.
func (d *demonstration) story(ctx context.Context) error {
	steps := []struct {
		title string
		do    func(context.Context) error
		job   string
		want  int64
		op    spec.Op
	}{
		{"Ada commits the first specs", d.repo.first, "orders", 1, spec.OpSubmit},
		{"Grace changes config.batch.size from 100 to 500", d.repo.change, "orders", 2, spec.OpUpgrade},
		{"Alan reverts that commit: git revert HEAD", d.repo.revert, "orders", 3, spec.OpRollback},
	}
	if err := d.say("A repository of specs, an embedded store, a syncer and an agent, all on this machine.\n"); err != nil {
		return err
	}
	for i, s := range steps {
		if err := d.say("%d. %s", i+1, s.title); err != nil {
			return err
		}
		if err := s.do(ctx); err != nil {
			return err
		}
		d.started = time.Now()
		if err := d.follow(ctx, s.job, s.want, s.op); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if err := d.say("\nWho set config.batch.size, and since when is it running?"); err != nil {
		return err
	}
	bs, err := readBlame(ctx, d.store, "acme", spec.Key{Kind: spec.KindJob, Name: "orders"}, "config.batch.size")
	if err != nil {
		return err
	}
	if err := d.print(bs, func(w io.Writer) error { return blameText(w, bs, spec.Mailmap{}) }); err != nil {
		return err
	}
	return d.say("\nEvery commit is a version, its author the actor, and versions only grow: a revert is v3 with the content of v1.")
}

// follow waits for a version of a job, then until it runs, and tells both with their times.
func (d *demonstration) follow(ctx context.Context, job string, version int64, op spec.Op) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoLimit, fmt.Errorf("%s v%d did not come within %s", job, version, demoLimit))
	defer cancel()
	for seen := false; !seen; {
		select {
		case e := <-d.told:
			if e.Refused != nil {
				return fmt.Errorf("commit refused: %s", lines(e.Reasons))
			}
			v := e.Version
			if v == nil {
				continue // warnings alone
			}
			seen = v.Key.String() == job && v.Number == version
			if seen && v.Op != op {
				return fmt.Errorf("%s v%d is %s, not %s", job, version, v.Op, op)
			}
			if err := d.timed(e.String()); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	status, err := d.untilRunning(ctx, job, version)
	if err != nil {
		return err
	}
	return d.timed(fmt.Sprintf("acme %s v%d RUNNING on %s", job, version, status.InstanceID))
}

// timed tells a line with the time since the last commit.
func (d *demonstration) timed(line string) error {
	return d.say("   %-88s %4d ms after the commit", line, time.Since(d.started).Milliseconds())
}

func (d *demonstration) untilRunning(ctx context.Context, job string, version int64) (spec.Status, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := d.store.Status(ctx, "acme", job)
		if err != nil && !errors.Is(err, spec.ErrNotFound) {
			return st, err
		}
		switch {
		case st.State == spec.Running && st.RunningVersion == version:
			return st, nil
		case st.State == spec.Failed:
			return st, fmt.Errorf("%s failed: %s", job, st.Detail)
		}
		select {
		case e := <-d.told: // the other specs of the same commit
			if err := d.timed(e.String()); err != nil {
				return st, err
			}
		case <-tick.C:
		case <-ctx.Done():
			return st, context.Cause(ctx)
		}
	}
}

// keepUp answers the user's own commits until told to stop.
func (d *demonstration) keepUp(ctx context.Context) error {
	redisFlag := ""
	if d.embeddedAddr != defaultEmbedded {
		redisFlag = " --embedded-addr " + d.embeddedAddr
	}
	if err := d.say("\nIt stays up. The repository is %s: edit a file in jobs/, commit, and see what happens.\n"+
		"In another terminal: bin/syncer status --tenant acme%s    bin/syncer history orders --tenant acme%s\nCtrl-C ends it.\n",
		d.app.repo, redisFlag, redisFlag); err != nil {
		return err
	}
	for {
		select {
		case e := <-d.told:
			if e.Version != nil {
				if err := d.say("%s", e.String()); err != nil {
					return err
				}
				continue
			}
			if e.Refused != nil && !e.Again {
				if err := d.say("%s: commit %s is %s\n%s", e.Tenant, spec.Short(e.Refused.ID), e.State, lines(e.Reasons)); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// copyExamples writes the example specs into a folder.
func copyExamples(dir string) error {
	return fs.WalkDir(specs.Files, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := specs.Files.ReadFile(p)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, []byte(strings.ReplaceAll(string(text), "../../../specfile/schema/", "")), 0o644)
	})
}

package process

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
)

// Config is what a launcher is made from.
type Config struct {
	Factory spec.ProcessLauncher
	Secrets runner.Secrets
	Env     func(name string) (string, bool) // the agent's environment; nil = os.LookupEnv
	Dir     string                           // where the private folder is made; empty = os.TempDir()
	Log     *slog.Logger                     // nil = none
	Restart Restart
}

// Restart says how children that died are started again; zero fields get defaults.
type Restart struct {
	First     time.Duration // wait after a first death; default 200ms
	Max       time.Duration // the longest wait; default 30s
	Steady    time.Duration // a child that lived this long is well, and its deaths are forgotten; default 10s
	FailAfter int           // deaths in a row from which the copy counts as failed; default 3
}

// Launcher starts jobs as processes. Make it with New, end it with Close.
type Launcher struct {
	cfg    Config
	base   []string // what every child gets, sorted
	folder *folder
	spawn  *spawner
}

// New checks cfg, makes the private folder and starts the thread from which all
// children are started. Folders that killed agents left are removed.
func New(cfg Config) (*Launcher, error) {
	if len(cfg.Factory.Command) == 0 || cfg.Factory.Command[0] == "" {
		return nil, fmt.Errorf("process.command is empty: give a program and its arguments")
	}
	for name := range cfg.Factory.Env {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return nil, fmt.Errorf("process.env: %q is no name of a variable", name)
		case strings.HasPrefix(name, "JOB_"):
			return nil, fmt.Errorf("process.env: %s is set by the launcher: use a name that does not start with JOB_", name)
		}
	}
	cfg = withDefaults(cfg)
	f, err := newFolder(cfg.Dir, cfg.Log)
	if err != nil {
		return nil, fmt.Errorf("private folder: %w", err)
	}
	return &Launcher{cfg: cfg, base: baseEnv(cfg.Env, cfg.Factory.Env), folder: f, spawn: newSpawner()}, nil
}

func withDefaults(cfg Config) Config {
	if cfg.Env == nil {
		cfg.Env = os.LookupEnv
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Factory.Grace <= 0 {
		cfg.Factory.Grace = spec.DefaultGrace
	}
	if cfg.Restart.First <= 0 {
		cfg.Restart.First = 200 * time.Millisecond
	}
	if cfg.Restart.Max <= 0 {
		cfg.Restart.Max = 30 * time.Second
	}
	if cfg.Restart.Steady <= 0 {
		cfg.Restart.Steady = 10 * time.Second
	}
	if cfg.Restart.FailAfter <= 0 {
		cfg.Restart.FailAfter = 3
	}
	return cfg
}

// Close ends the thread and removes the private folder. Every copy must have
// been stopped: on Linux the kernel kills what still runs.
func (l *Launcher) Close() error {
	l.spawn.close()
	return l.folder.close()
}

// Launch resolves t's secrets, writes its config file and starts all its
// processes. An error names the step, and the missing key and source if it is
// a secret; nothing of t runs then.
func (l *Launcher) Launch(ctx context.Context, t runner.Task, changed func()) (runner.Running, error) {
	if n := t.Job.Parallelism; n < 1 || n > spec.MaxParallelism {
		return nil, fmt.Errorf("parallelism %d is not within 1 and %d", n, spec.MaxParallelism)
	}
	config, err := l.cfg.Secrets.Resolve(t.Job)
	if err != nil {
		return nil, err
	}
	dir, file, err := l.folder.write(t, config)
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	log := l.cfg.Log.With("tenant", t.Tenant, "job", t.Job.Name)
	vars, left := configEnv(config)
	if len(left) > 0 {
		log.Warn("config keys are in the config file only", "keys", left)
	}
	c := &running{l: l, log: log, dir: dir, file: file, vars: vars, changed: changed, children: map[int]*child{}}
	if err := c.grow(ctx, t); err != nil {
		return nil, c.discard(ctx, err)
	}
	return c, nil
}

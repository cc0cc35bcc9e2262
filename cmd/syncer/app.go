package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/user"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/internal/embedded"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// app holds the shared flags and the world of one call.
type app struct {
	stdout, stderr io.Writer
	environ        []string
	limits         *gitsource.Limits // of conversations with each host, shared by all tenants

	config       string
	repo         string
	branch, path string
	tenant       string
	cid          string
	pavilion     string
	redis        string
	prefix       string
	embeddedAddr string
	stateDir     string
	interval     time.Duration
	output       string
	logFormat    string
	lease        time.Duration
	driftEvery   time.Duration
	actor        string
	unsafe       bool
	noColor      bool
	historyCap   int
	auditCap     int
	originCap    int
}

// A host is asked so many times a second at the most, whatever the number of its
// tenants: a thousand of them at the default interval are 34 a second.
const (
	hostRate  = 50
	hostBurst = 100
)

const defaultEmbedded = "127.0.0.1:6390"

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "syncer",
		Short: "GitOps for stream jobs: every commit a version, every revert a rollback",
		Long: "syncer watches Git repositories of specs and turns every commit into versions in Redis,\n" +
			"with the commit's author as the actor. Every flag can be set as PAWL_<FLAG> in the environment.",
	}
	f := root.PersistentFlags()
	f.StringVar(&a.config, "config", "", "platform configuration: a file, a folder or a Git URL with Pavilion documents")
	f.StringVar(&a.repo, "repo", "", "one tenant without configuration: path or URL of its repository")
	f.StringVar(&a.branch, "branch", spec.DefaultBranch, "branch to follow, of --repo or of a --config in Git")
	f.StringVar(&a.path, "path", spec.DefaultPath, "folder in the repository, of --repo or of a --config in Git")
	f.StringVar(&a.tenant, "tenant", "", "tenant: its name with --repo, else only this one (default \"default\")")
	f.StringVar(&a.cid, "cid", "", "customer id such as X8FD, with --repo")
	f.StringVar(&a.pavilion, "pavilion", "", "Pavilion id such as NT:1, with --repo")
	f.StringVar(&a.redis, "redis", "", "Redis: redis://[user:password@]host:port/db, rediss://…, unix:///path; without it run and demo start the embedded store")
	f.StringVar(&a.prefix, "prefix", "", "prefix of all keys (default \"streaming:runtime:control:\")")
	f.StringVar(&a.embeddedAddr, "embedded-addr", defaultEmbedded, "where the embedded store listens, and where other commands look for it")
	f.StringVar(&a.stateDir, "state-dir", "", "folder for clones and facts (default $STATE_DIRECTORY, or the user's state folder)")
	f.DurationVar(&a.interval, "interval", spec.DefaultInterval, "how often to look at a repository, with --repo")
	f.DurationVar(&a.lease, "lease", 15*time.Second, "how long a tenant's lease lasts")
	f.DurationVar(&a.driftEvery, "drift-every", time.Hour, "how often the whole store is compared with the applied commit; 0 = never")
	f.StringVarP(&a.output, "output", "o", "text", "text, json or yaml")
	f.StringVar(&a.logFormat, "log-format", "text", "text or json")
	f.StringVar(&a.actor, "actor", "", "who does it, for the audit (default: the operating system's user)")
	f.BoolVar(&a.unsafe, "allow-unsafe-redis", false, "start although Redis may evict or lose keys")
	f.BoolVar(&a.noColor, "no-color", false, "no colour and no progress bar")
	f.IntVar(&a.historyCap, "history-cap", specstore.DefaultHistoryCap, "replaced contents kept for each spec")
	f.IntVar(&a.auditCap, "audit-cap", specstore.DefaultAuditCap, "rows kept in the audit stream, about")
	f.IntVar(&a.originCap, "origin-cap", specstore.DefaultOriginCap, "versions kept in the ledger of each spec")
	a.limits = gitsource.NewLimits(hostRate, hostBurst)
	root.AddCommand(a.runCmd(), a.planCmd(), a.validateCmd(), a.statusCmd(), a.getCmd(), a.historyCmd(), a.diffCmd(), a.blameCmd(),
		a.auditCmd(), a.rollbackCmd(), a.exportCmd(), a.adoptCmd(), a.approveCmd(), a.syncCmd(), a.restartCmd(), a.stopCmd(), a.resumeCmd(), a.schemaCmd(), a.demoCmd(), a.workerCmd(), a.versionCmd())
	return root
}

// one is the tenant that a command about one tenant means.
func (a *app) one() string {
	if a.tenant == "" {
		return "default"
	}
	return a.tenant
}

// who is the actor of an operation at a shell: given, else the user.
func (a *app) who() (string, error) {
	if a.actor != "" {
		return a.actor, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", cli.ErrorHint(fmt.Errorf("who are you: %w", err), "give --actor")
	}
	return u.Username, nil
}

// connect opens the store that other processes use; it never starts one.
func (a *app) connect(ctx context.Context) (*specstore.Store, func(), error) {
	url := a.redis
	if url == "" {
		url = "redis://" + a.embeddedAddr
	}
	rdb, err := specstore.Dial(ctx, url)
	if err != nil {
		if a.redis == "" {
			err = cli.ErrorHint(err, "no --redis given, so the embedded store of a running `syncer run` or `syncer demo` was looked for on "+a.embeddedAddr)
		}
		return nil, nil, err
	}
	close := func() {
		if err := rdb.Close(); err != nil {
			fmt.Fprintln(a.stderr, "syncer: close the store:", err)
		}
	}
	store, err := specstore.New(rdb, specstore.Config{Prefix: a.prefix, HistoryCap: a.historyCap, AuditCap: a.auditCap, OriginCap: a.originCap})
	if err != nil {
		close()
		return nil, nil, cli.Usage{Err: err}
	}
	return store, close, nil
}

// open is connect for a command that writes ledgers: it starts the embedded
// store where no Redis is named, and checks one that is.
func (a *app) open(ctx context.Context, log *slog.Logger) (*specstore.Store, func(), error) {
	if a.redis != "" {
		store, close, err := a.connect(ctx)
		if err != nil {
			return nil, nil, err
		}
		warnings, err := store.Check(ctx)
		for _, w := range warnings {
			log.Warn(w)
		}
		unsafe := errors.Is(err, specstore.ErrUnsafe)
		switch {
		case unsafe && a.unsafe:
			log.Warn(err.Error())
		case unsafe:
			close()
			return nil, nil, cli.ErrorHint(cli.Usage{Err: err}, "set it right in Redis, or start with --allow-unsafe-redis")
		case err != nil:
			close()
			return nil, nil, err
		}
		return store, close, nil
	}
	srv, err := embedded.Start(a.embeddedAddr)
	if err != nil {
		return nil, nil, cli.ErrorHint(fmt.Errorf("embedded store: %w", err), "is another syncer running? choose --embedded-addr, or name a Redis with --redis")
	}
	a.embeddedAddr = srv.Addr()
	log.Info("embedded store: in memory, empty at each start, filled again from Git", "addr", a.embeddedAddr)
	store, close, err := a.connect(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, srv.Close())
	}
	return store, func() {
		close()
		if err := srv.Close(); err != nil {
			log.Error("close the embedded store", "error", err)
		}
	}, nil
}

// print writes v as -o says: text is what the command makes of it.
func (a *app) print(v any, text func(io.Writer) error) error {
	switch a.output {
	case "text":
		return text(a.stdout)
	case "json":
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	case "yaml":
		b, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(b)
		return err
	}
	return cli.ErrorHint(cli.Usagef("-o %q is unknown", a.output), "use text, json or yaml")
}

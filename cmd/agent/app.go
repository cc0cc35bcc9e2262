package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/agent"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

// localStore is where a syncer without --redis keeps its embedded store.
const localStore = "127.0.0.1:6390"

// app is what the flags of one call say.
type app struct {
	stdout, stderr io.Writer
	environ        []string

	config    string
	redis     string
	prefix    string
	name      string
	defines   []string
	lease     time.Duration
	interval  time.Duration
	logFormat string
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "agent",
		Short: "Runs the stream jobs that the store wants",
		Long: "Runs the stream jobs that the store wants: claims them, launches and upgrades them, reports what it sees.\n" +
			"Every flag has an environment variable of its own: PAWL_LOG_FORMAT is --log-format.",
	}
	root.AddCommand(a.runCmd(), a.versionCmd())
	return root
}

func (a *app) runCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Serve until the end",
		Long: "Serves until SIGTERM or SIGINT: then it stops its jobs and hands them back, so that another agent can take them\n" +
			"at once. A second signal ends it without waiting.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context()) },
	}
	f := c.Flags()
	f.StringVar(&a.config, "config", "", "file with the Agent document: tenants, capacity, factories")
	f.StringVar(&a.redis, "redis", "", "store: redis://…, rediss://…, unix://… or host:port (default: the embedded store of a syncer on "+localStore+")")
	f.StringVar(&a.prefix, "prefix", specstore.DefaultPrefix, "of every key in the store")
	f.StringVar(&a.name, "name", "", "of this agent (default: that of the Agent document)")
	f.StringArrayVarP(&a.defines, "define", "D", nil, "name=value for references sys:name; more than once; in PAWL_DEFINE one a line")
	f.DurationVar(&a.lease, "lease", agent.DefaultLease, "how long a claim lasts without being renewed")
	f.DurationVar(&a.interval, "interval", agent.DefaultEvery, "between two looks at the store when nobody calls")
	f.StringVar(&a.logFormat, "log-format", "text", "text or json")
	return c
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Tell what this program was built from",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, "agent", cli.Version())
			return err
		},
	}
}

// check reports all wrong flags at once.
func (a *app) check() (sys map[string]string, err error) {
	var errs []error
	if a.config == "" {
		errs = append(errs, cli.ErrorHint(cli.Usagef("--config is missing"), "give the file of an Agent document, see examples/platform/agent.yaml"))
	}
	if a.lease < 100*time.Millisecond {
		errs = append(errs, cli.Usagef("--lease %s is too short: at least 100ms", a.lease))
	}
	if a.interval < 100*time.Millisecond {
		errs = append(errs, cli.Usagef("--interval %s is too short: at least 100ms", a.interval))
	}
	if a.lease > 24*time.Hour {
		errs = append(errs, cli.Usagef("--lease %s is too long: at most 24h", a.lease))
	}
	if a.name != "" {
		if err := spec.CheckName(a.name); err != nil {
			errs = append(errs, cli.Usagef("--name: %w", err))
		}
	}
	sys = make(map[string]string)
	for i, d := range a.defines {
		name, value, ok := strings.Cut(d, "=")
		if !ok || name == "" {
			errs = append(errs, cli.Usagef("-D number %d is not name=value", i+1)) // its text may be a secret
			continue
		}
		sys[name] = value
	}
	return sys, errors.Join(errs...)
}

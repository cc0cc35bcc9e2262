package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/spf13/cobra"
)

// planned is what `plan` says of one tenant.
type planned struct {
	Tenant   string           `json:"tenant"`
	State    spec.TenantState `json:"state"`
	From     string           `json:"from,omitempty"`
	Tip      string           `json:"tip"`
	Versions []plannedVersion `json:"versions"`
	Refused  []plannedRefusal `json:"refused,omitempty"`
}

type plannedVersion struct {
	Spec     string   `json:"spec"`
	From     int64    `json:"from"`
	To       int64    `json:"to"`
	Op       spec.Op  `json:"op"`
	Removed  bool     `json:"removed,omitempty"`
	Restores int64    `json:"restores,omitempty"`
	Class    string   `json:"class"`
	Why      []string `json:"why"`
	Commit   string   `json:"commit"`
	Actor    string   `json:"actor"`
}

type plannedRefusal struct {
	Commit   string           `json:"commit"`
	State    spec.TenantState `json:"state"`
	Findings []spec.Finding   `json:"findings"`
}

func (a *app) planCmd() *cobra.Command {
	exitCode := true
	c := &cobra.Command{
		Use:   "plan",
		Short: "Tell what a run would do, and do nothing",
		Long: "plan walks from the last applied commit to the tip of the branch, as run does, and writes nothing.\n" +
			"Give the branch of a pull request with --branch. Exit: 0 no change, 1 changes, 2 it cannot tell.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			changes, err := a.plan(cmd.Context())
			switch {
			case err != nil:
				return cli.Usage{Err: err} // exit 2: it cannot tell
			case changes && exitCode:
				return cli.Quiet(cli.ExitFailed)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&exitCode, "exit-code", true, "exit 1 if there are changes")
	return c
}

func (a *app) plan(ctx context.Context) (changes bool, err error) {
	log, err := cli.Logger(a.stderr, a.logFormat)
	if err != nil {
		return false, err
	}
	state, err := a.openState(ctx, log)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	pavs, err := a.tenantsNow(ctx, state)
	if err != nil {
		return false, err
	}
	store, closeStore, err := a.connect(ctx)
	if err != nil {
		return false, err
	}
	defer closeStore()
	for _, p := range pavs {
		f, err := forecast(ctx, p, state, store, a.limits)
		if err != nil {
			return changes, err
		}
		out := toPlanned(p.Name, f)
		changes = changes || len(out.Versions) > 0 || len(out.Refused) > 0
		if err := a.print(out, out.text); err != nil {
			return changes, err
		}
	}
	return changes, nil
}

func forecast(ctx context.Context, p spec.Pavilion, state *stateDir, store syncer.Store, limits *gitsource.Limits) (f syncer.Forecast, err error) {
	repo, err := gitsource.Open(sourceOf(p, state, limits))
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	judge, err := judgeOf(p)
	if err != nil {
		return f, err
	}
	t, err := syncer.New(p, syncer.Deps{Source: repo, Store: store, Facts: state, Trust: judge, Owner: state.owner})
	if err != nil {
		return f, err
	}
	return t.Plan(ctx)
}

func toPlanned(tenant string, f syncer.Forecast) planned {
	out := planned{Tenant: tenant, State: f.To.State, From: f.From.Applied, Tip: f.Tip, Versions: []plannedVersion{}}
	for _, e := range f.Events {
		if e.Refused != nil {
			out.Refused = append(out.Refused, plannedRefusal{e.Refused.ID, e.State, e.Reasons})
			continue
		}
		v := e.Version
		if v == nil {
			continue // warnings alone
		}
		out.Versions = append(out.Versions, plannedVersion{Spec: v.Key.String(), From: v.From, To: v.Number, Op: v.Op,
			Removed: v.Result == spec.Removed, Restores: v.Origin.Restores, Class: v.Class, Why: v.Why,
			Commit: v.Origin.Commit, Actor: v.Origin.Actor})
	}
	return out
}

// text is a block a version: what becomes of it, what an agent does, which fields.
func (p planned) text(w io.Writer) error {
	var b []byte
	if len(p.Versions) == 0 && len(p.Refused) == 0 {
		b = fmt.Appendf(b, "%s: no change\n", p.Tenant)
	}
	for _, v := range p.Versions {
		to := fmt.Sprintf("v%d -> v%d", v.From, v.To)
		if v.From == 0 {
			to = fmt.Sprintf("v%d", v.To)
		}
		op := string(v.Op)
		switch {
		case v.Removed:
			to, op = fmt.Sprintf("v%d", v.From), op+" removed"
		case v.Restores > 0:
			op = fmt.Sprintf("%s restores v%d", op, v.Restores)
		}
		b = fmt.Appendf(b, "%s %s %s %s (%s) by %s in %s\n", p.Tenant, v.Spec, to, op, v.Class, v.Actor, spec.Short(v.Commit))
		for _, why := range v.Why {
			b = fmt.Appendf(b, "    %s\n", why)
		}
	}
	for _, r := range p.Refused {
		b = fmt.Appendf(b, "%s commit %s would be %s\n", p.Tenant, spec.Short(r.Commit), r.State)
		for _, f := range r.Findings {
			b = fmt.Appendf(b, "    %s\n", f)
		}
	}
	_, err := w.Write(b)
	return err
}

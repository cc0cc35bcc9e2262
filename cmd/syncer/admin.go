package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/spf13/cobra"
)

func (a *app) approveCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "approve COMMIT",
		Short: "Let a held commit through; it is noted who did",
		Long:  "approve lets a commit through that is held because it removes too much or because the branch was rewritten.\nThe first digits are enough for the commit that is held now.",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, s *specstore.Store, tenant string, args []string) error {
			who, err := a.who()
			if err != nil {
				return err
			}
			commit, err := heldCommit(ctx, s, tenant, args[0])
			if err != nil {
				return err
			}
			if err := s.Approve(ctx, tenant, who, commit); err != nil {
				return err
			}
			return a.print(spec.Act{Tenant: tenant, Actor: who, Act: "approve", Target: commit},
				textLine(fmt.Sprintf("%s commit %s is approved by %s", tenant, commit, who)))
		}),
	}
}

// heldCommit completes the first digits of the commit that is held now; a full id
// is taken as it is.
func heldCommit(ctx context.Context, s *specstore.Store, tenant, id string) (string, error) {
	id = strings.ToLower(id)
	if len(id) == 40 {
		return id, nil
	}
	c, err := s.Cursor(ctx, tenant)
	if err != nil {
		return "", err
	}
	if c.State != spec.StateHeld || len(id) < 4 || !strings.HasPrefix(c.Refused, id) {
		return "", cli.ErrorHint(cli.Usagef("commit %q is not the one that tenant %s holds", id, tenant), "`syncer status` names it; a full id of 40 digits is taken in any case")
	}
	return c.Refused, nil
}

func (a *app) syncCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "sync",
		Short: "Ask the running syncer to look at a repository now",
		Args:  cobra.NoArgs,
		RunE: a.with(func(ctx context.Context, s *specstore.Store, tenant string, _ []string) error {
			who, err := a.who()
			if err != nil {
				return err
			}
			if err := s.Look(ctx, tenant, who); err != nil {
				return err
			}
			return a.print(spec.Act{Tenant: tenant, Actor: who, Act: "sync"}, textLine(tenant+" is looked at by the syncer that follows it"))
		}),
	}
}

// actsText is a table of administrative acts.
func actsText(w io.Writer, acts []spec.Act) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, x := range acts {
		if _, err := fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", stamp(x.TS), x.Tenant, x.Act, orDash(x.Target), x.Actor, x.Detail); err != nil {
			return err
		}
	}
	return t.Flush()
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/spf13/cobra"
)

// operation makes a command that does one audited thing to one job.
func (a *app) operation(use, short string, do func(*specstore.Store, context.Context, string, string, string) error, done string) *cobra.Command {
	return &cobra.Command{
		Use:   use + " JOB",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, s *specstore.Store, tenant string, args []string) error {
			who, err := a.who()
			if err != nil {
				return err
			}
			if err := do(s, ctx, tenant, who, args[0]); err != nil {
				return err
			}
			type doneIt struct {
				Tenant string `json:"tenant"`
				Job    string `json:"job"`
				Done   string `json:"done"`
				Actor  string `json:"actor"`
			}
			return a.print(doneIt{tenant, args[0], use, who}, textLine(fmt.Sprintf("%s %s %s by %s", tenant, args[0], done, who)))
		}),
	}
}

func (a *app) adoptCmd() *cobra.Command {
	adopt := func(s *specstore.Store, ctx context.Context, tenant, who, job string) error {
		if err := s.Adopt(ctx, tenant, who, job); err != nil {
			return err
		}
		return s.Look(ctx, tenant, who)
	}
	return a.operation("adopt", "Let Git own a job that was made by hand or by another control plane", adopt,
		"adopted: the next look at the repository takes it over")
}

func (a *app) restartCmd() *cobra.Command {
	return a.operation("restart", "Launch a job anew without a new version: secrets are resolved anew", (*specstore.Store).Restart, "will be restarted")
}

func (a *app) stopCmd() *cobra.Command {
	return a.operation("stop", "Stop a job without a commit; it stays stopped until resumed", (*specstore.Store).Stop, "desired stopped")
}

func (a *app) resumeCmd() *cobra.Command {
	return a.operation("resume", "Let a stopped job run again", (*specstore.Store).Resume, "desired running")
}

func (a *app) auditCmd() *cobra.Command {
	var q specstore.AuditQuery
	var export string
	var admin bool
	c := &cobra.Command{
		Use:   "audit",
		Short: "Who did what, refused attempts too, newest last",
		Args:  cobra.NoArgs,
		RunE: a.with(func(ctx context.Context, s *specstore.Store, _ string, _ []string) error {
			q.Tenant = a.tenant
			if admin {
				acts, err := s.Acts(ctx, a.one(), int64(max(1, q.Limit)))
				if err != nil {
					return err
				}
				return a.print(acts, func(w io.Writer) error { return actsText(w, acts) })
			}
			if export != "" {
				return a.exportAudit(ctx, s, q, export)
			}
			rows, err := s.Audit(ctx, q)
			if err != nil {
				return err
			}
			if a.output == "json" {
				return encodeRows(a.stdout, rows)
			}
			return a.print(rows, func(w io.Writer) error { return auditText(w, rows) })
		}),
	}
	c.Flags().StringVar(&q.Job, "job", "", "only this job, or subscription/NAME, or *")
	c.Flags().IntVar(&q.Limit, "limit", 100, "at most so many rows, the newest")
	c.Flags().BoolVar(&admin, "admin", false, "administrative acts on the tenant: approve, sync")
	c.Flags().StringVar(&export, "export", "", "write all rows to a file, one JSON object a line")
	return c
}

// exportAudit writes every row there is; the file appears whole or not at all.
func (a *app) exportAudit(ctx context.Context, s *specstore.Store, q specstore.AuditQuery, file string) error {
	q.Limit = 0
	rows, err := s.Audit(ctx, q)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := encodeRows(&b, rows); err != nil {
		return err
	}
	if err := writeFile(file, []byte(b.String())); err != nil {
		return fmt.Errorf("export the audit: %w", err)
	}
	return textLine(fmt.Sprintf("%d rows in %s", len(rows), file))(a.stdout)
}

func encodeRows(w io.Writer, rows []spec.AuditRow) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func auditText(w io.Writer, rows []spec.AuditRow) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		versions := "-"
		switch {
		case r.From > 0 && r.To > 0:
			versions = fmt.Sprintf("v%d -> v%d", r.From, r.To)
		case r.To > 0:
			versions = fmt.Sprintf("v%d", r.To)
		case r.From > 0:
			versions = fmt.Sprintf("v%d", r.From)
		}
		if _, err := fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", stamp(r.TS), r.Tenant, r.Job, r.Op, orDash(string(r.Result)),
			versions, orDash(spec.Short(r.Commit)), r.Actor, r.Detail); err != nil {
			return err
		}
	}
	return t.Flush()
}

func (a *app) exportCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Write the specs of a store as YAML, to begin a repository with",
		Args:  cobra.NoArgs,
		RunE: a.with(func(ctx context.Context, s *specstore.Store, tenant string, _ []string) error {
			jobs, err := s.List(ctx, tenant)
			if err != nil {
				return err
			}
			subs, err := s.Subscriptions(ctx, tenant)
			if err != nil {
				return err
			}
			w := bufio.NewWriter(a.stdout)
			var masked []string
			for _, v := range jobs {
				doc, secrets := jobDocument(v.Record.Spec)
				masked = append(masked, secrets...)
				if err := writeDocument(w, doc); err != nil {
					return err
				}
			}
			for _, r := range subs {
				if err := writeDocument(w, subscriptionDocument(r.Spec)); err != nil {
					return err
				}
			}
			for _, m := range masked {
				if _, err := fmt.Fprintln(a.stderr, "syncer: "+m); err != nil {
					return err
				}
			}
			return w.Flush()
		}),
	}
}

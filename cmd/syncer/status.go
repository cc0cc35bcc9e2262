package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/spf13/cobra"
)

// tenantStatus is one tenant as `status` shows it: CONTRACT section 6.
type tenantStatus struct {
	Tenant        string           `json:"tenant"`
	State         spec.TenantState `json:"state"`
	Seen          string           `json:"seen"`
	Applied       string           `json:"applied"`
	Refused       *refusal         `json:"refused,omitempty"`
	Since         int64            `json:"since"` // ms
	Errors        int64            `json:"errors"`
	Error         string           `json:"error,omitempty"`
	Drift         []spec.Finding   `json:"drift,omitempty"` // stored content that is not that of the applied commit
	Specs         int64            `json:"specs"`
	Jobs          []jobStatus      `json:"jobs"`
	Subscriptions []subStatus      `json:"subscriptions"`
}

type refusal struct {
	Commit   string         `json:"commit"`
	Findings []spec.Finding `json:"findings"`
}

// jobStatus keeps apart what is wanted, what was observed and who said so.
type jobStatus struct {
	Job            string     `json:"job"`
	Version        int64      `json:"version"`
	UpdatedBy      string     `json:"updatedBy"`
	UpdatedAt      int64      `json:"updatedAt"` // ms
	Suspended      bool       `json:"suspended"`
	State          spec.State `json:"state"`
	Lapsed         bool       `json:"lapsed"` // its owner's lease ran out: what runs now is not known
	Owner          string     `json:"owner,omitempty"`
	RunningVersion int64      `json:"runningVersion,omitempty"`
	RunningSince   int64      `json:"runningSince,omitempty"` // ms
	Generation     int64      `json:"generation,omitempty"`
	Attempt        int64      `json:"attempt,omitempty"`
	Detail         string     `json:"detail,omitempty"`
}

type subStatus struct {
	Subscription string `json:"subscription"`
	Version      int64  `json:"version"`
	UpdatedBy    string `json:"updatedBy"`
	UpdatedAt    int64  `json:"updatedAt"`
}

func (a *app) statusCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Where every tenant stands, and what runs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, closeStore, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer closeStore()
			tenants, err := a.tenantsOf(cmd.Context(), store)
			if err != nil {
				return err
			}
			for _, name := range tenants {
				s, err := readStatus(cmd.Context(), store, name)
				if err != nil {
					return fmt.Errorf("tenant %s: %w", name, err)
				}
				names, err := store.Mailmap(cmd.Context(), name)
				if err != nil {
					return err
				}
				if err := a.print(s, func(w io.Writer) error { return s.text(w, names) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// tenantsOf gives the tenants that a command is about: --tenant, or all.
func (a *app) tenantsOf(ctx context.Context, store *specstore.Store) ([]string, error) {
	if a.tenant != "" {
		return []string{a.tenant}, nil
	}
	names, err := store.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	cur, err := store.Cursor(ctx, "default")
	if err != nil {
		return nil, err
	}
	if cur.State != "" || len(names) == 0 {
		names = append(names, "default")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func readStatus(ctx context.Context, store *specstore.Store, tenant string) (tenantStatus, error) {
	c, err := store.Cursor(ctx, tenant)
	if err != nil {
		return tenantStatus{}, err
	}
	jobs, err := store.List(ctx, tenant)
	if err != nil {
		return tenantStatus{}, err
	}
	now, err := store.Now(ctx)
	if err != nil {
		return tenantStatus{}, err
	}
	subs, err := store.Subscriptions(ctx, tenant)
	if err != nil {
		return tenantStatus{}, err
	}
	s := tenantStatus{Tenant: tenant, State: c.State, Seen: c.Seen, Applied: c.Applied, Since: c.Since, Errors: c.Errors, Error: c.Error, Drift: c.Drift,
		Specs: c.Specs, Jobs: make([]jobStatus, 0, len(jobs)), Subscriptions: make([]subStatus, 0, len(subs))}
	if c.State == "" {
		s.State = spec.StateWaiting // no syncer has looked at it yet
	}
	if c.Refused != "" {
		s.Refused = &refusal{c.Refused, c.Findings}
	}
	for _, v := range jobs {
		s.Jobs = append(s.Jobs, toJobStatus(v, now))
	}
	for _, r := range subs {
		s.Subscriptions = append(s.Subscriptions, subStatus{r.Key.Name, r.Version, r.UpdatedBy, r.UpdatedAt})
	}
	return s, nil
}

func toJobStatus(v spec.JobView, now int64) jobStatus {
	suspended := v.Record.Spec != nil && v.Record.Spec.Suspended()
	return jobStatus{Job: v.Record.Key.Name, Version: v.Record.Version, UpdatedBy: v.Record.UpdatedBy, UpdatedAt: v.Record.UpdatedAt,
		Suspended: suspended, State: v.Status.State, Lapsed: v.Lapsed(now), Owner: v.Status.InstanceID,
		RunningVersion: v.Status.RunningVersion, RunningSince: v.Status.Since, Generation: v.Status.Generation,
		Attempt: v.Status.Attempt, Detail: v.Status.Detail}
}

// text is a headline a tenant, why it is stuck if it is, and a table of jobs.
func (s tenantStatus) text(w io.Writer, names spec.Mailmap) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  applied %s", s.Tenant, s.State, orDash(spec.Short(s.Applied)))
	if s.Seen != s.Applied {
		fmt.Fprintf(&b, "  seen %s", orDash(spec.Short(s.Seen)))
	}
	if s.Since > 0 {
		fmt.Fprintf(&b, "  since %s", stamp(s.Since))
	}
	fmt.Fprintf(&b, "  %d specs\n", s.Specs)
	if s.Refused != nil {
		fmt.Fprintf(&b, "  commit %s is not applied:\n", spec.Short(s.Refused.Commit))
		for _, f := range s.Refused.Findings {
			fmt.Fprintf(&b, "    %s\n", f)
		}
	}
	if s.Error != "" {
		fmt.Fprintf(&b, "  %d passes in a row failed: %s\n", s.Errors, s.Error)
	}
	for _, f := range s.Drift {
		fmt.Fprintf(&b, "  drift: %s\n", f)
	}
	if len(s.Jobs) > 0 {
		t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "  JOB\tVERSION\tSTATE\tRUNS\tOWNER\tBY\tDETAIL")
		for _, j := range s.Jobs {
			fmt.Fprintf(t, "  %s\tv%d\t%s\t%s\t%s\t%s\t%s\n", j.Job, j.Version, j.words(), j.runs(), orDash(j.Owner), names.Shown(j.UpdatedBy), j.Detail)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, sub := range s.Subscriptions {
		fmt.Fprintf(&b, "  subscription/%s  v%d  by %s\n", sub.Subscription, sub.Version, names.Shown(sub.UpdatedBy))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (j jobStatus) words() string {
	if j.Lapsed {
		return string(j.State) + " (lapsed)"
	}
	return orDash(string(j.State))
}

func (j jobStatus) runs() string {
	if j.RunningVersion == 0 {
		return "-"
	}
	return fmt.Sprintf("v%d since %s", j.RunningVersion, stamp(j.RunningSince))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// stamp is a time of the store for people.
func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z") }

// textLine makes a text printer of one line.
func textLine(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := fmt.Fprintln(w, s)
		return err
	}
}

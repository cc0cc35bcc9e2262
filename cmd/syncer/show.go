package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/diff"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/spf13/cobra"
)

// content is a spec for people: secrets masked.
type content struct {
	Spec      string            `json:"spec"`
	Tenant    string            `json:"tenant"`
	Version   int64             `json:"version"`
	UpdatedBy string            `json:"updatedBy"`
	UpdatedAt int64             `json:"updatedAt"`
	SpecHash  string            `json:"specHash"`
	Fields    map[string]string `json:"fields"`
}

func toContent(tenant string, r spec.Record) content {
	fields := r.Spec.Fields()
	for k, v := range fields {
		fields[k] = spec.Shown(strings.TrimPrefix(k, "config."), v)
	}
	return content{r.Key.String(), tenant, r.Version, r.UpdatedBy, r.UpdatedAt, r.SpecHash, fields}
}

// jobDetail is what `get` shows.
type jobDetail struct {
	content
	Status *jobStatus   `json:"status,omitempty"`
	Origin *spec.Origin `json:"origin,omitempty"`
}

// with opens the store for a command about one tenant.
func (a *app) with(do func(ctx context.Context, s *specstore.Store, tenant string, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		store, closeStore, err := a.connect(cmd.Context())
		if err != nil {
			return err
		}
		defer closeStore()
		err = do(cmd.Context(), store, a.one(), args)
		if errors.Is(err, spec.ErrNotFound) {
			err = cli.ErrorHint(err, "`syncer status` lists what there is; --tenant chooses another tenant")
		}
		return err
	}
}

func (a *app) getCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "get JOB",
		Short: "One spec: content, status and where it came from",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, s *specstore.Store, tenant string, args []string) error {
			d, err := readDetail(ctx, s, tenant, spec.ParseKey(args[0]))
			if err != nil {
				return err
			}
			return a.print(d, d.text)
		}),
	}
}

func readDetail(ctx context.Context, s *specstore.Store, tenant string, key spec.Key) (jobDetail, error) {
	var d jobDetail
	if key.Kind == spec.KindSubscription {
		r, err := s.Current(ctx, tenant, key)
		if err != nil {
			return d, err
		}
		d.content = toContent(tenant, r)
	} else {
		snap, err := s.Get(ctx, tenant, key.Name)
		if err != nil {
			return d, err
		}
		now, err := s.Now(ctx)
		if err != nil {
			return d, err
		}
		st := toJobStatus(snap, now)
		d.content, d.Status = toContent(tenant, snap.Record), &st
	}
	o, err := s.Origin(ctx, tenant, key, d.Version)
	switch {
	case err == nil:
		d.Origin = &o
	case !errors.Is(err, spec.ErrNotFound): // a foreign job has none
		return d, err
	}
	return d, nil
}

func (d jobDetail) text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s v%d by %s at %s\n", d.Tenant, d.Spec, d.Version, d.UpdatedBy, stamp(d.UpdatedAt))
	if o := d.Origin; o != nil && o.Commit != "" {
		fmt.Fprintf(&b, "from commit %s, %s\n", o.Commit, spec.QuotePath(o.Path))
	} else {
		b.WriteString("not made from Git\n")
	}
	if d.Status != nil {
		fmt.Fprintf(&b, "status %s, runs %s, owner %s\n", d.Status.words(), d.Status.runs(), orDash(d.Status.Owner))
		if d.Status.Detail != "" {
			fmt.Fprintf(&b, "detail %s\n", d.Status.Detail)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(d.Fields)) {
		fmt.Fprintf(&b, "  %s: %s\n", k, strconv.Quote(d.Fields[k]))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (a *app) historyCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "history JOB",
		Short: "Every version of a spec: what, who, which commit",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, s *specstore.Store, tenant string, args []string) error {
			entries, err := s.Origins(ctx, tenant, spec.ParseKey(args[0]))
			if err != nil {
				return err
			}
			names, err := s.Mailmap(ctx, tenant)
			if err != nil {
				return err
			}
			return a.print(entries, func(w io.Writer) error {
				var b strings.Builder
				for _, e := range entries {
					e.Actor = names.Shown(e.Actor)
					v := spec.Version{Key: spec.ParseKey(args[0]), Op: e.Op, Result: e.Result, Number: e.Version, Origin: e.Origin}
					fmt.Fprintf(&b, "%s  %s\n", versionLine(tenant, v), e.Subject)
				}
				_, err := io.WriteString(w, b.String())
				return err
			})
		}),
	}
}

// difference is what `diff` says.
type difference struct {
	Spec   string   `json:"spec"`
	From   int64    `json:"from"`
	To     int64    `json:"to"`
	Fields []string `json:"fields"`
	Why    []string `json:"changes"`
}

func (a *app) diffCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "diff JOB V1 V2",
		Short: "Fields that differ between two versions; exit 1 if any does, 2 if it cannot tell",
		Args:  cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			differs := false
			err := a.with(func(ctx context.Context, s *specstore.Store, tenant string, args []string) error {
				d, err := readDiff(ctx, s, tenant, args)
				if err != nil {
					return err
				}
				differs = len(d.Fields) > 0
				return a.print(d, func(w io.Writer) error {
					for _, why := range d.Why {
						if _, err := fmt.Fprintln(w, why); err != nil {
							return err
						}
					}
					return nil
				})
			})(cmd, args)
			switch {
			case err != nil:
				return cli.Usage{Err: err}
			case differs:
				return cli.Quiet(cli.ExitFailed)
			}
			return nil
		},
	}
}

func readDiff(ctx context.Context, s *specstore.Store, tenant string, args []string) (difference, error) {
	d := difference{Spec: args[0], Fields: []string{}, Why: []string{}}
	var specs [2]spec.Spec
	for i, arg := range args[1:] {
		n, err := strconv.ParseInt(strings.TrimPrefix(arg, "v"), 10, 64)
		if err != nil {
			return d, fmt.Errorf("version %q is no number", arg)
		}
		if specs[i], err = contentOf(ctx, s, tenant, spec.ParseKey(args[0]), n); err != nil {
			return d, err
		}
		if i == 0 {
			d.From = n
		} else {
			d.To = n
		}
	}
	names, why := diff.Fields(specs[0], specs[1])
	d.Fields, d.Why = append(d.Fields, names...), append(d.Why, why...)
	return d, nil
}

// contentOf finds the content of a version: the current one or one of the history.
func contentOf(ctx context.Context, s *specstore.Store, tenant string, key spec.Key, version int64) (spec.Spec, error) {
	r, err := s.Current(ctx, tenant, key)
	if err != nil && !errors.Is(err, spec.ErrNotFound) {
		return nil, err
	}
	if err == nil && r.Version == version {
		return r.Spec, nil
	}
	old, err := s.History(ctx, tenant, key)
	if err != nil {
		return nil, err
	}
	for _, r := range old {
		if r.Version == version {
			return r.Spec, nil
		}
	}
	err = fmt.Errorf("the content of %s v%d is not kept any more", key, version)
	if o, oerr := s.Origin(ctx, tenant, key, version); oerr == nil && o.Commit != "" {
		return nil, cli.ErrorHint(err, fmt.Sprintf("Git has it: git show %s:%s", o.Commit, spec.QuotePath(o.Path)))
	}
	return nil, fmt.Errorf("%w: %w", err, spec.ErrNotFound)
}

func (a *app) blameCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "blame JOB [FIELD]",
		Short: "Who set each field of a spec, in which version and commit",
		Args:  cobra.RangeArgs(1, 2),
		RunE: a.with(func(ctx context.Context, s *specstore.Store, tenant string, args []string) error {
			field := ""
			if len(args) == 2 {
				field = args[1]
			}
			bs, err := readBlame(ctx, s, tenant, spec.ParseKey(args[0]), field)
			if err != nil {
				return err
			}
			names, err := s.Mailmap(ctx, tenant)
			if err != nil {
				return err
			}
			return a.print(bs, func(w io.Writer) error { return blameText(w, bs, names) })
		}),
	}
}

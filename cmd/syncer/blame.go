package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/pawl-dev/pawl/syncer"
)

// blame is who set one field, and since when that version has been running.
type blame struct {
	Field        string `json:"field"`
	Value        string `json:"value"` // a secret literal is masked
	Version      int64  `json:"version"`
	Actor        string `json:"actor"`
	Signer       string `json:"signer,omitempty"`
	Verified     string `json:"verified"`
	Commit       string `json:"commit"`
	PullRequest  int    `json:"pullRequest,omitempty"`
	Subject      string `json:"subject,omitempty"`
	AppliedAt    int64  `json:"appliedAt,omitempty"`    // ms
	RunningSince int64  `json:"runningSince,omitempty"` // ms; set if the current version really runs
	RunningOn    string `json:"runningOn,omitempty"`
}

// readBlame goes back from the current version: a field was set by the newest
// version that lists it as changed.
func readBlame(ctx context.Context, s *specstore.Store, tenant string, key spec.Key, only string) ([]blame, error) {
	r, err := s.Current(ctx, tenant, key)
	if err != nil {
		return nil, err
	}
	entries, err := s.Origins(ctx, tenant, key)
	if err != nil {
		return nil, err
	}
	var status spec.Status
	if key.Kind == spec.KindJob {
		if status, err = s.Status(ctx, tenant, key.Name); err != nil && !errors.Is(err, spec.ErrNotFound) {
			return nil, err
		}
	}
	fields := r.Spec.Fields()
	if _, ok := fields[only]; only != "" && !ok {
		if _, ok := fields["config."+only]; !ok {
			return nil, cli.ErrorHint(fmt.Errorf("%s has no field %q", key, only), "`syncer blame "+key.String()+"` lists its fields")
		}
		only = "config." + only
	}
	var out []blame
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		if only != "" && f != only {
			continue
		}
		b := blame{Field: f, Value: spec.Shown(strings.TrimPrefix(f, "config."), fields[f])}
		for _, e := range slices.Backward(entries) {
			if e.Removal || !slices.Contains(e.Fields, f) {
				continue
			}
			b.Version, b.Actor, b.Signer, b.Verified, b.Commit = e.Version, e.Actor, e.Signer, e.Verified, e.Commit
			if e.ChangedIn != "" {
				b.Commit = e.ChangedIn
			}
			b.PullRequest, b.Subject, b.AppliedAt = e.PullRequest, e.Subject, e.AppliedAt
			break
		}
		if status.State == spec.Running && status.RunningVersion >= b.Version && b.Version > 0 {
			b.RunningSince, b.RunningOn = status.Since, status.InstanceID
		}
		out = append(out, b)
	}
	return out, nil
}

func blameText(w io.Writer, bs []blame, names spec.Mailmap) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, b := range bs {
		who := names.Shown(b.Actor)
		switch b.Verified {
		case spec.VerifiedTrue:
			who += " (verified: " + b.Signer + ")"
		case spec.VerifiedFalse:
			who += " (not verified)"
		}
		if b.Version == 0 {
			who = "(older than the ledger, or not made from Git)"
		}
		running := ""
		if b.RunningSince > 0 {
			running = "running since " + stamp(b.RunningSince) + " on " + b.RunningOn
		}
		if _, err := fmt.Fprintf(t, "%s\t%q\tv%d\t%s\t%s\t%s\n", b.Field, b.Value, b.Version, spec.Short(b.Commit), who, running); err != nil {
			return err
		}
	}
	return t.Flush()
}

func versionLine(tenant string, v spec.Version) string { return syncer.Line(tenant, v) }

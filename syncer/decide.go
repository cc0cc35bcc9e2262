package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/diff"
	"github.com/pawl-dev/pawl/spec"
)

// verdict is what one commit means for the tenant.
type verdict struct {
	commit   spec.Commit
	changes  []diff.Change // sorted by key
	declared side
	likeness map[spec.Key]likeness
	growth   int64            // by how many specs the tenant grows
	state    spec.TenantState // Synced, StateRefused or StateHeld
	findings []spec.Finding   // why it is refused or held
	warnings []spec.Finding
}

// basis is what a commit is compared with.
type basis struct {
	commit string // its tree; "" = nothing
	stored side   // what the store has, where the commit that it equals is not known any more; nil = commit's tree
}

// decide evaluates the tree of a commit against the basis. guarded says whether
// the guard binds this commit.
func (t *Tenant) decide(ctx context.Context, l ledger, base basis, c spec.Commit, have int64, guarded bool) (verdict, error) {
	v := verdict{commit: c, state: spec.Synced}
	changes, err := t.Source.Changes(ctx, base.commit, c.ID)
	var unusable *spec.FindingError // such as a broken .pawlignore
	if errors.As(err, &unusable) {
		return v.refuse(spec.StateRefused, unusable.Finding), nil
	}
	if errors.Is(err, spec.ErrNoPath) {
		return v.refuse(spec.StateRefused, spec.Finding{Message: fmt.Sprintf(
			"the folder %q does not exist in commit %s; put it back, or change source.path of the Pavilion", t.pav.Source.Path, spec.Short(c.ID))}), nil
	}
	if err != nil || len(changes) == 0 && base.stored == nil {
		return v, err
	}
	r, err := t.read(ctx, changes)
	if err != nil {
		return v, err
	}
	if base.stored != nil {
		r.before = base.stored
	}
	bad, warnings := spec.Split(r.findings)
	v.declared, v.warnings = r.after, warnings

	touched := touchedKeys(r)
	known, err := l.known(ctx, touched)
	if err != nil {
		return v, err
	}
	strangers, err := t.strangers(ctx, base.commit, r, known)
	if err != nil {
		return v, err
	}
	bad = append(bad, strangers...)
	if len(bad) > 0 {
		return v.refuse(spec.StateRefused, spec.SortFindings(bad)...), nil
	}
	if err := v.choose(ctx, l, r, touched, known); err != nil {
		return v, err
	}
	v.growth = additions(v.changes, known) - removals(v.changes)
	if !guarded {
		return v, nil
	}
	why := diff.Guard(have, removals(v.changes), int64(t.pav.Guard.MaxRemovePercent))
	if why == "" {
		return v, nil
	}
	pass, err := t.approved(ctx, c.ID)
	if err != nil || pass {
		return v, err
	}
	return v.refuse(spec.StateHeld, spec.Finding{Message: fmt.Sprintf(
		"commit %s %s; put them back, or let it through: syncer approve %s --tenant %s", spec.Short(c.ID), why, c.ID, t.name)}), nil
}

func (v verdict) refuse(state spec.TenantState, why ...spec.Finding) verdict {
	v.state, v.findings, v.changes = state, why, nil
	return v
}

// touchedKeys lists the specs whose content differs between the two sides, sorted.
func touchedKeys(r reading) []spec.Key {
	all := maps.Clone(r.before)
	maps.Copy(all, r.after)
	var keys []spec.Key
	for k := range all {
		was, had := r.before[k]
		now, has := r.after[k]
		if had != has || !was.spec.Equal(now.spec) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, spec.Key.Compare)
	return keys
}

// strangers finds specs that a commit declares anew although they are there:
// declared in another file, or not made from Git.
func (t *Tenant) strangers(ctx context.Context, base string, r reading, known map[spec.Key]spec.Known) (bad []spec.Finding, err error) {
	for k, now := range r.after {
		have := known[k]
		_, had := r.before[k]
		switch {
		case have.Current == nil || had && !have.Foreign:
		case have.Foreign:
			bad = append(bad, spec.Finding{Path: now.path, Line: now.line, Field: "metadata.name", Message: fmt.Sprintf(
				"%s %q exists and was not made from Git; take it over with `syncer adopt %s --tenant %s`, or use another name", k.Kind, k.Name, k, t.name)})
		case base != "" && !have.Adopted:
			other, err := t.whereDeclared(ctx, base, k, have.Path)
			if err != nil {
				return nil, err
			}
			bad = append(bad, twiceDeclared(k, now.path, now.line, other.path, other.line),
				twiceDeclared(k, other.path, other.line, now.path, now.line))
		}
	}
	return bad, nil
}

// whereDeclared finds the file of commit base that declares k, beginning with a
// guess: a spec that was moved unchanged has no newer origin than its old place.
// It is asked only to explain a refusal.
func (t *Tenant) whereDeclared(ctx context.Context, base string, k spec.Key, guess string) (declared, error) {
	all, err := t.Source.Changes(ctx, "", base)
	if err != nil {
		return declared{}, err
	}
	slices.SortStableFunc(all, func(a, b spec.FileChange) int {
		return cmp.Compare(b2i(b.Path == guess), b2i(a.Path == guess))
	})
	for batch := range slices.Chunk(all, decodeBatch) {
		r, err := t.read(ctx, batch)
		if err != nil {
			return declared{}, err
		}
		if d, ok := r.after[k]; ok {
			return d, nil
		}
	}
	return declared{path: guess}, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// choose decides each touched spec.
func (v *verdict) choose(ctx context.Context, l ledger, r reading, touched []spec.Key, known map[spec.Key]spec.Known) error {
	var asks []wanted
	for _, k := range touched {
		if now, ok := r.after[k]; ok && known[k].Last > 0 {
			asks = append(asks, wanted{now.spec, known[k].Last})
		}
	}
	v.likeness = map[spec.Key]likeness{}
	if len(asks) > 0 {
		var err error
		if v.likeness, err = l.alike(ctx, asks); err != nil {
			return err
		}
	}
	for _, k := range touched {
		have := known[k]
		have.Key = k
		if have.Foreign { // only the side before declares it: not ours to remove
			continue
		}
		if c, ok := diff.Decide(have, r.after[k].spec, v.likeness[k].same); ok {
			v.changes = append(v.changes, c)
		}
	}
	return nil
}

func removals(cs []diff.Change) (n int64) {
	for _, c := range cs {
		if c.Removed {
			n++
		}
	}
	return n
}

// additions counts the specs that were not there before.
func additions(cs []diff.Change, known map[spec.Key]spec.Known) (n int64) {
	for _, c := range cs {
		if !c.Removed && known[c.Key].Current == nil {
			n++
		}
	}
	return n
}

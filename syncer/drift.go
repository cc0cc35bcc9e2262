package syncer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/diff"
	"github.com/pawl-dev/pawl/spec"
)

// healer is the actor of what drift is healed by.
const healer = "syncer"

// driftSlice is how many files one pass compares: a comparison of a whole tenant
// goes on over many passes, so that no commit waits for it.
const driftSlice = 500

// comparison is a way through the whole tree of the applied commit.
type comparison struct {
	commit string
	files  []spec.FileChange
	next   int
	seen   map[spec.Key]bool
	found  []spec.Finding
	heal   []drifted
}

// drifted is a spec whose stored content is not the declared one.
type drifted struct {
	known spec.Known
	want  declared // spec nil = not declared
}

// compare goes on comparing what is stored with what the applied commit declares,
// if that is due. more tells whether another slice is left.
func (t *Tenant) compare(ctx context.Context, cur spec.Cursor) (out spec.Cursor, more bool, err error) {
	if cur.State != spec.Synced || t.DriftEvery <= 0 {
		return cur, false, nil
	}
	if t.check == nil || t.check.commit != cur.Applied {
		if t.check == nil && time.Since(t.compared) < t.DriftEvery {
			return cur, false, nil
		}
		files, err := t.Source.Changes(ctx, "", cur.Applied)
		if err != nil {
			return cur, false, err
		}
		t.check = &comparison{commit: cur.Applied, files: files, seen: map[spec.Key]bool{}}
	}
	c := t.check
	end := min(len(c.files), c.next+driftSlice)
	if err := t.compareFiles(ctx, c, c.files[c.next:end]); err != nil {
		return cur, false, err
	}
	if c.next = end; end < len(c.files) {
		return cur, true, nil
	}
	t.check, t.compared = nil, time.Now()
	if err := t.compareRest(ctx, c); err != nil {
		return cur, false, err
	}
	out, err = t.report(ctx, cur, c)
	return out, false, err
}

// compareFiles compares the specs of some files with the store.
func (t *Tenant) compareFiles(ctx context.Context, c *comparison, files []spec.FileChange) error {
	r, err := t.read(ctx, files)
	if err != nil {
		return err
	}
	keys := touchedKeys(r) // with nothing before: all that is declared
	known, err := live{t}.known(ctx, keys)
	if err != nil {
		return err
	}
	for _, k := range keys {
		c.seen[k] = true
		have := known[k]
		have.Key = k
		if have.Foreign {
			continue
		}
		if have.Current == nil || !have.Current.Spec.Equal(r.after[k].spec) {
			c.note(have, r.after[k])
		}
	}
	return nil
}

// compareRest finds what is stored for Git and not declared.
func (t *Tenant) compareRest(ctx context.Context, c *comparison) error {
	keys, err := t.Store.Keys(ctx, t.name)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(k spec.Key) bool { return c.seen[k] })
	known, err := live{t}.known(ctx, keys)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if have := known[k]; have.Current != nil && !have.Foreign && !have.Adopted {
			c.note(have, declared{path: have.Path})
		}
	}
	return nil
}

// note words a difference: what, and who wrote what is stored.
func (c *comparison) note(have spec.Known, want declared) {
	f := spec.Finding{Path: want.path, Line: want.line, Field: have.Key.String(), Warning: true}
	switch {
	case have.Current == nil:
		f.Message = fmt.Sprintf("is declared in commit %s and not stored", spec.Short(c.commit))
	case want.spec == nil:
		f.Message = fmt.Sprintf("is stored as v%d, last written by %s, and not declared in commit %s", have.Current.Version, have.Current.UpdatedBy, spec.Short(c.commit))
	default:
		names, _ := diff.Fields(have.Current.Spec, want.spec)
		f.Message = fmt.Sprintf("stored as v%d, last written by %s, differs from commit %s in %v", have.Current.Version, have.Current.UpdatedBy, spec.Short(c.commit), names)
	}
	c.found = append(c.found, f)
	c.heal = append(c.heal, drifted{have, want})
}

// report writes what was found into the cursor, or heals it where the Pavilion
// says so.
func (t *Tenant) report(ctx context.Context, cur spec.Cursor, c *comparison) (spec.Cursor, error) {
	to := cur
	to.Drift = spec.SortFindings(c.found)
	for _, f := range to.Drift {
		t.Log.Warn("drift: "+f.String(), "tenant", t.name)
	}
	if t.pav.Drift != "heal" || len(c.heal) == 0 {
		return t.arrive(ctx, cur, to)
	}
	w := &walk{t: t, cur: cur, ledger: live{t}}
	commit, err := t.Source.Commit(ctx, c.commit)
	if err != nil {
		return cur, err
	}
	items, told, err := w.healing(ctx, commit, c.heal)
	if err != nil {
		return cur, err
	}
	to.Drift = nil
	err = w.write(ctx, items, told, to, c.commit)
	return w.cur, err
}

// healing makes the versions that bring the store back to what is declared.
func (w *walk) healing(ctx context.Context, commit spec.Commit, all []drifted) ([]spec.Item, []Event, error) {
	v := verdict{commit: commit, declared: side{}, likeness: map[spec.Key]likeness{}}
	var asks []wanted
	for _, d := range all {
		v.declared[d.known.Key] = d.want
		if d.want.spec != nil && d.known.Last > 0 {
			asks = append(asks, wanted{d.want.spec, d.known.Last})
		}
	}
	var err error
	if v.likeness, err = w.ledger.alike(ctx, asks); err != nil {
		return nil, nil, err
	}
	var items []spec.Item
	var told []Event
	for _, d := range all {
		change, ok := diff.Decide(d.known, d.want.spec, v.likeness[d.known.Key].same)
		if !ok {
			continue
		}
		healed := w.t.version(v, change, attribution{by: spec.Commit{Subject: healer}})
		healed.Origin.Operation += "/healed"
		if healed.Result == spec.Applied {
			healed.Result, healed.Origin.Result = spec.Healed, spec.Healed
		}
		items = append(items, spec.Item{Version: &healed, Newest: true})
		told = append(told, Event{Version: &healed})
	}
	return items, told, nil
}

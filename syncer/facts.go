package syncer

import (
	"context"
	"slices"

	"github.com/pawl-dev/pawl/spec"
)

// remember makes sure of the facts that Git does not have before anything is
// decided: they are read once, put back into a store that lost them, and the
// commit after which guards bind is resolved.
func (t *Tenant) remember(ctx context.Context, cur spec.Cursor, tip string) error {
	if !t.loaded {
		f, err := t.Facts.Load(t.name)
		if err != nil {
			return err
		}
		t.facts, t.loaded = f, true
	}
	if cur.Applied == "" && cur.Target == "" && len(t.facts.Approvals)+len(t.facts.Overrides) > 0 {
		if err := t.Store.Restore(ctx, t.name, t.facts); err != nil {
			return err
		}
	}
	f := t.facts
	switch {
	case t.pav.EnforceFrom != "":
		f.EnforceFrom = t.pav.EnforceFrom
	case cur.EnforceFrom != "":
		f.EnforceFrom = cur.EnforceFrom
	case f.EnforceFrom == "":
		f.EnforceFrom = tip
	}
	return t.keepFacts(f)
}

// keepFacts writes facts that are new to the state folder.
func (t *Tenant) keepFacts(f spec.Facts) error {
	if f.Equal(t.facts) {
		return nil
	}
	if err := t.Facts.Keep(t.name, f); err != nil {
		return err
	}
	t.facts = f
	return nil
}

// gather copies what people did by command from the store into the state folder,
// so that a rebuild of a lost store has it.
func (t *Tenant) gather(ctx context.Context, cur spec.Cursor) error {
	overrides, err := t.Store.Overrides(ctx, t.name)
	if err != nil {
		return err
	}
	approvals, err := t.Store.Approvals(ctx, t.name)
	if err != nil {
		return err
	}
	if now, err := t.Store.Cursor(ctx, t.name); err != nil || now.Epoch != cur.Epoch {
		return err // the store was emptied meanwhile: what it lacks is no fact
	}
	f := t.facts
	f.Overrides, f.Approvals = overrides, approvals
	return t.keepFacts(f)
}

// approved tells whether a person let a commit through: in the Pavilion, or by command.
func (t *Tenant) approved(ctx context.Context, commit string) (bool, error) {
	if slices.Contains(t.pav.Approved, commit) {
		return true, nil
	}
	approvals, err := t.Store.Approvals(ctx, t.name)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(approvals, func(a spec.Approval) bool { return a.Commit == commit }), nil
}

// sign writes whose a cursor is, for agents that build ids.
func (t *Tenant) sign(c *spec.Cursor) { c.Pavilion, c.CID = t.pav.ID, t.pav.CID }

// arrived is a cursor at a commit that is wholly applied, from the branch and
// folder that the Pavilion follows now.
func (t *Tenant) arrived(c spec.Cursor, commit string) spec.Cursor {
	c = c.Arrived(commit)
	c.Branch, c.Path = t.pav.Source.Branch, t.pav.Source.Path
	return c
}

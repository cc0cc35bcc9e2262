package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/spec"
)

// lostBase tells whether the commit that the store equals is not to be had: the
// branch was rewritten before this clone was made, or the cursor is gone and the
// specs are not. Then the store's own content is the basis.
func (w *walk) lostBase(ctx context.Context) (bool, error) {
	if w.cur.Target != "" {
		return false, nil
	}
	if w.base.commit != "" {
		_, err := w.t.Source.Commit(ctx, w.base.commit)
		if !errors.Is(err, spec.ErrNoCommit) {
			return false, err
		}
	}
	stored, err := w.t.stored(ctx)
	if err != nil || len(stored) == 0 && w.base.commit == "" {
		return false, err
	}
	w.t.Log.Warn("the commit that the store equals is not in the repository; comparing with the store itself",
		"tenant", w.t.name, "applied", w.base.commit, "specs", len(stored))
	w.base = basis{stored: stored}
	return true, nil
}

// stored is what the store has of this tenant, made from Git.
func (t *Tenant) stored(ctx context.Context) (side, error) {
	keys, err := t.Store.Keys(ctx, t.name)
	if err != nil || len(keys) == 0 {
		return side{}, err
	}
	known, err := live{t}.known(ctx, keys)
	if err != nil {
		return nil, err
	}
	s := side{}
	for k, have := range known {
		if have.Current != nil && !have.Foreign && !have.Adopted {
			s[k] = declared{spec: have.Current.Spec, path: have.Path}
		}
	}
	return s, nil
}

// jump takes a rewritten branch, whose line from the root is ids, in one step by
// tree difference. The actor of a change is who last changed that content on the
// new part of the line; what only went back has none.
func (w *walk) jump(ctx context.Context, ids []string) (spec.Cursor, error) {
	t := w.t
	base, err := t.Source.MergeBase(ctx, w.cur.Applied, w.tip)
	if err != nil {
		return w.cur, err
	}
	if t.pav.Source.OnRewrite == "hold" {
		return w.frozen(ctx)
	}
	if cut := slices.Index(ids, base); cut >= 0 {
		ids = ids[cut+1:]
	}
	t.Log.Warn("the branch was rewritten", "tenant", t.name, "from", w.cur.Applied, "to", w.tip, "base", base)
	w.start(false, ids)
	return w.leap(ctx, ids, spec.Commit{Subject: fmt.Sprintf("(unknown: branch rewound to %s)", spec.Short(w.tip))})
}

// frozen refuses a rewritten tip until the Pavilion says otherwise.
func (w *walk) frozen(ctx context.Context) (spec.Cursor, error) {
	c, err := w.t.Source.Commit(ctx, w.tip)
	if err != nil {
		return w.cur, err
	}
	w.start(false, nil)
	w.last = w.tip
	v := verdict{commit: c}.refuse(spec.StateHeld, spec.Finding{Message: fmt.Sprintf(
		"the branch was rewritten: %s, which is applied, is not on the line of %s; push it back, or set source.onRewrite: follow", spec.Short(w.cur.Applied), spec.Short(w.tip))})
	if err := w.refuse(ctx, v, map[spec.Key]bool{}); err != nil {
		return w.cur, err
	}
	return w.finish(ctx)
}

// begin starts a tenant that does not want its whole history: version 1 of each
// spec at the tip (head) or at one commit, by who last changed it.
func (w *walk) begin(ctx context.Context, ids []string) (spec.Cursor, error) {
	from := len(ids) - 1
	if want := w.t.pav.Source.History; want != "head" {
		if from = slices.Index(ids, want); from < 0 {
			return w.cur, fmt.Errorf("source.history: commit %s is not on the first-parent line of %s", want, w.t.pav.Source.Branch)
		}
	}
	w.start(true, ids)
	cur, err := w.leap(ctx, ids[:from+1], spec.Commit{})
	if err != nil || from == len(ids)-1 {
		return cur, err
	}
	return w.t.catchUp(ctx, cur, w.tip)
}

// leap applies the last of ids in one step; the others only tell who changed what.
func (w *walk) leap(ctx context.Context, ids []string, nobody spec.Commit) (spec.Cursor, error) {
	t := w.t
	target := w.tip
	if len(ids) > 0 {
		target = ids[len(ids)-1]
	}
	for _, id := range ids {
		if err := t.keep(ctx); err != nil {
			return w.cur, err
		}
		c, err := t.Source.Commit(ctx, id)
		if err != nil {
			return w.cur, err
		}
		keys, _, err := t.touchedBy(ctx, c)
		if err != nil {
			return w.cur, err
		}
		for _, k := range keys { // earlier authors are no contributors of held content
			w.held[k] = &attribution{by: c}
		}
	}
	c, err := t.Source.Commit(ctx, target)
	if err != nil {
		return w.cur, err
	}
	w.last = target
	v, err := t.decide(ctx, w.ledger, w.base, c, w.specs, w.enforced)
	if err != nil {
		return w.cur, err
	}
	if v.state != spec.Synced {
		if err := w.refuse(ctx, v, map[spec.Key]bool{}); err != nil {
			return w.cur, err
		}
		return w.finish(ctx)
	}
	versions := make([]spec.Version, len(v.changes))
	for i, ch := range v.changes {
		who := w.held[ch.Key]
		if who == nil {
			who = &attribution{by: nobody}
			if nobody.Subject == "" {
				who.by = c
			}
		}
		versions[i] = t.version(v, ch, *who)
	}
	if err := w.apply(ctx, v, versions); err != nil {
		return w.cur, err
	}
	return w.finish(ctx)
}

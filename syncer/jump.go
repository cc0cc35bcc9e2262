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

// moved tells whether the Pavilion follows another branch or folder than the one
// that the cursor's commit was applied from.
func (t *Tenant) moved(c spec.Cursor) bool {
	return c.Branch != "" && (c.Branch != t.pav.Source.Branch || c.Path != t.pav.Source.Path)
}

// compareWithStore makes the store's own content the basis.
func (w *walk) compareWithStore(ctx context.Context) error {
	stored, err := w.t.stored(ctx)
	if err != nil {
		return err
	}
	w.t.Log.Info("another branch or folder is followed now", "tenant", w.t.name, "branch", w.t.pav.Source.Branch, "path", w.t.pav.Source.Path)
	w.base = basis{stored: stored}
	return nil
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
	rewritten, base := false, ""
	if w.cur.Applied != "" && !t.moved(w.cur) {
		ancestor, err := t.Source.Descends(ctx, w.tip, w.cur.Applied)
		if err != nil {
			return w.cur, err
		}
		if rewritten = !ancestor; rewritten && t.pav.Source.OnRewrite == "hold" {
			pass, err := t.approved(ctx, w.tip)
			if err != nil {
				return w.cur, err
			}
			if !pass {
				return w.frozen(ctx)
			}
		}
		if base, err = t.Source.MergeBase(ctx, w.cur.Applied, w.tip); err != nil {
			return w.cur, err
		}
	}
	if w.base.stored != nil { // who last changed each content is asked of the whole line
		whole, _, err := t.Source.Line(ctx, "", w.tip)
		if err != nil {
			return w.cur, err
		}
		ids = whole
	} else if cut := slices.Index(ids, base); cut >= 0 {
		ids = ids[cut+1:]
	}
	w.start(false, ids)
	if rewritten {
		t.Log.Warn("the branch was rewritten", "tenant", t.name, "from", w.cur.Applied, "to", w.tip, "base", base)
		if err := w.noteRewrite(ctx); err != nil {
			return w.cur, err
		}
	}
	nobody := fmt.Sprintf("(unknown: branch rewound to %s)", spec.Short(w.tip))
	if t.moved(w.cur) {
		nobody = fmt.Sprintf("(unknown: branch %s, path %s followed since)", t.pav.Source.Branch, t.pav.Source.Path)
	}
	return w.leap(ctx, ids, spec.Commit{Subject: nobody})
}

// noteRewrite puts a row with both ids before whatever the rewritten tip brings.
func (w *walk) noteRewrite(ctx context.Context) error {
	c, err := w.t.Source.Commit(ctx, w.tip)
	if err != nil {
		return err
	}
	w.backlog = append(w.backlog, spec.Item{Refusal: &spec.AuditRow{
		Tenant: w.t.name, Actor: c.Author.String(), Op: spec.OpReport, Job: "*", Allowed: true, Kind: spec.KindGit, Result: spec.Applied,
		Commit: w.tip, Detail: fmt.Sprintf("history rewritten: %s -> %s", w.cur.Applied, w.tip),
	}})
	return nil
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
		"the branch was rewritten: %s, which is applied, is not on the line of %s; push it back, or let it through: syncer approve %s --tenant %s", spec.Short(w.cur.Applied), spec.Short(w.tip), w.tip, w.t.name)})
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
	who := make([]attribution, len(v.changes)) // none if it is refused
	for i, ch := range v.changes {
		switch held := w.held[ch.Key]; {
		case held != nil:
			who[i] = *held
		case nobody.Subject == "":
			who[i].by = c
		default:
			who[i].by = nobody
		}
	}
	v, versions, err := w.settled(ctx, v, who, w.enforced)
	if err != nil {
		return w.cur, err
	}
	if v.state != spec.Synced {
		if err := w.refuse(ctx, v, map[spec.Key]bool{}); err != nil {
			return w.cur, err
		}
		return w.finish(ctx)
	}
	if err := w.apply(ctx, v, versions); err != nil {
		return w.cur, err
	}
	return w.finish(ctx)
}

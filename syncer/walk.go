package syncer

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/spec"
)

// walk is one way from the cursor to a commit.
type walk struct {
	t    *Tenant
	cur  spec.Cursor // what is stored
	tip  string
	base basis      // the last commit that was found good; its tree is what the specs equal
	held authorship // who changed what in commits after base

	specs    int64       // specs there are at base
	refused  *verdict    // the last commit after base that was refused or held
	last     string      // the last commit that was looked at
	backlog  []spec.Item // rows of refused commits that are not yet written
	reasons  []Event     // told with them
	enforced bool        // the guard binds from here on
	fold     *folded     // nil: every commit is written by itself
	ledger   ledger
	items    []spec.Item // of the whole fold
	told     []Event
}

// line walks the commits after the cursor, oldest first. A first sync and a
// long way are folded in memory and written at once.
func (w *walk) line(ctx context.Context, ids []string) (spec.Cursor, error) {
	w.start(w.t.foldAll || w.cur.Applied == "" || len(ids) >= foldFrom || w.cur.Target != "" && len(ids) > 1, ids)
	for i, id := range ids {
		if err := w.t.keep(ctx); err != nil {
			return w.cur, err
		}
		if err := w.commit(ctx, id); err != nil {
			return w.cur, fmt.Errorf("commit %s: %w", spec.Short(id), err)
		}
		w.t.progress("replay", i+1, len(ids))
	}
	return w.finish(ctx)
}

// start chooses the ledger.
func (w *walk) start(fold bool, ids []string) {
	w.specs, w.enforced = w.cur.Specs, true
	for _, id := range ids {
		if id == w.cur.EnforceFrom {
			w.enforced = false // it binds only the commits after this one
		}
	}
	w.ledger = live{w.t}
	if fold {
		w.fold = newFolded(w.t)
		w.ledger = w.fold
	}
}

// commit looks at one commit of the line.
func (w *walk) commit(ctx context.Context, id string) error {
	t := w.t
	c, err := t.Source.Commit(ctx, id)
	if err != nil {
		return err
	}
	w.last = id
	guarded := w.enforced
	if id == w.cur.EnforceFrom {
		w.enforced = true
	}
	var touched map[spec.Key]bool
	if w.refused != nil { // the difference to base is more than this commit's own
		keys, any, err := t.touchedBy(ctx, c)
		if err != nil {
			return err
		}
		if !any {
			return nil // it repairs nothing, and it is no worse
		}
		touched = set(keys)
	}
	v, err := t.decide(ctx, w.ledger, w.base, c, w.specs, guarded)
	if err != nil {
		return err
	}
	who := make([]attribution, len(v.changes)) // none if it is refused
	for i, ch := range v.changes {
		who[i] = w.held.of(ch.Key, c, touched)
	}
	v, versions, err := w.settled(ctx, v, who, guarded)
	if err != nil {
		return err
	}
	if v.state != spec.Synced {
		return w.refuse(ctx, v, touched)
	}
	return w.apply(ctx, v, versions)
}

// refuse remembers a refused or held commit, and who changed what in it.
func (w *walk) refuse(ctx context.Context, v verdict, touched map[spec.Key]bool) error {
	if touched == nil {
		keys, _, err := w.t.touchedBy(ctx, v.commit)
		if err != nil {
			return err
		}
		touched = set(keys)
	}
	w.held.note(v.commit, keysOf(touched))
	w.refused = &v
	result := spec.Refused
	if v.state == spec.StateHeld {
		result = spec.Held
	}
	w.backlog = append(w.backlog, spec.Item{Refusal: &spec.AuditRow{
		Tenant: w.t.name, Actor: v.commit.Author.String(), Op: spec.OpReport, Job: "*", Allowed: false,
		Detail: detail(v.findings), Kind: spec.KindGit, Result: result, Commit: v.commit.ID,
	}})
	w.reasons = append(w.reasons, Event{Refused: &v.commit, State: v.state, Reasons: v.findings})
	return nil
}

// maxDetail bounds the text of an audit row, in bytes.
const maxDetail = 1000

// detail is the first finding, with the number of the others. Findings never
// hold a config value that is a secret; the row is cut all the same.
func detail(fs []spec.Finding) string {
	s := fs[0].String()
	if len(s) > maxDetail {
		s = s[:maxDetail]
	}
	if more := len(fs) - 1; more > 0 {
		s = fmt.Sprintf("%s (and %d more)", s, more)
	}
	return s
}

// apply makes a good commit the new base: written now, or with the fold.
func (w *walk) apply(ctx context.Context, v verdict, versions []spec.Version) error {
	w.base, w.refused, w.specs = basis{commit: v.commit.ID}, nil, w.specs+v.growth
	clear(w.held)
	if len(versions) == 0 && len(v.warnings) > 0 {
		w.reasons = append(w.reasons, Event{Reasons: v.warnings})
	}
	if len(versions) == 0 && len(w.backlog) == 0 {
		return nil // the cursor moves with the next write, or at the end
	}
	items := w.backlog
	told := w.reasons
	w.backlog, w.reasons = nil, nil
	for i := range versions {
		items = append(items, spec.Item{Version: &versions[i], Newest: true})
		e := Event{Version: &versions[i]}
		if i == 0 {
			e.Reasons = v.warnings
		}
		told = append(told, e)
		if w.fold != nil {
			w.fold.enter(w.t.name, versions[i])
		}
	}
	if w.fold != nil {
		w.items, w.told = append(w.items, items...), append(w.told, told...)
		return nil
	}
	to := w.t.arrived(w.cur, v.commit.ID)
	to.Specs = w.specs
	return w.write(ctx, items, told, to, v.commit.ID)
}

// finish writes what is left: the fold, rows of refused commits, the cursor.
func (w *walk) finish(ctx context.Context) (spec.Cursor, error) {
	to := w.cur
	if w.base.stored == nil {
		to = w.t.arrived(w.cur, w.base.commit)
	}
	to.Specs = w.specs
	if w.last != "" {
		to.Seen = w.last
	}
	if r := w.refused; r != nil {
		to.State, to.Refused, to.Findings = r.state, r.commit.ID, r.findings
	}
	items, told := append(w.items, w.backlog...), append(w.told, w.reasons...)
	again := w.cur // it has the resolved facts, as the stored cursor will
	w.t.sign(&to)
	if again.Same(to) {
		for _, e := range told {
			e.Again = true
			w.t.tell(e)
		}
		return w.cur, nil
	}
	if w.fold != nil {
		newest(items)
	}
	err := w.write(ctx, items, told, to, w.tip)
	return w.cur, err
}

// newest marks the last version of each spec, and gives the others what they replace.
func newest(items []spec.Item) {
	seen := map[spec.Key]*spec.Version{}
	for i := range items {
		v := items[i].Version
		if v == nil {
			continue
		}
		if was := seen[v.Key]; was != nil && was.Result != spec.Removed {
			items[i].Replaced = &spec.Record{Key: was.Key, Spec: was.Spec, Version: was.Number,
				UpdatedBy: was.Origin.Actor, UpdatedAt: was.UpdatedAt, SpecHash: was.Origin.SpecHash}
		}
		seen[v.Key] = v
	}
	for i := range items {
		if v := items[i].Version; v != nil {
			items[i].Newest = seen[v.Key] == v
		}
	}
}

func set(keys []spec.Key) map[spec.Key]bool {
	m := make(map[spec.Key]bool, len(keys))
	for _, k := range keys {
		m[k] = true
	}
	return m
}

func keysOf(m map[spec.Key]bool) []spec.Key {
	keys := make([]spec.Key, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

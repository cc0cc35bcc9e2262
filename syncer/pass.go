package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// maxTries is how often a pass begins again because another syncer moved the cursor.
const maxTries = 5

// Pass brings the store up to the tip of the branch and gives where the tenant
// stands then. A refused or held commit is no error; a source or store that
// cannot be read is. spec.ErrTaken: another syncer works this tenant.
func (t *Tenant) Pass(ctx context.Context) (spec.Cursor, error) {
	if t.pav.Suspend {
		return t.settle(ctx, spec.Cursor{State: spec.StatePaused})
	}
	tip, fetchErr := t.Source.Fetch(ctx)
	if ctx.Err() != nil {
		return spec.Cursor{}, context.Cause(ctx)
	}
	if err := t.hold(ctx, 0); err != nil {
		return spec.Cursor{}, err
	}
	if fetchErr != nil {
		return t.troubled(ctx, fetchErr)
	}
	for try := 1; ; try++ {
		cur, err := t.advance(ctx, tip)
		var moved *spec.ConflictError
		switch {
		case err == nil:
			return t.afterwards(ctx, cur)
		case errors.As(err, &moved) && try < maxTries:
			t.Log.Info("read again", "tenant", t.name, "cause", err.Error())
		case errors.Is(err, spec.ErrLost), errors.Is(err, spec.ErrTaken), errors.As(err, &moved):
			t.lease = spec.Lease{}
			return cur, err
		case ctx.Err() != nil:
			return cur, context.Cause(ctx)
		default:
			return t.troubled(ctx, err)
		}
	}
}

// afterwards is what a pass does when the tip is reached: it goes on comparing,
// and copies what people did by command into the state folder.
func (t *Tenant) afterwards(ctx context.Context, cur spec.Cursor) (spec.Cursor, error) {
	cur, more, err := t.compare(ctx, cur)
	if err != nil {
		return cur, err
	}
	if more && t.Again != nil {
		t.Again()
	}
	if err := t.shareNames(ctx, cur); err != nil {
		return cur, err
	}
	return cur, t.gather(ctx, cur)
}

// Close hands the lease back, so that a standby may go on at once.
func (t *Tenant) Close(ctx context.Context) error {
	if t.lease.Owner == "" {
		return nil
	}
	lease := t.lease
	t.lease = spec.Lease{}
	return t.Store.Release(ctx, t.name, lease)
}

// hold makes sure that the lease is ours, asking again when it was last asked
// for longer than age ago.
func (t *Tenant) hold(ctx context.Context, age time.Duration) error {
	if t.lease.Owner != "" && time.Since(t.asked) < age {
		return nil
	}
	asked := time.Now()
	lease, err := t.Store.Acquire(ctx, t.name, t.Owner, t.Lease)
	if err != nil {
		return fmt.Errorf("lease of tenant %s: %w", t.name, err)
	}
	if t.lease.Owner != "" && lease.Generation != t.lease.Generation {
		t.Log.Debug("the lease had run out and was taken again", "tenant", t.name, "generation", lease.Generation)
	}
	t.lease, t.asked = lease, asked
	return nil
}

// keep renews the lease in the middle of long work. One that ran out meanwhile
// and was nobody else's is taken again: had another syncer written, the cursor
// would have moved, and the next write says so.
func (t *Tenant) keep(ctx context.Context) error { return t.hold(ctx, t.Lease/3) }

// advance walks from the cursor to tip.
func (t *Tenant) advance(ctx context.Context, tip string) (spec.Cursor, error) {
	cur, err := t.Store.Cursor(ctx, t.name)
	if err != nil {
		return cur, err
	}
	if cur.Target != "" { // finish what was begun: the same items in the same order
		if cur, err = t.catchUp(ctx, cur, cur.Target); err != nil {
			return cur, err
		}
	}
	return t.catchUp(ctx, cur, tip)
}

// catchUp brings the store from the cursor to one commit of the branch.
func (t *Tenant) catchUp(ctx context.Context, cur spec.Cursor, tip string) (spec.Cursor, error) {
	if cur.Applied == tip && !t.moved(cur) {
		return t.arrive(ctx, cur, t.arrived(cur, tip))
	}
	if err := t.remember(ctx, cur, tip); err != nil {
		return cur, err
	}
	cur.EnforceFrom = t.facts.EnforceFrom
	ids, found, err := t.Source.Line(ctx, cur.Applied, tip)
	if err != nil {
		return cur, err
	}
	w := &walk{t: t, cur: cur, tip: tip, base: basis{commit: cur.Applied}, held: authorship{}}
	lost, err := w.lostBase(ctx)
	if err == nil && !lost && cur.Applied != "" && t.moved(cur) { // another branch or folder: one step by difference
		lost, err = true, w.compareWithStore(ctx)
	}
	switch {
	case err != nil:
		return cur, err
	case lost || !found:
		return w.jump(ctx, ids)
	case cur.Applied == "" && t.pav.Source.History != spec.DefaultHistory && t.pav.Source.History != "":
		return w.begin(ctx, ids)
	}
	return w.line(ctx, ids)
}

// troubled records that the source or the store could not be read. The specs
// stay as they are: an error never means absence.
func (t *Tenant) troubled(ctx context.Context, cause error) (spec.Cursor, error) {
	if errors.Is(cause, spec.ErrNoCommits) {
		cur, err := t.Store.Cursor(ctx, t.name)
		if err != nil || cur.Applied == "" {
			return t.settle(ctx, spec.Cursor{State: spec.StateWaiting})
		} // a repository that had commits and has none now is a fault
	}
	cur, err := t.settle(ctx, spec.Cursor{State: spec.StateError, Error: cause.Error()})
	return cur, errors.Join(cause, err)
}

// settle writes a state that has nothing to do with any commit.
func (t *Tenant) settle(ctx context.Context, want spec.Cursor) (spec.Cursor, error) {
	if err := t.hold(ctx, t.Lease/3); err != nil {
		return spec.Cursor{}, err
	}
	cur, err := t.Store.Cursor(ctx, t.name)
	if err != nil {
		return cur, err
	}
	to := cur
	to.State, to.Error, to.Errors = want.State, want.Error, 0
	if want.Error != "" {
		to.Errors = cur.Errors + 1
	}
	return t.arrive(ctx, cur, to)
}

// arrive writes a cursor if it says anything new.
func (t *Tenant) arrive(ctx context.Context, cur, to spec.Cursor) (spec.Cursor, error) {
	t.sign(&to)
	if cur.Same(to) {
		return cur, nil
	}
	return t.Store.Apply(ctx, t.lease, spec.Step{Tenant: t.name, From: cur, To: to})
}

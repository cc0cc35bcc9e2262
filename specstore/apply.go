package specstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pawl-dev/pawl/spec"
)

// MaxStepItems bounds one step: 200 versions keep the script far below 50 ms, so
// that nobody who waits for Redis notices it.
const MaxStepItems = 200

// Apply writes one step of a tenant's ledger: all of its items and the cursor, or
// nothing. Each version is checked against the one it replaces; a step that was
// applied before, by us or by who held the lease before us, is success again. An
// item that is not the newest of its spec enters history, origins and audit and
// moves the version, but writes neither spec nor status.
//
// While To.Target is set the step is one of several of a range: Known then goes on
// answering as of the beginning of the range, so that whoever takes it up after a
// crash decides the same items.
//
// spec.ErrLost: the lease ran out or was taken. *spec.ConflictError: the cursor or
// a version is elsewhere, What says which. spec.ErrForeign: a job of that name was
// not made from Git. ErrUnavailable, ErrFull: nothing was written. ErrUnknown: read
// the cursor. No row is audited for any of these. Source: CONTRACT sections 3 and 4.
func (s *Store) Apply(ctx context.Context, lease spec.Lease, step spec.Step) (spec.Cursor, error) {
	call, err := s.encodeStep(lease, step)
	if err != nil {
		return spec.Cursor{}, fmt.Errorf("apply to %s: %w", step.Tenant, err)
	}
	reply, err := s.run(ctx, "apply", call.keys, call.args...)
	if err != nil {
		return s.settleStep(ctx, step, fmt.Errorf("apply to %s: %w", step.Tenant, err))
	}
	switch reply[0] {
	case "ok":
		return decodeCursor(step.Tenant, fields(reply[1:]))
	case "lost":
		return spec.Cursor{}, fmt.Errorf("apply to %s: %w", step.Tenant, lost(lease, reply))
	case "cursor":
		return spec.Cursor{}, &spec.ConflictError{What: step.Tenant, Want: place(step.From),
			Have: placeOf(reply[1], reply[2], reply[3])}
	case "conflict":
		return spec.Cursor{}, &spec.ConflictError{What: step.Tenant + "/" + reply[1], Want: "version " + reply[2], Have: "version " + reply[3]}
	case "foreign":
		return spec.Cursor{}, fmt.Errorf("apply to %s: %s %w: it was not made from Git; take it over with: syncer adopt %s",
			step.Tenant, reply[1], spec.ErrForeign, reply[1])
	}
	return spec.Cursor{}, strange("apply", reply)
}

// settleStep reads the cursor back after a lost reply.
func (s *Store) settleStep(ctx context.Context, step spec.Step, err error) (spec.Cursor, error) {
	var got spec.Cursor
	err = s.settle(ctx, err, func(ctx context.Context) (bool, error) {
		var readErr error
		if got, readErr = s.Cursor(ctx, step.Tenant); readErr != nil || !at(got, step.To) {
			return false, readErr
		}
		if !at(step.From, step.To) {
			return s.hasFirst(ctx, step)
		}
		return got.Same(step.To), nil
	})
	if err != nil {
		return spec.Cursor{}, err
	}
	return got, nil
}

// hasFirst tells whether the first version of a step is in the store, by its operation.
func (s *Store) hasFirst(ctx context.Context, step spec.Step) (bool, error) {
	for _, it := range step.Items {
		if v := it.Version; v != nil {
			o, err := s.originAt(ctx, step.Tenant, v.Key, originField(*v))
			if errors.Is(err, spec.ErrNotFound) {
				return false, nil
			}
			return o.Operation == v.Origin.Operation, err
		}
	}
	return true, nil
}

// at tells whether two cursors stand at the same place.
func at(a, b spec.Cursor) bool {
	return a.Applied == b.Applied && a.Target == b.Target && a.Step == b.Step
}

func place(c spec.Cursor) string {
	return placeOf(c.Applied, c.Target, strconv.FormatInt(c.Step, 10))
}

// placeOf words where a cursor stands, for people.
func placeOf(applied, target, step string) string {
	text := "no commit"
	if applied != "" {
		text = "commit " + spec.Short(applied)
	}
	if target != "" {
		text += " (writing " + spec.Short(target) + ", batch " + step + ")"
	}
	return text
}

// originField is where a version's origin stands: a removal has the number of
// the version it removes, so it has a field of its own.
func originField(v spec.Version) string {
	n := strconv.FormatInt(v.Number, 10)
	if v.Spec == nil {
		return removedPrefix + n
	}
	return n
}

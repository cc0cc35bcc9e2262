package syncer

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/spec"
)

// write stores items and moves the cursor to `to`, then tells. What fits one
// step is one step; more is written in numbered batches, during which the cursor
// names the target and the number of batches done, so that a crash is continued
// at the batch where it happened. The cut depends on the items alone.
func (w *walk) write(ctx context.Context, items []spec.Item, told []Event, to spec.Cursor, target string) error {
	t := w.t
	t.sign(&to)
	batches := cut(items)
	done := 0
	if w.cur.Target != "" { // continued
		if w.cur.Target != target || w.cur.Step > int64(len(batches)) {
			return fmt.Errorf("tenant %s: batch %d of commit %s is stored, but the commit gives %d batches now; run `syncer rebuild`", t.name, w.cur.Step, w.cur.Target, len(batches))
		}
		done = int(w.cur.Step)
	}
	for i := done; i < len(batches); i++ {
		if err := t.keep(ctx); err != nil {
			return err
		}
		next := to
		if i+1 < len(batches) {
			next = w.cur
			next.Target, next.Step, next.State = target, int64(i+1), spec.StateApplying
			next.EnforceFrom, next.Pavilion, next.CID = to.EnforceFrom, to.Pavilion, to.CID // branch and path stay those of Applied
		}
		stored, err := t.Store.Apply(ctx, t.lease, spec.Step{Tenant: t.name, From: w.cur, To: next, Items: batches[i]})
		if err != nil {
			return err
		}
		w.cur = stored
		t.progress("write", i+1, len(batches))
	}
	for _, e := range told {
		t.tell(e)
	}
	return nil
}

// cut splits items into steps of bounded number and size; there is always one.
func cut(items []spec.Item) [][]spec.Item {
	var batches [][]spec.Item
	from, size := 0, 0
	for i, it := range items {
		s := sizeOf(it)
		if i > from && (i-from == maxStepItems || size+s > maxStepBytes) {
			batches = append(batches, items[from:i])
			from, size = i, 0
		}
		size += s
	}
	return append(batches, items[from:])
}

// sizeOf estimates what an item weighs in a script call, in bytes.
func sizeOf(it spec.Item) int {
	n := 1000
	if it.Version == nil || it.Version.Spec == nil {
		return n
	}
	for k, v := range it.Version.Spec.Fields() {
		n += len(k) + len(v)
	}
	if it.Replaced != nil {
		for k, v := range it.Replaced.Spec.Fields() {
			n += len(k) + len(v)
		}
	}
	return n
}

package syncer

import (
	"context"
	"errors"
	"io/fs"

	"github.com/pawl-dev/pawl/spec"
)

// shareNames copies the .mailmap of the newest commit into the store, for display.
func (t *Tenant) shareNames(ctx context.Context, cur spec.Cursor) error {
	if cur.Seen == "" || cur.Seen == t.mapped {
		return nil
	}
	text, err := t.Source.File(ctx, cur.Seen, ".mailmap", spec.MaxMailmap)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = nil
	case errors.Is(err, spec.ErrTooLarge):
		t.Log.Warn("the .mailmap is not shown", "tenant", t.name, "cause", err.Error())
		text = nil
	case err != nil:
		return err
	}
	if t.mapped == "" || string(text) != t.mailmap {
		if err := t.Store.SetMailmap(ctx, t.name, string(text)); err != nil {
			return err
		}
	}
	t.mapped, t.mailmap = cur.Seen, string(text)
	return nil
}

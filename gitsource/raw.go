package gitsource

import (
	"bytes"
	"context"

	"github.com/go-git/go-git/v5/plumbing"
)

// Raw gives the bytes of a commit object as git stores them, header and message,
// for whoever judges its signature. At most 1 MiB: ErrTooLarge beyond.
func (r *Repo) Raw(ctx context.Context, id string) ([]byte, error) {
	at, err := parseID(id)
	if err != nil {
		return nil, err
	}
	raw, err := r.read(ctx, plumbing.CommitObject, at, maxCommit, false)
	return bytes.Clone(raw), err
}

package gitsource

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// read reads an object. linked says that something in the clone refers to it:
// then its absence is damage, never an answer.
func (r *Repo) read(ctx context.Context, kind plumbing.ObjectType, id plumbing.Hash, limit int64, linked bool) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.closed {
		return nil, ErrClosed
	}
	if r.store == nil {
		return nil, fmt.Errorf("%s %s: %w: nothing was fetched yet", kind, id, ErrUnknownCommit)
	}
	data, err := r.store.get(kind, id, limit)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, ErrTooLarge):
		return nil, err
	case errors.Is(err, errKind):
		return nil, fmt.Errorf("%s %s: %w: %w", kind, id, ErrMalformed, err)
	case errors.Is(err, plumbing.ErrObjectNotFound) && !linked:
		return nil, fmt.Errorf("%s %s: %w", kind, id, ErrUnknownCommit)
	}
	r.damaged = true
	return nil, fmt.Errorf("%s %s: %w: %s", kind, id, ErrDamaged, err.Error())
}

// tree reads and checks a tree; it is cached.
func (r *Repo) tree(ctx context.Context, id plumbing.Hash) (*tree, error) {
	if id.IsZero() || id == emptyTree {
		return &tree{}, nil
	}
	if r.store != nil {
		if t := r.store.trees.get(id); t != nil {
			return t, ctx.Err()
		}
	}
	raw, err := r.read(ctx, plumbing.TreeObject, id, maxTree, true)
	if err != nil {
		return nil, err
	}
	t, err := parseTree(raw)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	r.store.trees.put(id, t)
	return t, nil
}

// header reads a commit and the parts of it that lead to others. A parent
// beyond the source's shallow boundary is left out.
func (r *Repo) header(ctx context.Context, id plumbing.Hash, linked bool) (rawCommit, error) {
	raw, err := r.read(ctx, plumbing.CommitObject, id, maxCommit, linked)
	if err != nil {
		return rawCommit{}, err
	}
	c, err := parseCommit(raw)
	if err != nil {
		return rawCommit{}, fmt.Errorf("commit %s: %w", id, err)
	}
	if r.ends[id] {
		c.parents = nil
	}
	return c, nil
}

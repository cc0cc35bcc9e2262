package gitsource

import (
	"context"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// Line lists the first-parent commits after `after` up to and with tip, oldest
// first. after == "" means from the root. found is false if after is not on
// tip's first-parent line: then ids is the whole line from the root. Order comes
// from parent links alone, never from dates.
func (r *Repo) Line(ctx context.Context, after, tip string) (ids []string, found bool, err error) {
	var stop plumbing.Hash
	if after != "" {
		if stop, err = parseID(after); err != nil {
			return nil, false, err
		}
	}
	at, err := parseID(tip)
	if err != nil {
		return nil, false, err
	}
	found, err = r.firstParents(ctx, at, func(id plumbing.Hash) bool {
		if id == stop {
			return true
		}
		ids = append(ids, id.String())
		return false
	})
	if err != nil {
		return nil, false, err
	}
	slices.Reverse(ids)
	return ids, found || after == "", nil
}

// firstParents visits tip and its first parents, newest first, until visit says
// stop (then stopped is true) or there is no parent.
func (r *Repo) firstParents(ctx context.Context, tip plumbing.Hash, visit func(plumbing.Hash) bool) (stopped bool, err error) {
	for linked := false; ; linked = true {
		if visit(tip) {
			return true, nil
		}
		c, err := r.header(ctx, tip, linked)
		if err != nil || len(c.parents) == 0 {
			return false, err
		}
		tip = c.parents[0]
	}
}

// MergeBase gives the nearest commit on tip's first-parent line that is old or
// an ancestor of it, over any parents. It is empty if there is none, or if the
// clone does not know old (any more).
func (r *Repo) MergeBase(ctx context.Context, old, tip string) (base string, err error) {
	from, err := parseID(old)
	if err != nil {
		return "", err
	}
	at, err := parseID(tip)
	if err != nil {
		return "", err
	}
	place := map[plumbing.Hash]int{} // on the line, 0 is the tip
	if _, err := r.firstParents(ctx, at, func(id plumbing.Hash) bool {
		place[id] = len(place)
		return id == from // nothing behind it can be nearer
	}); err != nil {
		return "", err
	}
	if r.store == nil || !r.known(from) {
		return "", nil
	}
	best, nearest := len(place), plumbing.ZeroHash
	seen := map[plumbing.Hash]bool{from: true}
	for queue := []plumbing.Hash{from}; len(queue) > 0; {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if n, ok := place[id]; ok {
			if n < best {
				best, nearest = n, id
			}
			continue // its own ancestors on the line are further away
		}
		c, err := r.header(ctx, id, true)
		if err != nil {
			return "", err
		}
		for _, parent := range c.parents {
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	if nearest.IsZero() {
		return "", nil
	}
	return nearest.String(), nil
}

// known tells whether an object is in the clone, looking afresh before it says no.
func (r *Repo) known(id plumbing.Hash) bool {
	if r.store.has(id) {
		return true
	}
	return r.store.reopen() == nil && r.store.has(id)
}

package gitsource

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"
)

// Descends tells whether old is tip or an ancestor of it, over any parents: then
// tip rewrote nothing, even if old is not on its first-parent line. It is false
// if the clone does not know old (any more).
func (r *Repo) Descends(ctx context.Context, tip, old string) (bool, error) {
	at, err := parseID(tip)
	if err != nil {
		return false, err
	}
	want, err := parseID(old)
	if err != nil {
		return false, err
	}
	if r.store == nil || !r.known(want) {
		return false, nil
	}
	seen := map[plumbing.Hash]bool{at: true}
	for queue := []plumbing.Hash{at}; len(queue) > 0; {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if id == want {
			return true, nil
		}
		c, err := r.header(ctx, id, true)
		if err != nil {
			return false, err
		}
		for _, parent := range c.parents {
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return false, nil
}

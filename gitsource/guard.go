package gitsource

import (
	"context"
	"fmt"
	"time"
)

// grace is what network code gets to come back after its deadline.
const grace = 250 * time.Millisecond

// guard runs f beside us, so that network code that ignores its context cannot
// hold the caller: then f is left behind, Fetch refuses until it has ended, and
// whatever f still writes to is looked at by nobody. A panic of f is an error.
func (r *Repo) guard(ctx context.Context, f func() error) error {
	ended := make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the network code panicked: %v", p)
			}
		}()
		err = f()
	}()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-ended:
		return err
	case <-late.C:
		r.stuck = ended
		return ctx.Err()
	}
}

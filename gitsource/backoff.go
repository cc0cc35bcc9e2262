package gitsource

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

const (
	// backoffBase is the pause after the first failure: no shorter than the
	// default interval, so that who fails never asks more often.
	backoffBase = spec.DefaultInterval
	backoffMax  = 15 * time.Minute
	// backoffNear is the longest pause where a failure costs nobody anything, or
	// is no fault: a source on this machine, a repository without a commit.
	backoffNear = time.Minute
)

// RetryAfter tells from when on a timer had better ask again after an error of
// Fetch: it grows with each failure in a row, differs from source to source, and
// is never earlier than what a server asked for. A Fetch before that time is
// made all the same, for something may have told that the fault is over, unless
// the error is a WaitError: then it returns at once, without a request.
func RetryAfter(err error) (time.Time, bool) {
	var wait *WaitError
	if errors.As(err, &wait) {
		return wait.Until, true
	}
	var failed *sourceError
	if errors.As(err, &failed) && !failed.retry.IsZero() {
		return failed.retry, true
	}
	return time.Time{}, false
}

// settle counts failures in a row and writes into an error when to come again.
func (r *Repo) settle(err error) error {
	var failed *sourceError
	switch {
	case err == nil:
		r.failures = 0
		return nil
	case errors.Is(err, ErrWait), errors.Is(err, context.Canceled), errors.Is(err, ErrClosed):
		return err // says nothing about the source
	case !errors.As(err, &failed):
		return err
	}
	r.failures++
	limit := backoffMax
	if r.remote.local() || errors.Is(err, ErrEmpty) {
		limit = backoffNear
	}
	again := *failed
	again.retry = time.Now().Add(backoff(r.failures, limit))
	return &again
}

// backoff doubles with each failure up to a limit; up to half of it is added by chance.
func backoff(failures int, limit time.Duration) time.Duration {
	d := limit
	if n := failures - 1; n < 16 {
		d = min(limit, backoffBase<<n)
	}
	return d + rand.N(d/2+1)
}

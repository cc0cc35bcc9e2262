package gitsource

import (
	"errors"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// The cases that callers tell apart with errors.Is.
var (
	ErrEmpty         = spec.ErrNoCommits
	ErrNoBranch      = spec.ErrNoBranch
	ErrNoRepository  = errors.New("no such repository, or not visible with these credentials")
	ErrAuth          = errors.New("the server refused the credentials")
	ErrNoPath        = spec.ErrNoPath
	ErrTooLarge      = spec.ErrTooLarge
	ErrUnknownCommit = spec.ErrNoCommit
	ErrDamaged       = errors.New("the clone is damaged") // Reset, or the next Fetch, makes it anew
	ErrMalformed     = errors.New("malformed object")     // as pushed: cloning again does not help
	ErrBusy          = errors.New("an earlier fetch has not ended")
	ErrClosed        = errors.New("the repository is closed")
	ErrHostKey       = errors.New("the host key is not trusted")
	ErrRedirect      = errors.New("the server redirects to another host")
)

// TooLargeError is ErrTooLarge with the figures.
type TooLargeError = spec.SizeError

// sourceError is an error of the source, its text free of credentials. The
// original error is not kept: its text might hold them.
type sourceError struct {
	op   string // what was tried: fetch, list
	url  string // redacted
	text string
	kind error // a sentinel above, a context's error, or nil

	retry time.Time // when a timer had better ask again; see RetryAfter
}

// Error is "op url: text".
func (e *sourceError) Error() string { return e.op + " " + e.url + ": " + e.text }

// Unwrap gives the kind, for errors.Is.
func (e *sourceError) Unwrap() error { return e.kind }

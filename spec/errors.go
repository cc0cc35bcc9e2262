package spec

import (
	"errors"
	"fmt"
)

// The cases that callers tell apart with errors.Is, whatever store or source
// they talk to.
var (
	ErrNotFound = errors.New("no such spec")
	ErrExists   = errors.New("exists already")
	ErrDenied   = errors.New("not allowed")
	ErrForeign  = errors.New("belongs to somebody else")
	ErrTaken    = errors.New("held by another") // a lease or a job: try later
	ErrLost     = errors.New("lease lost")      // stop at once: another may be at work
)

// ConflictError says that a spec, or a tenant's cursor, moved on since the
// caller read it. Read again and decide anew.
type ConflictError struct {
	What string // "acme/orders", or "acme" for a cursor
	Want string // what the caller had read
	Have string // what is there
}

// Error says what moved and from where to where.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s is at %s, not %s", e.What, e.Have, e.Want)
}

// What a source says when there is nothing to read; never taken as "no specs".
var (
	ErrNoCommits = errors.New("the repository has no commit yet") // wait: not a fault
	ErrNoBranch  = errors.New("the branch does not exist")
	ErrNoPath    = errors.New("the folder of specs does not exist")
	ErrNoCommit  = errors.New("no such commit in the clone") // it was rewritten away before this clone was made
)

// ErrTooLarge is what every SizeError is.
var ErrTooLarge = errors.New("too large")

// SizeError says that something is larger than its limit; it was not read.
type SizeError struct {
	What        string // "blob 1234567", or a path
	Size, Limit int64  // bytes
}

// Error names the thing, its size and the limit.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is %d bytes, over the limit of %d", QuotePath(e.What), e.Size, e.Limit)
}

// Unwrap makes errors.Is(err, ErrTooLarge) true.
func (e *SizeError) Unwrap() error { return ErrTooLarge }

// FindingError is a finding as an error: it refuses a commit, not its source.
type FindingError struct{ Finding Finding }

// Error is that of the finding.
func (e *FindingError) Error() string { return e.Finding.String() }

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

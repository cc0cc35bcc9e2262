package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes. Source: CONTRACT section 6.
const (
	ExitFine   = 0
	ExitFailed = 1 // it failed, or plan, diff, verify found a difference
	ExitUsage  = 2 // wrong usage or configuration, or no verdict was possible
)

// Usage marks wrong usage or configuration: exit code 2.
type Usage struct{ Err error }

// Error is the text of what is wrong.
func (u Usage) Error() string { return u.Err.Error() }

// Unwrap gives what is wrong.
func (u Usage) Unwrap() error { return u.Err }

// Usagef makes a Usage from a format, as fmt.Errorf does.
func Usagef(format string, args ...any) error { return Usage{fmt.Errorf(format, args...)} }

// Quiet ends a command with this exit code and without a message, when the
// output has said all.
type Quiet int

// Error names the code; it is for logs, Print says nothing.
func (q Quiet) Error() string { return fmt.Sprintf("exit code %d", int(q)) }

type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// ErrorHint adds the next thing to try to an error; a nil error stays nil.
func ErrorHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return hinted{err, hint}
}

// Exit is the exit code that an error asks for.
func Exit(err error) int {
	var quiet Quiet
	var usage Usage
	switch {
	case err == nil:
		return ExitFine
	case errors.As(err, &quiet):
		return int(quiet)
	case errors.As(err, &usage):
		return ExitUsage
	}
	return ExitFailed
}

// Print writes "program: error: …" for each line of err, then its hints as
// "program: hint: …". Quiet errors and nil write nothing.
func Print(w io.Writer, program string, err error) error {
	var quiet Quiet
	if err == nil || errors.As(err, &quiet) {
		return nil
	}
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		fmt.Fprintf(&b, "%s: error: %s\n", program, line)
	}
	for _, hint := range hints(err) {
		fmt.Fprintf(&b, "%s: hint: %s\n", program, hint)
	}
	_, werr := io.WriteString(w, b.String())
	return werr
}

// hints collects the hints of err and of all that it wraps or joins, outermost first.
func hints(err error) []string {
	var out []string
	if h, ok := err.(hinted); ok {
		out = append(out, h.hint)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			out = append(out, hints(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			out = append(out, hints(inner)...)
		}
	}
	return out
}

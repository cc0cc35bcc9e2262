package gitsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// failure turns an error of a conversation into one that can be shown: redacted,
// classified, one line, without the original behind it.
func (r *Repo) failure(ctx context.Context, op string, err error) error {
	e := &sourceError{op: op, url: r.remote.name}
	var known *sourceError
	var key *hostKeyError
	var away *redirectError
	switch {
	case errors.As(err, &known), errors.Is(err, ErrWait):
		return err
	case ctx.Err() != nil:
		e.kind, e.text = ctx.Err(), "cancelled"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.text = fmt.Sprintf("no answer within %s: %s", r.cfg.Timeout, ctx.Err())
		}
	case errors.Is(err, context.DeadlineExceeded):
		e.kind, e.text = context.DeadlineExceeded, context.DeadlineExceeded.Error()
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		e.kind, e.text = ErrEmpty, ErrEmpty.Error()+"; waiting for the first one"
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		e.kind, e.text = ErrAuth, ErrAuth.Error()
	case errors.Is(err, transport.ErrRepositoryNotFound):
		e.kind, e.text = ErrNoRepository, ErrNoRepository.Error()
	case errors.As(err, &away):
		e.kind, e.text = ErrRedirect, r.remote.scrub(away.Error())
	case errors.As(err, &key):
		e.kind, e.text = ErrHostKey, oneLine(key.Error())
	default:
		for _, kind := range []error{ErrNoBranch, ErrAuth, ErrDamaged, ErrMalformed, ErrBusy, ErrTooLarge} {
			if errors.Is(err, kind) {
				e.kind = kind
			}
		}
		e.text = r.remote.scrub(err.Error())
	}
	return e
}

// scrub takes secrets, control characters and excess out of a foreign text.
func (r *remote) scrub(text string) string {
	for _, secret := range r.hide {
		text = strings.ReplaceAll(text, secret, "")
	}
	return cut(oneLine(withoutUserinfo(text)), 300)
}

// oneLine takes control characters out of a text.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// cleanError is an error whose text does not hold some secrets; those of what it
// wraps may, so that is for errors.Is and errors.As only.
type cleanError struct {
	error
	text string
}

func (e *cleanError) Error() string { return e.text }

// Unwrap gives the original.
func (e *cleanError) Unwrap() error { return e.error }

// cleaned takes secrets out of the text of an error.
func cleaned(err error, hide []string) error {
	if err == nil || len(hide) == 0 {
		return err
	}
	text := err.Error()
	for _, secret := range hide {
		text = strings.ReplaceAll(text, secret, "")
	}
	if text == err.Error() {
		return err
	}
	return &cleanError{err, text}
}

// withoutUserinfo takes what stands between :// and @ out of every URL in a text.
func withoutUserinfo(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "://")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString("://")
		end := strings.IndexAny(rest, "/ \"'")
		if end < 0 {
			end = len(rest)
		}
		text = rest[strings.LastIndexByte(rest[:end], '@')+1:]
	}
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

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
	switch {
	case errors.As(err, &known):
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
	case errors.Is(err, errRedirect):
		e.kind, e.text = errRedirect, errRedirect.Error()
	default:
		for _, kind := range []error{ErrNoBranch, ErrDamaged, ErrMalformed, ErrBusy, ErrTooLarge} {
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
	text = withoutUserinfo(text)
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return cut(text, 300)
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

package specstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// Limits of texts in rows: what is longer is cut, for rows are for reading.
const (
	maxActor  = 300
	maxDetail = 1000
)

// attempt is what a person wants to do to a job.
type attempt struct {
	tenant, actor string
	op            spec.Op
	job           string
	from, to      int64 // versions, 0 = none
}

// permit asks the authoriser, before anything else happens. A refusal leaves a
// row whatever its reason; nothing goes on without one.
func (s *Store) permit(ctx context.Context, a attempt) error {
	if err := spec.CheckTenant(a.tenant); err != nil {
		return err
	}
	if a.actor == "" {
		return fmt.Errorf("%s of %s/%s: no actor given", a.op, a.tenant, a.job)
	}
	if err := spec.CheckName(a.job); err != nil {
		a.job = "*"
		return s.refuse(ctx, a, fmt.Errorf("job %w", err), "invalid job name", true)
	}
	if err := s.ask(ctx, a); err != nil {
		return s.refuse(ctx, a, fmt.Errorf("%s of %s/%s by %s: %w: %w", a.op, a.tenant, a.job, a.actor, spec.ErrDenied, err), err.Error(), false)
	}
	return nil
}

// refuse audits an attempt that is going no further and gives why back.
func (s *Store) refuse(ctx context.Context, a attempt, why error, detail string, allowed bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	_, err := s.run(ctx, "audit", []string{s.key.audit(a.tenant)}, a.tenant, s.cfg.AuditCap, clean(a.actor, maxActor), string(a.op),
		a.job, a.from, a.to, strconv.FormatBool(allowed), clean(detail, maxDetail), string(spec.Refused))
	if err != nil {
		return errors.Join(why, fmt.Errorf("audit of the refusal: %w", err))
	}
	return why
}

// ask gives the authoriser its time and no more. It may go on in the background
// if it ignores its context; its answer is not waited for.
func (s *Store) ask(ctx context.Context, a attempt) error {
	if s.cfg.Authorize == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.AuthorizeTimeout)
	defer cancel()
	verdict := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				verdict <- errors.New("the authoriser panicked")
			}
		}()
		verdict <- s.cfg.Authorize(ctx, a.actor, a.op, a.tenant, a.job)
	}()
	select {
	case err := <-verdict:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the authoriser gave no answer: %w", ctx.Err())
	}
}

// clean makes a text fit for a row: valid UTF-8, no control characters, at most
// limit bytes.
func clean(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

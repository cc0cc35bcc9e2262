// Package loop owns the one loop that waits: it runs a pass, then sleeps until
// a kick, the timer or the end. A kick carries no data, because a pass reads
// the newest state; kicks that arrive during a pass owe exactly one more.
//
// It never decides what a pass does and starts nothing by itself: Run blocks,
// and nothing outlives it. It holds no state that matters; after a crash the
// first pass of the next process sees all that there is to see.
package loop

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

const (
	// firstRetry is the wait after a first error: short, since most faults are.
	firstRetry = time.Second
	// defaultMaxBackoff bounds the wait after errors, so that a store that is
	// back is seen within a minute.
	defaultMaxBackoff = time.Minute
	// jitter spreads timers over ±10 %, so that many processes do not ask at once.
	jitter = 0.1
)

// Loop runs one pass after the other. Make it with New.
type Loop struct {
	every      time.Duration
	maxBackoff time.Duration
	pass       func(context.Context) error
	log        *slog.Logger
	kick       chan struct{}

	failures int    // passes in a row that ended in an error
	said     string // text of the last error that was logged
}

// Option changes how a Loop waits or what it tells.
type Option func(*Loop)

// MaxBackoff bounds the wait after errors. The wait is never longer than this
// or the loop's own interval, whichever is more.
func MaxBackoff(d time.Duration) Option { return func(l *Loop) { l.maxBackoff = d } }

// Log says where errors of passes go; the default is slog.Default.
func Log(log *slog.Logger) Option { return func(l *Loop) { l.log = log } }

// New makes a loop that runs pass at once, then after each kick, and at least
// about once in every. After an error it comes back sooner: after a second,
// then twice as late each time, up to the bound; a kick still wakes it. The
// loop logs an error of pass once for as long as its text stays the same.
func New(every time.Duration, pass func(context.Context) error, opts ...Option) *Loop {
	l := &Loop{every: every, pass: pass, kick: make(chan struct{}, 1)}
	for _, o := range opts {
		o(l)
	}
	if l.every <= 0 {
		l.every = time.Second
	}
	if l.maxBackoff <= 0 {
		l.maxBackoff = max(l.every, defaultMaxBackoff)
	}
	if l.log == nil {
		l.log = slog.Default()
	}
	return l
}

// Kick asks for a pass that begins after now. It never blocks.
func (l *Loop) Kick() {
	select {
	case l.kick <- struct{}{}:
	default: // a pass is already owed, and it will see everything up to now
	}
}

// Run runs passes until ctx ends and returns why it ended. It is called once.
func (l *Loop) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.kick:
		case <-timer.C:
		}
		if ctx.Err() != nil { // both were ready
			return context.Cause(ctx)
		}
		err := l.once(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx) // an error of a pass that was cut off says nothing
		}
		l.note(err)
		timer.Reset(l.wait())
	}
}

// PanicError is what a pass that panicked returned.
type PanicError struct {
	Value any
	Stack []byte // for the log
}

// Error gives the value that was thrown, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("pass panicked: %v", e.Value) }

func (l *Loop) once(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return l.pass(ctx)
}

// note counts failures and logs what is new.
func (l *Loop) note(err error) {
	if err == nil {
		if l.failures > 0 {
			l.log.Info("recovered", "after", l.failures)
		}
		l.failures, l.said = 0, ""
		return
	}
	l.failures++
	if text := err.Error(); text != l.said {
		l.said = text
		attrs := []any{"err", err}
		if p, ok := err.(*PanicError); ok {
			attrs = append(attrs, "stack", string(p.Stack))
		}
		l.log.Error("pass failed", attrs...)
	}
}

// wait is how long to sleep when nobody kicks.
func (l *Loop) wait() time.Duration {
	d := l.every
	if l.failures > 0 {
		d = backoff(min(firstRetry, l.every), max(l.maxBackoff, l.every), l.failures)
	}
	return time.Duration(float64(d) * (1 + jitter*(2*rand.Float64()-1)))
}

// backoff doubles first for each failure after the first one, up to limit.
func backoff(first, limit time.Duration, failures int) time.Duration {
	d := first
	for range failures - 1 {
		if d >= limit/2 {
			return limit
		}
		d *= 2
	}
	return min(d, limit)
}

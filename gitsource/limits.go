package gitsource

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// DefaultRate and DefaultBurst bound the conversations with one host: a
	// thousand sources at the default interval need 33 a second.
	DefaultRate  = 50.0 // a second
	DefaultBurst = 100
	// maxQueue is how long a Fetch waits for its turn itself; beyond that it
	// gives its place back, so that it holds nobody up.
	maxQueue = time.Second
	// maxWait bounds what a server may ask for.
	maxWait = 24 * time.Hour
)

// ErrWait is what every WaitError is.
var ErrWait = errors.New("not asked")

// WaitError says that the server was not asked, or asks us to stay away, until
// a time. A Fetch before that returns it again without any request.
type WaitError struct {
	Source string // redacted URL
	Reason string // such as "429 with Retry-After"
	Until  time.Time
}

// Error names source, reason and time.
func (e *WaitError) Error() string {
	return fmt.Sprintf("source %s: %s: not asked again before %s", e.Source, e.Reason, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap makes errors.Is(err, ErrWait) true.
func (e *WaitError) Unwrap() error { return ErrWait }

// Limits are shared by all sources of a process: how often one host is talked
// to, and until when a host asked not to be. It holds no credentials, and is
// safe for concurrent use.
type Limits struct {
	rate  rate.Limit
	burst int
	seed  maphash.Seed

	mu    sync.Mutex
	hosts map[string]*rate.Limiter
	waits map[waitKey]pause
}

// waitKey is a host and a fingerprint of the credentials' references.
type waitKey struct {
	host  string
	login uint64
}

type pause struct {
	until  time.Time
	reason string
}

// NewLimits allows perSecond conversations with each host on average, and burst
// at once. What is not positive is the default.
func NewLimits(perSecond float64, burst int) *Limits {
	if perSecond <= 0 || math.IsNaN(perSecond) {
		perSecond = DefaultRate
	}
	if burst <= 0 {
		burst = DefaultBurst
	}
	return &Limits{rate: rate.Limit(perSecond), burst: burst, seed: maphash.MakeSeed(),
		hosts: map[string]*rate.Limiter{}, waits: map[waitKey]pause{}}
}

// key tells logins of one host apart without keeping what they are made of.
func (l *Limits) key(host string, login ...string) waitKey {
	return waitKey{host, maphash.String(l.seed, strings.Join(login, "\x00"))}
}

// take waits for a turn with a host. A pause that it asked for, or a queue that
// is too long, is a WaitError at once.
func (l *Limits) take(ctx context.Context, key waitKey, source string) error {
	delay, err := l.reserve(key, source)
	if err != nil || delay == 0 {
		return err
	}
	turn := time.NewTimer(delay)
	defer turn.Stop()
	select {
	case <-turn.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Limits) reserve(key waitKey, source string) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if p, ok := l.waits[key]; ok {
		if now.Before(p.until) {
			return 0, &WaitError{Source: source, Reason: p.reason, Until: p.until}
		}
		delete(l.waits, key)
	}
	host := l.hosts[key.host]
	if host == nil {
		host = rate.NewLimiter(l.rate, l.burst)
		l.hosts[key.host] = host
	}
	turn := host.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay > maxQueue {
		turn.CancelAt(now)
		reason := fmt.Sprintf("over %.4g conversations a second with %s", float64(l.rate), key.host)
		return 0, &WaitError{Source: source, Reason: reason, Until: now.Add(delay)}
	}
	return delay, nil
}

// hold keeps away from a host until a time; a later one that is set already stays.
func (l *Limits) hold(key waitKey, until time.Time, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if latest := time.Now().Add(maxWait); until.After(latest) {
		until = latest
	}
	if p := l.waits[key]; until.After(p.until) {
		l.waits[key] = pause{until, reason}
	}
}

// held is the pause that is in force, if there is one.
func (l *Limits) held(key waitKey) (pause, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.waits[key]
	return p, ok && time.Now().Before(p.until)
}

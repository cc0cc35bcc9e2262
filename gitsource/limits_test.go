package gitsource_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

// moody serves a repository, unless mood answers itself.
type moody struct {
	*httptest.Server
	asked atomic.Int64
	mood  atomic.Pointer[func(w http.ResponseWriter)]
}

func newMoody(t *testing.T, root string) *moody {
	t.Helper()
	m := &moody{}
	backend := gittest.Handler(t, root, "", "")
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		m.asked.Add(1)
		if mood := m.mood.Load(); mood != nil {
			(*mood)(w)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(m.Close)
	return m
}

// answers makes it answer with a status, and Retry-After if that is not empty.
func (m *moody) answers(status int, retryAfter string) {
	mood := func(w http.ResponseWriter) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		http.Error(w, "not now", status)
	}
	m.mood.Store(&mood)
}

func (m *moody) heal() { m.mood.Store(nil) }

func limits(l *gitsource.Limits) func(*gitsource.Config) {
	return func(c *gitsource.Config) { c.Limits = l }
}

// G85: 429, 403 and 503 with Retry-After are obeyed by all sources of that host
// with those credentials, and by nobody else.
func TestRetryAfterIsObeyedForOneHostAndCredential(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusForbidden, http.StatusServiceUnavailable} {
		for _, value := range []string{"60", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)} {
			src, root := served(t)
			srv := newMoody(t, root)
			shared := gitsource.NewLimits(0, 0)
			kv := env(map[string]string{"A": "a", "B": "b"})
			r := open(t, srv.URL+"/bare.git", limits(shared), kv, auth(spec.Auth{Token: "env:A"}))
			same := open(t, srv.URL+"/bare.git", limits(shared), kv, auth(spec.Auth{Token: "env:A"}))
			other := open(t, srv.URL+"/bare.git", limits(shared), kv, auth(spec.Auth{Token: "env:B"}))
			require.Equal(t, src.Tip(), fetch(t, r))
			srv.answers(status, value)
			before := time.Now()
			_, err := r.Fetch(t.Context())
			var wait *gitsource.WaitError
			require.ErrorAs(t, err, &wait)
			require.ErrorIs(t, err, gitsource.ErrWait)
			require.WithinRange(t, wait.Until, before.Add(58*time.Second), time.Now().Add(61*time.Second))
			until, ok := gitsource.RetryAfter(err)
			require.True(t, ok)
			require.Equal(t, wait.Until, until)
			srv.heal()
			asked := srv.asked.Load()
			for _, r := range []*gitsource.Repo{r, same} {
				_, err = r.Fetch(t.Context())
				require.ErrorIs(t, err, gitsource.ErrWait)
			}
			require.Equal(t, asked, srv.asked.Load(), "no request is made")
			require.Equal(t, src.Tip(), fetch(t, other))
			require.Len(t, line(t, r, "", src.Tip()), 1, "what was fetched stays")
		}
	}
}

// G85: without Retry-After each failure makes the pause longer, never shorter
// than the usual one, and different for each source; a success ends that.
func TestAFailingSourceIsAskedLessAndLess(t *testing.T) {
	_, root := served(t)
	srv := newMoody(t, root)
	for name, fail := range map[string]func(){
		"401": func() { srv.answers(401, "") }, "403": func() { srv.answers(403, "") }, "404": func() { srv.answers(404, "") },
		"429": func() { srv.answers(429, "") }, "500": func() { srv.answers(500, "") }, "odd": func() { srv.answers(429, "soon") },
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, srv.URL+"/bare.git")
			fail()
			last := 30 * time.Second
			for range 8 {
				before := time.Now()
				_, err := r.Fetch(t.Context())
				require.NotErrorIs(t, err, gitsource.ErrWait)
				until, ok := gitsource.RetryAfter(err)
				require.True(t, ok)
				pause := until.Sub(before)
				require.GreaterOrEqual(t, pause, last)
				require.Less(t, pause, 23*time.Minute)
				last = min(2*last, 15*time.Minute)
			}
			srv.heal()
			fetch(t, r)
			fail()
			_, err := r.Fetch(t.Context())
			until, ok := gitsource.RetryAfter(err)
			require.True(t, ok)
			require.Less(t, time.Until(until), time.Minute, "counted anew after a success")
		})
	}
	pauses := map[time.Duration]bool{}
	for range 20 {
		r := open(t, srv.URL+"/bare.git")
		_, err := r.Fetch(t.Context())
		until, ok := gitsource.RetryAfter(err)
		require.True(t, ok)
		pauses[time.Until(until).Round(time.Second)] = true
	}
	require.Greater(t, len(pauses), 3, "not all at the same time")
}

func TestWhatIsNoFaultOfTheSourceIsNotHeldAgainstIt(t *testing.T) {
	src := gittest.New(t)
	r := open(t, src.Dir)
	for range 6 {
		_, err := r.Fetch(t.Context())
		require.ErrorIs(t, err, gitsource.ErrEmpty)
		until, ok := gitsource.RetryAfter(err)
		require.True(t, ok)
		require.Less(t, time.Until(until), 91*time.Second, "a first commit is soon seen")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Fetch(ctx)
	_, ok := gitsource.RetryAfter(err)
	require.False(t, ok)
	_, ok = gitsource.RetryAfter(errors.New("anything"))
	require.False(t, ok)
}

// G85: a hundred sources of one host with a missing branch do not use up what
// the host allows.
func TestAHostIsSharedByAllItsSources(t *testing.T) {
	_, root := served(t)
	srv := newMoody(t, root)
	shared := gitsource.NewLimits(0.001, 5)
	waits := 0
	for range 100 {
		r := open(t, srv.URL+"/bare.git", limits(shared), func(c *gitsource.Config) { c.Branch = "missing" })
		_, err := r.Fetch(t.Context())
		if errors.Is(err, gitsource.ErrWait) {
			waits++
			until, ok := gitsource.RetryAfter(err)
			require.True(t, ok)
			require.Greater(t, time.Until(until), 10*time.Minute)
			require.ErrorContains(t, err, "over 0.001 conversations a second with "+strings.TrimPrefix(srv.URL, "http://"))
			continue
		}
		require.ErrorIs(t, err, gitsource.ErrNoBranch)
	}
	require.Equal(t, 95, waits)
	require.EqualValues(t, 5, srv.asked.Load())
	// another host, and this machine, are not concerned
	second := newMoody(t, root)
	fetch(t, open(t, second.URL+"/bare.git", limits(shared)))
	for range 10 {
		fetch(t, open(t, filepath.Join(root, "bare.git"), limits(shared)))
	}
}

func TestAShortQueueIsWaitedFor(t *testing.T) {
	_, root := served(t)
	srv := newMoody(t, root)
	r := open(t, srv.URL+"/bare.git", limits(gitsource.NewLimits(20, 1)))
	start := time.Now()
	for range 5 {
		fetch(t, r)
	}
	require.GreaterOrEqual(t, time.Since(start), 190*time.Millisecond)
}

// G09: credentials that expire are a state of their own that heals by itself.
func TestCredentialsThatExpireChangeNothingAndHeal(t *testing.T) {
	src, root := served(t)
	srv := newMoody(t, root)
	r := open(t, srv.URL+"/bare.git")
	fetch(t, r)
	fetch(t, r)
	srv.answers(http.StatusUnauthorized, "")
	for range 3 {
		_, err := r.Fetch(t.Context())
		require.ErrorIs(t, err, gitsource.ErrAuth)
	}
	require.Len(t, line(t, r, "", src.Tip()), 1)
	srv.heal()
	require.Equal(t, src.Tip(), fetch(t, r))
}

package gitsource_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// pushable is a bare repository that lets everybody push over HTTP, with one commit.
func pushable(t *testing.T) (bare, tip string) {
	t.Helper()
	src := gittest.New(t)
	tip = src.Write("a.yaml", "1").Commit(one, "first")
	bare = src.Bare()
	gittest.Run(t, bare, "config", "http.receivepack", "true")
	return bare, tip
}

func TestACommitIsPushedOverHTTPWithTheCredentialsOfAFetch(t *testing.T) {
	bare, _ := pushable(t)
	base := gittest.Serve(t, filepath.Dir(bare), "robot", "canary/word")
	asked := 0
	for name, r := range map[string]*gitsource.Repo{
		"in the url": open(t, withUser(t, base, "robot", "canary/word", "/bare.git")),
		"asked for": open(t, base+"/bare.git", func(c *gitsource.Config) {
			c.Credentials = func(context.Context) (string, string, error) {
				asked++
				return "robot", "canary/word", nil
			}
		}),
	} {
		write(t, r, bare, fetch(t, r), file("a.yaml", name))
	}
	require.Equal(t, 3, asked, "for the fetch before, the push and the fetch after")
}

func TestWhoMayReadAndNotPushIsTold(t *testing.T) {
	src, root := served(t)
	r := open(t, withUser(t, gittest.Serve(t, root, "robot", "canary"), "robot", "canary", "/bare.git"))
	tip := fetch(t, r)
	_, err := r.Write(t.Context(), request(tip, file("a.yaml", "2")))
	var refused *gitsource.PushRefused
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, "no right to push")
	require.NotContains(t, err.Error(), "canary")
	require.Equal(t, tip, src.Git("ls-remote", "origin", "refs/heads/main")[:40])
}

// front serves a repository, and lets a test do something to each push.
func front(t *testing.T, bare string, push func(w http.ResponseWriter, req *http.Request, backend http.Handler)) string {
	t.Helper()
	backend := gittest.Handler(t, filepath.Dir(bare), "", "")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost && filepath.Base(req.URL.Path) == "git-receive-pack" {
			push(w, req, backend)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/bare.git"
}

func TestAnAnswerThatIsLostIsAskedForAgain(t *testing.T) {
	bare, tip := pushable(t)
	reached := true
	r := open(t, front(t, bare, func(_ http.ResponseWriter, req *http.Request, backend http.Handler) {
		if reached {
			backend.ServeHTTP(httptest.NewRecorder(), req)
		}
		panic(http.ErrAbortHandler) // the connection breaks
	}))
	fetch(t, r)
	tip = write(t, r, bare, tip, file("a.yaml", "2"))
	reached = false
	_, err := r.Write(t.Context(), request(tip, file("a.yaml", "3")))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "the answer is lost", "the server was asked")
	require.Equal(t, tip, gittest.Run(t, bare, "rev-parse", "main"))
}

func TestAServerThatSaysNothingToAPushIsGivenUpAtTheDeadline(t *testing.T) {
	bare, tip := pushable(t)
	gone := make(chan struct{})
	r := open(t, front(t, bare, func(_ http.ResponseWriter, req *http.Request, _ http.Handler) { <-gone }),
		func(c *gitsource.Config) { c.Timeout = 300 * time.Millisecond })
	t.Cleanup(func() { close(gone) })
	fetch(t, r)
	began := time.Now()
	_, err := r.Write(t.Context(), request(tip, file("a.yaml", "2")))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 5*time.Second)
	require.Equal(t, tip, fetch(t, r))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Write(ctx, request(tip, file("a.yaml", "2")))
	require.ErrorIs(t, err, context.Canceled)
}

func TestAServerThatAnswersWithoutAVerdictIsNotBelieved(t *testing.T) {
	bare, tip := pushable(t)
	var pushes atomic.Int32
	r := open(t, front(t, bare, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		pushes.Add(1)
		w.WriteHeader(http.StatusOK)
	}))
	fetch(t, r)
	_, err := r.Write(t.Context(), request(tip, file("a.yaml", "2")))
	require.ErrorContains(t, err, "did not say what became of it")
	require.EqualValues(t, 1, pushes.Load())
	require.Equal(t, tip, fetch(t, r))
}

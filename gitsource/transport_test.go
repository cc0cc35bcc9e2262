package gitsource_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// served is a repository and a folder with a bare copy that is served.
func served(t *testing.T) (src *gittest.Repo, root string) {
	t.Helper()
	src = gittest.New(t)
	src.Write("a.yaml", "a").Commit(one, "first")
	bare := src.Bare()
	src.Git("remote", "add", "origin", bare)
	return src, filepath.Dir(bare)
}

func withUser(t *testing.T, base, user, password, path string) string {
	t.Helper()
	u, err := url.Parse(base)
	require.NoError(t, err)
	u.User, u.Path = url.UserPassword(user, password), path
	return u.String()
}

func TestHTTPWithCredentialsIsFetchedAndFollowed(t *testing.T) {
	src, root := served(t)
	base := gittest.Serve(t, root, "robot", "pass/word canary")
	r := open(t, withUser(t, base, "robot", "pass/word canary", "/bare.git"))
	require.Equal(t, src.Tip(), fetch(t, r))
	next := src.Write("a.yaml", "b").Commit(two, "second")
	src.Git("push", "-q", "origin", "main")
	require.Equal(t, next, fetch(t, r))
	require.Equal(t, revList(src, "main"), line(t, r, "", next))
}

func TestRefusedCredentialsAreAnErrorWithoutThem(t *testing.T) {
	_, root := served(t)
	base := gittest.Serve(t, root, "robot", "right")
	for _, link := range []string{
		withUser(t, base, "robot", "canary-canary", "/bare.git"),
		strings.Replace(base, "://", "://canary-canary@", 1) + "/bare.git",
	} {
		r := open(t, link)
		_, err := r.Fetch(t.Context())
		require.ErrorIs(t, err, gitsource.ErrAuth)
		require.NotContains(t, err.Error(), "canary")
		require.NotContains(t, err.Error(), "robot")
		require.ErrorContains(t, err, base+"/bare.git")
	}
}

func TestCredentialsAreAskedForBeforeEachFetch(t *testing.T) {
	src, root := served(t)
	base := gittest.Serve(t, root, "robot", "second")
	asked := 0
	r := open(t, base+"/bare.git", func(c *gitsource.Config) {
		c.Credentials = func(context.Context) (string, string, error) {
			asked++
			return "robot", []string{"first", "second"}[asked-1], nil
		}
	})
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrAuth)
	require.Equal(t, src.Tip(), fetch(t, r))
	require.Equal(t, 2, asked)
}

func TestARepositoryThatIsNotThereIsSaidToBeSo(t *testing.T) {
	_, root := served(t)
	r := open(t, gittest.Serve(t, root, "", "")+"/nothing.git")
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrNoRepository)
}

// G09: 301 on one host, and to another.
func TestRedirectsAreFollowedOnOneHostOnly(t *testing.T) {
	src, root := served(t)
	backend := gittest.Handler(t, root, "", "")
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if rest, ok := strings.CutPrefix(req.URL.Path, "/old/"); ok {
			http.Redirect(w, req, "/"+rest+"?"+req.URL.RawQuery, http.StatusMovedPermanently)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(moved.Close)
	require.Equal(t, src.Tip(), fetch(t, open(t, moved.URL+"/old/bare.git")))

	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Store(true) }))
	t.Cleanup(other.Close)
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, other.URL+req.URL.Path, http.StatusFound)
	}))
	t.Cleanup(away.Close)
	_, err := open(t, withUser(t, away.URL, "robot", "canary", "/bare.git")).Fetch(t.Context())
	require.ErrorContains(t, err, "redirects to another host")
	require.NotContains(t, err.Error(), "canary")
	require.False(t, leaked.Load())
}

// silent accepts connections and never says anything.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { require.NoError(t, l.Close()); <-done })
	go func() {
		defer close(done)
		var conns []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			conns = append(conns, c)
		}
		for _, c := range conns {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	return l.Addr().String()
}

// G08: a server that never answers.
func TestASilentServerIsGivenUpAtTheDeadline(t *testing.T) {
	r := open(t, "http://"+silent(t)+"/x.git", func(c *gitsource.Config) { c.Timeout = 200 * time.Millisecond })
	start := time.Now()
	for range 2 { // http obeys: the second try is not refused as busy
		_, err := r.Fetch(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "no answer within 200ms")
	}
	require.Less(t, time.Since(start), 5*time.Second)
}

// G08: code that does not obey its deadline holds nobody up.
func TestASourceThatIgnoresItsDeadlineIsLeftBehindAndRefusedUntilItEnds(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	src, root := served(t)
	r := open(t, gittest.Serve(t, root, "", "")+"/bare.git", func(c *gitsource.Config) {
		c.Timeout = 300 * time.Millisecond
		c.Credentials = func(context.Context) (string, string, error) {
			held <- struct{}{}
			<-hold
			return "", "", nil
		}
	})
	start := time.Now()
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 3*time.Second)
	<-held
	_, err = r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrBusy)
	close(hold)
	require.Eventually(t, func() bool {
		_, err := r.Fetch(t.Context())
		if err == nil {
			return true
		}
		require.ErrorIs(t, err, gitsource.ErrBusy)
		return false
	}, 5*time.Second, 5*time.Millisecond)
	require.Len(t, line(t, r, "", src.Tip()), 1)
}

// halfPack serves a repository, but breaks off or falls silent in the middle of
// a pack while broken says so.
func halfPack(t *testing.T, root string, broken *atomic.Bool, stay <-chan struct{}) string {
	t.Helper()
	backend := gittest.Handler(t, root, "", "")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !broken.Load() || req.Method != http.MethodPost {
			backend.ServeHTTP(w, req)
			return
		}
		rec := httptest.NewRecorder()
		backend.ServeHTTP(rec, req)
		body := rec.Body.Bytes()
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		if _, err := io.Copy(w, bytes.NewReader(body[:len(body)*2/3])); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case <-stay:
			panic(http.ErrAbortHandler)
		case <-req.Context().Done():
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/bare.git"
}

// G08: half a pack, then the end, or silence.
func TestHalfAPackLeavesNothingBehind(t *testing.T) {
	for name, falls := range map[string]string{"breaks off": "off", "falls silent": "silent"} {
		t.Run(name, func(t *testing.T) {
			src, root := served(t)
			stay := make(chan struct{})
			if falls == "off" {
				close(stay)
			}
			var broken atomic.Bool
			broken.Store(true)
			dir := filepath.Join(t.TempDir(), "clones", "acme")
			r := open(t, halfPack(t, root, &broken, stay), func(c *gitsource.Config) { c.Dir, c.Timeout = dir, 3*time.Second })
			_, err := r.Fetch(t.Context())
			require.Error(t, err)
			require.Empty(t, leftovers(t, filepath.Dir(dir)), "no half clone")
			broken.Store(false)
			first := fetch(t, r)
			for i := range 3 {
				src.Write("a.yaml", strings.Repeat("x", 100+i)).Commit(one, "more")
			}
			src.Git("push", "-q", "origin", "main")
			broken.Store(true)
			_, err = r.Fetch(t.Context())
			require.Error(t, err)
			require.Empty(t, leftovers(t, filepath.Dir(dir)), "no half pack")
			require.Len(t, line(t, r, "", first), 1)
			broken.Store(false)
			require.Equal(t, revList(src, "main"), line(t, r, "", fetch(t, r)))
		})
	}
}

func TestURLsAreShownWithoutSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:pa:ss@example.com:8443/a/b.git?token=x#y": "https://example.com:8443/a/b.git",
		"https://token@example.com":                             "https://example.com",
		"HTTPS://a:b@example.com/x":                             "https://example.com/x",
		"https://a:p/w@example.com/x":                           "https://a:p/w@example.com/x", // not userinfo for any parser
		"ssh://git@example.com/x.git":                           "ssh://example.com/x.git",
		"git@example.com:x/y.git":                               "example.com:x/y.git",
		"file:///srv/a%20b.git":                                 "/srv/a b.git",
		"/srv/x.git":                                            "/srv/x.git",
	} {
		require.Equal(t, want, gitsource.Redact(in))
	}
}

func TestLocalSourcesAreToldFromOthers(t *testing.T) {
	abs, err := filepath.Abs("rel/x")
	require.NoError(t, err)
	for in, want := range map[string]string{
		"/srv/x.git": "/srv/x.git", "/srv/a:b": "/srv/a:b", "rel/x": abs, "./rel/x": abs, "FILE:///srv/x/": "/srv/x", "file:///a?b#c": "/a?b#c",
		"https://example.com/x": "", "host:x": "", "git@host:/x": "", "ssh://host/x": "", "": "", "file://": "",
	} {
		path, ok := gitsource.Local(in)
		require.Equal(t, want != "", ok, in)
		if ok {
			require.Equal(t, want, path)
		}
	}
}

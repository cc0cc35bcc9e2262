package gittest

import (
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Serve serves every repository below root over HTTP with git http-backend until
// the test ends, and returns the base URL: a bare repository root/a.git is at
// URL/a.git. If user is not empty, it and password are asked for.
func Serve(t testing.TB, root, user, password string) string {
	t.Helper()
	srv := httptest.NewServer(Handler(t, root, user, password))
	t.Cleanup(srv.Close)
	return srv.URL
}

// Handler is what Serve serves, for tests that put something in front of it.
func Handler(t testing.TB, root, user, password string) http.Handler {
	t.Helper()
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Stderr: io.Discard,                 // of requests for what is not there
		Logger: log.New(io.Discard, "", 0), // of clients that go in the middle
		Path:   filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"),
		Env:    append(Env(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1"),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if user != "" {
			u, p, ok := req.BasicAuth()
			if !ok || u != user || p != password {
				w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
				http.Error(w, "who are you", http.StatusUnauthorized)
				return
			}
		}
		backend.ServeHTTP(w, req)
	})
}

package gitsource_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// G09: references are read at each use, so that what is behind them may change.
func TestReferencesAreReadAtEachUse(t *testing.T) {
	src, root := served(t)
	base := gittest.Serve(t, root, "robot", "second")
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("first\n"), 0o600))
	r := open(t, base+"/bare.git", auth(spec.Auth{Username: "env:WHO", Token: "file:" + file}), env(map[string]string{"WHO": "robot"}))
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrAuth)
	require.NoError(t, os.WriteFile(file, []byte("second\n"), 0o600))
	require.Equal(t, src.Tip(), fetch(t, r))
	require.NoError(t, os.Remove(file))
	_, err = r.Fetch(t.Context())
	require.ErrorContains(t, err, "auth.token: ")
	require.ErrorContains(t, err, "no such file")
}

func TestEveryWayToSayWhoWeAre(t *testing.T) {
	src, root := served(t)
	getenv := env(map[string]string{"WHO": "robot", "PW": "pass/word canary"})
	for name, c := range map[string]struct {
		user, url string
		auth      spec.Auth
	}{
		"user and password":            {"robot", "", spec.Auth{Username: "env:WHO", Password: "env:PW"}},
		"user of the url and password": {"robot", "robot@", spec.Auth{Password: "env:PW"}},
		"token":                        {"x-access-token", "", spec.Auth{Token: "env:PW"}},
		"token of a user of the url":   {"oauth2", "oauth2@", spec.Auth{Token: "env:PW"}},
		"a reference in the url":       {"robot", "robot:env:PW@", spec.Auth{}},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(gittest.Serve(t, root, c.user, "pass/word canary"))
			require.NoError(t, err)
			require.Equal(t, src.Tip(), fetch(t, open(t, "http://"+c.url+u.Host+"/bare.git", auth(c.auth), getenv)))
		})
	}
}

func TestWhatASourceCannotUseIsRefusedByOpenWithoutTheSecret(t *testing.T) {
	for want, c := range map[string]struct {
		url  string
		auth spec.Auth
	}{
		"auth.token is not a reference":            {"https://h/x", spec.Auth{Token: "canary"}},
		"auth.sshKey is not a reference":           {"ssh://h/x", spec.Auth{SSHKey: "sys:canary"}},
		"auth.password is not a reference":         {"https://h/x", spec.Auth{Password: "env:"}},
		"auth.proxy: its password is not a refere": {"https://h/x", spec.Auth{Proxy: "http://a:canary@h"}},
		"auth.proxy is not a URL of an http":       {"https://h/x", spec.Auth{Proxy: "canary"}},
		"auth.app needs id, installation and key":  {"https://h/x", spec.Auth{App: &spec.GitHubApp{ID: 1, Key: "env:canary"}}},
		"auth.app.key is not a reference":          {"https://h/x", spec.Auth{App: &spec.GitHubApp{ID: 1, Installation: 1, Key: "canary"}}},
		"auth.app is for a source with an https":   {"ssh://h/x", spec.Auth{App: &spec.GitHubApp{ID: 1, Installation: 1, Key: "env:K"}}},
		"which is not the source's host h":         {"https://h/x", spec.Auth{App: &spec.GitHubApp{ID: 1, Installation: 1, Key: "env:K", API: "https://h.example.com"}}},
		"is on h, which is not the source's host":  {"https://h:8443/x", spec.Auth{App: &spec.GitHubApp{ID: 1, Installation: 1, Key: "env:K", API: "https://h"}}},
		"auth.app.api is on api.h":                 {"https://h/x", spec.Auth{App: &spec.GitHubApp{ID: 1, Installation: 1, Key: "env:K", API: "http://api.h"}}},
	} {
		_, err := gitsource.Open(gitsource.Config{URL: c.url, Dir: filepath.Join(t.TempDir(), "c"), Auth: c.auth})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "canary")
	}
}

func TestAServerThatRepeatsACredentialIsNotQuoted(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, token, _ := req.BasicAuth()
		said := "ERR bad token " + token + " in " + req.Header.Get("Authorization")
		if _, err := fmt.Fprintf(w, "%04x%s", len(said)+4, said); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	_, err := open(t, srv.URL+"/x.git", auth(spec.Auth{Token: "env:T"}), env(map[string]string{"T": "canary/canary"})).Fetch(t.Context())
	require.ErrorContains(t, err, "bad token")
	require.NotContains(t, err.Error(), "canary")
	require.NotContains(t, err.Error(), "Y2FuYXJ5")
}

// serveTLS serves with a certificate that nobody knows, until the test ends.
func serveTLS(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of those who do not trust it
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

// certificate is the file of a TLS server's certificate.
func certificate(t *testing.T, srv *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	return file
}

func TestOneSourceTrustsItsOwnCAAndNoOtherDoes(t *testing.T) {
	src, root := served(t)
	srv := serveTLS(t, gittest.Handler(t, root, "", ""))
	link := srv.URL + "/bare.git"
	trusting := auth(spec.Auth{CA: certificate(t, srv)})
	require.Equal(t, src.Tip(), fetch(t, open(t, link, trusting)))
	_, err := open(t, link).Fetch(t.Context())
	require.ErrorContains(t, err, "certificate")
	// a file that is put right later
	file := filepath.Join(t.TempDir(), "later.pem")
	require.NoError(t, os.WriteFile(file, []byte("nothing"), 0o600))
	r := open(t, link, auth(spec.Auth{CA: file}))
	_, err = r.Fetch(t.Context())
	require.ErrorContains(t, err, "auth.ca: there is no certificate in "+file)
	right, err := os.ReadFile(certificate(t, srv))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, right, 0o600))
	require.Equal(t, src.Tip(), fetch(t, r))
}

func TestOneSourceUsesItsProxyAndNoOtherDoes(t *testing.T) {
	src, root := served(t)
	plain := httptest.NewServer(gittest.Handler(t, root, "", ""))
	t.Cleanup(plain.Close)
	secure := serveTLS(t, gittest.Handler(t, root, "", ""))
	key, public := gittest.SSHKey(t, "")
	shell := gittest.ServeSSH(t, gittest.SSHConfig{Root: root, Keys: []ssh.PublicKey{public}})
	proxy := gittest.ServeProxy(t, "pawl", "proxy canary")
	through := *proxy.URL
	through.User = url.UserPassword("pawl", "env:PROXY")
	for name, c := range map[string]struct {
		url  string
		auth spec.Auth
	}{
		"http":  {plain.URL + "/bare.git", spec.Auth{}},
		"https": {secure.URL + "/bare.git", spec.Auth{CA: certificate(t, secure)}},
		"ssh":   {shell.URL("bare.git"), spec.Auth{SSHKey: "env:KEY", KnownHosts: shell.KnownHosts()}},
	} {
		t.Run(name, func(t *testing.T) {
			before := proxy.Used.Load()
			direct := open(t, c.url, auth(c.auth), env(map[string]string{"KEY": key}))
			require.Equal(t, src.Tip(), fetch(t, direct))
			require.Equal(t, before, proxy.Used.Load())
			c.auth.Proxy = through.String()
			r := open(t, c.url, auth(c.auth), env(map[string]string{"KEY": key, "PROXY": "proxy canary"}))
			require.Equal(t, src.Tip(), fetch(t, r))
			require.Greater(t, proxy.Used.Load(), before)
			_, err := open(t, c.url, auth(c.auth), env(map[string]string{"KEY": key, "PROXY": "canary"})).Fetch(t.Context())
			require.Error(t, err)
			require.NotContains(t, err.Error(), "canary")
			require.Regexp(t, "407|Proxy Authentication Required", err.Error())
		})
	}
}

// G09: credentials go to the source's host alone, and a moved repository is
// followed there alone.
func TestCredentialsDoNotFollowARedirectToAnotherHost(t *testing.T) {
	src, root := served(t)
	var asked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	t.Cleanup(other.Close)
	backend := gittest.Handler(t, root, "x-access-token", "canary")
	away := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case away != "":
			http.Redirect(w, req, away+req.URL.RequestURI(), http.StatusMovedPermanently)
		case req.URL.Path == "/old.git/info/refs":
			http.Redirect(w, req, "/bare.git/info/refs?"+req.URL.RawQuery, http.StatusMovedPermanently)
		default:
			backend.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(srv.Close)
	r := open(t, srv.URL+"/old.git", auth(spec.Auth{Token: "env:T"}), env(map[string]string{"T": "canary"}))
	require.Equal(t, src.Tip(), fetch(t, r))
	require.Equal(t, srv.URL+"/bare.git", r.Moved())
	away = other.URL
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrRedirect)
	require.ErrorContains(t, err, other.URL)
	require.NotContains(t, err.Error(), "canary")
	require.False(t, asked.Load())
	require.Len(t, line(t, r, "", src.Tip()), 1, "what was fetched stays")
	// nor to the same host without encryption
	secure := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "http://"+req.Host+"/bare.git/info/refs?service=git-upload-pack", http.StatusFound)
	}))
	_, err = open(t, secure.URL+"/x.git", auth(spec.Auth{Token: "env:T", CA: certificate(t, secure)}), env(map[string]string{"T": "canary"})).Fetch(t.Context())
	require.ErrorContains(t, err, `changes scheme from "https" to "http"`)
}

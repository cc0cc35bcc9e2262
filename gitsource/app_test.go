package gitsource_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

// forge is a Git server with the API of GitHub Apps: each token that it gives
// is good for its life, and the last one alone.
type forge struct {
	root string
	t    *testing.T

	mu     sync.Mutex
	life   time.Duration
	status int // of the API; 0 = it gives tokens
	given  int
	revoke bool
}

func (f *forge) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.HasPrefix(req.URL.Path, "/api/v3/") {
		token := fmt.Sprintf("token-canary-%d", f.given)
		if f.revoke {
			token = "no token"
		}
		gittest.Handler(f.t, f.root, "x-access-token", token).ServeHTTP(w, req)
		return
	}
	signed := strings.HasPrefix(req.Header.Get("Authorization"), "Bearer ey")
	switch {
	case f.status != 0:
		w.Header().Set("Retry-After", "0")
		http.Error(w, "no", f.status)
	case req.URL.Path != "/api/v3/app/installations/42/access_tokens" || req.Method != http.MethodPost || !signed:
		http.Error(w, "what", http.StatusBadRequest)
	default:
		f.given++
		f.revoke = false
		w.WriteHeader(http.StatusCreated)
		if _, err := fmt.Fprintf(w, `{"token":"token-canary-%d","expires_at":%q}`, f.given, time.Now().Add(f.life).Format(time.RFC3339)); err != nil {
			f.t.Error(err)
		}
	}
}

// set changes how it behaves, and tells how many tokens it gave.
func (f *forge) set(change func()) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	return f.given
}

// G09: tokens of a GitHub App live an hour; each is used while it lives, and the
// next is asked for in time.
func TestAGitHubAppsTokenIsUsedWhileItLives(t *testing.T) {
	raw, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	key := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(raw)}))
	src, root := served(t)
	f := &forge{root: root, t: t, life: time.Hour}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	kv := map[string]string{"KEY": key}
	r := open(t, srv.URL+"/bare.git", auth(spec.Auth{App: &spec.GitHubApp{ID: 7, Installation: 42, Key: "env:KEY"}}), env(kv))
	require.Equal(t, src.Tip(), fetch(t, r))
	delete(kv, "KEY")
	require.Equal(t, src.Tip(), fetch(t, r), "the key is not needed while the token lives")
	require.Equal(t, 1, f.set(func() { f.revoke, f.life = true, time.Minute }))
	kv["KEY"] = key
	_, err = r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrAuth)
	require.NotContains(t, err.Error(), "canary")
	require.Equal(t, src.Tip(), fetch(t, r), "a token that was refused is not offered again")
	require.Equal(t, 2, f.set(func() {}))
	require.Equal(t, src.Tip(), fetch(t, r), "one that lives a minute is not used again")
	require.Equal(t, 3, f.set(func() { f.status = http.StatusUnauthorized }))
	_, err = r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrAuth)
	require.ErrorContains(t, err, "answered 401 Unauthorized for installation 42")
	f.set(func() { f.status = http.StatusBadGateway })
	_, err = r.Fetch(t.Context())
	require.NotErrorIs(t, err, gitsource.ErrAuth)
	require.ErrorContains(t, err, "502 Bad Gateway")
	kv["KEY"] = "canary"
	_, err = r.Fetch(t.Context())
	require.ErrorContains(t, err, "auth.app.key: what it names is no RSA private key")
	require.NotContains(t, err.Error(), "canary")
}

package gitsource_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// env is an environment of its own for a source.
func env(kv map[string]string) func(*gitsource.Config) {
	return func(c *gitsource.Config) {
		c.Getenv = func(name string) (string, bool) { v, ok := kv[name]; return v, ok }
	}
}

func auth(a spec.Auth) func(*gitsource.Config) { return func(c *gitsource.Config) { c.Auth = a } }

func timeout(d time.Duration) func(*gitsource.Config) {
	return func(c *gitsource.Config) { c.Timeout = d }
}

func TestSSHWithAKeyIsFetchedAndFollowed(t *testing.T) {
	src, root := served(t)
	locked, public := gittest.SSHKey(t, "pass canary")
	srv := gittest.ServeSSH(t, gittest.SSHConfig{Root: root, Keys: []ssh.PublicKey{public}})
	r := open(t, srv.URL("bare.git"), auth(spec.Auth{SSHKey: "env:KEY", SSHKeyPassphrase: "env:PHRASE", KnownHosts: srv.KnownHosts()}),
		env(map[string]string{"KEY": locked, "PHRASE": "pass canary"}))
	require.Equal(t, src.Tip(), fetch(t, r))
	require.Equal(t, src.Tip(), fetch(t, r))
	next := src.Write("a.yaml", "b").Commit(two, "second")
	src.Git("push", "-q", "origin", "main")
	require.Equal(t, next, fetch(t, r))
	require.Equal(t, revList(src, "main"), line(t, r, "", next))
	require.Equal(t, []string{"git", "git", "git"}, srv.Users())
	// the short form of the address, with a path that a shell would trip over
	odd := filepath.Join(root, "it's !odd.git")
	gittest.Run(t, root, "clone", "-q", "--bare", filepath.Join(root, "bare.git"), odd)
	r = open(t, srv.URL("it's%20!odd.git"), auth(spec.Auth{SSHKey: "env:KEY", SSHKeyPassphrase: "env:PHRASE", Username: "env:WHO", KnownHosts: srv.KnownHosts()}),
		env(map[string]string{"KEY": locked, "PHRASE": "pass canary", "WHO": "robot"}))
	require.Equal(t, next, fetch(t, r))
	require.Equal(t, "robot", srv.Users()[3])
}

func TestTheSSHAgentIsAskedWithoutAKey(t *testing.T) {
	src, root := served(t)
	socket, public := gittest.ServeAgent(t)
	srv := gittest.ServeSSH(t, gittest.SSHConfig{Root: root, Keys: []ssh.PublicKey{public}})
	r := open(t, srv.URL("bare.git"), auth(spec.Auth{KnownHosts: srv.KnownHosts()}), env(map[string]string{"SSH_AUTH_SOCK": socket}))
	require.Equal(t, src.Tip(), fetch(t, r))
	r = open(t, srv.URL("bare.git"), auth(spec.Auth{KnownHosts: srv.KnownHosts()}), env(nil))
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrAuth)
	require.ErrorContains(t, err, "set auth.sshKey, or run an agent (SSH_AUTH_SOCK)")
}

func TestSSHWithAPasswordIsFetched(t *testing.T) {
	src, root := served(t)
	srv := gittest.ServeSSH(t, gittest.SSHConfig{Root: root, Password: "canary"})
	a := auth(spec.Auth{Password: "env:PW", KnownHosts: srv.KnownHosts()})
	require.Equal(t, src.Tip(), fetch(t, open(t, srv.URL("bare.git"), a, env(map[string]string{"PW": "canary"}))))
	_, err := open(t, srv.URL("bare.git"), a, env(map[string]string{"PW": "canary2"})).Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrAuth)
	require.NotContains(t, err.Error(), "canary")
}

func TestAnUntrustedHostKeyIsRefusedWithItsFingerprint(t *testing.T) {
	src, root := served(t)
	key, public := gittest.SSHKey(t, "")
	srv := gittest.ServeSSH(t, gittest.SSHConfig{Root: root, Keys: []ssh.PublicKey{public}})
	other, _ := gittest.SSHKey(t, "")
	stranger, err := ssh.ParsePrivateKey([]byte(other))
	require.NoError(t, err)
	home := t.TempDir()
	shown := ssh.FingerprintSHA256(srv.Host)
	for name, c := range map[string]struct{ file, want string }{
		"no file":      {"", "compare it with what the host's owner says, then add it to " + home + "/.ssh/known_hosts"},
		"another host": {gittest.WriteKnownHosts(t, "git.example.com:22", srv.Host), "is not known: ssh-ed25519 " + shown},
		"another key":  {gittest.WriteKnownHosts(t, srv.Addr, stranger.PublicKey()), ssh.FingerprintSHA256(stranger.PublicKey())},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, srv.URL("bare.git"), auth(spec.Auth{SSHKey: "env:KEY", KnownHosts: c.file}), env(map[string]string{"KEY": key, "HOME": home}))
			_, err := r.Fetch(t.Context())
			require.ErrorIs(t, err, gitsource.ErrHostKey)
			require.ErrorContains(t, err, shown)
			require.ErrorContains(t, err, c.want)
		})
	}
	require.Empty(t, srv.Users(), "nobody has shown a key to it")
	r := open(t, srv.URL("bare.git"), auth(spec.Auth{SSHKey: "env:KEY", KnownHosts: filepath.Join(home, "none")}), env(map[string]string{"KEY": key}))
	_, err = r.Fetch(t.Context())
	require.ErrorContains(t, err, "auth.knownHosts")
	// its public key alone makes the difference
	r = open(t, srv.URL("bare.git"), auth(spec.Auth{SSHKey: "env:KEY", KnownHosts: srv.KnownHosts()}), env(map[string]string{"KEY": key}))
	require.Equal(t, src.Tip(), fetch(t, r))
}

func TestKeysThatCannotBeUsedAreNamedAndNotShown(t *testing.T) {
	_, root := served(t)
	locked, public := gittest.SSHKey(t, "canary")
	srv := gittest.ServeSSH(t, gittest.SSHConfig{Root: root, Keys: []ssh.PublicKey{public}})
	stranger, _ := gittest.SSHKey(t, "")
	for want, kv := range map[string]map[string]string{
		"auth.sshKey: the key has a passphrase":                     {"KEY": locked},
		"auth.sshKeyPassphrase: it does not open the key":           {"KEY": locked, "PHRASE": "canary2"},
		"auth.sshKey: what it names is no private key":              {"KEY": "canary"},
		"auth.sshKey: the environment variable KEY is not set":      {},
		"auth.sshKey: env:KEY is empty":                             {"KEY": "\n"},
		"accepts none of the ssh keys and passwords":                {"KEY": stranger},
		"auth.sshKeyPassphrase: the environment variable PHRASE is": {"KEY": locked, "absent": "1"},
	} {
		a := spec.Auth{SSHKey: "env:KEY", KnownHosts: srv.KnownHosts()}
		if _, ok := kv["PHRASE"]; ok || kv["absent"] != "" {
			a.SSHKeyPassphrase = "env:PHRASE"
		}
		_, err := open(t, srv.URL("bare.git"), auth(a), env(kv)).Fetch(t.Context())
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "canary")
	}
}

func TestASSHServerWithoutTheRepositorySaysSo(t *testing.T) {
	_, root := served(t)
	srv := gittest.ServeSSH(t, gittest.SSHConfig{Root: root, Password: "x"})
	_, err := open(t, srv.URL("none.git"), auth(spec.Auth{Password: "env:PW", KnownHosts: srv.KnownHosts()}),
		env(map[string]string{"PW": "x"})).Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrNoRepository)
	empty := filepath.Join(root, "empty.git")
	gittest.Run(t, root, "init", "-q", "--bare", empty)
	_, err = open(t, srv.URL("empty.git"), auth(spec.Auth{Password: "env:PW", KnownHosts: srv.KnownHosts()}),
		env(map[string]string{"PW": "x"})).Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrEmpty)
}

// G08: a server that shakes no hands. The connection is closed at the deadline,
// so the next try is not refused as busy.
func TestASilentSSHServerIsGivenUpAtTheDeadline(t *testing.T) {
	r := open(t, "ssh://git@"+silent(t)+"/x.git", auth(spec.Auth{Password: "env:PW"}), env(map[string]string{"PW": "x"}), timeout(200*time.Millisecond))
	start := time.Now()
	for range 2 {
		_, err := r.Fetch(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.Less(t, time.Since(start), 5*time.Second)
}

// halfOut lets through what a fetch says until a pack has begun, and then either
// ends or waits.
type halfOut struct {
	io.Writer
	left *int
	stay <-chan struct{}
}

func (h halfOut) Write(b []byte) (int, error) {
	n := min(len(b), *h.left)
	if *h.left -= n; n > 0 {
		return h.Writer.Write(b[:n])
	}
	<-h.stay
	return 0, io.ErrClosedPipe
}

// G08: half a pack over ssh, then silence, or the end.
func TestHalfAPackOverSSHLeavesNothingBehind(t *testing.T) {
	for name, quiet := range map[string]bool{"falls silent": true, "breaks off": false} {
		t.Run(name, func(t *testing.T) {
			src, root := served(t)
			src.Write("big.yaml", strings.Repeat("some text\n", 1000)+gittest.Noise(100<<10, 1)).Commit(one, "big")
			src.Git("push", "-q", "origin", "main")
			stay := make(chan struct{})
			var once sync.Once
			release := func() { once.Do(func() { close(stay) }) }
			if !quiet {
				release()
			}
			var broken atomic.Bool
			broken.Store(true)
			srv := gittest.ServeSSH(t, gittest.SSHConfig{Root: root, Password: "x", Out: func(w io.Writer) io.Writer {
				if !broken.Load() {
					return w
				}
				left := 50 << 10
				return halfOut{w, &left, stay}
			}})
			t.Cleanup(release)
			dir := filepath.Join(t.TempDir(), "clones", "acme")
			r := open(t, srv.URL("bare.git"), auth(spec.Auth{Password: "env:PW", KnownHosts: srv.KnownHosts()}),
				env(map[string]string{"PW": "x"}), timeout(3*time.Second), func(c *gitsource.Config) { c.Dir = dir })
			_, err := r.Fetch(t.Context())
			require.Error(t, err)
			require.NotErrorIs(t, err, gitsource.ErrBusy)
			require.Empty(t, leftovers(t, filepath.Dir(dir)))
			release()
			broken.Store(false)
			require.Equal(t, src.Tip(), fetch(t, r))
		})
	}
}

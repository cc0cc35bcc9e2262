package e2e_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

func newSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	s, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	return s
}

// sign replaces the newest commit by the same one signed, as git commit -S does.
func sign(t *testing.T, r *gittest.Repo, key ssh.Signer) string {
	t.Helper()
	raw := r.Git("cat-file", "commit", "HEAD") + "\n"
	head, message, _ := strings.Cut(raw, "\n\n")
	sig, err := sshsig.Sign(strings.NewReader(raw), key, sshsig.HashSHA512, "git")
	require.NoError(t, err)
	armored := strings.ReplaceAll(strings.TrimSpace(string(sshsig.Armor(sig))), "\n", "\n ")
	id := r.Pipe(bytes.NewReader([]byte(head+"\ngpgsig "+armored+"\n\n"+message)), "hash-object", "-t", "commit", "-w", "--stdin")
	r.Git("reset", "-q", "--hard", id)
	return id
}

// Every commit of a range is judged, not only the tip: what an unsigned commit
// changed does not come in under a signed one.
func TestOnlyTrustedCommitsComeIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	adas := newSigner(t)
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	require.NoError(t, os.WriteFile(signers, []byte("ada@example.com "+string(ssh.MarshalAuthorizedKey(adas.PublicKey()))), 0o644))
	config := filepath.Join(t.TempDir(), "acme.yaml")
	require.NoError(t, os.WriteFile(config, []byte(pavilion("acme", "NT:1", r.Dir)+"  verify: {mode: author, allowedSigners: \""+signers+"\"}\n"), 0o644))
	once := func() result {
		return command(t, "syncer", "run", "--once", "--config", config, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--state-dir", w.state)
	}
	r.Write("orders.yaml", job("orders", 1)).Write("stock.yaml", job("stock", 1))
	r.Commit(grace, "before the keys: enforced from here on")
	require.Zero(t, once().code)

	r.Write("orders.yaml", job("orders", 2))
	r.Commit(ada, "two")
	two := sign(t, r, adas)
	require.Equal(t, "acme orders v2 UPGRADE by "+ada+" in "+short(two)+"\n", once().stdout)

	r.Write("orders.yaml", job("orders", 3))
	unsigned := r.Commit(ada, "three, not signed")
	held := once()
	require.Equal(t, 1, held.code)
	require.Contains(t, held.stderr, "is held")
	require.Contains(t, held.stderr, "not signed")
	r.Write("stock.yaml", job("stock", 2))
	r.Commit(ada, "stock, signed, on top")
	sign(t, r, adas)
	require.Equal(t, 1, once().code, "a signed tip vouches for nobody else's change")
	require.Contains(t, command(t, "syncer", "status", "--tenant", "acme", "--redis", w.redis.URL()).stdout, "syncer approve "+unsigned)
	require.Zero(t, command(t, "syncer", "approve", unsigned, "--tenant", "acme", "--redis", w.redis.URL(), "--actor", "ops").code)
	require.Equal(t, "acme orders v3 UPGRADE by "+ada+" in "+short(unsigned)+"\nacme stock v2 UPGRADE by "+ada+" in "+short(r.Tip())+"\n", once().stdout)
	blame := command(t, "syncer", "history", "orders", "--tenant", "acme", "--redis", w.redis.URL(), "-o", "json").stdout
	require.Contains(t, blame, `"signer":"ada@example.com","verified":"true"`)

	require.Contains(t, command(t, "syncer", "audit", "--tenant", "acme", "--redis", w.redis.URL()).stdout, "(verified: ada@example.com)")
	require.Contains(t, command(t, "syncer", "blame", "stock", "parallelism", "--tenant", "acme", "--redis", w.redis.URL()).stdout, "(verified: ada@example.com)")

	r.Write("orders.yaml", job("orders", 4))
	r.Commit(grace, "signed with somebody else's key")
	sign(t, r, adas)
	require.Contains(t, once().stderr, "the author's mail is")
	r.Revert(ada, "HEAD")
	require.Zero(t, once().code, "undone: nothing is left to hold")
}

func TestAPolicySaysWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	config := filepath.Join(t.TempDir(), "acme.yaml")
	require.NoError(t, os.WriteFile(config, []byte(pavilion("acme", "NT:1", r.Dir)+`  policy:
    - {who: {mail: "ada@example.com"}, ops: [], jobs: "*"}
    - {who: {mail: "*@example.com"}, ops: [UPGRADE, ROLLBACK], jobs: "stock*"}
`), 0o644))
	once := func() result {
		return command(t, "syncer", "run", "--once", "--config", config, "--redis", w.redis.URL(), "--allow-unsafe-redis", "--state-dir", w.state)
	}
	r.Write("orders.yaml", job("orders", 1)).Write("stock.yaml", job("stock", 1))
	r.Commit(ada, "first")
	require.Zero(t, once().code)
	r.Write("stock.yaml", job("stock", 2))
	r.Commit(grace, "allowed")
	require.Contains(t, once().stdout, "acme stock v2 UPGRADE by "+grace)
	r.Write("orders.yaml", job("orders", 2)).Write("stock.yaml", job("stock", 3))
	r.Commit(grace, "one of two is not allowed")
	held := once()
	require.Equal(t, 1, held.code)
	require.Empty(t, held.stdout, "all or nothing")
	require.Contains(t, held.stderr, "orders: UPGRADE by "+grace)
	require.Contains(t, held.stderr, "is not allowed")
	r.Write("orders.yaml", job("orders", 1))
	r.Commit(ada, "orders as it was")
	require.Contains(t, once().stdout, "acme stock v3 UPGRADE by "+grace)
}

package trust_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/trust"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// noon is the committer's time of every test commit: 2026-06-01T12:00:00Z.
const noon = 1780315200

var (
	alice = spec.Person{Name: "Alice", Mail: "alice@example.com", When: noon}
	bob   = spec.Person{Name: "Bob", Mail: "bob@example.com", When: noon}
)

// files is what New reads.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("no such file")
}

func (f files) verifier(t testing.TB, cfg spec.Verify) *trust.Verifier {
	t.Helper()
	v, err := trust.New(cfg, f.read)
	require.NoError(t, err)
	return v
}

// sshKey is a key that depends on its name alone.
func sshKey(t testing.TB, name string) ssh.Signer {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	key, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(seed[:]))
	require.NoError(t, err)
	return key
}

// allow is a line of allowed_signers; before is principals and options.
func allow(before string, key ssh.Signer) string {
	return before + " " + string(ssh.MarshalAuthorizedKey(key.PublicKey()))
}

// signSSH is a signer of payloads with an SSH key.
func signSSH(t testing.TB, key ssh.Signer, namespace string) func([]byte) string {
	return func(payload []byte) string {
		t.Helper()
		sig, err := sshsig.Sign(bytes.NewReader(payload), key, sshsig.HashSHA512, namespace)
		require.NoError(t, err)
		return string(sshsig.Armor(sig))
	}
}

// at is a configuration of OpenPGP at a time in seconds.
func at(seconds int64) *packet.Config {
	return &packet.Config{Time: func() time.Time { return time.Unix(seconds, 0) }, Algorithm: packet.PubKeyAlgoEdDSA}
}

// pgpKey is a key made a day before noon that lives for life seconds, 0 = for ever.
func pgpKey(t testing.TB, name, mail string, life uint32) *openpgp.Entity {
	t.Helper()
	cfg := at(noon - 86400)
	cfg.KeyLifetimeSecs = life
	e, err := openpgp.NewEntity(name, "", mail, cfg)
	require.NoError(t, err)
	return e
}

// signPGP is a signer of payloads with an OpenPGP key at a time; changes are
// made to the signature before.
func signPGP(t testing.TB, e *openpgp.Entity, seconds int64, changes ...func(*packet.Signature)) func([]byte) string {
	return func(payload []byte) string {
		t.Helper()
		var b bytes.Buffer
		cfg := at(noon - 86400 + 1) // the key is looked for at a time when it lives
		key, ok := e.SigningKey(cfg.Now())
		require.True(t, ok)
		sig := &packet.Signature{SigType: packet.SigTypeBinary, PubKeyAlgo: key.PublicKey.PubKeyAlgo, Hash: cfg.Hash(),
			CreationTime: time.Unix(seconds, 0), IssuerKeyId: &key.PublicKey.KeyId, IssuerFingerprint: key.PublicKey.Fingerprint}
		for _, change := range changes {
			change(sig)
		}
		h, err := sig.PrepareSign(cfg)
		require.NoError(t, err)
		_, err = h.Write(payload)
		require.NoError(t, err)
		require.NoError(t, sig.Sign(h, key.PrivateKey, cfg))
		w, err := armor.Encode(&b, "PGP SIGNATURE", nil)
		require.NoError(t, err)
		require.NoError(t, sig.Serialize(w))
		require.NoError(t, w.Close())
		return b.String()
	}
}

// armored is the public part of keys, a block each.
func armored(t testing.TB, keys ...*openpgp.Entity) string {
	t.Helper()
	var b bytes.Buffer
	for _, e := range keys {
		w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
		require.NoError(t, err)
		require.NoError(t, e.Serialize(w))
		require.NoError(t, w.Close())
		b.WriteString("\n")
	}
	return b.String()
}

// world is a repository with commits that are put into it as raw objects.
type world struct {
	t testing.TB
	*gittest.Repo
}

func newWorld(t testing.TB) world {
	r := gittest.New(t)
	r.Write("jobs/orders.yaml", "kind: JobSpec\n").Commit("Alice <alice@example.com>", "Orders")
	return world{t, r}
}

// unsigned is the text of a commit that git has not seen yet.
func (w world) unsigned(author spec.Person, message string, parents ...string) string {
	who := author.Name + " <" + author.Mail + "> " + strconv.Itoa(noon) + " +0000\n"
	text := "tree " + w.Git("rev-parse", "HEAD^{tree}") + "\n"
	for _, p := range append([]string{w.Tip()}, parents...) {
		text += "parent " + p + "\n"
	}
	return text + "author " + who + "committer " + who + "\n" + message
}

// signed is text with the signature that sign makes of it.
func signed(text string, sign func([]byte) string) string { return withSig(text, sign([]byte(text))) }

// withSig puts a signature into a commit where git does: as the last header.
func withSig(text, sig string) string {
	head, message, _ := strings.Cut(text, "\n\n")
	return head + "\ngpgsig " + strings.ReplaceAll(strings.TrimSuffix(sig, "\n"), "\n", "\n ") + "\n\n" + message
}

// stored gives a commit to git and takes it back, byte for byte.
func (w world) stored(text string) (id string, raw []byte) {
	w.t.Helper()
	id = w.Pipe(strings.NewReader(text), "hash-object", "-t", "commit", "-w", "--stdin")
	cmd := exec.Command("git", "cat-file", "commit", id)
	cmd.Dir, cmd.Env = w.Dir, gittest.Env()
	raw, err := cmd.Output()
	require.NoError(w.t, err)
	require.Equal(w.t, text, string(raw))
	return id, raw
}

// commit signs a commit of author with git in between.
func (w world) commit(author spec.Person, sign func([]byte) string) []byte {
	w.t.Helper()
	_, raw := w.stored(signed(w.unsigned(author, "Raise orders\n\nBody.\n"), sign))
	return raw
}

// requireFalse wants a verdict that believes nothing and says why.
func requireFalse(t testing.TB, d trust.Verdict, why string) {
	t.Helper()
	require.Equal(t, spec.VerifiedFalse, d.Verified, d.Why)
	require.Empty(t, d.Signer)
	require.False(t, d.Forge)
	require.Contains(t, d.Why, why)
}

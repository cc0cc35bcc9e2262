package trust_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

func itoa(n int) string { return strconv.Itoa(n) }

func finger(e *openpgp.Entity) string { return fmt.Sprintf("%X", e.PrimaryKey.Fingerprint) }

// have tells whether a program is there. Where one is not, what the tests below
// would cross-check with it is covered by signatures made in Go.
func have(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// command runs a program in a home of its own.
func command(t *testing.T, home, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, append(gittest.Env(), "GNUPGHOME="+home, "HOME="+home)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", program, args, out)
	return string(out)
}

func TestGitAgreesOnSSHSignaturesBothWays(t *testing.T) {
	w, home := newWorld(t), t.TempDir()
	key := sshKey(t, "alice")
	signers := filepath.Join(home, "signers")
	require.NoError(t, os.WriteFile(signers, []byte(allow("alice@example.com", key)), 0o600))
	id, raw := w.stored(signed(w.unsigned(alice, "Made in Go\n"), signSSH(t, key, "git")))
	v := files{"signers": allow("alice@example.com", key)}.verifier(t, sshOnly)
	require.Equal(t, spec.VerifiedTrue, v.Commit(raw, alice).Verified)
	if !have("ssh-keygen") {
		return
	}
	require.Contains(t, command(t, home, w.Dir, "git", "-c", "gpg.ssh.allowedSignersFile="+signers, "verify-commit", id), "Good \"git\" signature for alice@example.com")

	seed := sha256.Sum256([]byte("alice"))
	block, err := ssh.MarshalPrivateKey(ed25519.NewKeyFromSeed(seed[:]), "")
	require.NoError(t, err)
	private := filepath.Join(home, "key")
	require.NoError(t, os.WriteFile(private, pem.EncodeToMemory(block), 0o600))
	command(t, home, w.Dir, "git", "-c", "gpg.format=ssh", "-c", "user.signingkey="+private, "commit", "-q", "--allow-empty", "-S", "-m", "Made by git")
	d := v.Commit(head(t, w), alice)
	require.Equal(t, spec.VerifiedTrue, d.Verified, d.Why)
}

func TestGitAgreesOnOpenPGPSignaturesBothWays(t *testing.T) {
	w := newWorld(t)
	home, err := os.MkdirTemp("", "gpg") // short: the agent's socket lies in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	a := pgpKey(t, "Alice", "alice@example.com", 0)
	v := files{"keys": armored(t, a)}.verifier(t, pgpOnly)
	id, raw := w.stored(signed(w.unsigned(alice, "Made in Go\n"), signPGP(t, a, noon)))
	require.Equal(t, spec.VerifiedTrue, v.Commit(raw, alice).Verified)
	if !have("gpg") {
		return
	}
	if have("gpgconf") {
		t.Cleanup(func() { command(t, home, home, "gpgconf", "--kill", "all") })
	}
	ring := filepath.Join(home, "key.asc")
	require.NoError(t, os.WriteFile(ring, []byte(armored(t, a)), 0o600))
	command(t, home, home, "gpg", "--batch", "--quiet", "--faked-system-time", "20260601T120000", "--import", ring)
	program := filepath.Join(home, "gpg-at-noon")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexec gpg --faked-system-time 20260601T120000 \"$@\"\n"), 0o700))
	require.Contains(t, command(t, home, w.Dir, "git", "-c", "gpg.program="+program, "verify-commit", id), "Good signature from \"Alice <alice@example.com>\"")

	command(t, home, home, "gpg", "--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback", "--quick-gen-key", "Bob <bob@example.com>", "ed25519", "sign", "0")
	command(t, home, w.Dir, "git", "-c", "user.signingkey=bob@example.com", "commit", "-q", "--allow-empty", "-S", "-m", "Made by git")
	exported := command(t, home, home, "gpg", "--armor", "--export")
	d := files{"keys": exported}.verifier(t, pgpOnly).Commit(head(t, w), bob)
	require.Equal(t, spec.VerifiedTrue, d.Verified, d.Why)
	require.Equal(t, "bob@example.com", d.Signer)
}

// head is the commit that is checked out, as git stores it.
func head(t *testing.T, w world) []byte {
	t.Helper()
	cmd := exec.Command("git", "cat-file", "commit", "HEAD")
	cmd.Dir, cmd.Env = w.Dir, gittest.Env()
	raw, err := cmd.Output()
	require.NoError(t, err)
	return raw
}

// TestTheCommitOfCaseG61IsNeverVerified is the commit of that case to the byte,
// but for its tree and parent.
func TestTheCommitOfCaseG61IsNeverVerified(t *testing.T) {
	w := newWorld(t)
	dev := spec.Person{Name: "Dev Two", Mail: "dev2@example.com", When: noon}
	_, raw := w.stored(withSig(w.unsigned(dev, "Raise orders\n"), "-----BEGIN SSH SIGNATURE-----\nbm90IGEgcmVhbCBzaWduYXR1cmU=\n-----END SSH SIGNATURE-----"))
	require.True(t, bytes.Contains(raw, []byte("\ngpgsig -----BEGIN SSH SIGNATURE-----\n bm90")))
	off := files{}.verifier(t, spec.Verify{Mode: "none"})
	d := off.Commit(raw, dev)
	requireFalse(t, d, "cannot be read")
	ok, _ := off.Accepts(d, dev)
	require.True(t, ok, "signatures off: it passes, and is told as not verified")
	on := files{"signers": allow("dev2@example.com", sshKey(t, "dev2"))}.verifier(t, sshOnly)
	ok, why := on.Accepts(on.Commit(raw, dev), dev)
	require.False(t, ok)
	require.True(t, strings.HasPrefix(why, "verify.mode is signed: "))
}

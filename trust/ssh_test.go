package trust_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

var sshOnly = spec.Verify{Mode: "signed", AllowedSigners: "signers"}

func TestAGoodSSHSignatureNamesThePrincipalOfTheFile(t *testing.T) {
	w := newWorld(t)
	v := files{"signers": "# people\n\n" + allow("alice@example.com", sshKey(t, "alice"))}.verifier(t, sshOnly)
	d := v.Commit(w.commit(bob, signSSH(t, sshKey(t, "alice"), "git")), bob)
	require.Equal(t, spec.VerifiedTrue, d.Verified, d.Why)
	require.Equal(t, "alice@example.com", d.Signer, "the commit says Bob; the file says whose key it is")
	require.False(t, d.Forge)
	ok, _ := v.Accepts(d, bob)
	require.True(t, ok, "mode signed asks for anybody of the file")
}

func TestASignatureIsBoundToEveryByteOfItsCommit(t *testing.T) {
	w := newWorld(t)
	key := sshKey(t, "alice")
	v := files{"signers": allow("alice@example.com", key)}.verifier(t, sshOnly)
	good := string(w.commit(alice, signSSH(t, key, "git")))
	begin := strings.Index(good, "gpgsig ")
	end := strings.Index(good, "\n\n") + 1
	sig := good[begin:end]
	for name, text := range map[string]string{
		"message":     strings.Replace(good, "Raise orders", "Raise Orders", 1),
		"author":      strings.Replace(good, "author Alice", "author Mallory", 1),
		"committer":   strings.Replace(good, "committer Alice", "committer Mallory", 1),
		"extra line":  strings.Replace(good, "gpgsig ", "encoding latin1\ngpgsig ", 1),
		"end of text": good + "\n",
		"other":       strings.Replace(w.unsigned(alice, "Another commit\n"), "\n\n", "\n"+sig+"\n", 1),
	} {
		require.NotEqual(t, good, text)
		_, raw := w.stored(text)
		requireFalse(t, v.Commit(raw, alice), "does not fit the content")
		require.NotEmpty(t, name)
	}
}

func TestExtraHeadersAreSignedAsTheyAre(t *testing.T) {
	w := newWorld(t)
	key := sshKey(t, "alice")
	v := files{"signers": allow("alice@example.com", key)}.verifier(t, sshOnly)
	text := strings.Replace(w.unsigned(alice, "Caf\xe9\n\ngpgsig is a word\n gpgsig too\n"), "\n\n",
		"\nencoding latin1\nmergetag object 0\n type commit\n gpgsig no header\n -----BEGIN PGP SIGNATURE-----\nx-odd\n\n", 1)
	_, raw := w.stored(signed(text, signSSH(t, key, "git")))
	require.Equal(t, spec.VerifiedTrue, v.Commit(raw, alice).Verified)

	sig := strings.ReplaceAll(strings.TrimSpace(signSSH(t, key, "git")([]byte(text))), "\n", "\n ")
	_, raw = w.stored(strings.Replace(text, "\nmergetag ", "\ngpgsig "+sig+"\nmergetag ", 1))
	require.Equal(t, spec.VerifiedTrue, v.Commit(raw, alice).Verified, "headers with further lines behind the signature")
}

func TestWhatIsNotAPlainGoodSignatureIsFalse(t *testing.T) {
	w := newWorld(t)
	key, other := sshKey(t, "alice"), sshKey(t, "mallory")
	v := files{"signers": allow("alice@example.com", key)}.verifier(t, sshOnly)
	text := w.unsigned(alice, "Raise orders\n")
	sig := signSSH(t, key, "git")([]byte(text))
	good := withSig(text, sig)
	for name, c := range map[string]struct{ text, why string }{
		"not signed":        {text, "not signed"},
		"another key":       {signed(text, signSSH(t, other, "git")), "which is not in signers"},
		"wrong namespace":   {signed(text, signSSH(t, key, "file")), `for the purpose "file"`},
		"two headers":       {withSig(good, sig), "2 signatures"},
		"two blocks":        {withSig(text, sig+sig), "not one whole block"},
		"text behind":       {withSig(text, sig+"x"), "not one whole block"},
		"no end":            {withSig(text, strings.Split(sig, "-----END")[0]), "not one whole block"},
		"garbage":           {withSig(text, "-----BEGIN SSH SIGNATURE-----\nbm90IGEgcmVhbCBzaWduYXR1cmU=\n-----END SSH SIGNATURE-----"), "cannot be read"},
		"no kind":           {withSig(text, "trust me"), "no known kind"},
		"empty":             {withSig(text, ""), "no known kind"},
		"X.509":             {withSig(text, "-----BEGIN SIGNED MESSAGE-----\nMIAG\n-----END SIGNED MESSAGE-----"), "X.509 signatures are not supported"},
		"for another form":  {strings.Replace(good, "gpgsig ", "gpgsig-sha256 ", 1), "in the header gpgsig-sha256"},
		"for both forms":    {strings.Replace(withSig(good, sig), "gpgsig ", "gpgsig-sha256 ", 1), "2 signatures"},
		"too long":          {withSig(text, sig+strings.Repeat("\n", 64<<10)), "limit of 64 KiB"},
		"no commit":         {"hello\n", "no commit object"},
		"nothing":           {"", "no commit object"},
		"too large":         {text + strings.Repeat("x", 1<<20), "limit of 1 MiB"},
		"not base64 at all": {withSig(text, "-----BEGIN SSH SIGNATURE-----\n\x00\xff\n-----END SSH SIGNATURE-----"), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			d := v.Commit([]byte(c.text), alice)
			requireFalse(t, d, c.why)
			ok, why := v.Accepts(d, alice)
			require.False(t, ok)
			require.Contains(t, why, c.why)
		})
	}
	require.Equal(t, spec.VerifiedTrue, v.Commit([]byte(good), alice).Verified, "what they were all made from")
}

func TestWithoutFilesASignatureProvesNothing(t *testing.T) {
	w := newWorld(t)
	v := files{}.verifier(t, spec.Verify{})
	text := w.unsigned(alice, "Raise orders\n")
	for _, raw := range []string{text, signed(text, signSSH(t, sshKey(t, "alice"), "git")), signed(text, signPGP(t, pgpKey(t, "Alice", "alice@example.com", 0), noon))} {
		d := v.Commit([]byte(raw), alice)
		require.Equal(t, spec.VerifiedUnknown, d.Verified, d.Why)
		require.Contains(t, d.Why, "nothing is configured to judge by")
		require.Empty(t, d.Signer)
		ok, _ := v.Accepts(d, alice)
		require.True(t, ok, "mode none refuses nothing")
	}
	garbage := withSig(text, "-----BEGIN SSH SIGNATURE-----\nbm90IGEgcmVhbCBzaWduYXR1cmU=\n-----END SSH SIGNATURE-----")
	requireFalse(t, v.Commit([]byte(garbage), alice), "cannot be read")
}

func TestOptionsBindAKeyByTheCommittersTime(t *testing.T) {
	w := newWorld(t)
	key := sshKey(t, "alice")
	raw := w.commit(alice, signSSH(t, key, "git"))
	for options, why := range map[string]string{
		`valid-before="20260601"`:                              "no longer valid at the commit's time",
		`valid-before="20260601115959Z"`:                       "no longer valid at the commit's time",
		`valid-before="202606011200"`:                          "",
		`VALID-BEFORE="20270101Z"`:                             "",
		`valid-after="20260602"`:                               "not yet valid at the commit's time",
		`valid-after="20260601",valid-before="20260602"`:       "",
		`namespaces="file"`:                                    "may not sign for git",
		`namespaces="file,g*"`:                                 "",
		`namespaces="git",valid-before="20250101"`:             "no longer valid",
		`valid-after="20250101",namespaces="git,a b,c"`:        "",
		`valid-after="19700101000001",valid-before="20260102"`: "no longer valid",
	} {
		v := files{"signers": allow("alice@example.com "+options, key)}.verifier(t, sshOnly)
		d := v.Commit(raw, alice)
		if why == "" {
			require.Equal(t, spec.VerifiedTrue, d.Verified, "%s: %s", options, d.Why)
			continue
		}
		requireFalse(t, d, why)
		require.Contains(t, d.Why, "signers:1")
	}
}

func TestACommitWithoutATimeIsCoveredByNoKeyThatHasBounds(t *testing.T) {
	w := newWorld(t)
	key := sshKey(t, "alice")
	text := strings.ReplaceAll(w.unsigned(alice, "When?\n"), "1780315200", "123456789012")
	raw := []byte(signed(text, signSSH(t, key, "git")))
	v := files{"signers": allow(`alice@example.com valid-before="99991231"`, key)}.verifier(t, sshOnly)
	requireFalse(t, v.Commit(raw, alice), "the commit has none that can be read")
	v = files{"signers": allow(`alice@example.com`, key)}.verifier(t, sshOnly)
	require.Equal(t, spec.VerifiedTrue, v.Commit(raw, alice).Verified)
}

func TestOfSeveralLinesForAKeyTheOneThatFitsTheAuthorCounts(t *testing.T) {
	w := newWorld(t)
	key := sshKey(t, "alice")
	v := files{"signers": allow(`"release team,ci@example.com"`, key) + allow("*@example.com", key) +
		allow(`alice@example.com valid-before="20200101"`, key) + allow("al@example.com,alice@Example.COM", key)}.verifier(t, sshOnly)
	d := v.Commit(w.commit(alice, signSSH(t, key, "git")), alice)
	require.Equal(t, "alice@Example.COM", d.Signer)
	require.Equal(t, "*@example.com", v.Commit(w.commit(bob, signSSH(t, key, "git")), bob).Signer)
	eve := spec.Person{Name: "Eve", Mail: "eve@evil.example"}
	require.Equal(t, "release team", v.Commit(w.commit(eve, signSSH(t, key, "git")), eve).Signer)
}

func TestRSAKeysOfTwoThousandBitsAreWellEnough(t *testing.T) {
	w := newWorld(t)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	key, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	v := files{"signers": allow("alice@example.com", key)}.verifier(t, sshOnly)
	require.Equal(t, spec.VerifiedTrue, v.Commit(w.commit(alice, signSSH(t, key, "git")), alice).Verified)
}

func TestCertificatesAreNotTakenForKeys(t *testing.T) {
	w := newWorld(t)
	key, authority := sshKey(t, "alice"), sshKey(t, "authority")
	cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.UserCert, ValidBefore: ssh.CertTimeInfinity}
	require.NoError(t, cert.SignCert(rand.Reader, authority))
	text := w.unsigned(alice, "Raise orders\n")
	plain, err := sshsig.Sign(bytes.NewReader([]byte(text)), key, sshsig.HashSHA512, "git")
	require.NoError(t, err)
	plain.PublicKey = cert
	v := files{"signers": allow("alice@example.com", key)}.verifier(t, sshOnly)
	requireFalse(t, v.Commit([]byte(withSig(text, string(sshsig.Armor(plain)))), alice), "certificate, which is not supported")
}

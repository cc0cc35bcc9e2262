package trust_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/trust"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// requireMistakes wants New to fail with exactly these lines (their beginnings).
func requireMistakes(t *testing.T, f files, cfg spec.Verify, want ...string) {
	t.Helper()
	v, err := trust.New(cfg, f.read)
	require.Nil(t, v)
	var wrong *trust.ConfigError
	require.ErrorAs(t, err, &wrong)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, wrong.Findings, len(want), "%s", err)
	for i := range want {
		require.True(t, strings.HasPrefix(lines[i], want[i]), "%q\nis not\n%q", lines[i], want[i])
	}
}

func TestAllMistakesOfAllFilesAreToldAtOnce(t *testing.T) {
	good := strings.TrimSpace(allow("x", sshKey(t, "a"))[2:])
	lines := []string{
		"# a comment", "",
		"alice@example.com " + good + " a comment",                     // 3: fine
		"alice@example.com",                                            // 4
		"alice@example.com cert-authority " + good,                     // 5
		"alice@example.com flavour=\"sweet\" " + good,                  // 6
		"!bob@example.com,*@example.com " + good,                       // 7
		"a,,b " + good,                                                 // 8
		"a valid-after=\"soon\" " + good,                               // 9
		"a valid-after=\"20260102\",valid-before=\"20260101\" " + good, // 10
		"a namespaces=git " + good,                                     // 11
		"a ssh-dss AAAAB3NzaC1kc3M=",                                   // 12
		"a ssh-ed25519 %%%%",                                           // 13
		"a ssh-rsa " + strings.Fields(good)[1],                         // 14
		"\"a b " + good,                                                // 15
		"a\x1b " + good,                                                // 16
		"a\xff " + good,                                                // 17
		"a ssh-ed25519",                                                // 18
		"a namespaces=\"a\",namespaces=\"b\" " + good,                  // 19
		"a valid-before=\"20261301\" " + good,                          // 20
	}
	requireMistakes(t, files{"signers": strings.Join(lines, "\r\n"), "keys": "hello"},
		spec.Verify{Mode: "some", Keyrings: []string{"keys", "missing"}, AllowedSigners: "signers", Forges: []string{"octopus"}},
		`verify.forges[0]: no key of keyrings or allowedSigners is called octopus`,
		`verify.mode: "some" is none of none, signed and author`,
		`keys: there is no OpenPGP key in it`,
		`missing: verify.keyrings[1]: no such file`,
		`signers:4: no key: a line is principals`,
		`signers:5: option cert-authority is not supported`,
		`signers:6: "flavour=\"sweet\"" is neither an option`,
		`signers:7: principal "!bob@example.com": taking out by ! is not supported`,
		`signers:8: an empty principal`,
		`signers:9: option valid-after: "soon" is no time`,
		`signers:10: valid-before is not later than valid-after`,
		`signers:11: option namespaces wants a value in double quotes`,
		`signers:12: keys of type "ssh-dss" are not supported`,
		`signers:13: the key is no base64`,
		`signers:14: the key is no key of type ssh-rsa`,
		`signers:15: a quote is not closed`,
		`signers:16: a control character in it`,
		`signers:17: not UTF-8`,
		`signers:18: no key behind its type ssh-ed25519`,
		`signers:19: option namespaces is given twice`,
		`signers:20: option valid-before: "20261301" is no time`,
	)
}

func TestAModeThatNothingCouldPassIsAMistake(t *testing.T) {
	for _, mode := range []string{"signed", "author"} {
		requireMistakes(t, files{}, spec.Verify{Mode: mode}, "verify.mode: "+mode+", but no keys are given")
	}
	_, err := trust.New(spec.Verify{}, files{}.read)
	require.NoError(t, err)
}

func TestFilesAreBounded(t *testing.T) {
	cfg := spec.Verify{AllowedSigners: "signers", Keyrings: []string{"keys"}}
	requireMistakes(t, files{"signers": strings.Repeat("#\n", 10_001), "keys": strings.Repeat("x", 4<<20+1)}, cfg,
		"keys: 4194305 bytes, over the limit of 4 MiB", "signers: 10001 lines, over the limit of 10,000")
	requireMistakes(t, files{"signers": strings.Repeat("#", 1<<20+1), "keys": ""}, cfg,
		"keys: there is no OpenPGP key in it", "signers: 1048577 bytes, over the limit of 1 MiB")
	_, err := trust.New(spec.Verify{AllowedSigners: "signers"}, files{"signers": strings.Repeat("nonsense\n", 10_000)}.read)
	require.Less(t, len(err.Error()), 10_000)
	require.Contains(t, err.Error(), "and 9950 more")
}

func TestWeakKeysAreToldWhenTheyAreRead(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	key, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	requireMistakes(t, files{"signers": allow("a", key)}, spec.Verify{AllowedSigners: "signers"}, "signers:1: an RSA key of 1024 bits is too weak")
}

func TestAKeyThatCannotBeReadIsNotPassedOver(t *testing.T) {
	a, b := pgpKey(t, "Alice", "alice@example.com", 0), pgpKey(t, "Bob", "bob@example.com", 0)
	blockA := armored(t, a)
	broken := strings.Replace(blockA, "\n-----END", "%%%\n-----END", 1)
	var secret bytes.Buffer
	require.NoError(t, b.SerializePrivate(&secret, at(noon)))
	private := blockWith(t, openpgp.PrivateKeyType, secret.Bytes())
	hidden := blockWith(t, openpgp.PublicKeyType, secret.Bytes())
	lines := strings.Count(blockA, "\n")
	cfg := spec.Verify{Keyrings: []string{"keys"}}
	requireMistakes(t, files{"keys": blockA + private}, cfg, "keys:"+itoa(lines+1)+": only blocks of public keys may stand here")
	requireMistakes(t, files{"keys": blockA + hidden}, cfg, "keys:"+itoa(lines+1)+": key "+finger(b)+" is a private key")
	requireMistakes(t, files{"keys": blockA + strings.Split(blockA, "-----END")[0]}, cfg, "keys:"+itoa(lines+1)+": the block has no end")
	requireMistakes(t, files{"keys": strings.Split(blockA, "-----END")[0] + blockA}, cfg, "keys:1: the block has no end")
	_, err := trust.New(cfg, files{"keys": blockA + broken}.read)
	require.ErrorContains(t, err, "keys:"+itoa(lines+1)+": the key at place")
	var nameless bytes.Buffer
	require.NoError(t, b.PrimaryKey.Serialize(&nameless))
	var whole bytes.Buffer
	require.NoError(t, a.Serialize(&whole))
	requireMistakes(t, files{"keys": nameless.String() + whole.String()}, cfg, "keys: the key at place 1 cannot be read")
	requireMistakes(t, files{"keys": "\xff\xff\xff\xff\xff\xff"}, cfg, "keys: there is no OpenPGP key in it")
}

func TestAReadErrorNamesThePathOnce(t *testing.T) {
	_, err := trust.New(spec.Verify{AllowedSigners: "etc/signers"}, func(path string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("permission denied")}
	})
	require.EqualError(t, err, "etc/signers: verify.allowedSigners: permission denied")
}

func blockWith(t *testing.T, kind string, body []byte) string {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, kind, nil)
	require.NoError(t, err)
	_, err = w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String() + "\n"
}

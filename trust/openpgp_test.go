package trust_test

import (
	"bytes"
	"crypto"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/trust"
	"github.com/stretchr/testify/require"
)

var pgpOnly = spec.Verify{Mode: "signed", Keyrings: []string{"keys"}}

func TestAGoodOpenPGPSignatureNamesTheIdentityOfTheKeyring(t *testing.T) {
	w := newWorld(t)
	a, b := pgpKey(t, "Alice", "alice@example.com", 0), pgpKey(t, "Bob", "bob@example.com", 0)
	var binary bytes.Buffer
	require.NoError(t, b.Serialize(&binary))
	require.NoError(t, a.Serialize(&binary))
	for name, text := range map[string]string{"armored, two blocks": "keys of ours:\n" + armored(t, b, a), "binary": binary.String()} {
		v := files{"keys": text}.verifier(t, pgpOnly)
		d := v.Commit(w.commit(bob, signPGP(t, a, noon)), bob)
		require.Equal(t, spec.VerifiedTrue, d.Verified, "%s: %s", name, d.Why)
		require.Equal(t, "alice@example.com", d.Signer)
	}
}

func TestAnOpenPGPSignatureIsBoundToItsContent(t *testing.T) {
	w := newWorld(t)
	a := pgpKey(t, "Alice", "alice@example.com", 0)
	v := files{"keys": armored(t, a)}.verifier(t, pgpOnly)
	good := string(w.commit(alice, signPGP(t, a, noon)))
	require.Equal(t, spec.VerifiedTrue, v.Commit([]byte(good), alice).Verified)
	requireFalse(t, v.Commit([]byte(strings.Replace(good, "Body", "body", 1)), alice), "does not fit the content")
	requireFalse(t, v.Commit([]byte(strings.Replace(good, "author Alice", "author Eve", 1)), alice), "does not fit the content")
	stranger := pgpKey(t, "Alice", "alice@example.com", 0)
	requireFalse(t, v.Commit(w.commit(alice, signPGP(t, stranger, noon)), alice), "which is not in keys")
}

func TestAKeyIsJudgedAsOfTheCommit(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name   string
		life   uint32 // from noon of the day before
		signed int64
		why    string
	}{
		{"lives", 86400 + 60, noon, ""},
		{"lived until then", 86400, noon, ""},
		{"was expired", 86400 - 60, noon, "was expired at the commit's time"},
		{"was expired, and the signature is dated back", 86400 - 60, noon - 3600, "was expired at the commit's time"},
		{"expired between the commit's time and the signature", 86400 + 60, noon + 3600, "was expired at the commit's time"},
		{"is younger than the signature", 0, noon - 2*86400, "younger than the signature"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := pgpKey(t, "Alice", "alice@example.com", c.life)
			d := files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(w.commit(alice, signPGP(t, a, c.signed)), alice)
			if c.why == "" {
				require.Equal(t, spec.VerifiedTrue, d.Verified, d.Why)
				return
			}
			requireFalse(t, d, c.why)
		})
	}
}

func TestAKeyThatWasProlongedLaterStillCoversOldCommits(t *testing.T) {
	w := newWorld(t)
	a := pgpKey(t, "Alice", "alice@example.com", 86400-60)
	raw := w.commit(alice, signPGP(t, a, noon))
	id := a.Identities["Alice <alice@example.com>"]
	again := *id.SelfSignature
	life := uint32(10 * 365 * 86400)
	again.KeyLifetimeSecs, again.CreationTime = &life, time.Unix(noon+30*86400, 0)
	require.NoError(t, again.SignUserId(id.UserId.Id, a.PrimaryKey, a.PrivateKey, at(noon+30*86400)))
	id.SelfSignature, id.Signatures = &again, append(id.Signatures, &again)
	d := files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(raw, alice)
	require.Equal(t, spec.VerifiedTrue, d.Verified, d.Why)
}

func TestRevocationsBindByTheirReason(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name   string
		reason packet.ReasonForRevocation
		when   int64
		why    string
	}{
		{"retired later", packet.KeyRetired, noon + 60, ""},
		{"retired before", packet.KeyRetired, noon - 60, "is revoked"},
		{"superseded later", packet.KeySuperseded, noon + 60, ""},
		{"compromised, told later", packet.KeyCompromised, noon + 60, "is revoked"},
		{"for no reason, told later", packet.NoReason, noon + 60, "is revoked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := pgpKey(t, "Alice", "alice@example.com", 0)
			raw, fresh := w.commit(alice, signPGP(t, a, noon)), armored(t, a)
			require.NoError(t, a.RevokeKey(c.reason, "", at(c.when)))
			for _, order := range []string{armored(t, a), fresh + armored(t, a), armored(t, a) + fresh} {
				d := files{"keys": order}.verifier(t, pgpOnly).Commit(raw, alice)
				if c.why == "" {
					require.Equal(t, spec.VerifiedTrue, d.Verified, d.Why)
					continue
				}
				requireFalse(t, d, c.why) // a copy without the revocation does not help
			}
		})
	}
}

func TestASigningSubkeySpeaksForItsKey(t *testing.T) {
	w := newWorld(t)
	a := pgpKey(t, "Alice", "alice@example.com", 0)
	require.NoError(t, a.AddSigningSubkey(at(noon-86400)))
	sub := a.Subkeys[len(a.Subkeys)-1].PublicKey.KeyId
	key, ok := a.SigningKey(time.Unix(noon-86400+1, 0))
	require.True(t, ok)
	require.Equal(t, sub, key.PublicKey.KeyId, "the subkey is what signs below")
	raw := w.commit(alice, signPGP(t, a, noon))
	require.Equal(t, "alice@example.com", files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(raw, alice).Signer)
	require.NoError(t, a.RevokeSubkey(&a.Subkeys[len(a.Subkeys)-1], packet.KeyCompromised, "", at(noon+60)))
	requireFalse(t, files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(raw, alice), "is revoked")
}

func TestTheIdentityThatIsTheAuthorsIsNamed(t *testing.T) {
	w := newWorld(t)
	a := pgpKey(t, "Alice", "alice@example.com", 0)
	require.NoError(t, a.AddUserId("Alice at work", "", "Alice@Work.example", at(noon-86400)))
	require.NoError(t, a.AddUserId("no address", "", "", at(noon-86400)))
	v := files{"keys": armored(t, a)}.verifier(t, spec.Verify{Mode: "author", Keyrings: []string{"keys"}})
	for mail, signer := range map[string]string{"alice@example.com": "alice@example.com", "Alice@work.example": "Alice@Work.example"} {
		author := spec.Person{Name: "Alice", Mail: mail}
		d := v.Commit(w.commit(author, signPGP(t, a, noon)), author)
		require.Equal(t, signer, d.Signer)
		ok, why := v.Accepts(d, author)
		require.True(t, ok, why)
	}
	d := v.Commit(w.commit(bob, signPGP(t, a, noon)), bob)
	require.Equal(t, spec.VerifiedTrue, d.Verified)
	ok, why := v.Accepts(d, bob)
	require.False(t, ok)
	require.Contains(t, why, `the author's mail is "bob@example.com"`)
}

func TestIdentitiesThatCouldBeReadInTwoWaysHaveNoMail(t *testing.T) {
	w := newWorld(t)
	cfg := at(noon - 86400)
	for _, text := range []string{"Eve <eve@evil.example> <alice@example.com>", "<alice@example.com> Eve", "alice@example.com,eve@evil.example", "*", "*@example.com x"} {
		e, err := openpgp.NewEntity("seed", "", "", cfg)
		require.NoError(t, err)
		id := e.Identities["seed"]
		delete(e.Identities, "seed")
		id.Name, id.UserId = text, &packet.UserId{Id: text}
		require.NoError(t, id.SelfSignature.SignUserId(text, e.PrimaryKey, e.PrivateKey, cfg))
		e.Identities[text] = id
		v := files{"keys": armored(t, e)}.verifier(t, spec.Verify{Mode: "author", Keyrings: []string{"keys"}})
		d := v.Commit(w.commit(alice, signPGP(t, e, noon)), alice)
		require.Equal(t, text, d.Signer)
		ok, _ := v.Accepts(d, alice)
		require.False(t, ok, text)
	}
}

// blockOf armors signature packets.
func blockOf(t *testing.T, serialize func(b *bytes.Buffer)) string {
	t.Helper()
	var b, body bytes.Buffer
	serialize(&body)
	w, err := armor.Encode(&b, "PGP SIGNATURE", nil)
	require.NoError(t, err)
	_, err = w.Write(body.Bytes())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// bare is the binary form of an armored signature.
func bare(t *testing.T, text string) []byte {
	t.Helper()
	block, err := armor.Decode(strings.NewReader(text))
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = b.ReadFrom(block.Body)
	require.NoError(t, err)
	return b.Bytes()
}

func TestOpenPGPSignaturesThatAreMoreOrLessThanOneAreFalse(t *testing.T) {
	w := newWorld(t)
	a := pgpKey(t, "Alice", "alice@example.com", 0)
	v := files{"keys": armored(t, a)}.verifier(t, pgpOnly)
	text := w.unsigned(alice, "Raise orders\n")
	sig := signPGP(t, a, noon)([]byte(text))
	body := bare(t, sig)
	weakHash := bytes.Clone(body)
	require.Equal(t, byte(8), weakHash[5], "SHA-256")
	weakHash[5] = 2 // SHA-1
	var textual bytes.Buffer
	lines := &packet.Signature{SigType: packet.SigTypeText, PubKeyAlgo: a.PrimaryKey.PubKeyAlgo, Hash: crypto.SHA256,
		CreationTime: time.Unix(noon, 0), IssuerKeyId: &a.PrimaryKey.KeyId}
	h := lines.Hash.New()
	_, err := h.Write([]byte(strings.ReplaceAll(text, "\n", "\r\n")))
	require.NoError(t, err)
	require.NoError(t, lines.Sign(h, a.PrivateKey, at(noon)))
	require.NoError(t, lines.Serialize(&textual))
	for name, c := range map[string]struct{ sig, why string }{
		"two packets":    {blockOf(t, func(b *bytes.Buffer) { b.Write(body); b.Write(body) }), "not one plain signature packet"},
		"cut":            {blockOf(t, func(b *bytes.Buffer) { b.Write(body[:len(body)-1]) }), "not one plain signature packet"},
		"a key instead":  {blockOf(t, func(b *bytes.Buffer) { require.NoError(t, a.PrimaryKey.Serialize(b)) }), "not one plain signature packet"},
		"empty":          {blockOf(t, func(*bytes.Buffer) {}), "not one plain signature packet"},
		"two blocks":     {sig + sig, "not one whole block"},
		"a weak hash":    {blockOf(t, func(b *bytes.Buffer) { b.Write(weakHash) }), "too weak"},
		"over a text":    {blockOf(t, func(b *bytes.Buffer) { b.Write(textual.Bytes()) }), "not one over bytes"},
		"an inline text": {strings.ReplaceAll(sig, "SIGNATURE", "MESSAGE"), "no known kind"},
		"no base64":      {"-----BEGIN PGP SIGNATURE-----\n\n%%%%\n-----END PGP SIGNATURE-----", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) { requireFalse(t, v.Commit([]byte(withSig(text, c.sig)), alice), c.why) })
	}
	require.Equal(t, spec.VerifiedTrue, v.Commit([]byte(withSig(text, sig)), alice).Verified)
}

func TestLengthsThatAPacketClaimsAreCheckedBeforeItIsRead(t *testing.T) {
	version6 := []byte{0xc2, 8, 6, 0, 1, 8, 0xff, 0xff, 0xff, 0xff}
	require.Error(t, trust.CheckFrame(version6), "4 GiB of hashed subpackets")
	inside := append([]byte{9, 32}, version6[2:]...)
	embedded := append([]byte{0xc2, byte(8 + len(inside)), 4, 0, 1, 8, 0, byte(len(inside))}, inside...)
	embedded = append(embedded, 0, 0)
	require.Error(t, trust.CheckFrame(embedded), "the same within a subpacket")
	plain := []byte{0xc2, 12, 4, 0, 1, 8, 0, 2, 1, 99, 0, 0, 7, 7}
	require.NoError(t, trust.CheckFrame(plain))
	require.NoError(t, trust.CheckFrame(append([]byte{0x88}, plain[1:]...)), "old form, one octet")
	require.NoError(t, trust.CheckFrame(append([]byte{0x89, 0}, plain[1:]...)), "old form, two octets")
	require.Error(t, trust.CheckFrame(append([]byte{0x8b}, plain[2:]...)), "old form, no length")
	require.Error(t, trust.CheckFrame(append([]byte{0xc2, 0xe0}, plain[2:]...)), "in parts")
}

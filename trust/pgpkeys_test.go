package trust_test

import (
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

// resigned changes the self-signature of a key's only identity and makes it anew.
func resigned(t *testing.T, e *openpgp.Entity, change func(*packet.Signature)) {
	t.Helper()
	id := e.PrimaryIdentity()
	change(id.SelfSignature)
	require.NoError(t, id.SelfSignature.SignUserId(id.UserId.Id, e.PrimaryKey, e.PrivateKey, at(noon-86400)))
	id.Signatures = []*packet.Signature{id.SelfSignature}
}

func TestAKeyThatMayOnlyCertifySignsNoCommit(t *testing.T) {
	w := newWorld(t)
	a := pgpKey(t, "Alice", "alice@example.com", 0)
	raw := w.commit(alice, signPGP(t, a, noon))
	for _, change := range []func(*packet.Signature){
		func(s *packet.Signature) { s.FlagSign = false },
		func(s *packet.Signature) { s.FlagsValid = false },
	} {
		resigned(t, a, change)
		requireFalse(t, files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(raw, alice), "may not sign")
	}
}

func TestSignaturesThatRanOutCoverNothing(t *testing.T) {
	w := newWorld(t)
	hour := uint32(3600)
	a := pgpKey(t, "Alice", "alice@example.com", 0)
	v := files{"keys": armored(t, a)}.verifier(t, pgpOnly)
	short := signPGP(t, a, noon-3601, func(s *packet.Signature) { s.SigLifetimeSecs = &hour })
	requireFalse(t, v.Commit(w.commit(alice, short), alice), "was expired at the commit's time")
	enough := signPGP(t, a, noon-3600, func(s *packet.Signature) { s.SigLifetimeSecs = &hour })
	require.Equal(t, spec.VerifiedTrue, v.Commit(w.commit(alice, enough), alice).Verified)

	raw := w.commit(alice, signPGP(t, a, noon))
	resigned(t, a, func(s *packet.Signature) { s.SigLifetimeSecs = &hour })
	requireFalse(t, files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(raw, alice), "was expired at the commit's time")
}

func TestASignatureThatAsksForTheUnknownIsFalse(t *testing.T) {
	w := newWorld(t)
	a := pgpKey(t, "Alice", "alice@example.com", 0)
	v := files{"keys": armored(t, a)}.verifier(t, pgpOnly)
	for critical, want := range map[bool]string{true: spec.VerifiedFalse, false: spec.VerifiedTrue} {
		sign := signPGP(t, a, noon, func(s *packet.Signature) {
			s.Notations = []*packet.Notation{{Name: "only@example.com", Value: []byte("for tests"), IsHumanReadable: true, IsCritical: critical}}
		})
		require.Equal(t, want, v.Commit(w.commit(alice, sign), alice).Verified)
	}
}

func TestAShortRSAKeyIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	cfg := at(noon - 86400)
	cfg.Algorithm = packet.PubKeyAlgoRSA
	for bits, want := range map[int]string{1024: spec.VerifiedFalse, 2048: spec.VerifiedTrue} {
		cfg.RSABits = bits
		e, err := openpgp.NewEntity("Alice", "", "alice@example.com", cfg)
		require.NoError(t, err)
		d := files{"keys": armored(t, e)}.verifier(t, pgpOnly).Commit(w.commit(alice, signPGP(t, e, noon)), alice)
		require.Equal(t, want, d.Verified, "%d bits: %s", bits, d.Why)
	}
}

func TestARevokedIdentityIsNobodys(t *testing.T) {
	w := newWorld(t)
	a := pgpKey(t, "Alice", "alice@example.com", 0)
	require.NoError(t, a.AddUserId("Alice", "", "alice@work.example", at(noon-86400)))
	raw := w.commit(alice, signPGP(t, a, noon))
	require.Equal(t, "alice@example.com", files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(raw, alice).Signer)

	revoke := func(name string, when int64) {
		id, why := a.Identities[name], packet.UserIDNotValid
		gone := &packet.Signature{SigType: packet.SigTypeCertificationRevocation, PubKeyAlgo: a.PrimaryKey.PubKeyAlgo, Hash: at(when).Hash(),
			CreationTime: time.Unix(when, 0), IssuerKeyId: &a.PrimaryKey.KeyId, RevocationReason: &why}
		require.NoError(t, gone.SignUserId(id.UserId.Id, a.PrimaryKey, a.PrivateKey, at(when)))
		id.Revocations, id.Signatures = append(id.Revocations, gone), append(id.Signatures, gone)
	}
	revoke("Alice <alice@example.com>", noon+60)
	require.Equal(t, "alice@example.com", files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(raw, alice).Signer, "it was valid then")
	revoke("Alice <alice@example.com>", noon-60)
	require.Equal(t, "alice@work.example", files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(raw, alice).Signer)
	revoke("Alice <alice@work.example>", noon-60)
	requireFalse(t, files{"keys": armored(t, a)}.verifier(t, pgpOnly).Commit(raw, alice), "no identity left that is not revoked")
}

package trust

import (
	"bytes"
	"crypto"
	"fmt"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/pawl-dev/pawl/spec"
)

// signingKey is a primary key or a subkey that may sign.
type signingKey struct {
	holder *holder
	key    *packet.PublicKey
	bound  *packet.Signature   // a subkey's binding signature; the holder's self for the primary key
	ends   []*packet.Signature // a subkey's revocations
}

// judgeOpenPGP judges an OpenPGP signature, key looked up first.
func (v *Verifier) judgeOpenPGP(o object, text []byte, author spec.Person) Verdict {
	return careful(func() Verdict {
		sig, why := readSignature(text)
		if why != "" {
			return refused("%s", why)
		}
		name := fmt.Sprintf("OpenPGP key %016X", *sig.IssuerKeyId)
		keys := v.pgp[*sig.IssuerKeyId]
		if len(keys) == 0 {
			return v.unlisted(name, v.pgpFiles())
		}
		at := max(o.committed, sig.CreationTime.Unix())
		good, doubt := Verdict{}, ""
		for _, k := range keys {
			if !k.fits(sig, o.payload) {
				continue
			}
			reason, final := k.invalid(sig, at)
			if final {
				return refused("signed by %s, which %s", name, reason)
			}
			signer, ok := k.holder.signer(at, author)
			switch {
			case reason != "":
				doubt = reason
			case !ok:
				doubt = "has no identity left that is not revoked"
			case good.Verified == "" || k.holder.forge:
				good = believed(signer, name, k.holder.forge, false)
			}
		}
		switch {
		case good.Verified != "":
			return good
		case doubt != "":
			return refused("signed by %s, which %s", name, doubt)
		}
		return refused("the signature by %s does not fit the content", name)
	})
}

// readSignature takes an armored signature apart; why says what is wrong with it.
func readSignature(text []byte) (sig *packet.Signature, why string) {
	const unread = "its OpenPGP signature cannot be read"
	if !oneBlock(text, kindOpenPGP) {
		return nil, "its OpenPGP signature is not one whole block"
	}
	block, err := armor.Decode(bytes.NewReader(text))
	if err != nil || block.Type != string(kindOpenPGP) {
		return nil, unread
	}
	body, err := io.ReadAll(block.Body)
	if err != nil {
		return nil, unread
	}
	if checkFrame(body) != nil {
		return nil, "its OpenPGP signature is not one plain signature packet"
	}
	p, err := packet.Read(bytes.NewReader(body))
	sig, ok := p.(*packet.Signature)
	if err != nil || !ok || sig.IssuerKeyId == nil {
		return nil, unread
	}
	if sig.SigType != packet.SigTypeBinary {
		return nil, "its OpenPGP signature is not one over bytes"
	}
	switch sig.Hash {
	case crypto.SHA256, crypto.SHA384, crypto.SHA512, crypto.SHA3_256, crypto.SHA3_512:
	default:
		return nil, "its OpenPGP signature rests on a hash that is too weak"
	}
	for _, n := range sig.Notations {
		if n.IsCritical {
			return nil, "its OpenPGP signature asks for something that is not known here"
		}
	}
	return sig, ""
}

// fits tells whether the signature is by k over payload.
func (k *signingKey) fits(sig *packet.Signature, payload []byte) bool {
	h, err := sig.PrepareVerify()
	if err != nil {
		return false
	}
	if _, err := h.Write(payload); err != nil {
		return false
	}
	return k.key.VerifySignature(h, sig) == nil
}

// invalid says why a key does not cover a signature that fits; empty = it does.
// Final says that no other copy of the key can make up for it.
func (k *signingKey) invalid(sig *packet.Signature, at int64) (why string, final bool) {
	main := k.holder.entity.PrimaryKey
	switch {
	case revoked(k.holder.entity.Revocations, at) || revoked(k.ends, at):
		return "is revoked", true
	case weak(k.key):
		return "is of a kind that is too weak", true
	case !k.bound.FlagsValid || !k.bound.FlagSign:
		return "may not sign", false
	case k.key.CreationTime.After(sig.CreationTime) || main.CreationTime.Unix() > at:
		return "is younger than the signature", true
	case expired(main, k.holder.self, at) || expired(k.key, k.bound, at):
		return "was expired at the commit's time", false
	case lapsed(sig, at) || lapsed(k.holder.self, at) || lapsed(k.bound, at):
		return "was bound by a signature that was expired at the commit's time", false
	}
	return "", false
}

// revoked tells whether a revocation binds what was signed at that time: one as
// superseded, retired or (of an identity) no longer valid from its own time on,
// any other always.
func revoked(revocations []*packet.Signature, at int64) bool {
	for _, r := range revocations {
		soft := false
		if r.RevocationReason != nil {
			switch *r.RevocationReason {
			case packet.KeySuperseded, packet.KeyRetired, packet.UserIDNotValid:
				soft = true
			}
		}
		if !soft || r.CreationTime.Unix() <= at {
			return true
		}
	}
	return false
}

// expired tells whether a key's life, as its newest self-signature says it, was
// over: a key that was prolonged later covers what it signed in between.
func expired(key *packet.PublicKey, self *packet.Signature, at int64) bool {
	return self.KeyLifetimeSecs != nil && *self.KeyLifetimeSecs != 0 && at > key.CreationTime.Unix()+int64(*self.KeyLifetimeSecs)
}

// lapsed tells whether a signature with an end of its own was past it.
func lapsed(sig *packet.Signature, at int64) bool {
	return sig.SigLifetimeSecs != nil && *sig.SigLifetimeSecs != 0 && at > sig.CreationTime.Unix()+int64(*sig.SigLifetimeSecs)
}

// weak tells keys that a determined attacker can imitate, or that nobody uses.
func weak(key *packet.PublicKey) bool {
	switch key.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		bits, err := key.BitLength()
		return err != nil || bits < minRSABits
	case packet.PubKeyAlgoECDSA, packet.PubKeyAlgoEdDSA, packet.PubKeyAlgoEd25519, packet.PubKeyAlgoEd448:
		return false
	}
	return true
}

// pgpFiles names where an OpenPGP key would have to stand.
func (v *Verifier) pgpFiles() string {
	switch len(v.cfg.Keyrings) {
	case 0:
		return "any file: verify.keyrings is not set"
	case 1:
		return quoted(v.cfg.Keyrings[0])
	}
	return "any of the " + fmt.Sprint(len(v.cfg.Keyrings)) + " keyrings"
}

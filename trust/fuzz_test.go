package trust_test

import (
	"bytes"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/trust"
)

const plainCommit = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@example.com> 1780315200 +0000\ncommitter A <a@example.com> 1780315200 +0000\n\nText\n"

func FuzzSplit(f *testing.F) {
	for _, s := range []string{plainCommit, withSig(plainCommit, "a\n b\n\nc"), withSig(withSig(plainCommit, "a"), "b"),
		"gpgsig\n x\n y\ntree 4b825dc642cb6eb9a060e54bf8d69288fbee4904", "\n", "gpgsig-sha256 a\n\n\n", "", "tree\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		payload, texts, err := trust.Split(raw)
		if !bytes.Equal(before, raw) {
			t.Fatal("the object was written to")
		}
		if err != nil {
			return
		}
		if len(texts) == 0 && !bytes.Equal(payload, raw) {
			t.Fatalf("nothing was taken out of %q, yet %q was signed", raw, payload)
		}
		if len(texts) > 0 && len(payload) >= len(raw) {
			t.Fatalf("%d signatures took no room in %q", len(texts), raw)
		}
		again, more, err := trust.Split(payload)
		if err != nil || len(more) > 0 || !bytes.Equal(again, payload) {
			t.Fatalf("what was signed is no plain object: %q, %d signatures, %v", again, len(more), err)
		}
	})
}

func FuzzCommit(f *testing.F) {
	ssh, pgp := sshKey(f, "alice"), pgpKey(f, "Alice", "alice@example.com", 0)
	cfg := spec.Verify{Mode: "author", AllowedSigners: "signers", Keyrings: []string{"keys"}}
	v := files{"signers": allow("a@example.com", ssh), "keys": armored(f, pgp)}.verifier(f, cfg)
	goods := map[string]bool{}
	for _, sign := range []func([]byte) string{signSSH(f, ssh, "git"), signPGP(f, pgp, noon)} {
		goods[plainCommit] = true
		f.Add([]byte(signed(plainCommit, sign)))
	}
	f.Add([]byte(withSig(plainCommit, "-----BEGIN SIGNED MESSAGE-----")))
	f.Add([]byte(withSig(plainCommit, "-----BEGIN SSH SIGNATURE-----\nbm90IGEgcmVhbCBzaWduYXR1cmU=\n-----END SSH SIGNATURE-----")))
	f.Add([]byte(withSig(plainCommit, "-----BEGIN PGP SIGNATURE-----\n\nwsA=\n-----END PGP SIGNATURE-----")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		author := spec.Person{Mail: "a@example.com"}
		d := v.Commit(raw, author)
		if d.Why == "" {
			t.Fatal("a verdict without a reason")
		}
		if d.Verified == spec.VerifiedTrue {
			if payload, _, err := trust.Split(raw); err != nil || !goods[string(payload)] {
				t.Fatalf("believed what nobody signed: %q", raw)
			}
		} else if d.Signer != "" || d.Forge {
			t.Fatalf("%+v names a signer without believing", d)
		} else if ok, _ := v.Accepts(d, author); ok {
			t.Fatalf("accepted %+v", d)
		}
	})
}

package trust_test

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

func TestModeAuthorWantsTheAuthorsOwnSignature(t *testing.T) {
	w := newWorld(t)
	key := sshKey(t, "alice")
	for _, c := range []struct {
		principal, mail string
		ok              bool
	}{
		{"alice@example.com", "alice@example.com", true},
		{"alice@example.com", "alice@EXAMPLE.com", true},
		{"alice@example.com", "Alice@example.com", false},
		{"alice@example.com", "bob@example.com", false},
		{"alice@example.com", "alice@ехample.com", false}, // Cyrillic letters
		{"alice@example.com", "", false},
		{"*@example.com", "bob@Example.com", true},
		{"*@example.com", "bob@example.com.evil.example", false},
		{"*", "", false},
		{"bob@example.com,alice@example.com", "alice@example.com", true},
	} {
		author := spec.Person{Name: "Alice", Mail: c.mail}
		v := files{"signers": allow(c.principal, key)}.verifier(t, spec.Verify{Mode: "author", AllowedSigners: "signers"})
		d := v.Commit(w.commit(author, signSSH(t, key, "git")), author)
		require.Equal(t, spec.VerifiedTrue, d.Verified, d.Why)
		ok, why := v.Accepts(d, author)
		require.Equal(t, c.ok, ok, "%+v: %s", c, why)
		if !c.ok {
			require.Contains(t, why, "verify.mode is author")
		}
	}
}

func TestAMergeByAForgePassesOnlyWhereTheForgeIsListed(t *testing.T) {
	w := newWorld(t)
	side := w.Branch("side").Commit("Bob <bob@example.com>", "Side")
	w.Switch("main")
	forge, person := pgpKey(t, "Forge", "noreply@forge.example", 0), pgpKey(t, "Alice", "alice@example.com", 0)
	text := w.unsigned(alice, "Merge pull request #7\n", side)
	_, raw := w.stored(signed(text, signPGP(t, forge, noon)))
	f := files{"keys": armored(t, person, forge), "people": armored(t, person), "forge.asc": armored(t, forge)}
	for name, c := range map[string]struct {
		cfg    spec.Verify
		forge  bool
		signed bool
		author bool
	}{
		"listed by name":        {spec.Verify{Keyrings: []string{"keys"}, Forges: []string{"forge"}}, true, true, true},
		"listed by mail":        {spec.Verify{Keyrings: []string{"keys"}, Forges: []string{"noreply@forge.example"}}, true, true, true},
		"listed by file":        {spec.Verify{Keyrings: []string{"people"}, Forges: []string{"forge.asc"}}, true, true, true},
		"in a keyring, as well": {spec.Verify{Keyrings: []string{"keys"}, Forges: []string{"forge.asc"}}, true, true, true},
		"not listed as a forge": {spec.Verify{Keyrings: []string{"keys"}}, false, true, false},
		"another forge":         {spec.Verify{Keyrings: []string{"keys"}, Forges: []string{"alice@example.com"}}, false, true, false},
		"not known":             {spec.Verify{Keyrings: []string{"people"}}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for mode, want := range map[string]bool{"none": true, "signed": c.signed, "author": c.author} {
				c.cfg.Mode = mode
				v := f.verifier(t, c.cfg)
				d := v.Commit(raw, alice)
				require.Equal(t, c.forge, d.Forge)
				ok, why := v.Accepts(d, alice)
				require.Equal(t, want, ok, "%s: %s", mode, why)
				if c.forge {
					require.Equal(t, "noreply@forge.example", d.Signer, "never the author of the merge")
					require.Contains(t, d.Why, "signed for its author by the forge")
				}
			}
		})
	}
}

func TestAForgeMaySignWithSSH(t *testing.T) {
	w := newWorld(t)
	key := sshKey(t, "forge")
	raw := w.commit(alice, signSSH(t, key, "git"))
	f := files{"signers": allow("forge@forge.example", key), "etc/forge": allow("forge@forge.example", key)}
	fingerprint := strings.Fields(f.verifier(t, sshOnly).Commit(raw, alice).Why)[6]
	for _, cfg := range []spec.Verify{
		{Mode: "author", Forges: []string{"etc/forge"}},
		{Mode: "author", AllowedSigners: "signers", Forges: []string{"forge@forge.example"}},
		{Mode: "author", AllowedSigners: "signers", Forges: []string{fingerprint}},
	} {
		v := f.verifier(t, cfg)
		d := v.Commit(raw, alice)
		require.True(t, d.Forge, d.Why)
		ok, why := v.Accepts(d, alice)
		require.True(t, ok, why)
	}
}

func TestNobodyBecomesAForgeByTakingItsName(t *testing.T) {
	forge, eve := pgpKey(t, "Forge", "noreply@forge.example", 0), pgpKey(t, "Forge", "eve@evil.example", 0)
	cfg := spec.Verify{Mode: "author", Keyrings: []string{"keys"}, Forges: []string{"forge"}}
	requireMistakes(t, files{"keys": armored(t, forge, eve)}, cfg, "verify.forges[0]: 2 keys are called forge")
	cfg.Forges = []string{"noreply@forge.example"}
	files{"keys": armored(t, forge, eve)}.verifier(t, cfg)
}

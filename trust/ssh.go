package trust

import (
	"bytes"
	"fmt"

	"github.com/hiddeco/sshsig"
	"github.com/pawl-dev/pawl/spec"
	"golang.org/x/crypto/ssh"
)

// namespace is what git signs commits for; a signature for anything else, such
// as a file, says nothing about a commit.
const namespace = "git"

// judgeSSH judges an SSH signature. The key is looked up first: no work is done
// with keys that only the commit brings.
func (v *Verifier) judgeSSH(o object, text []byte, author spec.Person) Verdict {
	if !oneBlock(text, kindSSH) {
		return refused("its SSH signature is not one whole block")
	}
	return careful(func() Verdict {
		sig, err := sshsig.Unarmor(text)
		if err != nil {
			return refused("its SSH signature cannot be read")
		}
		if _, isCert := sig.PublicKey.(*ssh.Certificate); isCert {
			return refused("signed with an SSH certificate, which is not supported")
		}
		key := "SSH key " + ssh.FingerprintSHA256(sig.PublicKey)
		if sig.Namespace != namespace {
			return refused("signed by %s for the purpose %q, not for git", key, cut(sig.Namespace))
		}
		lines := v.ssh[string(sig.PublicKey.Marshal())]
		if len(lines) == 0 {
			return v.unlisted(key, v.sshFiles())
		}
		if sshsig.Verify(bytes.NewReader(o.payload), sig, lines[0].key, sig.HashAlgorithm, namespace) != nil {
			return refused("the signature by %s does not fit the content", key)
		}
		return pickLine(lines, key, o.committed, author)
	})
}

// pickLine finds the line of allowed_signers that counts: a forge's first, then
// one with the author's mail, then one with a pattern that covers it, then the
// first that is valid at all.
func pickLine(lines []*signerLine, key string, at int64, author spec.Person) Verdict {
	var best Verdict
	rank, why := -1, ""
	for _, l := range lines {
		if reason := l.invalid(at); reason != "" {
			if why == "" {
				why = fmt.Sprintf("signed by %s, which %s (%s:%d)", key, reason, quoted(l.path), l.line)
			}
			continue
		}
		for _, p := range l.principals {
			pattern := isPattern(p)
			r := 0
			switch {
			case l.forge:
				r = 3
			case !pattern && signsFor(p, false, author.Mail):
				r = 2
			case pattern && signsFor(p, true, author.Mail):
				r = 1
			}
			if r > rank {
				rank, best = r, believed(p, key, l.forge, pattern)
			}
		}
	}
	if rank < 0 {
		return refused("%s", why)
	}
	return best
}

// sshFiles names where an SSH key would have to stand.
func (v *Verifier) sshFiles() string {
	if v.cfg.AllowedSigners == "" {
		return "any file: verify.allowedSigners is not set"
	}
	return quoted(v.cfg.AllowedSigners)
}

// cut bounds a text from outside in a message.
func cut(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

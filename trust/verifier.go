package trust

import (
	"fmt"

	"github.com/pawl-dev/pawl/spec"
)

// Modes of spec.Verify. An empty mode is ModeNone.
const (
	ModeNone   = "none"   // judge and tell, refuse nothing
	ModeSigned = "signed" // by anybody in the files
	ModeAuthor = "author" // by the author, or by a forge for the author
)

// Verdict is what is known of a commit's signature.
type Verdict struct {
	// Verified is spec.VerifiedTrue for a signature that fits and is by a key of
	// the files, valid at that time; spec.VerifiedUnknown if there are no files
	// to judge by; else spec.VerifiedFalse. That a signature is there never
	// makes it true, and one that can be read by nobody makes it false even
	// without files.
	Verified string
	Signer   string // identity or principal from the files; empty unless Verified is true
	Forge    bool   // made by a forge's key for the author, not by the author
	Why      string // for people; no line breaks, nothing raw from the commit

	pattern bool // Signer is a principal with * or ?, which stands for many
}

// Verifier judges commits by the files of one Pavilion.
type Verifier struct {
	cfg spec.Verify
	ssh map[string][]*signerLine // by wire form of the key
	pgp map[uint64][]*signingKey // by key id
}

// Commit judges raw, a commit object as `git cat-file commit` prints it (headers
// and message, without the length that loose objects begin with). Author is the
// commit's author as it was decoded: where a key has several identities or
// principals, the one with the author's mail is named as Signer. It never
// panics, whatever raw is; a commit of over 1 MiB is not verified.
func (v *Verifier) Commit(raw []byte, author spec.Person) Verdict {
	o, err := split(raw)
	if err != nil {
		return refused("%v", err)
	}
	switch {
	case len(o.signatures) == 0 && v.empty():
		return Verdict{Verified: spec.VerifiedUnknown, Why: "not signed, and nothing is configured to judge by"}
	case len(o.signatures) == 0:
		return refused("not signed")
	case len(o.signatures) > 1:
		return refused("it carries %d signatures, only one can be judged", len(o.signatures))
	}
	if got, want := o.signatures[0].header, o.wantHeader(); got != want {
		return refused("its signature is in the header %s, one of this object would be in %s", got, want)
	}
	text := o.signatures[0].text
	if len(text) > maxSignature {
		return refused("its signature is over the limit of 64 KiB")
	}
	switch kindOf(text) {
	case kindSSH:
		return v.judgeSSH(o, text, author)
	case kindOpenPGP:
		return v.judgeOpenPGP(o, text, author)
	case kindX509:
		return refused("X.509 signatures are not supported: sign with SSH or OpenPGP")
	}
	return refused("its signature is of no known kind")
}

// Accepts tells by the mode whether a commit with the verdict d may pass, and
// why (not). Author must be the one that d was asked for with.
//
// Mode none lets everything pass. Mode signed asks for Verified true, a forge's
// signature counts. Mode author asks for more: the signer's mail must be the
// author's, the domain without regard to case, the part before the @ exactly;
// a principal that is a pattern must match the author's mail; a forge listed in
// Forges vouches for whatever author its commit names. An author without a mail
// has signed nothing.
func (v *Verifier) Accepts(d Verdict, author spec.Person) (ok bool, why string) {
	if v.cfg.Mode == ModeNone {
		return true, "signatures are not asked for"
	}
	if d.Verified != spec.VerifiedTrue {
		return false, fmt.Sprintf("verify.mode is %s: %s", v.cfg.Mode, d.Why)
	}
	if v.cfg.Mode != ModeAuthor || d.Forge {
		return true, d.Why
	}
	if signsFor(d.Signer, d.pattern, author.Mail) {
		return true, d.Why
	}
	return false, fmt.Sprintf("verify.mode is author: signed by %s, but the author's mail is %q", quoted(d.Signer), author.Mail)
}

// signsFor tells whether a signer's mail, or a pattern of mails, covers a mail.
func signsFor(signer string, pattern bool, mail string) bool {
	if pattern {
		return mail != "" && spec.GlobMail(signer, mail)
	}
	return spec.SameMail(signer, mail)
}

// empty tells that there is nothing to judge by.
func (v *Verifier) empty() bool { return len(v.ssh) == 0 && len(v.pgp) == 0 }

// unlisted is the verdict on a signature by a key that is not in the files.
func (v *Verifier) unlisted(key, files string) Verdict {
	if v.empty() {
		return Verdict{Verified: spec.VerifiedUnknown, Why: "signed by " + key + ", and nothing is configured to judge by"}
	}
	return refused("signed by %s, which is not in %s", key, files)
}

func refused(format string, args ...any) Verdict {
	return Verdict{Verified: spec.VerifiedFalse, Why: fmt.Sprintf(format, args...)}
}

// believed is the verdict on a good signature by key.
func believed(signer, key string, forge, pattern bool) Verdict {
	why := fmt.Sprintf("signed by %s with %s", quoted(signer), key)
	if forge {
		why = fmt.Sprintf("signed for its author by the forge %s with %s", quoted(signer), key)
	}
	return Verdict{Verified: spec.VerifiedTrue, Signer: signer, Forge: forge, Why: why, pattern: pattern}
}

// quoted prints an identity bare, unless it could confuse a terminal or a log.
func quoted(s string) string { return spec.QuotePath(s) }

// careful runs what takes apart foreign bytes in libraries: a panic there is a
// signature that cannot be read, not the end of the process.
func careful(judge func() Verdict) (d Verdict) {
	defer func() {
		if recover() != nil {
			d = refused("its signature cannot be read")
		}
	}()
	return judge()
}

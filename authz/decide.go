package authz

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pawl-dev/pawl/spec"
)

// Who asks: claims (Name, Mail) and what is proven of them.
type Who struct {
	Name, Mail string
	Signer     string // identity of the key, of no weight unless Verified is spec.VerifiedTrue
	Verified   string // spec.VerifiedTrue, VerifiedFalse or VerifiedUnknown
}

// Decision is the answer to one question.
type Decision struct {
	Allowed bool
	Rule    int    // index of the entry that allowed it; -1 = none did
	Why     string // for people; names from outside are quoted
}

// Decide tells whether a policy lets who do op on the spec key. An empty policy
// lets everybody do everything; else at least one entry must match in who, op
// and job, and the first that does is named. So an entry can only add to what is
// allowed, and the order of entries changes nothing but Rule and Why.
//
// A subscription is asked for as subscription/NAME, a removal as op STOP. An
// entry that leaves out a part of who, its ops or its jobs does not care about
// it. Patterns are those of spec.Glob, mails and signers by spec.GlobMail.
func Decide(policy []spec.Policy, who Who, op spec.Op, key spec.Key) Decision {
	if len(policy) == 0 {
		return Decision{Allowed: true, Rule: -1, Why: "there is no policy: everybody may do everything"}
	}
	for i, entry := range policy {
		if why := refusal(entry, who, op, key); why == "" {
			return Decision{Allowed: true, Rule: i, Why: fmt.Sprintf("policy[%d] lets %s do %s on %s", i, who, word(op), quote(key.String()))}
		}
	}
	return Decision{Rule: -1, Why: fmt.Sprintf("no entry of the policy lets %s do %s on %s; `authz explain` tells why, entry by entry", who, word(op), quote(key.String()))}
}

// refusal says what about an entry does not match; empty = all of it matches.
func refusal(p spec.Policy, who Who, op spec.Op, key spec.Key) string {
	switch {
	case p.WhoName != "" && !spec.Glob(p.WhoName, who.Name):
		return fmt.Sprintf("name %s does not match %s", quote(who.Name), quote(p.WhoName))
	case p.WhoMail != "" && !spec.GlobMail(p.WhoMail, who.Mail):
		return fmt.Sprintf("mail %s does not match %s", quote(who.Mail), quote(p.WhoMail))
	case p.WhoSigner != "" && !who.proven():
		return fmt.Sprintf("it asks for a signer like %s, and no signer is proven (verified: %s)", quote(p.WhoSigner), quote(who.Verified))
	case p.WhoSigner != "" && !spec.GlobMail(p.WhoSigner, who.Signer):
		return fmt.Sprintf("signer %s does not match %s", quote(who.Signer), quote(p.WhoSigner))
	case len(p.Ops) > 0 && !slices.Contains(p.Ops, string(op)):
		return fmt.Sprintf("%s is none of its ops", word(op))
	case p.Jobs != "" && !spec.Glob(p.Jobs, key.String()):
		return fmt.Sprintf("%s does not match %s", quote(key.String()), quote(p.Jobs))
	}
	return ""
}

// proven tells whether the signer may be believed.
func (w Who) proven() bool { return w.Verified == spec.VerifiedTrue && w.Signer != "" }

// String is who for people, quoted where a name could confuse a terminal or a log.
func (w Who) String() string {
	s := quote(spec.Person{Name: w.Name, Mail: w.Mail}.String())
	if w.proven() {
		s += " signed by " + quote(w.Signer)
	}
	return s
}

func quote(s string) string { return strconv.Quote(s) }

// word prints an op bare, as long as it is a word.
func word(op spec.Op) string { return spec.QuotePath(string(op)) }

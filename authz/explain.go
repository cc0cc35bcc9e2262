package authz

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// Explain answers the question of Decide for people: the question, then what
// each entry says to it and why, then the decision; a line each.
func Explain(policy []spec.Policy, who Who, op spec.Op, key spec.Key) string {
	var b strings.Builder
	fmt.Fprintf(&b, "may %s do %s on %s?\n", who, word(op), quote(key.String()))
	for i, entry := range policy {
		answer := "allows"
		if why := refusal(entry, who, op, key); why != "" {
			answer = "no: " + why
		}
		fmt.Fprintf(&b, "policy[%d] (%s): %s\n", i, describe(entry), answer)
	}
	d := Decide(policy, who, op, key)
	switch {
	case !d.Allowed:
		b.WriteString("refused: no entry allows it\n")
	case d.Rule < 0:
		b.WriteString("allowed: " + d.Why + "\n")
	default:
		fmt.Fprintf(&b, "allowed by policy[%d]\n", d.Rule)
	}
	return b.String()
}

// describe tells an entry in a line.
func describe(p spec.Policy) string {
	var who []string
	for _, part := range [][2]string{{"name", p.WhoName}, {"mail", p.WhoMail}, {"signer", p.WhoSigner}} {
		if part[1] != "" {
			who = append(who, part[0]+" "+quote(part[1]))
		}
	}
	text := "anybody"
	if len(who) > 0 {
		text = strings.Join(who, " and ")
	}
	if len(p.Ops) > 0 {
		text += "; " + strings.Join(p.Ops, ", ")
	} else {
		text += "; every op"
	}
	if p.Jobs != "" {
		return text + "; " + quote(p.Jobs)
	}
	return text + "; everything"
}

package gitsource

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

const (
	maxSubject   = 200 // characters
	maxCoAuthors = 20
)

// subject is the first line that is not empty, on one line for good: characters
// that could forge another are escaped.
func subject(message string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(message, " \t\r\n"), "\n")
	line = cut(strings.TrimRight(line, " \t\r"), maxSubject)
	var b strings.Builder
	for _, c := range line {
		switch {
		case c == '\t':
			b.WriteByte(' ')
		case invisible(c) && c < 0x80:
			fmt.Fprintf(&b, `\x%02x`, c)
		case invisible(c):
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	return cut(b.String(), maxSubject)
}

// notes reads what a message says of itself. A commit id wins over a number as
// what is reverted; of several picks the last counts.
func notes(message string) spec.Notes {
	var n spec.Notes
	title := subject(message)
	n.PullRequest = pullRequest(title)
	number := ""
	if quoted, ok := strings.CutPrefix(title, `Revert "`); ok {
		quoted = quoted[:max(0, strings.LastIndexByte(quoted, '"'))]
		number = hash(trailingNumber(quoted))
	}
	for line := range strings.SplitSeq(message, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if rest, ok := strings.CutPrefix(line, "This reverts commit "); ok && n.RevertOf == "" {
			n.RevertOf = commitID(rest)
		}
		if rest, ok := strings.CutPrefix(line, "Reverts "); ok {
			if repo, digits, ok := strings.Cut(rest, "#"); ok && !strings.Contains(repo, " ") {
				if found := hash(leadingNumber(digits)); found != "" {
					number = found
				}
			}
		}
		if rest, ok := strings.CutPrefix(line, "(cherry picked from commit "); ok {
			if id := commitID(rest); id != "" {
				n.CherryPickOf = id
			}
		}
		if key, who, ok := strings.Cut(line, ":"); ok && strings.EqualFold(key, "co-authored-by") && len(n.CoAuthors) < maxCoAuthors {
			if p := parsePerson([]byte(who), func(b []byte) string { return string(b) }); p.Name != "" || p.Mail != "" {
				n.CoAuthors = append(n.CoAuthors, spec.Person{Name: p.Name, Mail: p.Mail})
			}
		}
	}
	if n.RevertOf == "" {
		n.RevertOf = number
	}
	return n
}

// pullRequest is 12 for "title (#12)" and "Merge pull request #12 from …".
func pullRequest(title string) int {
	if rest, ok := strings.CutPrefix(title, "Merge pull request #"); ok {
		return leadingNumber(rest)
	}
	return trailingNumber(title)
}

// trailingNumber is 12 for "… (#12)", else 0.
func trailingNumber(s string) int {
	body, ok := strings.CutSuffix(s, ")")
	i := strings.LastIndex(body, "(#")
	if !ok || i < 0 {
		return 0
	}
	if n := leadingNumber(body[i+2:]); strconv.Itoa(n) == body[i+2:] {
		return n
	}
	return 0
}

// leadingNumber reads up to nine digits, 0 if there are none.
func leadingNumber(s string) int {
	n, i := 0, 0
	for ; i < len(s) && i < 9 && s[i] >= '0' && s[i] <= '9'; i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// hash writes a number as forges do; nothing for 0.
func hash(n int) string {
	if n == 0 {
		return ""
	}
	return "#" + strconv.Itoa(n)
}

// commitID is the commit id that s begins with: 7 to 40 hex digits, then no letter.
func commitID(s string) string {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'f') {
		n++
	}
	if n < 7 || n > 40 || (n < len(s) && !strings.ContainsRune(" .,;)", rune(s[n]))) {
		return ""
	}
	return s[:n]
}

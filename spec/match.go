package spec

import (
	"strings"
	"unicode/utf8"
)

// Glob tells whether s is one of those that the pattern means: * is any run of
// characters, the empty one and '/' included, ? is one character, all else is
// itself; there are no character classes and no escapes. It compares exactly:
// neither case nor look-alike characters are folded. It takes at most
// len(pattern) * len(s) steps, whatever the pattern.
func Glob(pattern, s string) bool {
	p, i := 0, 0
	star, resume := -1, 0 // behind the last * seen, and where in s what follows it was tried last
	for i < len(s) {
		_, n := utf8.DecodeRuneInString(s[i:])
		_, m := utf8.DecodeRuneInString(pattern[p:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			p++
			star, resume = p, i
		case p < len(pattern) && (pattern[p] == '?' || pattern[p:p+m] == s[i:i+n]):
			p, i = p+m, i+n
		case star >= 0:
			_, n = utf8.DecodeRuneInString(s[resume:])
			resume += n
			p, i = star, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// GlobMail is Glob for mail addresses: the part behind the last @ is compared
// without regard to the case of ASCII letters, as the names of domains are, the
// part before it exactly.
func GlobMail(pattern, mail string) bool { return Glob(foldDomain(pattern), foldDomain(mail)) }

// SameMail tells whether two addresses are one, by the rule of GlobMail. The
// empty address equals none.
func SameMail(a, b string) bool { return a != "" && foldDomain(a) == foldDomain(b) }

func foldDomain(mail string) string {
	at := strings.LastIndexByte(mail, '@')
	if at < 0 {
		return mail
	}
	b := []byte(mail)
	for i, c := range b[at:] {
		if c >= 'A' && c <= 'Z' {
			b[at+i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

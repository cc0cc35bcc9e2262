package gitsource

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/spec"
)

// maxName bounds a name or mail address, in characters.
const maxName = 200

// parsePerson reads "name <mail> seconds zone" as far as it goes.
func parsePerson(line []byte, decode func([]byte) string) spec.Person {
	name, rest, ok := bytes.Cut(line, []byte("<"))
	if !ok {
		return spec.Person{Name: clean(decode(line))}
	}
	mail, _, _ := bytes.Cut(rest, []byte(">"))
	p := spec.Person{Name: clean(decode(name)), Mail: clean(decode(mail))}
	if i := bytes.LastIndexByte(rest, '>'); i >= 0 {
		p.When = seconds(rest[i+1:])
	}
	return p
}

// seconds is the first word if it is 1 to 11 digits, else 0.
func seconds(b []byte) int64 {
	word, _, _ := bytes.Cut(bytes.TrimLeft(b, " "), []byte(" "))
	if len(word) < 1 || len(word) > 11 {
		return 0
	}
	for _, c := range word {
		if c < '0' || c > '9' {
			return 0
		}
	}
	n, err := strconv.ParseInt(string(word), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// clean takes out of a name what is no text, and what would let it break out of
// "Name <mail>"; surrounding space goes too.
func clean(s string) string {
	s = strings.Map(func(c rune) rune {
		if invisible(c) || c == '<' || c == '>' {
			return -1
		}
		return c
	}, s)
	return strings.TrimSpace(cut(strings.TrimSpace(s), maxName))
}

// invisible tells control characters, line separators and those that turn the
// direction of what follows.
func invisible(c rune) bool {
	return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' ||
		(c >= '\u202A' && c <= '\u202E') || (c >= '\u2066' && c <= '\u2069')
}

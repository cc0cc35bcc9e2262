package gitsource

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// rule is one pattern, compiled: matching takes time proportional to the path.
// go-git's own matcher differs from git (classes with !, "a/**", several "**"),
// and what it gets wrong would stop or start jobs.
type rule struct {
	include  bool // it begins with !: what it matches is not ignored
	folders  bool // it ends with /: it matches folders alone
	anchored bool // it has another /: it is about the whole path
	literal  string
	tail     string         // what each match ends with
	re       *regexp.Regexp // nil: literal is the whole pattern
}

func (r *rule) matches(rel, base string, folder bool) bool {
	if r.folders && !folder {
		return false
	}
	name := base
	if r.anchored {
		name = rel
	}
	if r.re == nil {
		return name == r.literal
	}
	return strings.HasSuffix(name, r.tail) && r.re.MatchString(name)
}

// parseRule reads a line; nil is a comment or an empty one.
func parseRule(line string) (*rule, error) {
	text := trimSpaces(line)
	if text == "" || text[0] == '#' {
		return nil, nil
	}
	r := &rule{}
	text, r.include = strings.CutPrefix(text, "!")
	text, r.folders = strings.CutSuffix(text, "/")
	r.anchored = strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		return nil, errors.New("this pattern matches nothing")
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }); i >= 0 {
		return nil, fmt.Errorf("control character U+%04X: remove it", text[i])
	}
	return r, r.compile(byteRunes(text))
}

// trimSpaces takes spaces off the end that no backslash keeps.
func trimSpaces(s string) string {
	end := len(s)
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
			end = len(s)
		case s[i] == ' ' && end == len(s):
			end = i
		case s[i] != ' ':
			end = len(s)
		}
	}
	return s[:end]
}

// byteRunes makes each byte a character of its own, which is what ? and [...]
// stand for in git.
func byteRunes(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			runes := make([]rune, len(s))
			for j := range len(s) {
				runes[j] = rune(s[j])
			}
			return string(runes)
		}
	}
	return s
}

// compile translates a pattern into a regular expression, or finds that it is
// plain text.
func (r *rule) compile(p string) error {
	g := glob{in: []rune(p), anchored: r.anchored}
	g.out.WriteString(`(?s)\A`)
	for g.at < len(g.in) {
		if err := g.next(); err != nil {
			return err
		}
	}
	r.tail = g.tail.String()
	if !g.special {
		r.literal = r.tail
		return nil
	}
	g.out.WriteString(`\z`)
	re, err := regexp.Compile(g.out.String())
	if err != nil {
		return errors.New("this pattern is too complicated")
	}
	r.re = re
	return nil
}

// glob is a pattern that is being translated.
type glob struct {
	in      []rune
	at      int
	out     strings.Builder
	tail    strings.Builder // plain text since the last special character
	special bool

	anchored bool // about a whole path
	escaped  bool // there was a backslash
}

func (g *glob) plain(c rune) {
	g.out.WriteString(regexp.QuoteMeta(string(c)))
	g.tail.WriteRune(c)
}

func (g *glob) any(expr string) {
	g.out.WriteString(expr)
	g.tail.Reset()
	g.special = true
}

func (g *glob) next() error {
	c := g.in[g.at]
	g.at++
	switch c {
	case '\\':
		g.escaped = true
		if g.at == len(g.in) {
			return errors.New(`a \ at the end of the pattern`)
		}
		g.plain(g.in[g.at])
		g.at++
	case '?':
		g.any(`[^/]`)
	case '[':
		return g.class()
	case '*':
		g.stars()
	default:
		g.plain(c)
	}
	return nil
}

// stars are any characters of a name, or, two or more as a whole component, any
// number of folders.
func (g *glob) stars() {
	start := g.at - 1
	for g.at < len(g.in) && g.in[g.at] == '*' {
		g.at++
	}
	// git takes off the plain text that a pattern about a whole path begins
	// with, and so sees these at the start of the rest
	first := start == 0 || g.in[start-1] == '/' || g.anchored && !g.special && !g.escaped
	last := g.at == len(g.in)
	switch {
	case g.at-start < 2 || !first || !last && g.in[g.at] != '/':
		g.any(`[^/]*`)
	case last:
		g.any(`.*`)
	default:
		g.at++ // with its slash
		g.any(`(?:.*/)?`)
	}
}

package gitsource

import (
	"errors"
	"fmt"
	"strings"
)

var errClass = errors.New("a [ without its ]")

// namedClasses are those of git, for single bytes, without the slash.
var namedClasses = map[string]string{
	"alnum": `0-9A-Za-z`, "alpha": `A-Za-z`, "blank": ` \t`, "cntrl": `\x00-\x1f\x7f`, "digit": `0-9`, "graph": `!-.0-~`,
	"lower": `a-z`, "print": ` -.0-~`, "punct": `!-.:-@\[-` + "`" + `{-~`, "space": ` \t\n\v\f\r`, "upper": `A-Z`, "xdigit": `0-9A-Fa-f`,
}

// class translates [...]; a slash is never in one.
func (g *glob) class() error {
	var set strings.Builder
	negated := false
	if g.at < len(g.in) && (g.in[g.at] == '!' || g.in[g.at] == '^') {
		negated = true
		g.at++
	}
	for first := true; ; first = false {
		if g.at >= len(g.in) {
			return errClass
		}
		if g.in[g.at] == ']' && !first {
			g.at++
			break
		}
		if err := g.member(&set); err != nil {
			return err
		}
	}
	switch {
	case negated:
		g.any(`[^/` + set.String() + `]`)
	case set.Len() == 0:
		return errors.New("a [...] that no name can match")
	default:
		g.any(`[` + set.String() + `]`)
	}
	return nil
}

// member is a character, a range or a named class.
func (g *glob) member(set *strings.Builder) error {
	if g.in[g.at] == '[' && g.at+1 < len(g.in) && g.in[g.at+1] == ':' {
		return g.named(set)
	}
	low, err := g.character()
	if err != nil {
		return err
	}
	high := low
	if g.at+1 < len(g.in) && g.in[g.at] == '-' && g.in[g.at+1] != ']' {
		g.at++
		if high, err = g.character(); err != nil {
			return err
		}
		if high < low {
			return fmt.Errorf("the range %q-%q runs backwards", low, high)
		}
	}
	addRange(set, low, min(high, '/'-1))
	addRange(set, max(low, '/'+1), high)
	return nil
}

// character is one of a class, with its backslash.
func (g *glob) character() (rune, error) {
	if g.in[g.at] == '\\' {
		g.at++
	}
	if g.at >= len(g.in) {
		return 0, errClass
	}
	c := g.in[g.at]
	g.at++
	return c, nil
}

func (g *glob) named(set *strings.Builder) error {
	rest := string(g.in[g.at+2:])
	name, _, ok := strings.Cut(rest, ":]")
	if !ok {
		return errClass
	}
	members, ok := namedClasses[name]
	if !ok {
		return fmt.Errorf("there is no class [:%s:]", cut(name, 20))
	}
	set.WriteString(members)
	g.at += 2 + len([]rune(name)) + 2
	return nil
}

func addRange(set *strings.Builder, low, high rune) {
	if low <= high {
		fmt.Fprintf(set, `\x{%x}-\x{%x}`, low, high)
	}
}

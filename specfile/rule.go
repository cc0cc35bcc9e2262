package specfile

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/gid"
	"github.com/pawl-dev/pawl/spec"
)

// A rule says which strings a field takes: pattern, length and values are for
// editors, check decides.
type rule struct {
	check   func(string) error
	pattern string
	values  []string
	max     int // characters
}

const (
	labelPattern = `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	maxWord      = 253
)

func label() rule      { return rule{check: spec.CheckName, pattern: labelPattern, max: 63} }
func tenantName() rule { return rule{check: spec.CheckTenant, pattern: labelPattern, max: 63} }

// word is a name that is only ever compared and printed.
func word() rule {
	return rule{pattern: `^\S(.*\S)?$`, max: maxWord, check: func(s string) error {
		switch {
		case s == "":
			return errors.New("must not be empty")
		case utf8.RuneCountInString(s) > maxWord:
			return fmt.Errorf("%s characters (limit %d)", commas(utf8.RuneCountInString(s)), maxWord)
		case strings.TrimSpace(s) != s:
			return fmt.Errorf("%s begins or ends with a space: remove it", show(s))
		}
		return printable(s, false)
	}}
}

// prose is text of several lines for people.
func prose() rule {
	return rule{max: spec.MaxValueBytes, check: func(s string) error { return printable(s, true) }}
}

// printable refuses characters that confuse a terminal or a reader.
func printable(s string, lines bool) error {
	for _, r := range s {
		switch {
		case isFormat(r):
			return fmt.Errorf("bidirectional control character U+%04X: remove it", r)
		case isControl(r) && !(lines && (r == '\n' || r == '\t')):
			return fmt.Errorf("control character U+%04X: remove it", r)
		}
	}
	return nil
}

func oneOf(values ...string) rule {
	return rule{values: values, check: func(s string) error {
		if slices.Contains(values, s) {
			return nil
		}
		return fmt.Errorf("%s is not one of %s%s", show(s), strings.Join(values, ", "), suggest(s, values))
	}}
}

func cid() rule {
	return rule{pattern: `^[A-Z0-9]{4}$`, check: brief(func(s string) error { _, err := gid.ParseCID(s); return err })}
}

func pavilionID() rule {
	return rule{pattern: `^[A-Z]+:[a-z0-9]+$`, check: brief(func(s string) error { _, err := gid.ParsePavilion(s); return err })}
}

// targetID is an id of a tenant's document, or of the platform's, where ids have no Pavilion.
func targetID(platform bool, classes ...gid.Class) rule {
	if platform {
		return bare(classes...)
	}
	return local(classes...)
}

// local is an id with its Pavilion: NT:1-K0001.
func local(classes ...gid.Class) rule {
	return rule{pattern: `^[A-Z]+:[a-z0-9]+-` + classPattern(classes), check: brief(func(s string) error {
		id, err := gid.ParseLocal(s)
		if err != nil {
			return err
		}
		return wantClass(s, id.Class(), classes)
	})}
}

// bare is an id of the platform, without a Pavilion: K0001.
func bare(classes ...gid.Class) rule {
	return rule{pattern: "^" + classPattern(classes), check: brief(func(s string) error {
		id, err := gid.ParseLocal("P:0-" + s)
		if err != nil || id.Class() == gid.Job {
			return fmt.Errorf("%s is not K, E or D with four of 0-9 A-Z a-z (like K0001): the platform's ids have no Pavilion", show(s))
		}
		return wantClass(s, id.Class(), classes)
	})}
}

func classPattern(classes []gid.Class) string {
	set := ""
	for _, c := range classes {
		set += string(c)
	}
	return "[" + set + "][0-9A-Za-z]{4}$"
}

func wantClass(s string, have gid.Class, want []gid.Class) error {
	if slices.Contains(want, have) {
		return nil
	}
	names := make([]string, len(want))
	for i, c := range want {
		names[i] = fmt.Sprintf("%s %s (%c)", article(c), c, c)
	}
	return fmt.Errorf("%s is the id of %s %s where that of %s belongs", show(s), article(have), have, strings.Join(names, " or "))
}

func article(c gid.Class) string {
	if c == gid.Episode {
		return "an"
	}
	return "a"
}

// brief spares a parser, and the reader of its error, a value far too long.
func brief(check func(string) error) func(string) error {
	return func(s string) error {
		if len(s) > 80 {
			return fmt.Errorf("id of %s bytes: %s is longer than any id", commas(len(s)), show(s))
		}
		if err := check(s); err != nil {
			return errors.New(strings.ReplaceAll(err.Error(), gid.ErrInvalid.Error()+": ", ""))
		}
		return nil
	}
}

func commit(also ...string) rule {
	pattern := strings.Join(append(slices.Clone(also), "[0-9a-f]{40}"), "|")
	return rule{pattern: "^(" + pattern + ")$", check: func(s string) error {
		if slices.Contains(also, s) || len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" {
			return nil
		}
		return fmt.Errorf("%s is not a full commit id (40 hex digits)%s", show(s), orOneOf(also))
	}}
}

func orOneOf(values []string) string {
	values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
	if len(values) == 0 {
		return ""
	}
	return ", nor one of " + strings.Join(values, ", ")
}

func glob() rule {
	return rule{max: maxWord, check: func(s string) error {
		if err := word().check(s); err != nil {
			return err
		}
		if strings.ContainsAny(s, `[\`) { // else one would be taken for a set or an escape, and match nothing
			return fmt.Errorf("%s is not a pattern: only * (any run of characters) and ? (one character) stand for others", show(s))
		}
		return nil
	}}
}

// folder is a relative path that stays where it starts.
func folder() rule {
	return rule{max: 4096, check: func(s string) error {
		if err := printable(s, false); err != nil {
			return err
		}
		if s == "" || path.IsAbs(s) || path.Clean(s) != strings.TrimSuffix(s, "/") || s == ".." || strings.HasPrefix(s, "../") {
			return fmt.Errorf("%s is not a plain relative path (like specs/live, or . for the whole repository)", show(s))
		}
		return nil
	}}
}

// address is where a repository is; it may hold a secret, so it is never shown.
func address() rule {
	return rule{max: 4096, check: func(s string) error {
		if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\n") || printable(s, false) != nil {
			return errors.New("is not the address of a repository")
		}
		u, err := url.Parse(s)
		if err != nil || u.User == nil {
			return nil // a path, or user@host:path
		}
		password, ok := u.User.Password()
		if _, name, ref := spec.SplitReference(password); ok && (!ref || name == "") {
			return errors.New("a password in the address: leave it out, or write a reference (env:NAME) in its place")
		}
		return nil
	}}
}

func filePath() rule {
	return rule{max: 4096, check: func(s string) error {
		if s == "" {
			return errors.New("must not be empty")
		}
		return printable(s, false)
	}}
}

package trust

import (
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/spec"
	"golang.org/x/crypto/ssh"
)

// Limits of an allowed_signers file.
const (
	maxSigners     = 1 << 20 // bytes
	maxSignerLines = 10_000
	minRSABits     = 2048
)

// signerLine is one line of an allowed_signers file: who a key speaks for, for
// what and when.
type signerLine struct {
	path          string
	line          int
	principals    []string
	namespaces    []string // globs; empty = all
	after, before int64    // seconds, both ends included; 0 = no bound
	key           ssh.PublicKey
	forge         bool
}

// invalid says why a line does not cover a commit of that time; empty = it does.
func (l *signerLine) invalid(at int64) string {
	if len(l.namespaces) > 0 && !anyGlob(l.namespaces, namespace) {
		return "may not sign for git"
	}
	switch {
	case l.after == 0 && l.before == 0:
		return ""
	case at == 0:
		return "is bound to a time, and the commit has none that can be read"
	case l.after != 0 && at < l.after:
		return "was not yet valid at the commit's time"
	case l.before != 0 && at > l.before:
		return "was no longer valid at the commit's time"
	}
	return ""
}

func anyGlob(globs []string, s string) bool {
	for _, g := range globs {
		if spec.Glob(g, s) {
			return true
		}
	}
	return false
}

func isPattern(principal string) bool { return strings.ContainsAny(principal, "*?") }

// parseSigners reads an allowed_signers file: a line each, of principals (a list
// with commas, * and ? in them mean what they do in spec.Glob; in double quotes
// if it holds spaces), options (a list with commas, perhaps none), the type of a
// key, the key, and a comment. Lines that begin with # are comments. All
// mistakes are found, not the first alone. Unlike ssh-keygen it reads times
// without a Z as UTC, so that every machine reads the same, and knows neither
// certificate authorities nor principals taken out by "!".
func parseSigners(path string, data []byte) (lines []*signerLine, found []spec.Finding) {
	whole := func(format string, args ...any) ([]*signerLine, []spec.Finding) {
		return nil, []spec.Finding{{Path: path, Message: fmt.Sprintf(format, args...)}}
	}
	if len(data) > maxSigners {
		return whole("%d bytes, over the limit of 1 MiB", len(data))
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if n := bytes.Count(data, []byte("\n")); n > maxSignerLines {
		return whole("%d lines, over the limit of 10,000", n)
	}
	number := 0
	for text := range strings.SplitSeq(string(data), "\n") {
		number++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		l, err := parseSigner(text)
		if err != nil {
			found = append(found, spec.Finding{Path: path, Line: number, Message: err.Error()})
			continue
		}
		l.path, l.line = path, number
		lines = append(lines, l)
	}
	if len(lines) == 0 && len(found) == 0 {
		return whole("there is no key in it")
	}
	return lines, found
}

func parseSigner(text string) (*signerLine, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("not UTF-8")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
		return nil, fmt.Errorf("a control character in it")
	}
	names, rest, err := cutField(text)
	if err != nil {
		return nil, err
	}
	l := &signerLine{}
	if l.principals, err = list("principal", strings.Trim(names, `"`)); err != nil {
		return nil, err
	}
	field, after, err := cutField(rest)
	if err != nil {
		return nil, err
	}
	if field != "" && !knownType(field) && !strings.HasPrefix(strings.TrimSpace(after), "AAAA") {
		if err := l.options(field); err != nil {
			return nil, err
		}
		if field, after, err = cutField(after); err != nil {
			return nil, err
		}
	}
	encoded, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(after), "\t", " "), " ")
	l.key, err = parseKey(field, encoded)
	return l, err
}

// cutField cuts off the first field: spaces within double quotes do not end it.
func cutField(s string) (field, rest string, err error) {
	s = strings.TrimLeft(s, " \t")
	inQuotes := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			inQuotes = !inQuotes
		case !inQuotes && (s[i] == ' ' || s[i] == '\t'):
			return s[:i], s[i:], nil
		}
	}
	if inQuotes {
		return "", "", fmt.Errorf("a quote is not closed")
	}
	return s, "", nil
}

// list splits a list with commas.
func list(what, s string) ([]string, error) {
	items := strings.Split(s, ",")
	for _, item := range items {
		switch {
		case item == "":
			return nil, fmt.Errorf("an empty %s", what)
		case item[0] == '!':
			return nil, fmt.Errorf("%s %q: taking out by ! is not supported: list who is meant", what, item)
		case strings.Contains(item, `"`):
			return nil, fmt.Errorf("%s %q: a quote within it", what, item)
		}
	}
	return items, nil
}

// options reads the options of a line; their names know no case.
func (l *signerLine) options(text string) error {
	seen := map[string]bool{}
	for _, option := range splitOptions(text) {
		name, value, hasValue := strings.Cut(option, "=")
		name = strings.ToLower(name)
		if seen[name] {
			return fmt.Errorf("option %s is given twice", name)
		}
		seen[name] = true
		if name == "cert-authority" {
			return fmt.Errorf("option cert-authority is not supported: list the keys themselves")
		}
		if name != "namespaces" && name != "valid-after" && name != "valid-before" {
			return fmt.Errorf("%q is neither an option (namespaces, valid-after, valid-before) nor a type of key", cut(option))
		}
		if !hasValue || len(value) < 3 || value[0] != '"' || value[len(value)-1] != '"' {
			return fmt.Errorf("option %s wants a value in double quotes", name)
		}
		value = value[1 : len(value)-1]
		var err error
		switch name {
		case "namespaces":
			l.namespaces, err = list("namespace", value)
		case "valid-after":
			l.after, err = parseTime(name, value)
		case "valid-before":
			l.before, err = parseTime(name, value)
		}
		if err != nil {
			return err
		}
	}
	if l.after != 0 && l.before != 0 && l.before <= l.after {
		return fmt.Errorf("valid-before is not later than valid-after: the key is never valid")
	}
	return nil
}

// splitOptions splits at commas outside of double quotes.
func splitOptions(s string) []string {
	var options []string
	begin, inQuotes := 0, false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			inQuotes = !inQuotes
		case s[i] == ',' && !inQuotes:
			options = append(options, s[begin:i])
			begin = i + 1
		}
	}
	return append(options, s[begin:])
}

// parseTime reads YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, perhaps with a Z.
func parseTime(option, s string) (int64, error) {
	digits := strings.TrimSuffix(strings.TrimSuffix(s, "Z"), "z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(layout) != len(digits) {
			continue
		}
		if t, err := time.Parse(layout, digits); err == nil && t.Unix() > 0 {
			return t.Unix(), nil
		}
	}
	return 0, fmt.Errorf("option %s: %q is no time from 1970 on (YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, with a Z at the end or not; UTC both)", option, cut(s))
}

// knownType tells the types of keys that are accepted.
func knownType(s string) bool {
	switch s {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256, ssh.KeyAlgoRSA:
		return true
	}
	return false
}

func parseKey(keyType, encoded string) (ssh.PublicKey, error) {
	switch {
	case keyType == "":
		return nil, fmt.Errorf("no key: a line is principals, options if any, type of the key, key")
	case !knownType(keyType):
		return nil, fmt.Errorf("keys of type %q are not supported: Ed25519, ECDSA and RSA are", cut(keyType))
	case encoded == "":
		return nil, fmt.Errorf("no key behind its type %s", keyType)
	}
	wire, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("the key is no base64")
	}
	key, err := ssh.ParsePublicKey(wire)
	if err != nil || key.Type() != keyType {
		return nil, fmt.Errorf("the key is no key of type %s", keyType)
	}
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if r, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < minRSABits {
			return nil, fmt.Errorf("an RSA key of %d bits is too weak (at least 2,048)", r.N.BitLen())
		}
	}
	return key, nil
}

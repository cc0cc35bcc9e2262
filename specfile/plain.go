package specfile

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// meaning says what some reader of YAML takes a plain scalar for, if not for a
// string: 1.2 as the parser resolves it, or 1.1. Empty = a string for all.
func meaning(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Style&^yaml.TaggedStyle != 0 {
		return ""
	}
	switch n.Tag {
	case "!!null":
		return "null"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	case "!!timestamp":
		return "a date"
	case "!!merge":
		return "a merge key"
	}
	return meaning11(n.Value)
}

// meaning11 knows what YAML 1.1 resolves and the parser does not.
func meaning11(v string) string {
	switch v {
	case "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO",
		"on", "On", "ON", "off", "Off", "OFF":
		return "a boolean in YAML 1.1"
	case "=":
		return "a default value in YAML 1.1"
	}
	if v == "" || !strings.ContainsAny(v[:1], "0123456789+-.") {
		return ""
	}
	switch {
	case isNumber(v):
		return "a number in YAML 1.1"
	case isDate(v):
		return "a date in YAML 1.1"
	}
	return ""
}

// isNumber tells of integers and floats of YAML 1.1: decimal, 0x, 0b, 0o and
// octal, with underscores, with exponent, and of base 60 (1:30).
func isNumber(v string) bool {
	v = strings.TrimLeft(v[:1], "+-") + v[1:]
	if len(v) > 2 && v[0] == '0' && strings.IndexByte("xXbBoO", v[1]) >= 0 {
		return skip(v[2:], "0123456789abcdefABCDEF_") == ""
	}
	rest := skip(v, "0123456789_")
	if rest == v && !strings.HasPrefix(v, ".") || strings.HasPrefix(v, "_") {
		return false
	}
	for strings.HasPrefix(rest, ":") {
		group := len(rest) - 1 - len(skip(rest[1:], "0123456789"))
		if group < 1 || group > 2 || group == 2 && rest[1] > '5' {
			return false
		}
		rest = rest[1+group:]
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		rest = skip(after, "0123456789_")
		if rest == after && v[0] == '.' {
			return false // only a dot, or .e1
		}
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		exponent := strings.TrimLeft(rest[1:], "+-")
		return exponent != "" && len(rest)-len(exponent) <= 2 && skip(exponent, "0123456789") == ""
	}
	return rest == ""
}

// isDate tells of 2026-11-30, alone or followed by a time as YAML 1.1 writes it.
func isDate(v string) bool {
	if len(v) < 8 || skip(v[:4], "0123456789") != "" || v[4] != '-' {
		return false
	}
	month, rest := digits(v[5:])
	if month < 1 || month > 2 || !strings.HasPrefix(rest, "-") {
		return false
	}
	day, rest := digits(rest[1:])
	if day < 1 || day > 2 {
		return false
	}
	return rest == "" || isTime(rest)
}

func isTime(v string) bool {
	if strings.IndexByte("Tt \t", v[0]) < 0 {
		return false
	}
	hour, rest := digits(strings.TrimLeft(v[1:], " \t"))
	if hour < 1 || hour > 2 || len(rest) < 6 || rest[0] != ':' || rest[3] != ':' ||
		skip(rest[1:3]+rest[4:6], "0123456789") != "" {
		return false
	}
	rest = rest[6:]
	if after, ok := strings.CutPrefix(rest, "."); ok {
		rest = skip(after, "0123456789")
	}
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" || rest == "Z" {
		return true
	}
	return (rest[0] == '+' || rest[0] == '-') && len(rest) > 1 && skip(rest[1:], "0123456789:") == ""
}

// skip cuts the bytes of set off the front of v.
func skip(v, set string) string { return strings.TrimLeft(v, set) }

// digits counts the digits at the front of v.
func digits(v string) (n int, rest string) {
	rest = skip(v, "0123456789")
	return len(v) - len(rest), rest
}

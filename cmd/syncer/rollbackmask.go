package main

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// maskSecrets is a file with every literal of a secret masked, line for line. A
// document that is not YAML is masked as a whole, and what a comment says behind
// the name of a secret too.
func maskSecrets(data []byte) []byte {
	var out []byte
	at := 0
	for _, s := range sections(data) {
		for _, hide := range secretSpans(data[s.start:s.end]) {
			out = append(out, data[at:s.start+hide.from]...)
			out = append(out, maskLines(string(data[s.start+hide.from:s.start+hide.to]))...)
			at = s.start + hide.to
		}
	}
	out = append(out, data[at:]...)
	return maskComments(string(out))
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// secretSpans finds the values of secrets in one document.
func secretSpans(text []byte) []span {
	skip := len(text) - len(bytes.TrimPrefix(text, []byte(byteOrderMark)))
	root, ok := parseYAML(text[skip:])
	if !ok {
		return []span{{0, len(text)}}
	}
	f := secretFinder{text: text[skip:], starts: lineStarts(text[skip:])}
	f.walk(root)
	f.close(len(f.text))
	for i := range f.found {
		f.found[i].from += skip
		f.found[i].to += skip
	}
	return f.found
}

// secretFinder goes through the nodes of a document in the order of its text. A
// value ends where it is seen to end, or else where the next node begins.
type secretFinder struct {
	text   []byte
	starts []int
	open   bool // the last one found has no end yet
	found  []span
}

func (f *secretFinder) walk(n *yaml.Node) {
	for i, child := range n.Content {
		f.close(f.offset(child))
		if n.Kind == yaml.MappingNode && i%2 == 1 && spec.IsSecretLiteral(n.Content[i-1].Value, child.Value) {
			f.value(child)
			continue // whatever is in it ends with it
		}
		f.walk(child)
	}
}

func (f *secretFinder) value(n *yaml.Node) {
	from := f.offset(n)
	quote := map[yaml.Style]string{yaml.DoubleQuotedStyle: `"`, yaml.SingleQuotedStyle: `'`}[n.Style]
	word := quote + n.Value + quote
	f.found = append(f.found, span{from, from + len(word)})
	f.open = n.Kind != yaml.ScalarNode || n.Value == "" || !bytes.HasPrefix(f.text[from:], []byte(word)) ||
		n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// close ends the value that has no end yet.
func (f *secretFinder) close(at int) {
	if f.open {
		last := &f.found[len(f.found)-1]
		last.to, f.open = max(last.from, at), false
	}
}

// offset is where a node begins. The parser counts lines from 1, and columns in characters.
func (f *secretFinder) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(f.starts) {
		return len(f.text)
	}
	at := f.starts[n.Line-1]
	for i := 1; i < n.Column && at < len(f.text); i++ {
		_, size := utf8.DecodeRune(f.text[at:])
		at += size
	}
	return at
}

// lineStarts is where lines begin for a YAML parser, which knows six line ends.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch {
		case r == '\r' && i < len(text) && text[i] == '\n':
		case r == '\n', r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
			starts = append(starts, i)
		}
	}
	return starts
}

// maskLines masks what stands in each line of a value, and keeps indents and line ends.
func maskLines(value string) string {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(value, "\n") {
		body := strings.TrimRight(line, " \r\n")
		word := strings.TrimLeft(body, " ")
		if word == "" {
			b.WriteString(line)
			continue
		}
		b.WriteString(body[:len(body)-len(word)] + spec.Mask + line[len(body):])
	}
	return b.String()
}

// maskComments masks what comments say behind the name of a secret.
func maskComments(text string) []byte {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		before, comment, ok := strings.Cut(line, "#")
		name, value, named := strings.Cut(comment, spec.SecretPrefix)
		if ok && named {
			value = strings.TrimRight(value, "\r\n")
			line = before + "#" + name + spec.SecretPrefix + spec.Mask + line[len(before)+1+len(name)+len(spec.SecretPrefix)+len(value):]
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}

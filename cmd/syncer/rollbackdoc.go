package main

import (
	"bytes"
	"slices"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// section is one document of a file, by its bytes. The text of a file is kept
// as it is, comments and layout included: documents are cut out and put in,
// never written anew.
type section struct {
	start, end int // from behind the marker before it to the next marker or the end
	head, tail int // from the comment right above its first line to its last line
	inline     bool
}

func (s section) empty() bool { return s.head == s.tail }

// sections cuts a file at its document markers, which stand at the left edge
// wherever they are: YAML ends any text at them.
func sections(data []byte) []section {
	var out []section
	cur := section{}
	for i := 0; i < len(data); {
		next := lineEnd(data, i)
		if isMarker(data[i:next]) {
			cur.end = i
			out = append(out, cur.trimmed(data))
			cur = section{start: next}
			if rest := bytes.TrimSpace(data[i+3 : next]); data[i] == '-' && len(rest) > 0 && rest[0] != '#' {
				cur = section{start: i + 3, inline: true}
			}
		}
		i = next
	}
	cur.end = len(data)
	return append(out, cur.trimmed(data))
}

// trimmed finds the document in its section: not what stands apart from it at
// the edges, comments of the file or of the next document.
func (s section) trimmed(data []byte) section {
	s.head, s.tail = s.start, s.start
	if s.inline { // its first line is the rest of the marker's
		s.tail = min(lineEnd(data, s.start), s.end)
	}
	above, first := -1, !s.inline
	for i := s.tail; i < s.end; {
		next := lineEnd(data, i)
		line := data[i:next]
		text := bytes.TrimSpace(line)
		comment := len(text) > 0 && text[0] == '#'
		switch {
		case first && comment && above < 0:
			above = i
		case first && len(text) == 0:
			above = -1
		case first && !comment:
			s.head, s.tail, first = i, next, false
			if above >= 0 {
				s.head = above
			}
		case !first && len(text) > 0 && line[0] != '#':
			s.tail = next
		}
		i = next
	}
	return s
}

// lineEnd is where the line after that at i begins.
func lineEnd(data []byte, i int) int {
	if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(data)
}

func isMarker(line []byte) bool {
	return (bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("..."))) &&
		(len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0)
}

// byteOrderMark may begin a file, and nothing else.
const byteOrderMark = "\xef\xbb\xbf"

// findSpec gives the sections that declare a spec, whether or not its content is
// valid. unclear tells of sections that are not YAML, and might.
func findSpec(data []byte, key spec.Key) (found []section, unclear bool) {
	if !bytes.Contains(data, []byte(key.Name)) && !bytes.ContainsRune(data, '\\') { // an escape may hide it
		return nil, false
	}
	for _, s := range sections(data) {
		if s.empty() {
			continue
		}
		name, ok := nameOf(bytes.TrimPrefix(data[s.start:s.end], []byte(byteOrderMark)))
		unclear = unclear || !ok
		if name == key {
			found = append(found, s)
		}
	}
	return found, unclear
}

// nameOf reads kind and name of a document; ok is false if it is not YAML.
func nameOf(text []byte) (key spec.Key, ok bool) {
	root, ok := parseYAML(text)
	if !ok {
		return key, false
	}
	if kind, meta := nodeField(root, "kind"), nodeField(root, "metadata"); kind != nil && meta != nil {
		key.Kind = spec.Kind(kind.Value)
		if name := nodeField(meta, "name"); name != nil {
			key.Name = name.Value
		}
	}
	return key, true
}

// parseYAML gives the root of one document. A panic of the parser is a document that is not YAML.
func parseYAML(text []byte) (root *yaml.Node, ok bool) {
	defer func() {
		if recover() != nil {
			root, ok = nil, false
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, false
	}
	if len(doc.Content) == 0 {
		return &doc, true
	}
	return doc.Content[0], true
}

// nodeField is the value of a field of a mapping, nil if there is none.
func nodeField(m *yaml.Node, name string) *yaml.Node {
	for i := 0; m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i+1]
		}
	}
	return nil
}

// spliced are the ways to put a document of one file in the place of a document
// of another, the one that touches least first: between its own first and last
// line, and with all that stands between the markers. Which is right depends on
// how the text ends; whoever calls decodes the result.
func spliced(into []byte, at section, from []byte, doc section) [][]byte {
	return [][]byte{
		joined(into, into[:at.head], from[doc.head:doc.tail], into[at.tail:], at.inline && !doc.inline),
		joined(into, into[:at.start], from[doc.start:doc.end], into[at.end:], at.inline && !doc.inline),
	}
}

// appended adds a document at the end of a file.
func appended(into, from []byte, doc section) []byte {
	eol := lineBreak(into)
	before := slices.Clone(into)
	if len(before) > 0 && before[len(before)-1] != '\n' {
		before = append(before, eol...)
	}
	return joined(into, append(append(before, "---"...), eol...), from[doc.head:doc.tail], nil, false)
}

// joined puts three parts together, each beginning on a line of its own.
func joined(like, before, doc, after []byte, newline bool) []byte {
	out := slices.Clone(before)
	if newline {
		out = append(out, lineBreak(like)...)
	}
	out = append(out, doc...)
	if len(after) > 0 && len(doc) > 0 && doc[len(doc)-1] != '\n' {
		out = append(out, lineBreak(like)...)
	}
	return append(out, after...)
}

// lineBreak is how the lines of a file end.
func lineBreak(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

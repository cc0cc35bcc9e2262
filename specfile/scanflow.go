package specfile

import (
	"bytes"
	"strings"
)

// brackets reads a flow collection to its end, over as many lines as it takes.
// Brackets inside quotes, comments and plain scalars are text.
func (s *scanner) brackets() {
	plain := false // within a plain scalar, which may span lines
	for s.pos < len(s.text) && s.fatal == nil {
		c := s.text[s.pos]
		switch {
		case c == '\n':
			s.pos++
			s.start = s.pos
			s.flowIndent()
			continue
		case c == ' ' || c == '\t' || c == '\r':
		case c == '#' && (!plain || s.blank(s.pos-1)):
			for !s.eol(s.pos) {
				s.pos++
			}
			plain = false
			continue
		case c == '[' || c == '{':
			plain = false
			s.openBracket(c)
		case c == ']' || c == '}':
			plain = false
			if s.flow--; s.flow == 0 {
				s.pos++
				return
			}
		case c == ',' || c == ':' && (s.blank(s.pos+1) || !plain || strings.IndexByte(",[]{}", s.at(s.pos+1)) >= 0):
			plain = false
			s.count(1)
		case plain:
		case c == '"' || c == '\'':
			s.quoted(c)
			continue
		case c == '&' || c == '*' || c == '!':
			s.flowProperty()
			continue
		default:
			plain = true
		}
		s.pos++
	}
}

func (s *scanner) openBracket(c byte) {
	if c == '{' && s.at(s.pos+1) == '{' && s.template < 0 {
		s.template = s.pos
	}
	s.flow++
	s.count(1)
	s.depth()
}

// flowIndent looks for a tab in the indent of a line within brackets.
func (s *scanner) flowIndent() {
	i := s.pos
	for s.at(i) == ' ' || s.at(i) == '\t' {
		i++
	}
	if s.eol(i) || s.at(i) == '#' {
		return
	}
	if tab := bytes.IndexByte(s.text[s.pos:i], '\t'); tab >= 0 {
		s.fatal = &wrong{s.pos + tab, "a tab as indent: use spaces"}
	}
}

// flowProperty skips an anchor, an alias or a tag within brackets.
func (s *scanner) flowProperty() {
	s.note()
	for s.pos++; !s.blank(s.pos) && strings.IndexByte(",[]{}", s.at(s.pos)) < 0; {
		s.pos++
	}
}

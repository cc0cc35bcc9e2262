package specfile

import "fmt"

// MaxValues is how many keys and values a file may have, about. It bounds what
// the parser builds: some hundred bytes for each, whatever the file's size.
const MaxValues = 100_000

// MaxDepth is how deep mappings and lists may stand in each other. Source: CONTRACT section 2.
const MaxDepth = 20

const bareTag = "explicit tag !: leave it out, or put text that begins with ! in quotes"

// scanner reads a file once, byte by byte, before the parser does: it measures
// nesting without building anything, and finds what the parser's nodes would
// not show or what it would report without a name (tabs, directives, the tag
// "!", templates). Where a file is no YAML it may count too little, never too
// much: the parser is bounded in depth too, and the nodes are measured again.
type scanner struct {
	text     []byte
	pos      int
	start    int   // of the current line
	indents  []int // columns of the block collections that are open
	flow     int   // brackets that are open
	values   int   // keys and values so far, about
	plain    bool  // a plain scalar may go on in the next line
	template int   // offset of the first {{ that opens a value, or -1
	alias    int   // offset of the first *alias, or -1
	fatal    *wrong
	found    []wrong
}

func scan(text []byte) *scanner {
	s := &scanner{text: text, template: -1, alias: -1}
	for s.pos < len(s.text) && s.fatal == nil {
		s.line()
	}
	return s
}

func (s *scanner) at(i int) byte {
	if i < len(s.text) {
		return s.text[i]
	}
	return '\n'
}

func (s *scanner) blank(i int) bool {
	c := s.at(i)
	return c == ' ' || c == '\t' || c == '\n' || c == '\r'
}

func (s *scanner) eol(i int) bool { c := s.at(i); return c == '\n' || c == '\r' }

// next moves to the start of the next line.
func (s *scanner) next() {
	for s.pos < len(s.text) && s.text[s.pos] != '\n' {
		s.pos++
	}
	s.pos++
	s.start = s.pos
}

func (s *scanner) top() int {
	if len(s.indents) == 0 {
		return -1
	}
	return s.indents[len(s.indents)-1]
}

// open notes a block collection at a column.
func (s *scanner) open(column int) {
	if column > s.top() {
		s.indents = append(s.indents, column)
		s.depth()
	}
}

func (s *scanner) depth() {
	if len(s.indents)+s.flow > MaxDepth {
		s.fatal = &wrong{s.pos, fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
	}
}

// count notes further keys or values.
func (s *scanner) count(n int) {
	if s.values += n; s.values > MaxValues && s.fatal == nil {
		s.fatal = &wrong{s.pos, fmt.Sprintf("more than %d keys and values in one file: split it", MaxValues)}
	}
}

// line reads one line of block context, and further ones that its quotes,
// brackets or block scalar take.
func (s *scanner) line() {
	indent := s.pos
	for s.at(indent) == ' ' {
		indent++
	}
	first := indent
	for s.at(first) == ' ' || s.at(first) == '\t' {
		first++
	}
	column := indent - s.start
	switch {
	case s.eol(first):
		s.next()
		return
	case s.at(first) == '#':
		s.plain = false
		s.next()
		return
	case column == 0 && s.marker():
		s.plain, s.indents = false, s.indents[:0]
		s.pos += 3
		s.count(2)
		s.tokens()
		return
	case s.plain && column > s.top():
		s.rest(first)
		return
	case first > indent:
		s.fatal = &wrong{indent, "a tab as indent: use spaces"}
		return
	case column == 0 && s.at(first) == '%':
		s.fatal = &wrong{first, "directives (%) are not read: leave the line out"}
		return
	}
	s.plain = false
	for s.top() > column {
		s.indents = s.indents[:len(s.indents)-1]
	}
	s.pos = first
	s.count(2)
	s.tokens()
}

// marker tells of --- and ... at the start of a line.
func (s *scanner) marker() bool {
	c := s.at(s.pos)
	return (c == '-' || c == '.') && s.at(s.pos+1) == c && s.at(s.pos+2) == c && s.blank(s.pos+3)
}

// rest skips what is left of a plain scalar's line; a comment ends the scalar.
func (s *scanner) rest(i int) {
	for ; !s.eol(i); i++ {
		if s.at(i) == '#' && s.blank(i-1) {
			s.plain = false
		}
	}
	s.pos = i
	s.next()
}

// tokens reads what stands in a line of block context from pos on.
func (s *scanner) tokens() {
	for s.fatal == nil {
		for s.at(s.pos) == ' ' || s.at(s.pos) == '\t' {
			s.pos++
		}
		column := s.pos - s.start
		switch c := s.at(s.pos); {
		case s.eol(s.pos) || c == '#':
			s.next()
			return
		case (c == '-' || c == '?') && s.blank(s.pos+1):
			s.open(column)
			s.pos++
		case c == ':' && s.blank(s.pos+1):
			s.pos++
		case c == '&' || c == '*' || c == '!':
			s.property()
		case c == '|' || c == '>':
			s.block()
			return
		case c == '"' || c == '\'':
			s.quoted(c)
			if !s.key(column) {
				return
			}
		case c == '[' || c == '{':
			s.brackets()
			if !s.key(column) {
				return
			}
		default:
			if !s.word(column) {
				return
			}
		}
	}
}

// note keeps what the parser's nodes do not show: the tag that is only "!", and
// where an alias without its anchor stands.
func (s *scanner) note() {
	switch c := s.at(s.pos); {
	case c == '!' && s.blank(s.pos+1) && len(s.found) < maxFindings:
		s.found = append(s.found, wrong{s.pos, bareTag})
	case c == '*' && s.alias < 0:
		s.alias = s.pos
	}
}

// property skips an anchor, an alias or a tag.
func (s *scanner) property() {
	s.note()
	for !s.blank(s.pos) {
		s.pos++
	}
}

// key tells whether what ended at pos is a key of a block mapping; if it is
// not, the line is done.
func (s *scanner) key(column int) bool {
	for s.at(s.pos) == ' ' || s.at(s.pos) == '\t' {
		s.pos++
	}
	if s.at(s.pos) == ':' && s.blank(s.pos+1) {
		s.pos++
		s.open(column)
		return true
	}
	s.next()
	return false
}

// word reads a plain scalar of block context; it tells whether it is a key.
func (s *scanner) word(column int) bool {
	for i := s.pos; !s.eol(i); i++ {
		switch {
		case s.at(i) == ':' && s.blank(i+1):
			s.pos = i + 1
			s.open(column)
			return true
		case s.at(i) == '#' && s.blank(i-1):
			s.next()
			return false
		}
	}
	s.plain = true
	s.next()
	return false
}

// block skips a block scalar: the lines below that are blank or deeper than
// the collection it stands in.
func (s *scanner) block() {
	parent := max(s.top(), 0)
	for s.next(); s.pos < len(s.text); s.next() {
		i := s.pos
		for s.at(i) == ' ' {
			i++
		}
		if !s.eol(i) && i-s.start <= parent {
			return
		}
	}
}

// quoted skips a quoted scalar, of one line or more.
func (s *scanner) quoted(quote byte) {
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\\' && quote == '"':
			s.pos++
			s.newline()
		case c == quote && quote == '\'' && s.at(s.pos+1) == quote:
			s.pos++
		case c == quote:
			s.pos++
			return
		default:
			s.newline()
		}
	}
}

func (s *scanner) newline() {
	if s.at(s.pos) == '\n' {
		s.start = s.pos + 1
	}
}

package specfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// maxFindings bounds what one file can make us say, errors and warnings apart.
const maxFindings = 100

// checker walks the nodes of one file and collects what is wrong with them.
type checker struct {
	path  string
	opt   Options
	steps []step // where it is, as field names and indexes
	list  []spec.Finding
	errs  int // all of them, also those beyond maxFindings
	warns int

	keepTo string // the Pavilion that the current document keeps to; empty = not known yet
}

// step is one part of a field's path: .name or [index].
type step struct {
	name  string
	index int
}

func (c *checker) push(name string) { c.steps = append(c.steps, step{name: name}) }
func (c *checker) pushIndex(i int)  { c.steps = append(c.steps, step{index: i}) }
func (c *checker) pop()             { c.steps = c.steps[:len(c.steps)-1] }

// field prints where the checker is: spec.dramas[0].port.
func (c *checker) field() string {
	var b strings.Builder
	for _, s := range c.steps {
		switch {
		case s.name == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + show(s.name))
		default:
			b.WriteString(show(s.name))
		}
	}
	return b.String()
}

// fail notes an error at a node, for the field that the checker is at.
func (c *checker) fail(n *yaml.Node, format string, args ...any) {
	if c.errs++; c.errs <= maxFindings {
		c.list = append(c.list, spec.Finding{Path: c.path, Line: n.Line, Column: n.Column,
			Field: c.field(), Message: fmt.Sprintf(format, args...)})
	}
}

// suggest looks for the name that was meant, as long as anybody will read it:
// a file of nothing but mistakes must not cost more than a good one.
func (c *checker) suggest(have string, names func() []string) string {
	if c.errs >= maxFindings {
		return ""
	}
	return suggest(have, names())
}

// warn notes what refuses nothing.
func (c *checker) warn(n *yaml.Node, message string) {
	if c.warns++; c.warns <= maxFindings {
		c.list = append(c.list, spec.Finding{Path: c.path, Line: n.Line, Column: n.Column,
			Field: c.field(), Message: message, Warning: true})
	}
}

// add notes an error that has no node.
func (c *checker) add(f spec.Finding) {
	c.errs++
	c.list = append(c.list, f)
}

// findings gives what was collected, sorted.
func (c *checker) findings() []spec.Finding {
	if n := c.errs - maxFindings; n > 0 {
		c.list = append(c.list, spec.Finding{Path: c.path, Message: fmt.Sprintf("%s further errors are left out (limit %d)", commas(n), maxFindings)})
	}
	if n := c.warns - maxFindings; n > 0 {
		c.list = append(c.list, spec.Finding{Path: c.path, Warning: true, Message: fmt.Sprintf("%s further warnings are left out (limit %d)", commas(n), maxFindings)})
	}
	return spec.SortFindings(c.list)
}

package specfile

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const templateLeft = "an unrendered template ({{ … }}): commit the file as it is after rendering"

// scalar checks a single value. A hidden one never shows up in the message.
func (c *checker) scalar(n *yaml.Node, s *shape, hidden bool) bool {
	before := c.errs
	switch {
	case n.Style&yaml.TaggedStyle != 0: // reported by structure
		return false
	case n.Kind != yaml.ScalarNode:
		c.fail(n, "%s where %s is wanted", kindOf(n), wanted(s))
	case isNull(n):
		c.fail(n, `no value: write "" or leave the key out`)
	case s.kind == whole:
		c.whole(n, s)
	case s.kind == flag:
		c.flag(n)
	case s.kind == duration:
		c.duration(n, s)
	case meaning(n) != "" && (hidden || show(n.Value) != n.Value):
		c.fail(n, "is not a string but %s: put it in quotes", meaning(n))
	case meaning(n) != "":
		c.fail(n, `plain %s is not a string but %s: put it in quotes ("%[1]s")`, n.Value, meaning(n))
	case s.rule.check != nil:
		if err := s.rule.check(n.Value); err != nil {
			c.fail(n, "%s", orTemplate(n, err.Error()))
		}
	}
	return c.errs == before
}

func (c *checker) whole(n *yaml.Node, s *shape) {
	plainDigits := strings.TrimPrefix(n.Value, "-")
	v, err := strconv.Atoi(n.Value)
	switch {
	case n.Style != 0:
		c.fail(n, "%s", orTemplate(n, "a string where a whole number is wanted: leave out the quotes"))
	case plainDigits == "" || skip(plainDigits, "0123456789") != "":
		c.fail(n, "%s", orTemplate(n, show(n.Value)+" is not a whole number in plain decimal"))
	case len(plainDigits) > 1 && plainDigits[0] == '0':
		c.fail(n, "%s is octal for some readers: write it in plain decimal, without the leading 0", show(n.Value))
	case err != nil || v < s.min || v > s.max:
		c.fail(n, "%s is not in the range from %d to %s", show(n.Value), s.min, commas(s.max))
	}
}

func (c *checker) flag(n *yaml.Node) {
	switch {
	case n.Style != 0:
		c.fail(n, "%s", orTemplate(n, "a string where true or false is wanted: leave out the quotes"))
	case n.Value != "true" && n.Value != "false":
		c.fail(n, "%s", orTemplate(n, show(n.Value)+" is neither true nor false"))
	}
}

func (c *checker) duration(n *yaml.Node, s *shape) {
	if s.zero && n.Style == 0 && n.Value == "0" {
		return
	}
	d, err := time.ParseDuration(n.Value)
	switch {
	case meaning(n) != "" || err != nil:
		c.fail(n, "%s", orTemplate(n, show(n.Value)+" is not a duration such as 30s, 10m or 1h30m"))
	case d < 0:
		c.fail(n, "%s: must not be negative", show(n.Value))
	case d == 0 && !s.zero:
		c.fail(n, "%s: must be longer than 0", show(n.Value))
	}
}

// orTemplate names the real reason where a value is what a template would have replaced.
func orTemplate(n *yaml.Node, message string) string {
	if strings.Contains(n.Value, "{{") {
		return templateLeft
	}
	return message
}

// isTemplate tells of a plain {{ .name }}, which is YAML for a mapping whose
// only key is a mapping.
func isTemplate(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && len(n.Content) > 0 &&
		n.Content[0].Kind == yaml.MappingNode && n.Content[0].Style&yaml.FlowStyle != 0
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// isName tells of a key that is a string for every reader.
func isName(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && meaning(n) == "" }

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

func wanted(s *shape) string {
	switch s.kind {
	case object, table:
		return "a mapping"
	case list:
		return "a list"
	case whole:
		return "a whole number"
	case flag:
		return "true or false"
	case duration:
		return "a duration"
	default:
		return "a string"
	}
}

func whatInstead(s *shape) string {
	switch s.kind {
	case object, table:
		return "write its fields below it, or leave it out"
	default:
		return "write one, or leave it out"
	}
}

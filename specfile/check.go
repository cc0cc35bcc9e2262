package specfile

import (
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// maxKey is the length of a config key in characters. YAML's own limit for a
// key is 1,024, and each may take an escape.
const maxKey = 500

// value checks a node against its shape. What structure has reported is passed over.
func (c *checker) value(n *yaml.Node, s *shape) {
	if n.Kind == yaml.AliasNode || isTemplate(n) {
		return
	}
	if isNull(n) {
		if !s.nullable {
			c.fail(n, "no value: %s", whatInstead(s))
		}
		return
	}
	if s.kind != object && s.kind != table && s.kind != list {
		c.scalar(n, s, s.hidden)
		return
	}
	if (s.kind == list) != (n.Kind == yaml.SequenceNode) || n.Kind == yaml.ScalarNode {
		c.fail(n, "%s where %s is wanted", kindOf(n), wanted(s))
		return
	}
	switch s.kind {
	case object:
		c.object(n, s)
	case table:
		c.table(n, s)
	default:
		for i, item := range n.Content {
			c.pushIndex(i)
			c.value(item, s.item)
			c.pop()
		}
	}
}

// object checks names first, then values, then what is missing.
func (c *checker) object(n *yaml.Node, s *shape) {
	var seen uint64 // by index of the field
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !isName(key) {
			continue
		}
		at, f := s.find(key.Value)
		c.push(key.Value)
		switch {
		case f == nil:
			c.unknown(key, s)
		case seen&(1<<at) == 0:
			seen |= 1 << at
			if f.required && isNull(value) {
				c.fail(value, "required, but has no value")
			} else {
				c.value(value, &f.shape)
			}
		}
		c.pop()
	}
	for i, f := range s.fields {
		if f.required && seen&(1<<i) == 0 {
			c.push(f.name)
			c.fail(n, "required, but missing")
			c.pop()
		}
	}
}

func (c *checker) unknown(key *yaml.Node, s *shape) {
	hint := c.suggest(key.Value, s.names)
	switch {
	case hint == "" && len(s.fields) == 0:
		hint = " (nothing is to be set here)"
	case hint == "":
		hint = " (known: " + strings.Join(s.names(), ", ") + ")"
	}
	c.fail(key, "unknown field%s", hint)
}

// table checks a map of strings: config, or the environment of a process.
func (c *checker) table(n *yaml.Node, s *shape) {
	if count := len(n.Content) / 2; count > spec.MaxConfigKeys {
		c.fail(n.Content[2*spec.MaxConfigKeys], "%s keys (limit %s)", commas(count), commas(spec.MaxConfigKeys))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !isName(key) {
			continue
		}
		c.push(key.Value)
		c.tableKey(key)
		c.tableValue(key.Value, value, s)
		c.pop()
	}
}

func (c *checker) tableKey(key *yaml.Node) {
	if n := utf8.RuneCountInString(key.Value); n > maxKey {
		c.fail(key, "key of %s characters (limit %d)", commas(n), maxKey)
	} else if n == 0 {
		c.fail(key, "empty key")
	}
	if err := printable(key.Value, false); err != nil {
		c.fail(key, "key with a %v", err)
	}
}

func (c *checker) tableValue(key string, n *yaml.Node, s *shape) {
	secret := spec.IsSecret(key)
	if n.Kind == yaml.AliasNode || isTemplate(n) {
		return
	}
	if !c.scalar(n, &shape{kind: text}, secret || s.hidden) || !secret {
		return
	}
	switch scheme, name, ok := spec.SplitReference(n.Value); {
	case !ok:
		c.warn(n, "the secret itself stands in the file: use a reference (env:NAME, sys:NAME or file:PATH)")
	case strings.TrimSpace(name) == "":
		c.fail(n, "%s needs a name after it", scheme)
	}
}

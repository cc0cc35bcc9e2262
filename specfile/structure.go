package specfile

import (
	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// structure refuses what no document may hold, whatever its fields: anchors,
// aliases, merge keys, tags, keys that are no strings or stand twice, values
// too long and nesting too deep. No alias is ever followed, so the work is
// proportional to the file.
func (c *checker) structure(n *yaml.Node, depth int) {
	switch {
	case n.Kind == yaml.AliasNode:
		c.fail(n, "aliases are not allowed: write the value out")
		return
	case n.Kind != yaml.ScalarNode && depth >= MaxDepth:
		c.fail(n, "nested deeper than %d levels", MaxDepth)
		return
	case isTemplate(n):
		c.fail(n, "%s", templateLeft)
		return
	}
	if n.Anchor != "" {
		c.fail(n, "anchors are not allowed: write the value out where it is used")
	}
	if n.Style&yaml.TaggedStyle != 0 {
		c.fail(n, "explicit tag %s: leave it out, or put text that begins with ! in quotes", knownTag(n.Tag))
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if len(n.Value) > spec.MaxValueBytes {
			c.fail(n, "value of %s bytes (limit %s)", commas(len(n.Value)), commas(spec.MaxValueBytes))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			c.pushIndex(i)
			c.structure(item, depth+1)
			c.pop()
		}
	case yaml.MappingNode:
		c.pairs(n, depth)
	}
}

func (c *checker) pairs(n *yaml.Node, depth int) {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind == yaml.AliasNode:
			c.fail(key, "aliases are not allowed: write the key out")
			continue
		case key.Kind != yaml.ScalarNode:
			c.fail(key, "%s as a key: a string is wanted", kindOf(key))
			continue
		case key.Tag == "!!merge":
			c.fail(key, "merge keys (<<) are not allowed: write the fields out")
			continue
		}
		c.push(key.Value)
		if m := meaning(key); m != "" {
			c.fail(key, "the plain key %s is not a string but %s: put it in quotes", show(key.Value), m)
		} else if line, ok := seen[key.Value]; ok {
			c.fail(key, "stands twice, first in line %d: remove one", line)
		} else {
			seen[key.Value] = key.Line
		}
		c.structure(key, depth+1)
		if !spec.IsSecret(key.Value) || value.Kind == yaml.ScalarNode || value.Kind == yaml.AliasNode {
			c.structure(value, depth+1) // else refused as a whole: no part of a secret becomes a field's name
		}
		c.pop()
	}
}

// knownTag prints a tag of YAML itself; what else begins with ! may be a secret.
func knownTag(tag string) string {
	switch tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!binary", "!!timestamp", "!!set", "!!omap":
		return tag
	}
	return "!"
}

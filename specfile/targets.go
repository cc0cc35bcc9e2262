package specfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/gid"
	"go.yaml.in/yaml/v3"
)

// get gives the value of a field of a mapping, nil if it is not there or if it
// is not the kind of node that is asked for.
func get(n *yaml.Node, name string, kind yaml.Kind) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if v := n.Content[i+1]; n.Content[i].Value == name && v.Kind == kind && !isNull(v) {
			return v
		}
	}
	return nil
}

func isTrue(n *yaml.Node) bool { return n != nil && n.Style == 0 && n.Value == "true" }

// targets checks what spans several fields of a subscription or a built-in
// Kollex. What is malformed by itself has been reported before and is passed over.
type targets struct {
	*checker
	tag  *yaml.Node     // imageTag
	ids  map[string]int // id -> line
	open map[string]int // id -> line, of targets that may be external
	self string         // id of the Drama that is the platform's own
}

// targetsOf checks the spec of a subscription (kollex = its field) or of a
// Kollex (kollex = the spec itself).
func (c *checker) targetsOf(spec, kollex *yaml.Node, inField bool) {
	t := &targets{checker: c, tag: get(kollex, "imageTag", yaml.ScalarNode), ids: map[string]int{}, open: map[string]int{}}
	if inField {
		c.push("kollex")
	}
	t.id(get(kollex, "id", yaml.ScalarNode), false)
	t.builtin(get(kollex, "builtin", yaml.ScalarNode))
	if inField {
		c.pop()
	}
	for _, name := range []string{"episodes", "dramas"} {
		t.each(spec, name, t.target)
	}
	external := map[string]int{}
	t.each(spec, "externalTargetIds", func(n *yaml.Node) { t.external(n, external) })
}

// each calls do for the items of a list, with the path set.
func (t *targets) each(spec *yaml.Node, name string, do func(*yaml.Node)) {
	items := get(spec, name, yaml.SequenceNode)
	if items == nil {
		return
	}
	t.push(name)
	defer t.pop()
	for i, item := range items.Content {
		t.pushIndex(i)
		do(item)
		t.pop()
	}
}

// id checks that an id is used once and is of the Pavilion that the document keeps to.
func (t *targets) id(n *yaml.Node, target bool) {
	if n == nil {
		return
	}
	t.push("id")
	defer t.pop()
	t.pavilion(n)
	if line, ok := t.ids[n.Value]; ok {
		t.fail(n, "%s stands twice, first in line %d: ids are unique in a tenant", show(n.Value), line)
		return
	}
	t.ids[n.Value] = n.Line
	if target {
		t.open[n.Value] = n.Line
	}
}

// pavilion checks that an id is of the configured Pavilion or, if there is
// none, of that of the document's first id.
func (t *targets) pavilion(n *yaml.Node) {
	have, _, ok := strings.Cut(n.Value, "-")
	if !ok || !strings.Contains(have, ":") || t.opt.Platform {
		return // reported already, or an id of the platform
	}
	switch {
	case t.keepTo == "":
		t.keepTo = have
	case have != t.keepTo && t.opt.Pavilion == "":
		t.fail(n, "%s is of another Pavilion than %s, the document's first id: all ids of a document have one", show(n.Value), show(t.keepTo))
	case have != t.keepTo:
		t.fail(n, "%s is not of Pavilion %s, which this repository belongs to", show(n.Value), show(t.keepTo))
	}
}

func (t *targets) builtin(n *yaml.Node) {
	if !isTrue(n) {
		return
	}
	t.ownOnly(n, "builtin")
	if t.tag != nil && t.tag.Value == "latest" {
		t.push("imageTag")
		t.fail(t.tag, "latest says nothing of the version that runs: a built-in Kollex needs a tag of its own for each version")
		t.pop()
	}
}

// ownOnly refuses what only the platform's configuration may say.
func (t *targets) ownOnly(n *yaml.Node, name string) {
	if t.opt.AllowSelf || t.opt.Platform {
		return
	}
	t.push(name)
	t.fail(n, "true is only for the platform's configuration, or for a tenant whose Pavilion there says allowSelf: true")
	t.pop()
}

// target checks one Episode or Drama.
func (t *targets) target(item *yaml.Node) {
	id := get(item, "id", yaml.ScalarNode)
	t.id(id, true)
	n := get(item, "image", yaml.ScalarNode)
	var img image
	if n != nil {
		parsed, err := parseImage(n.Value)
		if img = parsed; err == nil && img.tag == "" && img.digest == "" && t.tag == nil {
			t.push("image")
			t.fail(n, "%s has no tag: write one, or set imageTag (a port is no tag)", show(n.Value))
			t.pop()
		}
	}
	if self := get(item, "self", yaml.ScalarNode); isTrue(self) {
		t.ownDrama(self, id, n, img)
	}
}

// ownDrama checks the platform's own Drama: one at most, and its version is imageTag.
func (t *targets) ownDrama(self, id, n *yaml.Node, img image) {
	t.ownOnly(self, "self")
	if id != nil && t.self != "" {
		t.push("self")
		t.fail(self, "%s is the platform's own Drama already: at most one may be", show(t.self))
		t.pop()
	} else if id != nil {
		t.self = id.Value
	}
	switch {
	case t.tag == nil:
		t.push("self")
		t.fail(self, "needs imageTag, the version that is expected to run")
		t.pop()
	case n != nil && img.tag != "" && img.tag != t.tag.Value:
		t.push("image")
		t.fail(n, "the tag %s of the platform's own Drama is not imageTag (%s)", show(img.tag), show(t.tag.Value))
		t.pop()
	}
}

// external checks one of externalTargetIds.
func (t *targets) external(n *yaml.Node, seen map[string]int) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	_, known := t.open[n.Value]
	line, twice := seen[n.Value]
	switch {
	case twice:
		t.fail(n, "%s stands twice, first in line %d: remove one", show(n.Value), line)
	case n.Value == t.self && known:
		t.fail(n, "%s is the platform's own Drama: it cannot be external", show(n.Value))
	case !known && t.wellFormed(n.Value):
		t.fail(n, "%s is not an Episode or Drama of this document%s", show(n.Value), t.suggest(n.Value, t.some))
	}
	seen[n.Value] = n.Line
}

// some gives ids to suggest from, in order; of very many it gives none.
func (t *targets) some() []string {
	if len(t.open) > 1000 {
		return nil
	}
	return slices.Sorted(maps.Keys(t.open))
}

// wellFormed tells whether the shape has found nothing wrong with an external id.
func (t *targets) wellFormed(id string) bool {
	return targetID(t.opt.Platform, gid.Episode, gid.Drama).check(id) == nil
}

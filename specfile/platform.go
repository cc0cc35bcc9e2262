package specfile

import (
	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// pavilionDoc checks a Pavilion beyond its shape. In a tenant's repository it
// must agree with the configured one, and is of no effect.
func (c *checker) pavilionDoc(root, n *yaml.Node) {
	c.auth(get(get(n, "source", yaml.MappingNode), "auth", yaml.MappingNode))
	if c.opt.Platform {
		return
	}
	for _, f := range []struct{ name, want string }{{"id", c.opt.Pavilion}, {"cid", c.opt.CID}} {
		v := get(n, f.name, yaml.ScalarNode)
		if v == nil || f.want == "" || v.Value == f.want {
			continue
		}
		c.push(f.name)
		c.fail(v, "%s is not %s, which this repository belongs to", show(v.Value), show(f.want))
		c.pop()
	}
	steps := c.steps
	c.steps = nil
	c.warn(root, "a Pavilion in a tenant's repository is checked but never used: the platform's configuration counts")
	c.steps = steps
}

// agentDoc checks that each factory has a name of its own and one launcher.
func (c *checker) agentDoc(n *yaml.Node) {
	factories := get(n, "factories", yaml.SequenceNode)
	if factories == nil {
		return
	}
	names := map[string]int{}
	c.push("factories")
	for i, f := range factories.Content {
		c.pushIndex(i)
		c.factory(f, names)
		c.pop()
	}
	c.pop()
}

func (c *checker) factory(f *yaml.Node, names map[string]int) {
	if f.Kind != yaml.MappingNode {
		return
	}
	launchers := 0
	for _, name := range []string{"process", "stream", "kubernetes"} {
		if get(f, name, yaml.MappingNode) != nil {
			launchers++
		}
	}
	if launchers != 1 {
		c.fail(f, "%d launchers: exactly one of process, stream, kubernetes is wanted", launchers)
	}
	c.launcher(f)
	name := get(f, "name", yaml.ScalarNode)
	if name == nil {
		return
	}
	if line, ok := names[name.Value]; ok {
		c.push("name")
		c.fail(name, "%s stands twice, first in line %d: remove one", show(name.Value), line)
		c.pop()
	}
	names[name.Value] = name.Line
}

func (c *checker) launcher(f *yaml.Node) {
	process := get(f, "process", yaml.MappingNode)
	if command := get(process, "command", yaml.SequenceNode); command != nil && len(command.Content) == 0 {
		c.push("process")
		c.push("command")
		c.fail(command, "must name a program")
		c.pop()
		c.pop()
	}
	n := get(get(f, "kubernetes", yaml.MappingNode), "image", yaml.ScalarNode)
	if n == nil {
		return
	}
	if img, err := parseImage(n.Value); err == nil && img.tag == "" && img.digest == "" {
		c.push("kubernetes")
		c.push("image")
		c.fail(n, "%s has no tag: write one (a port is no tag)", show(n.Value))
		c.pop()
		c.pop()
	}
}

// cross checks what the fields of a spec must be to each other.
func (c *checker) cross(kind spec.Kind, root, n *yaml.Node) {
	c.push("spec")
	defer c.pop()
	switch kind {
	case spec.KindSubscription:
		c.targetsOf(n, get(n, "kollex", yaml.MappingNode), true)
	case spec.KindKollex:
		c.targetsOf(n, n, false)
	case spec.KindPavilion:
		c.pavilionDoc(root, n)
	case spec.KindAgent:
		c.agentDoc(n)
	}
}

// targetIDs are the ids of the Episodes and Dramas that a document declares.
func (d Doc) targetIDs() []string {
	var episodes []spec.Episode
	var dramas []spec.Drama
	if s, ok := d.Spec.(spec.Subscription); ok {
		episodes, dramas = s.Episodes, s.Dramas
	} else if d.Kollex != nil {
		episodes, dramas = d.Kollex.Episodes, d.Kollex.Dramas
	}
	ids := make([]string, 0, len(episodes)+len(dramas))
	for _, e := range episodes {
		ids = append(ids, e.ID)
	}
	for _, e := range dramas {
		ids = append(ids, e.ID)
	}
	return ids
}

package specfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// MaxFileBytes is the size of the largest file that is read. Source: CONTRACT section 2.
const MaxFileBytes = 1 << 20

// Options say whose file it is.
type Options struct {
	Pavilion  string // NT:1 that all ids must have; empty = every document keeps to one Pavilion
	CID       string // empty = not known
	AllowSelf bool   // builtin: true and self: true are accepted
	// Platform tells that the file is the platform's configuration: Pavilion,
	// Kollex and Agent documents. Without it, it is a tenant's: JobSpec and
	// KollexSubscription, and a Pavilion that is checked, never used.
	Platform bool
	// Skip leaves a path out of Tree, such as one that .pawlignore names; nil = none.
	Skip func(path string, folder bool) bool
}

// Doc is one document.
type Doc struct {
	Key      spec.Key
	Spec     spec.Spec      // spec.Job or spec.Subscription; nil for the platform's kinds
	Pavilion *spec.Pavilion // set for its kind alone, as the next two
	Kollex   *spec.Kollex
	Agent    *spec.Agent
	Line     int // where the document starts, from 1
}

// Decode reads all documents of a file. It gives those without an error, with
// defaults filled in, even if others have one: who applies must look at the
// findings, for a document that is refused is not a document that is gone. The
// findings are sorted, all of the file at once; after a mistake of syntax only
// what stands before it. Warnings have Finding.Warning set. Work and memory are
// proportional to the size of the file, at most MaxFileBytes. Source: CONTRACT section 2.
func Decode(path string, data []byte, opt Options) ([]Doc, []spec.Finding) {
	text, w := rawCheck(data)
	if w != nil {
		return nil, []spec.Finding{w.finding(path, bytes.TrimPrefix(data, []byte(bom)))}
	}
	s := scan(text)
	if s.fatal != nil {
		return nil, []spec.Finding{s.fatal.finding(path, text)}
	}
	f := &file{checker: checker{path: path, opt: opt}, keys: map[spec.Key]int{}, ids: map[string]owner{}}
	for _, w := range s.found {
		f.add(w.finding(path, text))
	}
	for docs := newDocuments(text); ; {
		root, err := docs.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			f.add(syntaxFinding(path, text, s, err))
			break
		}
		f.read(root)
	}
	if f.seen == 0 && f.errs == 0 {
		f.list = append(f.list, spec.Finding{Path: path, Warning: true, Message: "no document in this file"})
	}
	return f.docs, f.findings()
}

// file is a file that is being decoded.
type file struct {
	checker
	docs []Doc
	seen int // documents that are not empty
	keys map[spec.Key]int
	ids  map[string]owner
}

// owner is the document that declared an id.
type owner struct {
	key  spec.Key
	line int
}

// read checks one document and decodes it if nothing is wrong with it.
func (f *file) read(root *yaml.Node) {
	if isNull(root) && root.Value == "" && root.Anchor == "" && root.Style == 0 {
		return // an empty document
	}
	f.seen++
	before := f.errs
	f.steps, f.keepTo = f.steps[:0], f.opt.Pavilion
	kind, ok := f.kind(root)
	if !ok {
		return
	}
	s := document(kind, f.opt.Platform)
	f.structure(root, 0)
	f.value(root, &s)
	name := get(get(root, "metadata", yaml.MappingNode), "name", yaml.ScalarNode)
	body := get(root, "spec", yaml.MappingNode)
	f.cross(kind, root, body)
	f.once(kind, name, root)
	if f.errs > before {
		return
	}
	doc, err := decode(kind, name.Value, body)
	if err != nil {
		f.fail(root, "passed all checks but cannot be decoded: please report this file")
		return
	}
	doc.Line = root.Line
	if f.unique(doc, root); f.errs == before {
		f.docs = append(f.docs, doc)
	}
}

// once refuses a second document of the same kind and name.
func (f *file) once(kind spec.Kind, name, root *yaml.Node) {
	if name == nil {
		return
	}
	key := spec.Key{Kind: kind, Name: name.Value}
	if line, ok := f.keys[key]; ok {
		f.push("metadata")
		f.push("name")
		f.fail(name, "%s %s is declared twice, first in line %d: remove one", kind, show(name.Value), line)
		f.pop()
		f.pop()
		return
	}
	f.keys[key] = root.Line
}

// unique refuses an Episode or Drama that an earlier document has declared.
func (f *file) unique(doc Doc, root *yaml.Node) {
	ids := doc.targetIDs()
	for _, id := range ids {
		if o, ok := f.ids[id]; ok {
			f.fail(root, "%s", idTaken(id, o.key, fmt.Sprintf("line %d", o.line)))
		}
	}
	for _, id := range ids {
		f.ids[id] = owner{doc.Key, doc.Line}
	}
}

func idTaken(id string, by spec.Key, where string) string {
	return fmt.Sprintf("%s is an id of %s %s (%s) already: ids are unique in a tenant", id, by.Kind, by.Name, where)
}

// kind finds out what a document is. What is not for this place is refused
// with one finding and not looked at further.
func (f *file) kind(root *yaml.Node) (spec.Kind, bool) {
	if isTemplate(root) {
		f.fail(root, "%s", templateLeft)
		return "", false
	}
	if root.Kind != yaml.MappingNode {
		f.fail(root, "%s where a document (a mapping with apiVersion, kind, metadata and spec) is wanted", kindOf(root))
		return "", false
	}
	api, kindNode := get(root, "apiVersion", yaml.ScalarNode), get(root, "kind", yaml.ScalarNode)
	if api == nil && kindNode == nil {
		f.foreign(root, "no document of Pawl (no apiVersion and no kind)")
		return "", false
	}
	if api != nil && api.Value != spec.APIVersion {
		f.otherVersion(api, kindNode)
		return "", false
	}
	if kindNode == nil {
		f.push("kind")
		f.fail(root, "required, but missing")
		f.pop()
		return "", false
	}
	kind := spec.Kind(kindNode.Value)
	f.push("kind")
	defer f.pop()
	switch known := Kinds(); {
	case !slices.Contains(known, kind) && api == nil:
		f.foreign(kindNode, "kind "+show(kindNode.Value)+" without apiVersion is no document of Pawl")
	case !slices.Contains(known, kind):
		f.fail(kindNode, "unknown kind %s%s", show(kindNode.Value), suggestKind(kindNode.Value, known))
	case f.opt.Platform && (kind == spec.KindJob || kind == spec.KindSubscription):
		f.fail(kindNode, "%s belongs in a tenant's repository, not into the platform's configuration", kind)
	case !f.opt.Platform && (kind == spec.KindKollex || kind == spec.KindAgent):
		f.fail(kindNode, "%s belongs in the platform's configuration, not into a tenant's repository", kind)
	default:
		return kind, true
	}
	return "", false
}

func (f *file) otherVersion(api, kind *yaml.Node) {
	f.push("apiVersion")
	defer f.pop()
	switch {
	case strings.HasPrefix(api.Value, "pawl.dev/"), strings.EqualFold(api.Value, spec.APIVersion):
		f.fail(api, "%s is not known (%s?)", show(api.Value), spec.APIVersion)
	case kind != nil:
		f.foreign(api, show(api.Value)+" "+show(kind.Value)+" is no document of Pawl")
	default:
		f.foreign(api, show(api.Value)+" is no document of Pawl")
	}
}

func (f *file) foreign(n *yaml.Node, what string) {
	if f.opt.Platform {
		f.fail(n, "%s: keep it out of the platform's configuration", what)
		return
	}
	f.fail(n, "%s: move it out of the folder that path names, or list it in .pawlignore", what)
}

func suggestKind(have string, known []spec.Kind) string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	if s := suggest(have, names); s != "" {
		return s
	}
	return " (known: " + strings.Join(names, ", ") + ")"
}

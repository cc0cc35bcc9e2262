package specfile

import (
	"encoding/json"
	"strings"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// Bridges for the tests in package specfile_test.

// GenerateSchema makes a kind's JSON Schema from the table that Decode checks by.
func GenerateSchema(kind spec.Kind) ([]byte, error) {
	s := document(kind, false)
	m := schemaOf(&s)
	m["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	m["$id"] = "https://pawl.dev/schema/v1/" + string(kind) + ".json"
	m["title"] = string(kind)
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

func schemaOf(s *shape) map[string]any {
	m := map[string]any{}
	if s.doc != "" {
		m["description"] = s.doc
	}
	if s.preset != nil {
		m["default"] = s.preset
	}
	switch s.kind {
	case text:
		textSchema(m, s.rule)
	case whole:
		m["type"], m["minimum"], m["maximum"] = "integer", s.min, s.max
	case flag:
		m["type"] = "boolean"
	case duration:
		span := map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`}
		m["anyOf"] = []any{span}
		if s.zero {
			m["anyOf"] = []any{span, map[string]any{"const": 0}, map[string]any{"const": "0"}}
		}
	case object:
		objectSchema(m, s)
	case list:
		m["type"], m["items"] = []string{"array", "null"}, schemaOf(s.item)
	case table:
		m["type"] = "object"
		if s.nullable {
			m["type"] = []string{"object", "null"}
		}
		m["maxProperties"] = spec.MaxConfigKeys
		m["propertyNames"] = map[string]any{"minLength": 1, "maxLength": maxKey}
		m["additionalProperties"] = map[string]any{"type": "string", "maxLength": spec.MaxValueBytes}
	}
	return m
}

func textSchema(m map[string]any, r rule) {
	m["type"] = "string"
	if r.pattern != "" {
		m["pattern"] = r.pattern
	}
	if r.max > 0 {
		m["maxLength"] = r.max
	}
	switch len(r.values) {
	case 0:
	case 1:
		m["const"] = r.values[0]
	default:
		m["enum"] = r.values
	}
}

func objectSchema(m map[string]any, s *shape) {
	properties, required := map[string]any{}, []string{}
	for i := range s.fields {
		f := &s.fields[i]
		properties[f.name] = schemaOf(&f.shape)
		if f.required {
			required = append(required, f.name)
		}
	}
	m["type"], m["properties"], m["additionalProperties"] = "object", properties, false
	if len(required) > 0 {
		m["required"] = required
	}
	if _, f := s.find("stream"); f != nil { // a factory: its name and one launcher
		m["minProperties"], m["maxProperties"] = 2, 2
	}
}

// ScanDepth tells how far the scanner read before it refused nesting, or -1.
func ScanDepth(textOf string) int {
	s := scan([]byte(textOf))
	if s.fatal != nil && strings.HasPrefix(s.fatal.message, "nested") {
		return s.fatal.offset
	}
	return -1
}

// Meaning is what a reader of YAML takes a plain scalar for; empty = a string.
func Meaning(plain string) string {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("- "+plain+"\n"), &doc); err != nil {
		return err.Error()
	}
	return meaning(doc.Content[0].Content[0])
}

// Suggest is the hint for a name that is not known.
func Suggest(have string, names ...string) string { return suggest(have, names) }

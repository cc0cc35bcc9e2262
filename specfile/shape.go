package specfile

import (
	"strconv"

	"github.com/pawl-dev/pawl/spec"
)

// A shape says what a value may be. The shapes of all kinds are the one table
// behind checking, suggestions and the JSON Schemas. Tables are built when they
// are asked for: nothing here is shared or changed.
type shape struct {
	kind     shapeKind
	doc      string  // for editors
	fields   []field // of an object
	item     *shape  // of a list
	rule     rule    // of a text
	min, max int     // of a whole number
	zero     bool    // a duration may be 0
	nullable bool    // null = absent
	hidden   bool    // its value, or those of a table, are never shown
	preset   any     // the default, for editors
}

type shapeKind uint8

const (
	text     shapeKind = iota // a string
	whole                     // a whole number, plain decimal
	flag                      // true or false
	duration                  // a string as time.ParseDuration reads it
	object                    // a mapping with known fields
	list                      // a list of one shape
	table                     // a mapping of strings to strings
)

type field struct {
	name     string
	required bool
	shape
}

// find gives the field of that name.
func (s *shape) find(name string) (int, *field) {
	for i := range s.fields {
		if s.fields[i].name == name {
			return i, &s.fields[i]
		}
	}
	return -1, nil
}

func (s *shape) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// must marks a field as required.
func must(f field) field {
	f.required = true
	return f
}

func textField(name string, r rule, doc string) field {
	return field{name, false, shape{kind: text, rule: r, doc: doc}}
}

func presetText(name string, r rule, preset, doc string) field {
	return field{name, false, shape{kind: text, rule: r, doc: doc, preset: preset}}
}

func choice(name, preset, doc string, values ...string) field {
	return field{name, false, shape{kind: text, rule: oneOf(values...), doc: doc, preset: preset}}
}

func wholeField(name string, lo, hi int, preset any, doc string) field {
	return field{name, false, shape{kind: whole, min: lo, max: hi, preset: preset, doc: doc}}
}

func flagField(name, doc string) field {
	return field{name, false, shape{kind: flag, preset: false, doc: doc}}
}

func spanField(name, preset string, zero bool, doc string) field {
	return field{name, false, shape{kind: duration, preset: preset, zero: zero, doc: doc}}
}

func objectField(name, doc string, fields ...field) field {
	return field{name, false, shape{kind: object, doc: doc, fields: fields}}
}

func listField(name string, item shape, doc string) field {
	return field{name, false, shape{kind: list, nullable: true, doc: doc, item: &item}}
}

func texts(name string, r rule, doc string) field {
	return listField(name, shape{kind: text, rule: r}, doc)
}

func port(doc string) field { return wholeField("port", 1, 65535, nil, doc) }

// document is the shape of a whole document of a kind.
func document(kind spec.Kind, platform bool) shape {
	name := label
	if kind == spec.KindPavilion {
		name = tenantName
	}
	s := shape{kind: object, doc: kindDoc(kind)}
	s.fields = []field{
		must(textField("apiVersion", oneOf(spec.APIVersion), "The version of this format.")),
		must(textField("kind", oneOf(string(kind)), "What this document declares.")),
		must(objectField("metadata", "What the document is called.",
			must(textField("name", name(), "The name, unique among the documents of this kind: lower-case letters, digits and -, at most 63.")))),
		must(objectField("spec", kindDoc(kind), specFields(kind, platform)...)),
	}
	return s
}

func specFields(kind spec.Kind, platform bool) []field {
	switch kind {
	case spec.KindJob:
		return jobFields()
	case spec.KindSubscription:
		return subscriptionFields()
	case spec.KindPavilion:
		return pavilionFields(platform)
	case spec.KindKollex:
		return kollexFields()
	default:
		return agentFields()
	}
}

func kindDoc(kind spec.Kind) string {
	switch kind {
	case spec.KindJob:
		return "A stream job: a pipeline factory's name and a map of strings."
	case spec.KindSubscription:
		return "Subscribes a Pavilion to a Kollex: its Episodes and the Dramas behind them."
	case spec.KindPavilion:
		return "A tenant: its ids, where its specs are and what is asked of them."
	case spec.KindKollex:
		return "A built-in Kollex of the platform; its ids have no Pavilion."
	default:
		return "The configuration of an agent: whose jobs it runs, and how."
	}
}

// commas prints 1000 as 1,000.
func commas(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	s := strconv.Itoa(n % 1000)
	return commas(n/1000) + "," + "000"[len(s):] + s
}

package specfile

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"
)

// The wire types are the specs of accepted documents as they are decoded. Names
// are those of the shapes; decoding is strict, so a field that only one of the
// two knows cannot pass.

type wireJob struct {
	PipelineFactory string            `json:"pipelineFactory"`
	Parallelism     *int              `json:"parallelism"`
	Suspend         bool              `json:"suspend"`
	Description     string            `json:"description"`
	Config          map[string]string `json:"config"`
}

type wireSubscription struct {
	Kollex            spec.KollexRef `json:"kollex"`
	Episodes          []spec.Episode `json:"episodes"`
	Dramas            []spec.Drama   `json:"dramas"`
	ExternalTargetIDs []string       `json:"externalTargetIds"`
}

type wireKollex struct {
	ID                string         `json:"id"`
	Builtin           bool           `json:"builtin"`
	ImageTag          string         `json:"imageTag"`
	Episodes          []spec.Episode `json:"episodes"`
	Dramas            []spec.Drama   `json:"dramas"`
	ExternalTargetIDs []string       `json:"externalTargetIds"`
}

// decode turns an accepted spec into values. Its nodes are printed as JSON,
// which is YAML of one meaning: every string in double quotes, no default of
// YAML 1.1 left to apply. That text is what sigs.k8s.io/yaml decodes. Given the
// file's own bytes, it would resolve plain scalars by its own rules and read
// the first document only; and it would read again what is not needed here.
func decode(kind spec.Kind, name string, n *yaml.Node) (Doc, error) {
	text := appendJSON(make([]byte, 0, 1024), n)
	switch kind {
	case spec.KindJob:
		return build(name, text, jobOf)
	case spec.KindSubscription:
		return build(name, text, subscriptionOf)
	case spec.KindPavilion:
		return build(name, text, pavilionOf)
	case spec.KindKollex:
		return build(name, text, kollexOf)
	default:
		return build(name, text, agentOf)
	}
}

// build decodes text and makes a document of it.
func build[T any](name string, text []byte, make func(name string, w T) Doc) (Doc, error) {
	var w T
	if err := sigs.UnmarshalStrict(text, &w); err != nil {
		return Doc{}, fmt.Errorf("decode: %w", err)
	}
	return make(name, w), nil
}

func jobOf(name string, w wireJob) Doc {
	j := spec.Job{Name: name, Factory: w.PipelineFactory, Config: w.Config, Parallelism: or(w.Parallelism, 1),
		Suspend: w.Suspend, Description: w.Description}
	if j.Config == nil {
		j.Config = map[string]string{}
	}
	return Doc{Key: j.Key(), Spec: j}
}

func subscriptionOf(name string, w wireSubscription) Doc {
	s := spec.Subscription{Name: name, Kollex: w.Kollex, Episodes: w.Episodes, Dramas: w.Dramas, ExternalTargetIDs: w.ExternalTargetIDs}
	return Doc{Key: s.Key(), Spec: s}
}

func kollexOf(name string, w wireKollex) Doc {
	return Doc{Key: spec.Key{Kind: spec.KindKollex, Name: name}, Kollex: &spec.Kollex{Name: name, ID: w.ID, Builtin: w.Builtin,
		ImageTag: w.ImageTag, Episodes: w.Episodes, Dramas: w.Dramas, ExternalTargetIDs: w.ExternalTargetIDs}}
}

// or gives what p points to, else a default.
func or[T any](p *T, preset T) T {
	if p == nil {
		return preset
	}
	return *p
}

// span is a duration as it is written; 0 may stand there without quotes.
type span string

// UnmarshalJSON takes a string or the number 0.
func (s *span) UnmarshalJSON(b []byte) error {
	if string(b) == "0" {
		*s = "0"
		return nil
	}
	var v string
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	*s = span(v)
	return nil
}

// orElse gives the duration that was written, else a default. It was checked before.
func (s span) orElse(preset time.Duration) time.Duration {
	d, err := time.ParseDuration(string(s))
	if err != nil {
		return preset
	}
	return d
}

// appendJSON prints accepted nodes. Absent is what null stands for. All that
// is not plain text is escaped, so that every reader of YAML takes it. Lines
// are short: a parser of YAML looks ahead to the end of the line for the colon
// that would make a key of what it has read, and keeps all tokens until then.
func appendJSON(b []byte, n *yaml.Node) []byte {
	switch {
	case n.Kind == yaml.SequenceNode:
		b = append(b, "[\n"...)
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ",\n"...)
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case n.Kind == yaml.MappingNode:
		b = append(b, "{\n"...)
		first := true
		for i := 0; i+1 < len(n.Content); i += 2 {
			if isNull(n.Content[i+1]) {
				continue
			}
			if !first {
				b = append(b, ",\n"...)
			}
			first = false
			b = append(appendString(b, n.Content[i].Value), ": "...)
			b = appendJSON(b, n.Content[i+1])
		}
		return append(b, '}')
	case n.Style == 0 && (n.Tag == "!!int" || n.Tag == "!!bool"):
		return append(b, n.Value...)
	}
	return appendString(b, n.Value)
}

func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r < 0x7f, r >= 0xa0 && !isControl(r):
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
	}
	return append(b, '"')
}

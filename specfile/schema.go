package specfile

import (
	"embed"
	"fmt"

	"github.com/pawl-dev/pawl/spec"
)

//go:embed schema/*.json
var schemas embed.FS

// Kinds are the kinds of documents that there are, those of tenants first.
func Kinds() []spec.Kind {
	return []spec.Kind{spec.KindJob, spec.KindSubscription, spec.KindPavilion, spec.KindKollex, spec.KindAgent}
}

// Schema is the JSON Schema (draft 2020-12) of a kind, for editors. It is
// weaker than Decode: it cannot see how a value is written, nor what fields
// must be to each other.
func Schema(kind spec.Kind) ([]byte, error) {
	b, err := schemas.ReadFile("schema/" + string(kind) + ".json")
	if err != nil {
		return nil, fmt.Errorf("schema of kind %s: there is none%s", show(string(kind)), suggestKind(string(kind), Kinds()))
	}
	return b, nil
}

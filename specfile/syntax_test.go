package specfile_test

import (
	"testing"

	"github.com/pawl-dev/pawl/specfile"
	"github.com/stretchr/testify/require"
)

func TestMistakesOfSyntaxHaveTheirLineAndAReason(t *testing.T) {
	for data, want := range map[string]string{
		"a: @x\n":               "a.yaml:1: not valid YAML: found character that cannot start any token (a value that begins with @, `, % or the like must be in quotes)",
		"a: b\nc: 'x\n":         "a.yaml:2: not valid YAML: found unexpected end of stream (a quote that is not closed?)",
		"a: 1\nb: c: d\n":       "a.yaml:2: not valid YAML: mapping values are not allowed in this context (a value with : in it must be in quotes, or the indent is wrong)",
		"a: 1\nb\nc: 2\n":       "a.yaml:2: not valid YAML: could not find expected ':' (a key without its colon)",
		"a:\n  - b\n c: d\n":    "a.yaml:3: not valid YAML: did not find expected key (is the indent right?)",
		"a: b\n...\nc: d\n":     "a.yaml:3: not valid YAML: did not find expected <document start> (a document after ... begins with ---)",
		"a: b\nc: \"\\q\"\n":    "a.yaml:2: not valid YAML: found unknown escape character",
		"a: b\nc: [*x]\n":       "a.yaml:2:5: aliases are not allowed: put text that begins with * in quotes",
		"a: b\nc: {d: e\n":      "a.yaml:2: not valid YAML: did not find expected ',' or '}'",
		"# é\n{{ if }}\na: b\n": "a.yaml:2:1: an unrendered template ({{ … }}): commit the file as it is after rendering",
	} {
		_, findings := specfile.Decode("a.yaml", []byte(data), specfile.Options{})
		require.NotEmpty(t, findings)
		require.Equal(t, want, findings[len(findings)-1].String(), "%q", data)
	}
}

package specfile_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the schemas and the golden findings anew")

func TestSchemasSayWhatTheTableSays(t *testing.T) {
	for _, kind := range specfile.Kinds() {
		want, err := specfile.GenerateSchema(kind)
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile(filepath.Join("schema", string(kind)+".json"), want, 0o644))
			continue
		}
		have, err := specfile.Schema(kind)
		require.NoError(t, err)
		require.Equal(t, string(want), string(have), "run: go test ./specfile -run TestSchemas -update")
	}
}

func TestAKindWithoutSchemaIsAnErrorThatSuggestsOne(t *testing.T) {
	_, err := specfile.Schema("JobSpecs")
	require.EqualError(t, err, "schema of kind JobSpecs: there is none (JobSpec?)")
	_, err = specfile.Schema("../JobSpec")
	require.Error(t, err)
}

func compile(t *testing.T, kind spec.Kind) *jsonschema.Schema {
	t.Helper()
	b, err := specfile.Schema(kind)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("mem:///schema.json", doc))
	s, err := c.Compile("mem:///schema.json")
	require.NoError(t, err)
	return s
}

// plainValue decodes the first document that is not empty, as an editor would.
func plainValue(data []byte) (map[string]any, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var v map[string]any
		if err := dec.Decode(&v); err != nil || v != nil {
			return v, err
		}
	}
}

func TestEveryValidCasePassesItsSchemaAndMostInvalidOnesFail(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{}
	for _, kind := range specfile.Kinds() {
		schemas[string(kind)] = compile(t, kind)
	}
	caught, all := 0, 0
	for _, c := range expectations(t) {
		v, err := plainValue(c.data)
		kind, ok := v["kind"].(string)
		if err != nil || !ok || schemas[kind] == nil {
			continue
		}
		verdict := schemas[kind].Validate(v)
		if c.valid {
			require.NoError(t, verdict, c.file)
			continue
		}
		all++
		if verdict != nil {
			caught++
		}
	}
	t.Logf("%d of %d invalid files fail their schema", caught, all)
	require.Greater(t, caught, all/2)
}

// Documents in testdata/full have every field that there is. They decode
// strictly, so table, schemas and wire types know the same names.
func TestDocumentsWithEveryFieldAreDecodedAndPassTheirSchemas(t *testing.T) {
	for file, opt := range map[string]specfile.Options{"tenant.yaml": {AllowSelf: true}, "platform.yaml": {Platform: true}} {
		data, err := os.ReadFile(filepath.Join("testdata/full", file))
		require.NoError(t, err)
		docs, findings := specfile.Decode(file, data, opt)
		require.Empty(t, findings)
		dec := yaml.NewDecoder(bytes.NewReader(data))
		byKind := map[spec.Kind][]any{} // some fields exclude each other
		for _, d := range docs {
			var v map[string]any
			require.NoError(t, dec.Decode(&v))
			require.NoError(t, compile(t, d.Key.Kind).Validate(v))
			byKind[d.Key.Kind] = append(byKind[d.Key.Kind], v)
		}
		for kind, values := range byKind {
			schema, err := specfile.Schema(kind)
			require.NoError(t, err)
			var s map[string]any
			require.NoError(t, json.Unmarshal(schema, &s))
			requireEveryField(t, s, values, string(kind))
		}
	}
}

// requireEveryField holds if each property of a schema is set in one of the values.
func requireEveryField(t *testing.T, schema map[string]any, values []any, at string) {
	t.Helper()
	if items, ok := schema["items"].(map[string]any); ok {
		var all []any
		for _, v := range values {
			list, ok := v.([]any)
			require.True(t, ok, at)
			all = append(all, list...)
		}
		requireEveryField(t, items, all, at+"[]")
		return
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	for name, property := range properties {
		var set []any
		for _, v := range values {
			m, ok := v.(map[string]any)
			require.True(t, ok, at)
			if v, ok := m[name]; ok {
				set = append(set, v)
			}
		}
		require.NotEmpty(t, set, at+"."+name)
		requireEveryField(t, property.(map[string]any), set, at+"."+name)
	}
}

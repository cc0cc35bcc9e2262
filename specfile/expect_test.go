package specfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
	"github.com/stretchr/testify/require"
)

// expectation is one row of testdata/yaml/EXPECT.tsv.
type expectation struct {
	file  string
	data  []byte
	valid bool
}

func expectations(t testing.TB) []expectation {
	t.Helper()
	table, err := os.ReadFile("testdata/yaml/EXPECT.tsv")
	require.NoError(t, err)
	var rows []expectation
	for i, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		cells := strings.Split(line, "\t")
		require.Len(t, cells, 3, line)
		if i == 0 {
			continue
		}
		data, err := os.ReadFile(filepath.Join("testdata/yaml", cells[0]))
		require.NoError(t, err)
		require.Contains(t, []string{"valid", "invalid"}, cells[1])
		rows = append(rows, expectation{cells[0], data, cells[1] == "valid"})
	}
	return rows
}

// named gives words that the finding of an invalid row must say.
func named() map[string]string {
	return map[string]string{
		"010": "unknown field (parallelism?)", "011": "JobSpec?", "012": "pawl.dev/v9", "013": "missing", "014": "no value",
		"015": "missing", "016": "a list", "017": "a single value", "020": "first in line 9", "021": "first in line 7",
		"022": "first in line 5", "023": "first in line 9", "030": "boolean", "031": "plain off", "032": "boolean", "033": "number",
		"034": "number", "035": "number", "036": "number", "037": "number", "038": "no value", "039": "no value", "040": "a mapping",
		"041": "a list", "045": "key 1 is not a string", "046": "key y is not a string", "048": "1_000", "049": "number",
		"050": "2.5 is not a whole number", "051": "range", "052": "range", "053": "octal", "054": "quotes", "055": "range",
		"056": "2.0 is not a whole number", "060": "aliases", "061": "merge keys", "062": "no document of Pawl", "063": "!!binary",
		"064": "explicit tag", "065": "tab", "066": "20 levels", "067": "']'", "068": "merge conflict", "069": "template",
		"072": "unknown field (pipelineFactory?)", "073": "declared twice", "076": "List", "081": "byte order mark", "083": "UTF-16",
		"084": "byte E9", "085": "NUL", "087": "200,000 bytes (limit 65,536)", "088": "2,000 keys (limit 1,000)", "089": "LFS",
		"090": "lower-case", "091": "lower-case", "092": "lower-case", "093": "lower-case", "094": "number", "095": "limit 63",
		"097": `"orders "`, "098": "boolean", "100": "four of", "101": "missing", "102": "four of", "103": "four of", "104": "number",
		"105": "an Episode where that of a Kollex", "106": "another Pavilion", "107": "twice", "108": "is a GID", "111": "not an Episode or Drama",
		"112": "NT:1-D000c?", "113": `"NT:1-D000c "`, "114": "twice", "117": "range", "118": "quotes", "119": "number", "120": "no tag",
		"122": "lower case", "123": "64 lower-case hex", "124": "quotes", "125": "yes is neither", "126": "empty", "127": "not a tag",
		"128": "latest", "132": "env: needs a name",
	}
}

func TestEveryCaseOfTheTable(t *testing.T) {
	words := named()
	for _, c := range expectations(t) {
		t.Run(c.file, func(t *testing.T) {
			_, findings := specfile.Decode(c.file, c.data, specfile.Options{})
			requireClean(t, findings)
			errs, _ := spec.Split(findings)
			if c.valid {
				require.Empty(t, errs)
				return
			}
			require.NotEmpty(t, errs)
			word, ok := words[c.file[:3]]
			require.True(t, ok, "no word for this row")
			require.Contains(t, text(errs), word)
			if !strings.HasPrefix(c.file, "083") { // no text, so no line
				require.Positive(t, errs[0].Line)
			}
		})
	}
}

// requireClean holds for every finding there is: it can be printed anywhere.
func requireClean(t testing.TB, findings []spec.Finding) {
	t.Helper()
	require.LessOrEqual(t, len(findings), 202)
	for _, f := range findings {
		s := f.String()
		require.True(t, utf8.ValidString(s), "%q", s)
		require.False(t, strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }), "%q", s)
		require.LessOrEqual(t, len(f.Message), 600)
	}
}

func text(findings []spec.Finding) string {
	lines := make([]string, len(findings))
	for i, f := range findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n") + "\n"
}

func decodeCase(t *testing.T, name string) []specfile.Doc {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/yaml", name))
	require.NoError(t, err)
	docs, findings := specfile.Decode(name, data, specfile.Options{})
	errs, _ := spec.Split(findings)
	require.Empty(t, errs)
	return docs
}

func TestStringsAreStoredAsTheyAreWritten(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"042-config-quoted.yaml":      {"a": "no", "b": "0123", "c": "1.10", "d": "true", "e": "1e3", "f": ""},
		"043-config-plain-words.yaml": {"a": "orders-v2", "b": "10s", "c": "1.2.3", "d": "a:b", "e": "2026-11-30T01:02:03Z-x"},
		"044-config-block.yaml":       {"sql": "l1\nl2\n"},
		"082-crlf.yaml":               {"sql": "l1\nl2\n"},
		"047-config-null-map.yaml":    {},
	} {
		docs := decodeCase(t, name)
		require.Len(t, docs, 1)
		require.Equal(t, spec.Job{Name: "orders", Factory: "windowCount", Parallelism: 2, Config: want}, docs[0].Spec, name)
	}
}

func TestLineEndsDoNotChangeTheHash(t *testing.T) {
	lf, crlf := decodeCase(t, "044-config-block.yaml")[0], decodeCase(t, "082-crlf.yaml")[0]
	require.Equal(t, lf.Spec.(spec.Job).SpecHash("t"), crlf.Spec.(spec.Job).SpecHash("t"))
	require.Equal(t, lf.Spec.Digest(), crlf.Spec.Digest())
}

func TestEmptyDocumentsAreSkippedAndLinesAreThoseOfTheFile(t *testing.T) {
	docs := decodeCase(t, "071-empty-documents.yaml")
	require.Len(t, docs, 3)
	for i, want := range []struct {
		name string
		line int
	}{{"orders", 5}, {"refunds", 15}, {"late", 24}} {
		require.Equal(t, spec.Key{Kind: spec.KindJob, Name: want.name}, docs[i].Key)
		require.Equal(t, want.line, docs[i].Line)
	}
}

func TestANullListIsAnEmptyOne(t *testing.T) {
	s, ok := decodeCase(t, "115-external-null.yaml")[0].Spec.(spec.Subscription)
	require.True(t, ok)
	require.Empty(t, s.ExternalTargetIDs)
	require.Equal(t, spec.KollexRef{ID: "NT:1-K0001", ImageTag: "1.4.0"}, s.Kollex)
	require.Equal(t, spec.Drama{ID: "NT:1-D000b", Service: "gallery", Port: 8080, RoleID: "R-10",
		Image: "registry.example.com:5000/shop/gallery:1.4.0"}, s.Dramas[0])
	require.True(t, s.Equal(decodeCase(t, "003-subscription.yaml")[0].Spec))
}

func TestAFileWithoutDocumentsIsAWarning(t *testing.T) {
	for _, data := range []string{"", "# nothing\n", "---\n---\n", "\ufeff"} {
		docs, findings := specfile.Decode("a.yaml", []byte(data), specfile.Options{})
		require.Empty(t, docs)
		require.Equal(t, "a.yaml: warning: no document in this file\n", text(findings))
	}
}

func TestGoodDocumentsOfABadFileAreGivenWithTheFindings(t *testing.T) {
	data, err := os.ReadFile("testdata/yaml/072-second-document-bad.yaml")
	require.NoError(t, err)
	docs, findings := specfile.Decode("a.yaml", data, specfile.Options{})
	require.Len(t, docs, 1)
	require.Equal(t, "orders", docs[0].Key.Name)
	require.Len(t, findings, 2)
}

func TestASecretNeverShowsUpInAFinding(t *testing.T) {
	const canary = "hunter2"
	for _, value := range []string{`"hunter2"`, "*hunter2", "&hunter2 x", "!hunter2 x", "[hunter2]", "{hunter2: hunter2}", `"hunter2`, "0x%hunter2",
		"@hunter2", `"hunter2\q"`, "hunter2: hunter2: hunter2", "|\n hunter2", "'hunter2\n", "{{ hunter2 }}", "[hunter2", "<<: hunter2", "- hunter2", "{hunter2: 1, hunter2: 2}", "{hunter2: !!int x}", "\n      hunter2: &a 1", "[! hunter2]", "! hunter2"} {
		head := "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata: {name: a}\nspec:\n  pipelineFactory: f\n  config:\n    secret.db: "
		_, findings := specfile.Decode("a.yaml", []byte(head+value+"\n"), specfile.Options{})
		require.NotEmpty(t, findings, value)
		require.NotContains(t, text(findings), canary, value)
	}
	for _, plain := range []string{"12345678", "0123", "1e100", "yes", "2026-01-01", "1:30"} {
		data := "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata: {name: a}\nspec: {pipelineFactory: f, config: {secret.db: " + plain + "}}\n"
		_, findings := specfile.Decode("a.yaml", []byte(data), specfile.Options{})
		require.Contains(t, text(findings), "spec.config.secret.db: is not a string but a ")
		require.NotContains(t, text(findings), plain)
	}
}

func TestSharedCasesAreCompleteHere(t *testing.T) {
	files, err := filepath.Glob("testdata/yaml/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, len(expectations(t)))
	require.False(t, bytes.Contains([]byte(strings.Join(files, "")), []byte(" ")))
}

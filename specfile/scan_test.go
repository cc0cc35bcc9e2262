package specfile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
	"github.com/stretchr/testify/require"
)

func withConfig(value string) string {
	return "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata: {name: a}\nspec:\n  pipelineFactory: f\n  config:\n" + value
}

func TestBracketsAndIndentInsideTextDoNotCountAsNesting(t *testing.T) {
	deep := strings.Repeat("[{", 40)
	stairs := "    a: x\n"
	for i := range 40 {
		stairs += strings.Repeat(" ", 6+i) + "- more text" + "\n"
	}
	for name, value := range map[string]string{
		"double quotes":         "    a: \"" + deep + "\\\"" + deep + "\"\n",
		"single quotes":         "    a: 'it''s " + deep + "'\n",
		"quotes over lines":     "    a: \"x\n      " + deep + "\n      " + deep + "\"\n",
		"comment":               "    a: x # " + deep + "\n    # " + deep + "\n",
		"literal":               "    a: |\n      " + deep + "\n\n      - - - - - - - - - - - - - - - - - - - - - - - x\n    b: z\n",
		"literal with indent":   "    a: |2-\n        " + deep + "\n      k: " + deep + "\n",
		"folded, comment":       "    a: > # why\n      " + deep + "\n",
		"plain":                 "    a: x" + deep + "\n    b: it's [[[[[[[[[[[[[[[[[[[[[[[ and \"{{{{{{{{{{{{{{{{{{{{{{\n",
		"plain over lines":      stairs,
		"brackets side by side": "    a: \"" + strings.Repeat("[]", 50) + "\"\n    b: x\n",
		"flow with quotes":      "    {a: \"" + deep + "\", 'b': '" + deep + "', c: a'b\"c, d: x#y}\n",
		"flow, comment":         "    {a: x, # " + deep + "\n     b: z}\n",
		"flow, plain lines":     "    {a: x\n      'w \"z, b: z}\n",
	} {
		docs, findings := specfile.Decode("a.yaml", []byte(withConfig(value)), specfile.Options{})
		require.Empty(t, findings, name)
		require.Len(t, docs, 1, name)
	}
}

func TestNestingIsRefusedBeforeTheParserSeesIt(t *testing.T) {
	for name, data := range map[string]string{
		"brackets":        strings.Repeat("[", 1<<19),
		"braces":          "a: " + strings.Repeat("{a: ", 1<<17),
		"brackets, lines": "a:\n  b: [\n" + strings.Repeat("  [\n", 1<<17),
		"dashes":          strings.Repeat("- ", 1<<18),
		"questions":       strings.Repeat("? ", 1<<18),
		"stairs": func() (s string) {
			for i := range 400 {
				s += strings.Repeat(" ", i) + "a:\n"
			}
			return s
		}(),
		"after text": "a: \"[[\"\nb: 'x' # [\nc: |\n  [[[\nd: " + strings.Repeat("[", 1000),
	} {
		at := specfile.ScanDepth(data)
		require.GreaterOrEqual(t, at, 0, name)
		require.Less(t, at, 800, "%s: the work does not grow with the file", name)
		docs, findings := specfile.Decode("a.yaml", []byte(data), specfile.Options{})
		require.Empty(t, docs)
		require.Len(t, findings, 1, name)
		require.Contains(t, findings[0].Message, "nested deeper than 20 levels")
	}
}

func TestNestingThatTheScanCannotSeeIsMeasuredOnTheNodes(t *testing.T) {
	data := ""
	for i := range 15 { // a list that is not indented counts once in the scan
		data += strings.Repeat("  ", i) + "a:\n" + strings.Repeat("  ", i) + "-\n"
	}
	require.Equal(t, -1, specfile.ScanDepth(data))
	_, findings := specfile.Decode("a.yaml", []byte("apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata: {name: a}\n"+data), specfile.Options{})
	require.Contains(t, text(findings), "nested deeper than 20 levels")
}

func TestAnAliasBombIsNeverFollowed(t *testing.T) {
	bomb, err := os.ReadFile("testdata/yaml/062-alias-bomb.yaml")
	require.NoError(t, err)
	data := "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata: {name: a}\nspec: {pipelineFactory: f}\n" + string(bomb)
	_, findings := specfile.Decode("a.yaml", []byte(data), specfile.Options{})
	require.Contains(t, text(findings), "anchors are not allowed")
	require.Contains(t, text(findings), "aliases are not allowed")
	// 10 unknown fields, 10 anchors and 81 aliases: one finding for each token, not for each expansion.
	require.Len(t, findings, 101)
	require.Equal(t, "a.yaml: 1 further errors are left out (limit 100)", findings[0].String())
	require.Less(t, testing.AllocsPerRun(5, func() {
		specfile.Decode("a.yaml", []byte(data), specfile.Options{})
	}), 5000.0)
}

func TestTabsAsIndentAreNamedWhereverTheyStand(t *testing.T) {
	for data, at := range map[string]string{
		"a:\n\tb: c\n":              "2:1",
		"a:\n  \tb: c\n":            "2:3",
		"a: {\n\tb: c}\n":           "2:1",
		"a: |\n\ttext\n":            "2:1",
		"a:\n  - b\n\t- c\n":        "3:1",
		"# é\na: [é,\n é,\n \té]\n": "4:2",
	} {
		_, findings := specfile.Decode("a.yaml", []byte(data), specfile.Options{})
		require.Equal(t, "a.yaml:"+at+": a tab as indent: use spaces\n", text(findings), "%q", data)
	}
	docs, findings := specfile.Decode("a.yaml", []byte(withConfig("    a:\tx\t# tabs\n    b: |\n      l\n      \ttab\n    c: \"x\n      \ty\"\n")), specfile.Options{})
	require.Empty(t, findings)
	require.Equal(t, map[string]string{"a": "x", "b": "l\n\ttab\n", "c": "x y"}, docs[0].Spec.(spec.Job).Config)
}

func TestBytesThatNoParserShouldGuessAbout(t *testing.T) {
	for data, want := range map[string]string{
		"\xfe\xff\x00a":                  "a.yaml: UTF-16 with a byte order mark: save the file as UTF-8",
		"a: b\r\nc: d\re: f":             "a.yaml:2:5: a carriage return without a line feed: end lines with LF or CR LF",
		"a: é\nb: é\x1b[31m":             "a.yaml:2:5: control character U+001B: write it as an escape in double quotes",
		"a: \u0085":                      "a.yaml:1:4: character U+0085 is a line break for some readers of YAML: write it as an escape in double quotes",
		"a: \u2028":                      "a.yaml:1:4: character U+2028 is a line break for some readers of YAML: write it as an escape in double quotes",
		"a: b\n\ufeffc: d":               "a.yaml:2:1: a second byte order mark (U+FEFF): remove it",
		"\ufeffa: é\xff":                 "a.yaml:1:5: byte FF at offset 8 is not UTF-8: save the file as UTF-8",
		"a: \ufffe":                      "a.yaml:1:4: control character U+FFFE: write it as an escape in double quotes",
		">>>>>>> theirs\n":               "a.yaml:1:1: merge conflict markers (<<<<<<< ======= >>>>>>>) are left in: resolve the conflict",
		strings.Repeat("x", 1<<20) + "y": "a.yaml: file of 1048577 bytes (limit 1048576): split it",
	} {
		docs, findings := specfile.Decode("a.yaml", []byte(data), specfile.Options{})
		require.Empty(t, docs)
		require.Equal(t, want+"\n", text(findings))
	}
}

func TestMarkersInsideTextAreNoConflict(t *testing.T) {
	docs, findings := specfile.Decode("a.yaml", []byte(withConfig("    a: |\n      <<<<<<< HEAD\n      =======\n    b: x <<<<<<< y\n")), specfile.Options{})
	require.Empty(t, findings)
	require.Len(t, docs, 1)
}

func TestEscapesReachTheConfigUnchanged(t *testing.T) {
	docs, findings := specfile.Decode("a.yaml", []byte(withConfig(`    a: "\0\x07\u0085\u2028\uFEFF\U0001F600\\\"/\t é"`+"\n")), specfile.Options{})
	require.Empty(t, findings)
	require.Equal(t, "\x00\x07\u0085\u2028\ufeff😀\\\"/\t é", docs[0].Spec.(spec.Job).Config["a"])
}

func TestLimitsOfAConfig(t *testing.T) {
	var b strings.Builder
	for i := range spec.MaxConfigKeys {
		fmt.Fprintf(&b, "    k%d: v\n", i)
	}
	docs, findings := specfile.Decode("a.yaml", []byte(withConfig(b.String())), specfile.Options{})
	require.Empty(t, findings)
	require.Len(t, docs[0].Spec.(spec.Job).Config, spec.MaxConfigKeys)
	value := strings.Repeat("é", spec.MaxValueBytes/2)
	docs, findings = specfile.Decode("a.yaml", []byte(withConfig("    a: "+value+"\n    "+strings.Repeat(`\`, 500)+": x\n")), specfile.Options{})
	require.Empty(t, findings)
	require.Equal(t, value, docs[0].Spec.(spec.Job).Config["a"])
	for bad, want := range map[string]string{
		"    a: " + value + "x\n":                   "value of 65,537 bytes (limit 65,536)",
		"    " + strings.Repeat("k", 501) + ": x\n": "key of 501 characters (limit 500)",
		"    \"\": x\n":                             "empty key",
		"    \"a\\nb\": x\n":                        `spec.config."a\nb": key with a control character U+000A: remove it`,
		"    ? [a]\n    : x\n":                      "a list as a key: a string is wanted",
		"    ? *x\n    : y\n":                       "aliases are not allowed",
		"    &x a: y\n    *x : z\n":                 "aliases are not allowed: write the key out",
	} {
		docs, findings := specfile.Decode("a.yaml", []byte(withConfig(bad)), specfile.Options{})
		require.Empty(t, docs)
		require.Contains(t, text(findings), want)
	}
}

func TestWhatPlainWordsMeanToSomeReader(t *testing.T) {
	for want, words := range map[string]string{
		"a boolean":             "true True TRUE false False FALSE",
		"a boolean in YAML 1.1": "y Y yes Yes YES n N no No NO on On ON off Off OFF",
		"null":                  "null Null NULL ~",
		"a number": "0 1 -1 +1 123 0123 089 0x1F 0o17 0b11 1_000 1.10 .5 1. -0.0 1e3 1E+3 .inf -.Inf .nan " +
			"0x_1F 12_3.4_5 12345678901234567890 99999999999999999999999 1.5e-7",
		"a number in YAML 1.1": "1:30 190:20:30 -1:30 1:30.5 0:00",
		"a date":               "2026-11-30 2026-1-2 2001-12-14t21:59:43.10-05:00",
		"a date in YAML 1.1":   "2026-13-45",
		"a merge key":          "<<",
		"":                     "a yEs tRUE nope yesterday 1.2.3 10s v1 1:60 1:2:3:x 0xZZ . .. -. 1.2.3.4 1-2 e3 1e .e3 2026-11-30x 12:30pm 2026-1 -x +x 1a a:1 _1 0x +.e1",
	} {
		for word := range strings.FieldsSeq(words) {
			require.Equal(t, want, specfile.Meaning(word), word)
		}
	}
	require.Equal(t, "a date in YAML 1.1", specfile.Meaning("2001-12-14 21:59:43.10 -5"))
	require.Equal(t, "a date in YAML 1.1", specfile.Meaning("2001-12-14 21:59:43 Z"))
	require.Empty(t, specfile.Meaning("2001-12-14 at noon"))
	require.Empty(t, specfile.Meaning("2001-12-14 21:59:43 +x"))
	require.Empty(t, specfile.Meaning("2001-12-14 21:59"))
	require.Equal(t, "a default value in YAML 1.1", specfile.Meaning("="))
}

func TestSuggestionsAreOnlyMadeWhenTheyAreLikely(t *testing.T) {
	names := []string{"pipelineFactory", "parallelism", "suspend", "description", "config", "id"}
	for have, want := range map[string]string{
		"paralelism": "parallelism", "Config": "config", "cofnig": "config", "factory": "pipelineFactory", "suspended": "suspend",
		"replicas": "", "ip": "", "x": "", strings.Repeat("config", 30): "",
	} {
		if want != "" {
			want = " (" + want + "?)"
		}
		require.Equal(t, want, specfile.Suggest(have, names...), have)
	}
}

func TestAFileOfNothingButMistakesHasABoundedNumberOfFindings(t *testing.T) {
	for name, value := range map[string]string{
		"bare tags":  "    a: [" + strings.Repeat("! a,", 1<<15) + "]\n",
		"aliases":    "    a: &a x\n    b: [" + strings.Repeat("*a,", 1<<15) + "]\n",
		"duplicates": strings.Repeat("    a: b\n", 1<<15),
		"numbers":    strings.Repeat("    1: 2\n", 1<<15),
		"secrets":    strings.Repeat("    secret.a: b\n", 1<<14),
	} {
		docs, findings := specfile.Decode("a.yaml", []byte(withConfig(value)), specfile.Options{})
		require.Empty(t, docs)
		requireClean(t, findings)
		require.GreaterOrEqual(t, len(findings), 100, name)
	}
}

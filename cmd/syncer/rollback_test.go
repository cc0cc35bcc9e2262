package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func jobText(name string, parallelism int) string {
	return fmt.Sprintf("apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata: {name: %s}\nspec:\n  pipelineFactory: enrich\n  parallelism: %d\n", name, parallelism)
}

// putBack replaces the document of a job by that of another file, in the first way that decodes.
func putBack(t require.TestingT, into, from, name string) string {
	key := spec.Key{Kind: spec.KindJob, Name: name}
	at, unclear := findSpec([]byte(into), key)
	require.False(t, unclear)
	require.Len(t, at, 1)
	doc, _ := findSpec([]byte(from), key)
	require.Len(t, doc, 1)
	want, _ := declared("from", []byte(from), key, specfile.Options{})
	for _, way := range spliced([]byte(into), at[0], []byte(from), doc[0]) {
		if got, bad := declared("into", way, key, specfile.Options{}); len(bad) == 0 && want.Equal(got) {
			return string(way)
		}
	}
	require.Fail(t, "no way decodes", "%q into %q", from, into)
	return ""
}

func TestADocumentIsPutBackAndAllElseStays(t *testing.T) {
	a1, a2, b := jobText("a", 1), jobText("a", 2), jobText("b", 3)
	for name, c := range map[string]struct{ into, from, want string }{
		"a file of its own":              {a2, a1, a1},
		"the first of two":               {a2 + "---\n" + b, a1, a1 + "---\n" + b},
		"the last of two":                {b + "---\n" + a2, a1 + "---\n" + b, b + "---\n" + a1},
		"comments of the file stay":      {"# owners: team a\n\n# note\n" + a2 + "# the end of a\n---\n# about b\n" + b, a1, "# owners: team a\n\n" + a1 + "# the end of a\n---\n# about b\n" + b},
		"its own comment comes back":     {"# new\n" + a2, "# old\n" + a1, "# old\n" + a1},
		"without a last line end":        {b + "---\n" + a2, strings.TrimSpace(a1), b + "---\n" + strings.TrimSpace(a1)},
		"a line end is added":            {a2 + "---\n" + b, strings.TrimSpace(a1), a1 + "---\n" + b},
		"a marker at the beginning":      {"---\n" + a2 + "...\n---\n" + b, "--- # first\n" + a1, "---\n" + a1 + "...\n---\n" + b},
		"a byte order mark":              {byteOrderMark + a2 + "---\n" + b, a1, a1 + "---\n" + b},
		"a document on a marker's line":  {"--- {apiVersion: pawl.dev/v1, kind: JobSpec, metadata: {name: a}, spec: {pipelineFactory: x}}\n---\n" + b, a1, "---\n" + a1 + "---\n" + b},
		"from a marker's line":           {a2 + "---\n" + b, "--- {apiVersion: pawl.dev/v1, kind: JobSpec, metadata: {name: a}, spec: {pipelineFactory: x}}\n", " {apiVersion: pawl.dev/v1, kind: JobSpec, metadata: {name: a}, spec: {pipelineFactory: x}}\n---\n" + b},
		"a text that keeps its last end": {a2 + "---\n" + b, a1 + "  description: |+\n    text\n\n\n---\n" + b, a1 + "  description: |+\n    text\n\n\n---\n" + b},
		"a text that looks like a comment": {a2 + "  description: |\n    x\n    # no comment\n", a1 + "  description: |\n    x\n    # --- neither\n",
			a1 + "  description: |\n    x\n    # --- neither\n"},
		"a document that is not valid": {strings.Replace(a2, "parallelism", "paralelism", 1) + "---\n" + b, a1, a1 + "---\n" + b},
	} {
		require.Equal(t, c.want, putBack(t, c.into, c.from, "a"), name)
	}
}

// Files of every make: any mixture of markers, comments and line ends.
func TestAnyDocumentOfAnyFileIsPutBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := func(label string) string {
			var b strings.Builder
			edge := rapid.SampledFrom([]string{"", "\n", "# comment\n", "\n\n# a\n# b\n\n", "   # indented\n"})
			for i, name := range rapid.Permutation([]string{"a", "b", "c"}).Draw(t, label) {
				if i > 0 || rapid.Bool().Draw(t, "first") {
					b.WriteString(rapid.SampledFrom([]string{"---\n", "--- # x\n", "---  \n"}).Draw(t, "marker"))
				}
				b.WriteString(edge.Draw(t, "before"))
				b.WriteString(jobText(name, rapid.IntRange(1, 9).Draw(t, "n")))
				b.WriteString(rapid.SampledFrom([]string{"", "  description: |+\n    x\n\n", "  description: |-\n    # x\n", "  config: {}\n", "  config:\n    k: 'a\n\n      b'\n"}).Draw(t, "tail"))
				b.WriteString(edge.Draw(t, "after"))
			}
			text := b.String()
			if rapid.Bool().Draw(t, "dos") {
				text = strings.ReplaceAll(text, "\n", "\r\n")
			}
			if rapid.Bool().Draw(t, "cut") && !strings.HasSuffix(strings.TrimSpace(text), "x") { // a text that ends there would be another elsewhere
				text = strings.TrimRight(text, "\r\n")
			}
			return text
		}
		into, from := file("into"), file("from")
		out := putBack(t, into, from, "b")
		for _, other := range []string{"a", "c"} {
			key := spec.Key{Kind: spec.KindJob, Name: other}
			was, _ := declared("", []byte(into), key, specfile.Options{})
			is, _ := declared("", []byte(out), key, specfile.Options{})
			require.True(t, was.Equal(is), "%s in %q", other, out)
			a, _ := findSpec([]byte(into), key)
			b, _ := findSpec([]byte(out), key)
			require.Equal(t, into[a[0].start:a[0].tail], out[b[0].start:b[0].tail])
		}
	})
}

func TestOnlyTheSpecThatIsMeantIsFound(t *testing.T) {
	key := spec.Key{Kind: spec.KindJob, Name: "orders"}
	for text, want := range map[string]int{
		jobText("orders", 1): 1,
		jobText("orders-2", 1) + "---\n" + jobText("refunds", 1) + "  description: orders\n": 0,
		strings.Replace(jobText("orders", 1), "JobSpec", "KollexSubscription", 1):            0,
		"apiVersion: pawl.dev/v1\nkind: \"Job\\x53pec\"\nmetadata: {name: \"\\x6frders\"}\n": 1,
		jobText("orders", 1) + "---\n" + jobText("orders", 2):                                2,
		"":           0,
		"# orders\n": 0,
		"- orders\n": 0,
	} {
		found, unclear := findSpec([]byte(text), key)
		require.Len(t, found, want, text)
		require.False(t, unclear, text)
	}
	_, unclear := findSpec([]byte(jobText("refunds", 1)+"---\nname: [orders\n"), key)
	require.True(t, unclear)
}

func TestASecretIsMaskedHoweverItIsWritten(t *testing.T) {
	head := "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata: {name: a}\nspec:\n  config:\n"
	for in, want := range map[string]string{
		"    secret.a: canary\n    b: c\n":                          "    secret.a: ***\n    b: c\n",
		"    secret.a: canary # why\n    b: c\n":                    "    secret.a: *** # why\n    b: c\n",
		"    secret.a: 'canary'\r\n    b: c\r\n":                    "    secret.a: ***\r\n    b: c\r\n",
		"    secret.a: \"can\\x61ry\"\n    b: c\n":                  "    secret.a: ***\n    b: c\n",
		"    secret.a: \"canary\n\n      # canary\"\n    b: c\n":    "    secret.a: ***\n\n      ***\n    b: c\n",
		"    secret.a: |\n      canary\n      # canary\n  x: y\n":   "    secret.a: ***\n      ***\n      ***\n  x: y\n",
		"    secret.a: >-\n      canary\n":                          "    secret.a: ***\n      ***\n",
		"    secret.a:\n      canary\n      canary\n    b: c\n":     "    secret.a:\n      ***\n      ***\n    b: c\n",
		"    ? secret.a\n    : canary\n    ? b\n    : c\n":          "    ? secret.a\n    : ***\n    ? b\n    : c\n",
		"    \"secr\\x65t.a\": canary\n":                            "    \"secr\\x65t.a\": ***\n",
		"    {é: ü, secret.a: canary, secret.b: 'canary', c: d}\n":  "    {é: ü, secret.a: ***, secret.b: ***, c: d}\n",
		"    secret.a: [canary, canary]\n":                          "    secret.a: ***\n",
		"    secret.a: env:NAME\n    secret.b: canary\n":            "    secret.a: env:NAME\n    secret.b: ***\n",
		"    # secret.a: canary\n    b: c # not secret.a: canary\n": "    # secret.***\n    b: c # not secret.***\n",
	} {
		for _, before := range []string{"", byteOrderMark, "---\n", jobText("b", 1) + "---\n"} {
			got := string(maskSecrets([]byte(before + head + in)))
			require.Equal(t, before+head+want, got)
		}
	}
	broken := "a: [\n  canary\n---\n" + head + "    secret.a: canary\n"
	require.Equal(t, "***\n  ***\n---\n"+head+"    secret.a: ***\n", string(maskSecrets([]byte(broken))))
}

// Whatever a file is: as many lines as before, or a patch would not know what to show.
func FuzzMaskSecrets(f *testing.F) {
	f.Add([]byte("a: b\n---\n? secret.x\n: |\n  y\n...\n"))
	f.Add([]byte("{\"secret.x\":\r\n\"y\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		shown := maskSecrets(data)
		require.Equal(t, strings.Count(string(data), "\n"), strings.Count(string(shown), "\n"))
		ended := func(b []byte) bool { return len(b) == 0 || b[len(b)-1] == '\n' }
		require.Equal(t, ended(data), ended(shown))
	})
}

func TestAPersonIsReadAsGitWritesOne(t *testing.T) {
	p, err := parsePerson("--author", " Ada Lovelace <ada@example.com> ")
	require.NoError(t, err)
	require.Equal(t, spec.Person{Name: "Ada Lovelace", Mail: "ada@example.com"}, p)
	for _, bad := range []string{"", "Ada", "Ada <ada>", "<ada@example.com>", "Ada <ada@example.com", "Ada <ada@example.com> x"} {
		_, err := parsePerson("--author", bad)
		require.ErrorContains(t, err, "is no person", bad)
	}
}

func TestAWordForAShellIsOneWord(t *testing.T) {
	require.Equal(t, "main", shellWord("main"))
	require.Equal(t, `'it'\''s $HOME'`, shellWord("it's $HOME"))
	require.Equal(t, "''", shellWord(""))
}

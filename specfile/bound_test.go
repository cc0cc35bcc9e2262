package specfile_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/specfile"
	"github.com/stretchr/testify/require"
)

// heavy are files of almost 1 MiB that would cost the most to parse.
func heavy() map[string]string {
	fill := func(s string) string { return strings.Repeat(s, (specfile.MaxFileBytes-200)/len(s)) }
	return map[string]string{
		"a list of ones":                    "a: [" + fill("1,") + "1]\n",
		"a list in lines":                   fill("- 1\n"),
		"small mappings":                    "a: [" + fill("{a: b},") + "]\n",
		"keys in lines":                     fill("a:\n"),
		"documents":                         fill("---\n"),
		"documents with text":               fill("---\na\n"),
		"empty brackets":                    "a: [" + fill("[],") + "]\n",
		"one long text":                     "a: \"" + fill("é") + "\"\n",
		"whole jobs":                        fill(typicalJob + "---\n"),
		"many values, just under the limit": "a: [" + strings.Repeat("1,", specfile.MaxValues-100) + "1]\n",
		"many keys, just under the limit":   "a: {" + strings.Repeat("k: v, ", specfile.MaxValues/2-100) + "k: v}\n",
	}
}

// No file takes over a second or 64 MiB, whatever is in it. Memory is all
// that is allocated, live or not; time is told and not held, since it depends on the machine.
func TestNoFileTakesMuchTimeOrMemory(t *testing.T) {
	for name, text := range heavy() {
		require.LessOrEqual(t, len(text), specfile.MaxFileBytes, name)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := time.Now()
		docs, findings := specfile.Decode("heavy.yaml", []byte(text), specfile.Options{})
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%-36s %4d ms, %3d MiB, %d docs, %d findings", name, took.Milliseconds(), allocated, len(docs), len(findings))
		require.Less(t, allocated, uint64(64), name)
	}
}

package gitsource_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// applied is what git makes of from with a patch.
func applied(t require.TestingT, dir, path string, from []byte, patch string) string {
	full := filepath.Join(dir, path)
	require.NoError(t, os.RemoveAll(full))
	if from != nil {
		require.NoError(t, os.WriteFile(full, from, 0o644))
	}
	cmd := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Env, cmd.Stdin = dir, gittest.Env(), strings.NewReader(patch)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, patch)
	data, err := os.ReadFile(full)
	require.NoError(t, err)
	return string(data)
}

func TestGitAppliesWhatPatchWrites(t *testing.T) {
	dir := t.TempDir()
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d: x\r\n", "é 😀\n"})
	side := rapid.Custom(func(t *rapid.T) []byte {
		text := strings.Join(rapid.SliceOfN(line, 1, 40).Draw(t, "lines"), "")
		if rapid.Bool().Draw(t, "cut") && text != "\n" {
			text = strings.TrimSuffix(text, "\n")
		}
		return []byte(text)
	})
	rapid.Check(t, func(rt *rapid.T) {
		from, to := side.Draw(rt, "from"), side.Draw(rt, "to")
		if rapid.IntRange(0, 9).Draw(rt, "new") == 0 {
			from = nil
		}
		patch := gitsource.Patch(`or "ders".yaml`, gitsource.Text{Data: from}, gitsource.Text{Data: to})
		if string(from) == string(to) {
			require.Empty(rt, patch)
			return
		}
		require.Equal(rt, string(to), applied(rt, dir, `or "ders".yaml`, from, patch))
	})
}

func TestAPatchShowsWhatItIsToldToShow(t *testing.T) {
	require.Equal(t, "diff --git a/o.yaml b/o.yaml\n--- a/o.yaml\n+++ b/o.yaml\n@@ -1,3 +1,3 @@\n a\n-x: ***\n+x: ***\n b\n",
		gitsource.Patch("o.yaml",
			gitsource.Text{Data: []byte("a\nx: canary\nb\n"), Shown: []byte("a\nx: ***\nb\n")},
			gitsource.Text{Data: []byte("a\nx: canary2\nb\n"), Shown: []byte("a\nx: ***\nb\n")}))
	require.Equal(t, "diff --git a/o.yaml b/o.yaml\ndeleted file mode 100644\n--- a/o.yaml\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n",
		gitsource.Patch("o.yaml", gitsource.Text{Data: []byte("a\n")}, gitsource.Text{}))
}

// More lines than there are characters below the surrogates, all of them different.
func TestAPatchOfAHugeFileIsRight(t *testing.T) {
	var from, to strings.Builder
	for i := range 80_000 {
		fmt.Fprintf(&from, "%d\n", i)
		if i%1000 != 7 {
			fmt.Fprintf(&to, "%d\n", i)
		}
		if i%10_000 == 5 {
			fmt.Fprintf(&to, "new %d\n", i)
		}
	}
	patch := gitsource.Patch("huge.yaml", gitsource.Text{Data: []byte(from.String())}, gitsource.Text{Data: []byte(to.String())})
	require.Equal(t, to.String(), applied(t, t.TempDir(), "huge.yaml", []byte(from.String()), patch))
}

package gitsource_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

// shown lists a difference: + new, - gone, ~ changed.
func shown(changes []spec.FileChange) []string {
	var out []string
	for _, c := range changes {
		sign := "~"
		if c.Old == (spec.Blob{}) {
			sign = "+"
		} else if c.New == (spec.Blob{}) {
			sign = "-"
		}
		out = append(out, sign+c.Path)
	}
	return out
}

func changed(t *testing.T, r *gitsource.Repo, from, to string) []string {
	t.Helper()
	changes, err := r.Changes(t.Context(), from, to)
	require.NoError(t, err)
	return shown(changes)
}

func TestIgnoredPathsAreNoChanges(t *testing.T) {
	src := gittest.New(t)
	src.Write("specs/.pawlignore", "# what is no spec\n/deploy/\n*.values.yaml\n!keep.values.yaml\nlink*\n")
	src.Write("specs/a.yaml", "1").Write("specs/deploy/d.yaml", "1").Write("specs/x/deploy/e.yaml", "1")
	src.Write("specs/x/b.values.yaml", "1").Write("specs/x/keep.values.yaml", "1").Link("specs/link.txt", "a.yaml").Link("specs/other.txt", "a.yaml")
	src.Write("a.values.yaml", "outside of path")
	first := src.Commit(one, "first")
	second := src.Write("specs/deploy/d.yaml", "2").Write("specs/x/b.values.yaml", "2").Write("specs/x/keep.values.yaml", "2").Commit(one, "second")
	r := open(t, src.Dir, func(c *gitsource.Config) { c.Path = "specs" })
	fetch(t, r)
	require.Equal(t, []string{"+specs/a.yaml", "+specs/other.txt", "+specs/x/deploy/e.yaml", "+specs/x/keep.values.yaml"}, changed(t, r, "", first))
	require.Equal(t, []string{"~specs/x/keep.values.yaml"}, changed(t, r, first, second))
}

func TestAChangedIgnoreFileShowsWhatItHidesAndUncovers(t *testing.T) {
	src := gittest.New(t)
	none := src.Write("a.yaml", "1").Write("b/c.yaml", "1").Write("b/d.yaml", "1").Write("e.yaml", "1").Commit(one, "none")
	hidden := src.Write(".pawlignore", "b/\n").Write("e.yaml", "2").Commit(one, "b is hidden")
	other := src.Write(".pawlignore", "/a.yaml\nb/c.yaml\n").Write("b/d.yaml", "2").Commit(one, "others are")
	same := src.Write(".pawlignore", "b/c.yaml\n/a.yaml\n").Commit(one, "the same in other words")
	gone := src.Remove(".pawlignore").Commit(one, "nothing is")
	r := open(t, src.Dir)
	fetch(t, r)
	require.Equal(t, []string{"-b/c.yaml", "-b/d.yaml", "~e.yaml"}, changed(t, r, none, hidden))
	require.Equal(t, []string{"-a.yaml", "+b/d.yaml"}, changed(t, r, hidden, other))
	require.Empty(t, changed(t, r, other, same))
	require.Equal(t, []string{"+a.yaml", "+b/c.yaml"}, changed(t, r, same, gone))
	require.Equal(t, []string{"-a.yaml", "-b/c.yaml"}, changed(t, r, gone, same))
	require.Equal(t, []string{"+e.yaml"}, changed(t, r, "", hidden)[1:])
}

func TestAGitlinkIsIgnoredAsTheFolderThatItIs(t *testing.T) {
	src := gittest.New(t)
	src.Write(".pawlignore", "vendor/\n").Write("a.yaml", "1")
	src.Git("add", ".")
	src.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",vendor")
	src.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",other")
	src.Git("commit", "-q", "-m", "x")
	r := open(t, src.Dir)
	require.Equal(t, []string{"+a.yaml", "+other"}, changed(t, r, "", fetch(t, r)))
}

func TestAnUnusableIgnoreFileRefusesItsCommitAlone(t *testing.T) {
	for want, content := range map[string]string{
		"specs/.pawlignore:2: a [ without its ]":             "ok\n[a\n",
		"specs/.pawlignore:1: a \\ at the end":               "a\\",
		"specs/.pawlignore:1: this pattern matches nothing":  "!/\n",
		"specs/.pawlignore:1: is not UTF-8":                  "\xff\n",
		"specs/.pawlignore:1: control character U+001B":      "a\x1b[0m\n",
		"specs/.pawlignore:1: the range 'z'-'a' runs":        "[z-a]\n",
		"specs/.pawlignore:1: there is no class [:words:]":   "[[:words:]]\n",
		"specs/.pawlignore:1: a [...] that no name":          "[/]\n",
		"specs/.pawlignore:257: more than 256 patterns":      strings.Repeat("a\n", 257),
		"specs/.pawlignore: is over the limit of 65536":      strings.Repeat("# comment\n", 7000),
		"specs/.pawlignore:1: a pattern of 2000 bytes (limi": strings.Repeat("a", 2000),
	} {
		src := gittest.New(t)
		first := src.Write("specs/a.yaml", "1").Commit(one, "first")
		broken := src.Write("specs/.pawlignore", content).Commit(two, "broken")
		mended := src.Write("specs/.pawlignore", "b.yaml").Write("specs/b.yaml", "1").Commit(two, "mended")
		r := open(t, src.Dir, func(c *gitsource.Config) { c.Path = "specs" })
		fetch(t, r)
		for _, from := range []string{"", first} {
			_, err := r.Changes(t.Context(), from, broken)
			var refused *gitsource.IgnoreError
			require.ErrorAs(t, err, &refused, want)
			require.Contains(t, refused.Finding.String(), want)
			require.ErrorContains(t, err, "commit "+broken[:7])
		}
		require.Empty(t, changed(t, r, first, mended))
		require.Empty(t, changed(t, r, broken, mended))
		_, err := gitsource.Ignore("specs/.pawlignore", []byte(content))
		require.ErrorContains(t, err, want)
	}
	src := gittest.New(t)
	link := src.Write("a.yaml", "1").Link(".pawlignore", "a.yaml").Commit(one, "a link")
	r := open(t, src.Dir)
	fetch(t, r)
	_, err := r.Changes(t.Context(), "", link)
	var refused *gitsource.IgnoreError
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, ".pawlignore: is not a regular file")
}

func TestIgnoreOfAFolderOnDiskFitsThePathsThatAreWalked(t *testing.T) {
	skip, err := gitsource.IgnoreFile(fstest.MapFS{"specs/.pawlignore": {Data: []byte("\ufeff*.tmp.yaml\r\n/old/\r\n")}}, "specs")
	require.NoError(t, err)
	for path, want := range map[string]bool{
		"specs/a.tmp.yaml": true, "specs/x/a.tmp.yaml": true, "specs/old/x/a.yaml": true, "specs/x/old/a.yaml": false,
		"old/a.yaml": false, "a.tmp.yaml": false, "specs": false, "specs/a.yaml": false,
	} {
		require.Equal(t, want, skip(path, false), path)
	}
	require.True(t, skip("specs/old", true))
	require.False(t, skip("specs/old", false))
	skip, err = gitsource.IgnoreFile(fstest.MapFS{".pawlignore": {Data: []byte("old")}}, ".")
	require.NoError(t, err)
	require.True(t, skip("x/old/y", false))
	require.False(t, skip(".", true))
	skip, err = gitsource.IgnoreFile(fstest.MapFS{}, ".")
	require.NoError(t, err)
	require.Nil(t, skip)
	_, err = gitsource.IgnoreFile(fstest.MapFS{".pawlignore": {Mode: fs.ModeSymlink, Data: []byte("/etc/passwd")}}, ".")
	require.ErrorAs(t, err, new(*gitsource.IgnoreError))
}

// Random patterns mean what git takes them for.
func TestPatternsMeanWhatGitTakesThemFor(t *testing.T) {
	dir := t.TempDir()
	gittest.Run(t, dir, "init", "-q")
	var files []string
	names := []string{"a", "b", "ab", "a.yaml", "b-c.yaml", "é", "[x]", "a b", "#c", "!d", "a\\b"}
	for _, x := range names {
		for _, path := range []string{"top " + x, filepath.Join("a1", x), filepath.Join("b1", "a1", x), filepath.Join("b1", "c", "a1", "d", x)} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, path), nil, 0o644))
			files = append(files, path)
		}
	}
	slices.Sort(files)
	parts := []string{"a", "b", "1", "c", "d", "a1", "b1", "top", ".yaml", "-", " ", "é", "/", "/", "*", "*", "**", "/**/", "**/", "/**", "?",
		"[ab]", "[!a]", "[^b]", "[a-c1]", "[]x]", "[[:alpha:]]", "[+-z]", "[[:punct:]]", "\\", "\\#", "#", "!", "[\\]x]", "x]"}
	random := rand.New(rand.NewPCG(7, 7))
	list := filepath.Join(t.TempDir(), "patterns")
	tried := 0
	for range 800 {
		var text strings.Builder
		for range 1 + random.IntN(4) {
			if random.IntN(4) == 0 {
				text.WriteString("!")
			}
			for range 1 + random.IntN(5) {
				text.WriteString(parts[random.IntN(len(parts))])
			}
			text.WriteString("\n")
		}
		skip, err := gitsource.Ignore(".pawlignore", []byte(text.String()))
		if err != nil {
			require.ErrorAs(t, err, new(*gitsource.IgnoreError))
			continue
		}
		tried++
		require.NoError(t, os.WriteFile(list, []byte(text.String()), 0o600))
		want := strings.Split(strings.TrimSuffix(gittest.Run(t, dir, "ls-files", "-z", "-o", "--exclude-from="+list), "\x00"), "\x00")
		var have []string
		for _, f := range files {
			if !skip(f, false) {
				have = append(have, f)
			}
		}
		if len(have) == 0 {
			have = []string{""}
		}
		slices.Sort(want)
		require.Equal(t, want, have, "patterns:\n%s", text.String())
	}
	require.Greater(t, tried, 400)
}

func TestTheMostPatternsAndTheLongestNamesTakeMillisecondsAFile(t *testing.T) {
	var text strings.Builder
	for i := range 256 {
		fmt.Fprintf(&text, "**/*%d*a*[0-9]/**/x%d.y?ml\n", i, i)
	}
	skip, err := gitsource.Ignore(".pawlignore", []byte(text.String()))
	require.NoError(t, err)
	start := time.Now()
	for i := range 200 {
		require.False(t, skip(fmt.Sprintf("folder-%d/%s.yaml", i, strings.Repeat("a0", 20)), false))
	}
	require.Less(t, time.Since(start), 10*time.Second)
}

func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"a/**/b\n!c", "[[:alpha:]-z]", "\\", "**", "/", " \\ ", "[]]", "\xef\xbb\xbfa"} {
		f.Add(s, "a/b/c")
	}
	f.Fuzz(func(t *testing.T, patterns, path string) {
		skip, err := gitsource.Ignore("x/.pawlignore", []byte(patterns))
		if err != nil {
			var refused *gitsource.IgnoreError
			require.True(t, errors.As(err, &refused))
			return
		}
		skip("x/"+path, false)
	})
}

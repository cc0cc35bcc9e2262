package gitsource_test

import (
	"fmt"
	"io/fs"
	"math/rand"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

// diffTree is what git says that Changes must say: the raw differences between
// two commits, put through the rules of the contract.
func diffTree(src *gittest.Repo, root, from, to string) []spec.FileChange {
	args := []string{"diff-tree", "-r", "--raw", "--no-renames", "--no-abbrev", "-z"}
	if from == "" {
		from = src.Git("hash-object", "-t", "tree", "/dev/null")
	}
	fields := strings.Split(src.Git(append(args, from, to)...), "\x00")
	var want []spec.FileChange
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(fields[i]) // :100644 100755 id id M
		path := fields[i+1]
		rel, below := path, root == "."
		if !below {
			rel, below = strings.CutPrefix(path, root+"/")
		}
		if !below || strings.HasPrefix(rel, ".") || strings.Contains(rel, "/.") {
			continue
		}
		c := spec.FileChange{Path: path, Old: blob(rel, f[0][1:], f[2]), New: blob(rel, f[1], f[3])}
		if c.Old != c.New {
			want = append(want, c)
		}
	}
	return byPath(want)
}

// byPath joins the two lines that git prints when a folder gives way to a file
// of the same name elsewhere in its order; here they have other paths already.
func byPath(cs []spec.FileChange) []spec.FileChange {
	for i := 1; i < len(cs); i++ {
		for j := i; j > 0 && cs[j].Path < cs[j-1].Path; j-- {
			cs[j], cs[j-1] = cs[j-1], cs[j]
		}
	}
	return cs
}

func blob(rel, mode, id string) spec.Blob {
	switch {
	case mode == "120000":
		return spec.Blob{ID: id, Mode: spec.ModeLink}
	case mode == "160000":
		return spec.Blob{ID: id, Mode: spec.ModeGitlink}
	case strings.HasPrefix(mode, "100") && spec.IsSpecPath(rel):
		return spec.Blob{ID: id, Mode: spec.ModeFile}
	}
	return spec.Blob{}
}

// randomHistory writes a history in which names are few, so that files, folders,
// links and gitlinks take each other's places often.
func randomHistory(r *rand.Rand, commits int) string {
	var b strings.Builder
	names := []string{"a", "a.yaml", "a.yaml.yml", "b", "b.YML", ".c", ".c.yaml", "d-e.yaml", "d", "z z.yaml", "é.yaml", `q".yaml`}
	name := func() string { return names[r.Intn(len(names))] }
	quote := func(p string) string { return `"` + strings.ReplaceAll(p, `"`, `\"`) + `"` }
	for i := range commits {
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter Dev One <dev1@example.com> %d +0000\ndata 1\n.\n", 1767225600+i)
		for range 1 + r.Intn(8) {
			parts := []string{name()}
			for r.Intn(3) > 0 && len(parts) < 5 {
				parts = append(parts, name())
			}
			path := quote(strings.Join(parts, "/"))
			switch k := r.Intn(20); {
			case k < 4:
				fmt.Fprintf(&b, "D %s\n", path)
			case k < 6:
				fmt.Fprintf(&b, "M 120000 inline %s\ndata 2\nx%d\n", path, r.Intn(3))
			case k < 7:
				fmt.Fprintf(&b, "M 160000 %040d %s\n", 1+r.Intn(3), path)
			case k < 9:
				fmt.Fprintf(&b, "M 100755 inline %s\ndata 2\nv%d\n", path, r.Intn(3))
			default:
				fmt.Fprintf(&b, "M 100644 inline %s\ndata 2\nv%d\n", path, r.Intn(3))
			}
		}
	}
	b.WriteString("done\n")
	return b.String()
}

func TestChangesAreThoseOfGitDiffTreeOverRandomHistories(t *testing.T) {
	for seed := range int64(6) {
		for _, root := range []string{".", "a", "d/a"} {
			t.Run(fmt.Sprint(seed, " ", root), func(t *testing.T) {
				src := gittest.New(t)
				src.Git("config", "core.protectNTFS", "false")
				src.Pipe(strings.NewReader(randomHistory(rand.New(rand.NewSource(seed)), 60)), "fast-import", "--quiet", "--force")
				r := open(t, src.Dir, func(c *gitsource.Config) { c.Path = root })
				tip := fetch(t, r)
				last := ""
				for _, id := range line(t, r, "", tip) {
					got, err := r.Changes(t.Context(), last, id)
					if root != "." && !isFolder(src, id, root) {
						require.ErrorIs(t, err, gitsource.ErrNoPath)
						continue
					}
					require.NoError(t, err)
					require.Equal(t, diffTree(src, root, last, id), got, id)
					last = id
				}
			})
		}
	}
}

func isFolder(src *gittest.Repo, id, path string) bool {
	return strings.HasPrefix(src.Git("ls-tree", id, "--", path), "040000")
}

func TestFoldersOfThousandsOfFilesAreComparedEntryByEntry(t *testing.T) {
	src := gittest.New(t)
	var b strings.Builder
	b.WriteString("commit refs/heads/main\ncommitter D <d@example.com> 1767225600 +0000\ndata 1\n.\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "M 100644 inline jobs/j%04d.yaml\ndata %d\n%d\n", i, len(strconv.Itoa(i)), i)
	}
	r := rand.New(rand.NewSource(1))
	for i := range 30 {
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter D <d@example.com> %d +0000\ndata 1\n.\n", 1767225601+i)
		for range r.Intn(6) {
			n := r.Intn(5100)
			if r.Intn(3) == 0 {
				fmt.Fprintf(&b, "D jobs/j%04d.yaml\n", n)
				continue
			}
			fmt.Fprintf(&b, "M 100644 inline jobs/j%04d.yaml\ndata 4\nnew%d\n", n, r.Intn(10))
		}
	}
	b.WriteString("done\n")
	src.Pipe(strings.NewReader(b.String()), "fast-import", "--quiet", "--force")
	repo := open(t, src.Dir)
	last := ""
	for _, id := range line(t, repo, "", fetch(t, repo)) {
		got, err := repo.Changes(t.Context(), last, id)
		require.NoError(t, err)
		require.Equal(t, diffTree(src, ".", last, id), got)
		last = id
	}
}

func TestControlCharactersInNamesArriveAsBytes(t *testing.T) {
	src := gittest.New(t)
	name := "a\x1b[31m\n\xff.yaml"
	tip := src.Write(name, "x").Commit(one, "odd")
	r := open(t, src.Dir)
	fetch(t, r)
	got, err := r.Changes(t.Context(), "", tip)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, name, got[0].Path)
	data, err := r.File(t.Context(), tip, name, 10)
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
}

func TestAPathThatIsNoFolderIsAnErrorAndNeverAnEmptySet(t *testing.T) {
	src := gittest.New(t)
	before := src.Write("other.yaml", "x").Commit(one, "no folder yet")
	there := src.Write("jobs/a.yaml", "x").Commit(one, "folder")
	file := src.Remove("jobs").Write("jobs", "x").Commit(one, "a file now")
	link := src.Remove("jobs").Link("jobs", "other.yaml").Commit(one, "a link now")
	r := open(t, src.Dir, func(c *gitsource.Config) { c.Path = "./jobs/" })
	fetch(t, r)
	for _, id := range []string{before, file, link} {
		_, err := r.Changes(t.Context(), "", id)
		require.ErrorIs(t, err, gitsource.ErrNoPath)
		require.ErrorContains(t, err, "jobs")
	}
	got, err := r.Changes(t.Context(), before, there)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "jobs/a.yaml", got[0].Path)
}

func TestACommitThatEmptiesTheTreeRemovesEverything(t *testing.T) {
	src := gittest.New(t)
	full := src.Write("a.yaml", "x").Write("b.yaml", "y").Commit(one, "two")
	none := src.Remove("a.yaml").Remove("b.yaml").Commit(one, "none")
	r := open(t, src.Dir)
	fetch(t, r)
	got, err := r.Changes(t.Context(), full, none)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.True(t, got[0].New.Absent())
	got, err = r.Changes(t.Context(), none, full)
	require.NoError(t, err)
	require.Len(t, got, 2)
}

func TestABlobIsMeasuredBeforeItIsRead(t *testing.T) {
	src := gittest.New(t)
	tip := src.Write("big.yaml", strings.Repeat("a", 3<<20)).Commit(one, "big")
	r := open(t, src.Dir)
	fetch(t, r)
	changes, err := r.Changes(t.Context(), "", tip)
	require.NoError(t, err)
	_, err = r.Blob(t.Context(), changes[0].New.ID, 1<<20)
	var large *gitsource.TooLargeError
	require.ErrorAs(t, err, &large)
	require.ErrorIs(t, err, gitsource.ErrTooLarge)
	require.Equal(t, int64(3<<20), large.Size)
	require.Equal(t, int64(1<<20), large.Limit)
	data, err := r.Blob(t.Context(), changes[0].New.ID, 3<<20)
	require.NoError(t, err)
	require.Len(t, data, 3<<20)
	_, err = r.File(t.Context(), tip, "nothing.yaml", 1)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = r.File(t.Context(), tip, "big.yaml/x", 1)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// hashObject writes an object that git itself would refuse to make.
func hashObject(src *gittest.Repo, kind, raw string) string {
	return src.Pipe(strings.NewReader(raw), "hash-object", "-t", kind, "-w", "--stdin", "--literally")
}

// commitTree makes main point to a commit of a tree.
func commitTree(src *gittest.Repo, tree string) string {
	id := hashObject(src, "commit", "tree "+tree+"\nauthor A <a@example.com> 1 +0000\ncommitter A <a@example.com> 1 +0000\n\nx\n")
	src.Git("update-ref", "refs/heads/main", id)
	return id
}

func rawID(id string) string {
	var b strings.Builder
	for i := 0; i < len(id); i += 2 {
		n, err := strconv.ParseUint(id[i:i+2], 16, 8)
		if err != nil {
			panic(err)
		}
		b.WriteByte(byte(n))
	}
	return b.String()
}

func TestAMalformedTreeIsAnErrorAndNeverAbsence(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "x").Commit(one, "x")
	id := rawID(src.Git("rev-parse", "HEAD:a.yaml"))
	for name, raw := range map[string]string{
		"out of order": "100644 b.yaml\x00" + id + "100644 a.yaml\x00" + id,
		"twice":        "100644 a.yaml\x00" + id + "100644 a.yaml\x00" + id,
		"cut short":    "100644 a.yaml\x00" + id[:19],
		"no name":      "100644 \x00" + id,
		"bad mode":     "10x644 a.yaml\x00" + id,
		"odd mode":     "070000 a.yaml\x00" + id,
		"slash":        "100644 a/b.yaml\x00" + id,
		"blob as tree": "40000 a\x00" + id,
	} {
		t.Run(name, func(t *testing.T) {
			tip := commitTree(src, hashObject(src, "tree", raw))
			r := open(t, src.Dir)
			if got, err := r.Fetch(t.Context()); err == nil { // git may refuse to pack it: an error too
				require.Equal(t, tip, got)
				_, err = r.Changes(t.Context(), "", tip)
				require.ErrorIs(t, err, gitsource.ErrMalformed)
			}
		})
	}
}

func TestDeepAndSelfRepeatingTreesEndInAnError(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "x").Commit(one, "x")
	file := rawID(src.Git("rev-parse", "HEAD:a.yaml"))
	deep := hashObject(src, "tree", "100644 a.yaml\x00"+file)
	for range 70 {
		deep = hashObject(src, "tree", "40000 d\x00"+rawID(deep))
	}
	tip := commitTree(src, deep)
	r := open(t, src.Dir)
	fetch(t, r)
	_, err := r.Changes(t.Context(), "", tip)
	require.ErrorIs(t, err, gitsource.ErrTooLarge)
	require.ErrorContains(t, err, "64 folders deep")

	wide := hashObject(src, "tree", "100644 x.txt\x00"+file)
	for range 9 { // 16^9 folders from nine objects
		var b strings.Builder
		for i := range 16 {
			fmt.Fprintf(&b, "40000 %02d\x00%s", i, rawID(wide))
		}
		wide = hashObject(src, "tree", b.String())
	}
	tip = commitTree(src, wide)
	fetch(t, r)
	_, err = r.Changes(t.Context(), "", tip)
	require.ErrorIs(t, err, gitsource.ErrTooLarge)
}

func TestUnknownIdsAreSaidToBeUnknown(t *testing.T) {
	src := gittest.New(t)
	tip := src.Write("a.yaml", "x").Commit(one, "x")
	r := open(t, src.Dir)
	nowhere := strings.Repeat("1", 40)
	_, err := r.Commit(t.Context(), tip)
	require.ErrorIs(t, err, gitsource.ErrUnknownCommit, "nothing was fetched yet")
	fetch(t, r)
	for _, id := range []string{nowhere, "main", "", strings.ToUpper(tip) + "x"} {
		_, err = r.Commit(t.Context(), id)
		require.ErrorIs(t, err, gitsource.ErrUnknownCommit)
	}
	_, err = r.Changes(t.Context(), nowhere, tip)
	require.ErrorIs(t, err, gitsource.ErrUnknownCommit)
	base, err := r.MergeBase(t.Context(), nowhere, tip)
	require.NoError(t, err)
	require.Empty(t, base)
	_, found, err := r.Line(t.Context(), nowhere, tip)
	require.NoError(t, err)
	require.False(t, found)
}

func TestMergesAreSeenFromTheirFirstParent(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Commit(one, "base")
	src.Branch("feature").Write("b.yaml", "1").Commit(two, "f1")
	f2 := src.Write("b.yaml", "2").Commit(two, "f2")
	src.Switch("main")
	m1 := src.Write("a.yaml", "2").Commit(one, "m1")
	merge := src.Merge("Dev Three <dev3@example.com>", "Merge feature", "feature")
	r := open(t, filepath.Join(src.Dir, ".git"))
	tip := fetch(t, r)
	require.Equal(t, merge, tip)
	require.Equal(t, revList(src, "main"), line(t, r, "", tip))
	got, err := r.Changes(t.Context(), m1, merge)
	require.NoError(t, err)
	require.Equal(t, diffTree(src, ".", m1, merge), got)
	c, err := r.Commit(t.Context(), merge)
	require.NoError(t, err)
	require.True(t, c.Merge)
	require.Equal(t, m1, c.Parent)
	base, err := r.MergeBase(t.Context(), f2, merge)
	require.NoError(t, err)
	require.Equal(t, revList(src, "main")[0], base, "the branch's own commits are off the line")
}

package gitsource_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// leftovers lists temporary files and folders below dir.
func leftovers(t *testing.T, dir string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); strings.HasPrefix(name, "tmp_") || strings.HasSuffix(name, ".lock") || strings.Contains(name, ".new-") {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// reopened fetches src into dir, closes, lets spoil do its work and opens again.
func reopened(t *testing.T, src *gittest.Repo, dir string, spoil func(dir string)) *gitsource.Repo {
	t.Helper()
	first, err := gitsource.Open(gitsource.Config{URL: src.Dir, Dir: dir})
	require.NoError(t, err)
	fetch(t, first)
	require.NoError(t, first.Close())
	spoil(dir)
	return open(t, src.Dir, func(c *gitsource.Config) { c.Dir = dir })
}

func newSource(t *testing.T) (*gittest.Repo, string) {
	t.Helper()
	src := gittest.New(t)
	src.Write("a.yaml", "1").Commit(one, "one")
	src.Write("b.yaml", "2").Commit(two, "two")
	return src, filepath.Join(t.TempDir(), "clones", "acme")
}

// G17: start, stop, start.
func TestARestartGoesOnWithTheCloneThatIsThere(t *testing.T) {
	src, dir := newSource(t)
	r := reopened(t, src, dir, func(string) {})
	require.Equal(t, revList(src, "main"), line(t, r, "", src.Tip()), "without a fetch")
	require.Equal(t, src.Tip(), fetch(t, r))
	require.NoDirExists(t, dir+".aside")
}

func TestTheCloneHoldsNoCredentials(t *testing.T) {
	src, root := served(t)
	dir := filepath.Join(t.TempDir(), "c")
	r := open(t, withUser(t, gittest.Serve(t, root, "robot", "canary"), "robot", "canary", "/bare.git"), func(c *gitsource.Config) { c.Dir = dir })
	require.Equal(t, src.Tip(), fetch(t, r))
	config, err := os.ReadFile(filepath.Join(dir, "config"))
	require.NoError(t, err)
	require.NotContains(t, string(config), "canary")
	require.Contains(t, string(config), "+refs/heads/main:refs/remotes/origin/main")
}

// G11+G12: what a killed process leaves.
func TestLeftoversOfAKilledProcessAreRemoved(t *testing.T) {
	src, dir := newSource(t)
	r := reopened(t, src, dir, func(dir string) {
		for _, name := range []string{"packed-refs.lock", "HEAD.lock", "refs/remotes/origin/main.lock", "objects/pack/tmp_pack_x", "objects/pack/pack-" + strings.Repeat("1", 40) + ".idx"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "refs/remotes/origin/main"), []byte("half a r"), 0o644))
		require.NoError(t, os.MkdirAll(dir+".new-1/objects", 0o755))
	})
	require.Empty(t, leftovers(t, filepath.Dir(dir)))
	next := src.Write("a.yaml", "3").Commit(one, "three")
	require.Equal(t, next, fetch(t, r))
	require.NoDirExists(t, dir+".aside")
}

func TestAFolderThatIsNoCloneOfOursIsSetAsideAndClonedAnew(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"half made": func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "objects"))) },
		"no config": func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "config"))) },
		"a file": func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.WriteFile(dir, nil, 0o644))
		},
		"foreign": func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
			other := gittest.At(t, dir)
			other.Write("x", "y").Commit(one, "other")
			other.Git("remote", "add", "origin", "/elsewhere")
		},
		"borrowing": func(t *testing.T, dir string) {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "objects", "info"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "objects/info/alternates"), []byte("/x\n"), 0o644))
		},
		"no pack":   func(t *testing.T, dir string) { removeAll(t, filepath.Join(dir, "objects/pack/*.pack")) },
		"no index":  func(t *testing.T, dir string) { removeAll(t, filepath.Join(dir, "objects/pack/*.idx")) },
		"cut index": func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "objects/pack/*.idx"), 1000) },
		"cut pack":  func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "objects/pack/*.pack"), 20) },
	} {
		t.Run(name, func(t *testing.T) {
			src, dir := newSource(t)
			require.NoError(t, os.MkdirAll(dir+".aside/old", 0o755))
			r := reopened(t, src, dir, func(dir string) { spoil(t, dir) })
			require.Equal(t, src.Tip(), fetch(t, r))
			require.Equal(t, revList(src, "main"), line(t, r, "", src.Tip()))
			require.NoDirExists(t, dir+".aside/old", "one old copy at most")
		})
	}
}

func removeAll(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		require.NoError(t, os.Remove(f))
	}
}

func truncate(t *testing.T, pattern string, to int64) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Chmod(files[0], 0o644))
	require.NoError(t, os.Truncate(files[0], to))
}

// spoilBlob overwrites the packed bytes of a blob in the clone.
func spoilBlob(t *testing.T, dir, id string) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	require.NoError(t, err)
	require.Len(t, packs, 1)
	at := int64(-1)
	for _, l := range strings.Split(gittest.Run(t, dir, "verify-pack", "-v", strings.TrimSuffix(packs[0], ".pack")+".idx"), "\n") {
		if f := strings.Fields(l); len(f) > 4 && f[0] == id {
			at = 0
			for _, c := range f[4] {
				at = at*10 + int64(c-'0')
			}
		}
	}
	require.Positive(t, at)
	require.NoError(t, os.Chmod(packs[0], 0o644))
	f, err := os.OpenFile(packs[0], os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{0xff, 0xff, 0xff, 0xff}, at+4)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// G11+G12: an object that cannot be read.
func TestADamagedObjectIsAnErrorAndTheNextFetchClonesAnew(t *testing.T) {
	src, dir := newSource(t)
	id := src.Git("rev-parse", "main:a.yaml")
	r := reopened(t, src, dir, func(dir string) { spoilBlob(t, dir, id) })
	tip := fetch(t, r)
	_, err := r.Blob(t.Context(), id, 100)
	require.ErrorIs(t, err, gitsource.ErrDamaged)
	require.NotErrorIs(t, err, fs.ErrNotExist)
	_, err = r.File(t.Context(), tip, "a.yaml", 100)
	require.ErrorIs(t, err, gitsource.ErrDamaged)
	require.Equal(t, tip, fetch(t, r))
	data, err := r.Blob(t.Context(), id, 100)
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
	require.DirExists(t, dir+".aside")
	require.NoError(t, r.Close())
	require.ErrorIs(t, r.Reset(), gitsource.ErrClosed)
	_, err = r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrClosed)
}

func TestResetMakesTheNextFetchCloneAnew(t *testing.T) {
	src, dir := newSource(t)
	r := reopened(t, src, dir, func(string) {})
	require.NoError(t, r.Reset())
	_, err := r.Commit(t.Context(), src.Tip())
	require.ErrorIs(t, err, gitsource.ErrUnknownCommit)
	require.Equal(t, src.Tip(), fetch(t, r))
	require.Len(t, line(t, r, "", src.Tip()), 2)
}

func TestACloneThatWasRepackedMeanwhileIsReadOn(t *testing.T) {
	src, dir := newSource(t)
	r := reopened(t, src, dir, func(string) {})
	src.Write("a.yaml", "3").Commit(one, "three")
	tip := fetch(t, r)
	require.Len(t, line(t, r, "", tip), 3)
	gittest.Run(t, dir, "repack", "-q", "-a", "-d", "-f")
	gittest.Run(t, dir, "pack-refs", "--all")
	changes, err := r.Changes(t.Context(), "", tip)
	require.NoError(t, err)
	require.Len(t, changes, 2)
	for _, c := range changes {
		_, err := r.Blob(t.Context(), c.New.ID, 100)
		require.NoError(t, err)
	}
	next := src.Write("a.yaml", "4").Commit(one, "four")
	require.Equal(t, next, fetch(t, r))
}

func TestAChangeOfBranchKeepsWhatTheOtherReached(t *testing.T) {
	src, dir := newSource(t)
	onMain := src.Tip()
	src.Branch("main2/deep").Write("c.yaml", "3").Commit(one, "three")
	first := open(t, src.Dir, func(c *gitsource.Config) { c.Dir = dir })
	fetch(t, first)
	require.NoError(t, first.Close())
	src.Switch("main").Git("branch", "-m", "main2/deep", "other")
	src.Git("checkout", "-q", "-b", "main2", "other")
	second := src.Write("c.yaml", "4").Commit(one, "four")
	r := open(t, src.Dir, func(c *gitsource.Config) { c.Dir, c.Branch = dir, "main2" })
	_, err := r.Commit(t.Context(), onMain)
	require.NoError(t, err, "still here, before any fetch")
	require.Equal(t, second, fetch(t, r))
	base, err := r.MergeBase(t.Context(), onMain, second)
	require.NoError(t, err)
	require.Equal(t, onMain, base)
	require.NoDirExists(t, dir+".aside")
}

package gitsource_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

const (
	one = "Dev One <dev1@example.com>"
	two = "Dev Two <dev2@example.com>"
)

// open opens a clone of url in a new folder, closed with the test.
func open(t testing.TB, url string, change ...func(*gitsource.Config)) *gitsource.Repo {
	t.Helper()
	cfg := gitsource.Config{URL: url, Dir: filepath.Join(t.TempDir(), "clones", "acme"), Timeout: 20 * time.Second}
	for _, c := range change {
		c(&cfg)
	}
	r, err := gitsource.Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func fetch(t testing.TB, r *gitsource.Repo) string {
	t.Helper()
	tip, err := r.Fetch(t.Context())
	require.NoError(t, err)
	return tip
}

// revList is git's own idea of a first-parent line, oldest first.
func revList(src *gittest.Repo, args ...string) []string {
	return strings.Fields(src.Git(append([]string{"rev-list", "--first-parent", "--reverse"}, args...)...))
}

func line(t testing.TB, r *gitsource.Repo, after, tip string) []string {
	t.Helper()
	ids, found, err := r.Line(t.Context(), after, tip)
	require.NoError(t, err)
	require.True(t, found)
	return ids
}

func TestEveryKindOfLocalSourceIsFetchedThroughATransport(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "a").Commit(one, "first")
	tip := src.Write("b.yaml", "b").Commit(two, "second")
	src.Git("branch", "topic")
	linked := filepath.Join(t.TempDir(), "linked")
	src.Git("worktree", "add", "-q", linked, "topic")
	for name, url := range map[string]string{
		"work tree": src.Dir, "git folder": src.Dir + "/.git", "bare": src.Bare(), "file url": "file://" + src.Dir, "linked worktree": linked,
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, url)
			require.Equal(t, tip, fetch(t, r))
			require.Equal(t, revList(src, "main"), line(t, r, "", tip))
		})
	}
}

func TestOnlyWhatIsNewIsFetchedAndAPollWithoutChangeIsCheap(t *testing.T) {
	src := gittest.New(t)
	first := src.Write("a.yaml", "a").Commit(one, "first")
	r := open(t, src.Dir)
	require.Equal(t, first, fetch(t, r))
	require.Equal(t, first, fetch(t, r))
	var want []string
	for i := range 5 {
		want = append(want, src.Write("a.yaml", fmt.Sprint(i)).Commit(one, "more"))
	}
	require.Equal(t, want[4], fetch(t, r))
	require.Equal(t, want, line(t, r, first, want[4]))
	require.Empty(t, line(t, r, want[4], want[4]))
}

// G01: the branch is rewritten, and moved back.
func TestAForcePushIsSeen(t *testing.T) {
	src := gittest.New(t)
	base := src.Write("a.yaml", "a").Commit(one, "base")
	old := src.Write("a.yaml", "b").Commit(one, "A")
	r := open(t, src.Dir)
	require.Equal(t, old, fetch(t, r))
	src.Git("reset", "-q", "--hard", base)
	amended := src.Write("a.yaml", "c").Commit(two, "A amended")
	require.Equal(t, amended, fetch(t, r))
	ids, found, err := r.Line(t.Context(), old, amended)
	require.NoError(t, err)
	require.False(t, found)
	require.Equal(t, []string{base, amended}, ids)
	mergeBase, err := r.MergeBase(t.Context(), old, amended)
	require.NoError(t, err)
	require.Equal(t, base, mergeBase)
	// back to the old one: all objects are here
	src.Git("reset", "-q", "--hard", old)
	require.Equal(t, old, fetch(t, r))
	// far back, so that the server has to find what we share
	src.Git("checkout", "-q", "--orphan", "other")
	src.Git("branch", "-q", "-D", "main")
	src.Git("checkout", "-q", "-b", "main")
	unrelated := src.Write("a.yaml", "z").Commit(one, "unrelated")
	require.Equal(t, unrelated, fetch(t, r))
	mergeBase, err = r.MergeBase(t.Context(), old, unrelated)
	require.NoError(t, err)
	require.Empty(t, mergeBase)
}

// G02+G03: the branch is gone, or has another name.
func TestADeletedBranchIsAnErrorThatNamesTheDefaultOneAndHealsByItself(t *testing.T) {
	src := gittest.New(t)
	tip := src.Write("a.yaml", "a").Commit(one, "first")
	r := open(t, src.Dir)
	fetch(t, r)
	src.Git("branch", "-m", "main", "trunk")
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrNoBranch)
	require.ErrorContains(t, err, `"main" is missing, its default branch is "trunk"`)
	require.Len(t, line(t, r, "", tip), 1, "what was fetched stays")
	src.Git("branch", "-m", "trunk", "main")
	require.Equal(t, tip, fetch(t, r))
}

// G04: no commit yet.
func TestAnEmptyRepositoryIsWaitedFor(t *testing.T) {
	src := gittest.New(t)
	r := open(t, src.Dir)
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrEmpty)
	tip := src.Write("a.yaml", "a").Commit(one, "first")
	require.Equal(t, tip, fetch(t, r))
}

// G10: a source without all of its history.
func TestAShallowSourceEndsAtItsBoundaryAndGrowsLater(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Commit(one, "one")
	src.Write("a.yaml", "2").Commit(one, "two")
	tip := src.Write("a.yaml", "3").Commit(one, "three")
	shallow := filepath.Join(t.TempDir(), "shallow.git")
	gittest.Run(t, src.Dir, "clone", "-q", "--bare", "--depth", "1", "file://"+src.Dir, shallow)
	r := open(t, shallow)
	require.Equal(t, tip, fetch(t, r))
	require.Equal(t, []string{tip}, line(t, r, "", tip))
	c, err := r.Commit(t.Context(), tip)
	require.NoError(t, err)
	require.Empty(t, c.Parent)
	require.Equal(t, tip, fetch(t, r))
	gittest.Run(t, shallow, "fetch", "-q", "--unshallow", "file://"+src.Dir, "+refs/heads/*:refs/heads/*")
	require.Equal(t, tip, fetch(t, r))
	require.Equal(t, revList(src, "main"), line(t, r, "", tip))
}

// G15+G16: a source that borrows its objects.
func TestBorrowedObjectsOfTheSourceAreFetchedWhole(t *testing.T) {
	src := gittest.New(t)
	tip := src.Write("a.yaml", "1").Commit(one, "one")
	shared := filepath.Join(t.TempDir(), "shared.git")
	gittest.Run(t, src.Dir, "clone", "-q", "--bare", "--shared", src.Dir, shared)
	r := open(t, shared)
	require.Equal(t, tip, fetch(t, r))
	require.Equal(t, []string{tip}, line(t, r, "", tip))
}

func TestTwoReposOfOneURLKeepTheirBranchesApart(t *testing.T) {
	src := gittest.New(t)
	tip := src.Write("a.yaml", "1").Commit(one, "one")
	other := src.Branch("feature/x").Write("a.yaml", "2").Commit(one, "two")
	r1 := open(t, src.Dir)
	r2 := open(t, src.Dir, func(c *gitsource.Config) { c.Branch = "feature/x" })
	require.Equal(t, tip, fetch(t, r1))
	require.Equal(t, other, fetch(t, r2))
	require.Equal(t, tip, fetch(t, r1))
}

func TestManyFetchesLeaveFewPacksThatGitCanRead(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "0").Commit(one, "0")
	dir := filepath.Join(t.TempDir(), "clone")
	r := open(t, src.Dir, func(c *gitsource.Config) { c.Dir = dir })
	first := fetch(t, r)
	for i := range 60 {
		src.Write("a.yaml", fmt.Sprint(i%7)).Commit(one, "more") // contents that come back are sent again
		fetch(t, r)
	}
	tip := fetch(t, r)
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(packs), 24)
	require.Empty(t, gittest.Run(t, dir, "fsck", "--full", "--strict", "--no-dangling"))
	require.Equal(t, revList(src, "main"), line(t, r, "", tip))
	require.Equal(t, revList(src, first+"..main"), line(t, r, first, tip))
}

func TestACallerThatCancelsGetsItsOwnError(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "0").Commit(one, "0")
	r := open(t, src.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Fetch(ctx)
	require.ErrorIs(t, err, context.Canceled)
	fetch(t, r)
}

func TestAMissingSourceIsAnErrorWithItsName(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "nowhere"))
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrNoRepository)
	require.ErrorContains(t, err, "nowhere")
}

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	for want, cfg := range map[string]gitsource.Config{
		"git:// is not supported": {URL: "git://user:canary@example.com/x", Dir: dir},
		"cannot be parsed":        {URL: "https://user:canary@exa mple.com/%zz", Dir: dir},
		"a query in the url":      {URL: "https://example.com/x.git?private_token=canary", Dir: dir},
		"is not a name that git":  {URL: "/x", Branch: "a..b", Dir: dir},
		"relative to its root":    {URL: "/x", Path: "../up", Dir: dir},
		"no folder for the clone": {URL: "/x"},
		"url is empty":            {Dir: dir},
	} {
		_, err := gitsource.Open(cfg)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "canary")
	}
	_, err := os.Stat(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}

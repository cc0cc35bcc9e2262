package gitsource_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

// target is a bare repository to push to, and a clone of it that is fetched.
func target(t *testing.T, src *gittest.Repo, change ...func(*gitsource.Config)) (bare string, r *gitsource.Repo, tip string) {
	t.Helper()
	bare = src.Bare()
	r = open(t, bare, change...)
	return bare, r, fetch(t, r)
}

func request(base string, files ...gitsource.FileWrite) gitsource.WriteRequest {
	return gitsource.WriteRequest{Base: base, Files: files,
		Author:    spec.Person{Name: "Ada Lovelace", Mail: "ada@example.com", When: 1770000000},
		Committer: spec.Person{Name: "pawl", Mail: "pawl@localhost", When: 1770000001},
		Message:   "Roll back orders to v1\n\nPawl-Job: orders"}
}

func file(path, data string) gitsource.FileWrite {
	return gitsource.FileWrite{Path: path, Data: []byte(data)}
}

// write makes a commit that has to succeed, and holds that the server's
// repository is sound and the clone agrees with it.
func write(t *testing.T, r *gitsource.Repo, bare, base string, files ...gitsource.FileWrite) string {
	t.Helper()
	id, err := r.Write(t.Context(), request(base, files...))
	require.NoError(t, err)
	require.Equal(t, id, gittest.Run(t, bare, "rev-parse", "main"))
	gittest.Run(t, bare, "fsck", "--strict", "--full")
	require.Equal(t, id, fetch(t, r))
	require.Equal(t, base, gittest.Run(t, bare, "rev-parse", "main^"))
	return id
}

func TestACommitIsPushedWithItsPeopleAndItsMessage(t *testing.T) {
	src := gittest.New(t)
	src.Write("jobs/orders.yaml", "2\n").Write("jobs/refunds.yaml", "1\n").Commit(one, "first")
	bare, r, tip := target(t, src)
	id := write(t, r, bare, tip, file("jobs/orders.yaml", "1\n"))
	require.Equal(t, "Ada Lovelace <ada@example.com> 1770000000 +0000|pawl <pawl@localhost> 1770000001|Roll back orders to v1\n\nPawl-Job: orders",
		strings.TrimSpace(gittest.Run(t, bare, "log", "-1", "--date=raw", "--format=%an <%ae> %ad|%cn <%ce> %ct|%B", "main")))
	require.Equal(t, "M\tjobs/orders.yaml", gittest.Run(t, bare, "diff", "--name-status", tip, id))
	c, err := r.Commit(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "Ada Lovelace <ada@example.com>", c.Author.String())
	data, err := r.File(t.Context(), id, "jobs/orders.yaml", 100)
	require.NoError(t, err)
	require.Equal(t, "1\n", string(data))
}

// Names are chosen around the places where git's order of files and folders differs.
func TestTreesAreThoseThatGitWouldMake(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Write("a/b/c/d.yaml", "1").Write("a-b.yaml", "1").Write("a0.yaml", "1").Write("deep/one.yaml", "1").
		Write("run.sh", "x").Link("link", "a.yaml")
	require.NoError(t, os.Chmod(filepath.Join(src.Dir, "a.yaml"), 0o755))
	src.Commit(one, "first")
	bare, r, tip := target(t, src)
	id := write(t, r, bare, tip, file("a.yaml", "2"), file("a/b/c/x/y/z.yaml", "new"), file("a/b.yaml", "new"), file("a!.yaml", "new"),
		file("Ü/ü.yaml", "new"), file("zz.yaml", ""), gitsource.FileWrite{Path: "deep/one.yaml"})
	src.Write("a.yaml", "2").Write("a/b/c/x/y/z.yaml", "new").Write("a/b.yaml", "new").Write("a!.yaml", "new").
		Write("Ü/ü.yaml", "new").Write("zz.yaml", "").Remove("deep").Commit(one, "the same by git")
	require.Equal(t, src.Git("rev-parse", "HEAD^{tree}"), gittest.Run(t, bare, "rev-parse", "main^{tree}"))
	require.Contains(t, gittest.Run(t, bare, "ls-tree", "main", "a.yaml"), "100755")

	id = write(t, r, bare, id, gitsource.FileWrite{Path: "a/b/c/x/y/z.yaml"}, gitsource.FileWrite{Path: "a/b/c/d.yaml"})
	src.Remove("a/b/c").Commit(one, "emptied folders are gone")
	require.Equal(t, src.Git("rev-parse", "HEAD^{tree}"), gittest.Run(t, bare, "rev-parse", "main^{tree}"))
	require.Equal(t, id, gittest.Run(t, bare, "rev-parse", "main"))
}

func TestTheLastFileCanBeRemovedAndAddedAgain(t *testing.T) {
	src := gittest.New(t)
	src.Write("jobs/a.yaml", "1").Commit(one, "first")
	bare, r, tip := target(t, src)
	id := write(t, r, bare, tip, gitsource.FileWrite{Path: "jobs/a.yaml"})
	require.Empty(t, gittest.Run(t, bare, "ls-tree", "-r", "main"))
	write(t, r, bare, id, file("jobs/a.yaml", "1"))
	require.Equal(t, tip, gittest.Run(t, bare, "rev-parse", "main~2"))
	require.Equal(t, gittest.Run(t, bare, "rev-parse", tip+"^{tree}"), gittest.Run(t, bare, "rev-parse", "main^{tree}"))
}

func TestWhatCannotBeWrittenIsRefusedBeforeAnythingIsPushed(t *testing.T) {
	src := gittest.New(t)
	src.Write("specs/jobs/a.yaml", "1").Link("specs/link", "jobs/a.yaml").Write("other.yaml", "1").Commit(one, "first")
	bare, r, tip := target(t, src, func(c *gitsource.Config) { c.Path = "specs" })
	for want, files := range map[string][]gitsource.FileWrite{
		"not below the folder specs":           {file("other.yaml", "2")},
		`".." is no name`:                      {file("specs/../other.yaml", "2")},
		`".GIT" is no name`:                    {file("specs/.GIT/hooks/x", "2")},
		`"" is no name`:                        {file("specs//a.yaml", "2")},
		"is there as a folder":                 {file("specs/jobs", "2")},
		"is there as a file":                   {file("specs/jobs/a.yaml/b.yaml", "2")},
		"is there as a symbolic link":          {file("specs/link", "2")},
		"there is no such file":                {{Path: "specs/jobs/b.yaml"}},
		"is there twice":                       {file("specs/x/y", "1"), file("specs/x/y", "2")},
		"or is a folder too":                   {file("specs/x/y", "1"), file("specs/x", "2")},
		"control character":                    {file("specs/a\nb.yaml", "2")},
		"0 files to write":                     nil,
		"the files are so already":             {file("specs/jobs/a.yaml", "1")},
		"over the limit of 8388608":            {file("specs/big.yaml", strings.Repeat("x", 8<<20+1))},
		gitsource.ErrTooLarge.Error():          {file("specs/"+strings.Repeat("d/", 80)+"x.yaml", "2")},
		"specs/jobs/none cannot be removed: t": {{Path: "specs/jobs/none"}},
	} {
		_, err := r.Write(t.Context(), request(tip, files...))
		require.ErrorContains(t, err, want)
	}
	for _, spoil := range []func(*gitsource.WriteRequest){
		func(q *gitsource.WriteRequest) { q.Author.Mail = "" },
		func(q *gitsource.WriteRequest) { q.Author.Name = "Ada <x>" },
		func(q *gitsource.WriteRequest) { q.Committer.Name = "a\nparent 1" },
		func(q *gitsource.WriteRequest) { q.Committer.Mail = "a b@example.com" },
		func(q *gitsource.WriteRequest) { q.Author.When = -1 },
		func(q *gitsource.WriteRequest) { q.Message = " \n" },
		func(q *gitsource.WriteRequest) { q.Message = "a\x00b" },
		func(q *gitsource.WriteRequest) { q.Base = "main" },
		func(q *gitsource.WriteRequest) { q.Base = strings.Repeat("1", 40) },
	} {
		q := request(tip, file("specs/jobs/a.yaml", "2"))
		spoil(&q)
		_, err := r.Write(t.Context(), q)
		require.Error(t, err)
	}
	_, err := r.Write(t.Context(), request(tip, file("specs/jobs/a.yaml", "1")))
	require.ErrorIs(t, err, gitsource.ErrUnchanged)
	require.Equal(t, tip, gittest.Run(t, bare, "rev-parse", "main"))
}

func TestAWriteNeedsAFetchAndAnOpenRepository(t *testing.T) {
	src := gittest.New(t)
	tip := src.Write("a.yaml", "1").Commit(one, "first")
	r, err := gitsource.Open(gitsource.Config{URL: src.Bare(), Dir: filepath.Join(t.TempDir(), "c")})
	require.NoError(t, err)
	_, err = r.Write(t.Context(), request(tip, file("a.yaml", "2")))
	require.ErrorIs(t, err, gitsource.ErrUnknownCommit)
	require.NoError(t, r.Close())
	_, err = r.Write(t.Context(), request(tip, file("a.yaml", "2")))
	require.ErrorIs(t, err, gitsource.ErrClosed)
}

func TestAMovedBranchIsNeverOverwritten(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Write("b.yaml", "1").Commit(one, "first")
	bare, r, tip := target(t, src)
	next := src.Write("b.yaml", "2").Commit(two, "a rival")
	src.Git("push", "-q", bare, "main")
	_, err := r.Write(t.Context(), request(tip, file("a.yaml", "2")))
	var moved *gitsource.MovedError
	require.ErrorAs(t, err, &moved)
	require.Equal(t, gitsource.MovedError{Branch: "main", Base: tip, Tip: next}, *moved)
	require.Equal(t, next, gittest.Run(t, bare, "rev-parse", "main"))
	require.Equal(t, next, fetch(t, r))
	write(t, r, bare, next, file("a.yaml", "2"))

	gittest.Run(t, bare, "update-ref", "-d", "refs/heads/main")
	_, err = r.Write(t.Context(), request(src.Tip(), file("a.yaml", "3")))
	require.ErrorIs(t, err, gitsource.ErrNoBranch)
}

// The rival's push comes after the server told where the branch is, and before
// it looks at ours: a hook is the place.
func TestAPushThatLosesTheRaceOnTheServerIsAMovedBranch(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Write("b.yaml", "1").Commit(one, "first")
	bare, r, tip := target(t, src)
	next := src.Write("b.yaml", "2").Commit(two, "a rival")
	src.Git("push", "-q", bare, "main:refs/rival/tip")
	hook(t, bare, "pre-receive", "env -u GIT_QUARANTINE_PATH git update-ref refs/heads/main "+next)
	_, err := r.Write(t.Context(), request(tip, file("a.yaml", "2")))
	var moved *gitsource.MovedError
	require.ErrorAs(t, err, &moved)
	require.Equal(t, next, moved.Tip)
	require.Equal(t, next, gittest.Run(t, bare, "rev-parse", "main"))
}

// hook puts a script into a bare repository.
func hook(t *testing.T, bare, name, script string) {
	t.Helper()
	dir := filepath.Join(bare, "hooks")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
}

func TestAHookThatDeclinesIsARefusalInItsOwnWords(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Commit(one, "first")
	bare, r, tip := target(t, src)
	hook(t, bare, "pre-receive", `printf 'main is \033[31mprotected\n' >&2; exit 1`)
	_, err := r.Write(t.Context(), request(tip, file("a.yaml", "2")))
	var refused *gitsource.PushRefused
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "main", refused.Branch)
	require.Contains(t, refused.Reason, "pre-receive hook declined")
	require.Contains(t, refused.Reason, "protected")
	require.NotContains(t, refused.Reason, "\x1b")
	require.Equal(t, tip, gittest.Run(t, bare, "rev-parse", "main"))
	require.Equal(t, tip, fetch(t, r), "the clone does not believe in a commit that was not taken")
}

func TestABranchThatIsCheckedOutIsARefusalToo(t *testing.T) {
	src := gittest.New(t)
	tip := src.Write("a.yaml", "1").Commit(one, "first")
	r := open(t, src.Dir)
	fetch(t, r)
	_, err := r.Write(t.Context(), request(tip, file("a.yaml", "2")))
	var refused *gitsource.PushRefused
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, "currently checked out")
}

func TestAWriteLeavesNothingInTheCloneThatTroublesTheNextStart(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Commit(one, "first")
	dir := filepath.Join(t.TempDir(), "clone")
	bare, r, tip := target(t, src, func(c *gitsource.Config) { c.Dir = dir })
	id := write(t, r, bare, tip, file("a.yaml", "2"))
	require.Empty(t, leftovers(t, dir))
	gittest.Run(t, dir, "fsck", "--strict", "--full")
	again, err := gitsource.Open(gitsource.Config{URL: bare, Dir: dir})
	require.NoError(t, err)
	require.Equal(t, id, fetch(t, again))
	require.NoError(t, again.Close())
	require.NoDirExists(t, dir+".aside")
}

func TestErrorsOfWritingHaveTexts(t *testing.T) {
	moved := &gitsource.MovedError{Branch: "main", Base: "1234567890", Tip: "abcdefabcdef"}
	require.EqualError(t, moved, `branch "main" moved from 1234567 to abcdefa meanwhile`)
	moved.Tip = moved.Base
	require.EqualError(t, moved, `branch "main": somebody else pushes at this moment`)
	require.EqualError(t, errors.Join(&gitsource.PushRefused{URL: "u", Branch: "main", Reason: "r"}), `push to branch "main" of u was refused: r`)
}

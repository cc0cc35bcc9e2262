package gitsource_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// watching runs Watch until the test ends and hands out its kicks, coalesced.
func watching(t *testing.T, url, branch string) <-chan struct{} {
	t.Helper()
	kicks := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- gitsource.Watch(ctx, url, branch, func() {
			select {
			case kicks <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	kicked(t, kicks) // it watches now
	return kicks
}

func kicked(t *testing.T, kicks <-chan struct{}) {
	t.Helper()
	select {
	case <-kicks:
	case <-time.After(5 * time.Second): // well below the ticker of Watch
		require.Fail(t, "no kick")
	}
}

// quiet swallows the kicks of what was done before.
func quiet(kicks <-chan struct{}) {
	for {
		select {
		case <-kicks:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

func TestACommitIsSeenInEveryKindOfLocalRepository(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Commit(one, "one")
	src.Git("branch", "topic")
	linked := filepath.Join(t.TempDir(), "linked")
	src.Git("worktree", "add", "-q", linked, "topic")
	bare := src.Bare()
	src.Git("remote", "add", "origin", bare)
	for name, tc := range map[string]struct {
		url string
		act func()
	}{
		"work tree":       {src.Dir, func() { src.Commit(one, "x") }},
		"file url":        {"file://" + src.Dir, func() { src.Commit(one, "x") }},
		"linked worktree": {linked, func() { src.Commit(one, "x") }},
		"bare":            {bare, func() { src.Commit(one, "x"); src.Git("push", "-q", "origin", "main") }},
	} {
		t.Run(name, func(t *testing.T) {
			kicks := watching(t, tc.url, "main")
			for range 3 {
				quiet(kicks)
				tc.act()
				kicked(t, kicks)
			}
		})
	}
}

func TestPackedRefsAndNewFoldersOfBranchesAreSeen(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Commit(one, "one")
	kicks := watching(t, src.Dir, "feature/deep/x")
	quiet(kicks)
	src.Git("branch", "feature/deep/x")
	kicked(t, kicks)
	quiet(kicks)
	src.Git("pack-refs", "--all")
	kicked(t, kicks)
	quiet(kicks)
	src.Git("update-ref", "refs/heads/feature/deep/x", src.Commit(one, "two"))
	kicked(t, kicks)
	quiet(kicks)
	src.Git("branch", "-D", "feature/deep/x")
	kicked(t, kicks)
}

func TestLockFilesOtherBranchesAndTheWorkTreeDoNotKick(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Commit(one, "one")
	kicks := watching(t, src.Dir, "main")
	quiet(kicks)
	src.Write("b.yaml", "2").Git("add", "-A")
	src.Git("branch", "other")
	require.NoError(t, os.WriteFile(filepath.Join(src.Dir, ".git/refs/heads/main.lock"), nil, 0o644))
	select {
	case <-kicks:
		require.Fail(t, "kicked for nothing")
	case <-time.After(200 * time.Millisecond):
	}
}

func TestARepositoryThatIsRemovedAndMadeAgainIsWatchedAgain(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "team", "specs")
	kicks := watching(t, dir, "main") // not there yet
	for range 2 {
		quiet(kicks)
		src := gittest.At(t, dir)
		src.Commit(one, "first")
		kicked(t, kicks)
		quiet(kicks)
		src.Commit(one, "second")
		kicked(t, kicks)
		quiet(kicks)
		require.NoError(t, os.RemoveAll(filepath.Join(root, "team")))
		kicked(t, kicks)
	}
	// moved away, another in its place: the old watch is on the wrong folder
	src := gittest.At(t, dir)
	src.Commit(one, "first")
	quiet(kicks)
	require.NoError(t, os.Rename(dir, dir+".old"))
	kicked(t, kicks)
	again := gittest.At(t, dir)
	quiet(kicks)
	again.Commit(one, "in the new one")
	kicked(t, kicks)
}

func TestWhatIsNotLocalIsNotWatched(t *testing.T) {
	require.NoError(t, gitsource.Watch(t.Context(), "https://example.com/x.git", "main", func() { t.Error("kicked") }))
}

package gitsource_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// childURL and childDir make the test's own program a fetch.
const childURL, childDir = "GITSOURCE_TEST_URL", "GITSOURCE_TEST_DIR"

// TestMain is also the child that is killed in the middle of a fetch.
func TestMain(m *testing.M) {
	url := os.Getenv(childURL)
	if url == "" {
		os.Exit(m.Run())
	}
	r, err := gitsource.Open(gitsource.Config{URL: url, Dir: os.Getenv(childDir)})
	if err == nil {
		_, err = r.Fetch(context.Background())
	}
	fmt.Fprintln(os.Stderr, "the child ended by itself:", err)
	os.Exit(3)
}

// diskUse is what is below a folder, in bytes.
func diskUse(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return size
}

// slow serves a repository; while it is slow, it stops in the middle of a pack
// and says so.
type slow struct {
	url    string
	is     atomic.Bool
	halted chan struct{}
}

func newSlow(t *testing.T, root string) *slow {
	t.Helper()
	s := &slow{halted: make(chan struct{}, 1)}
	backend := gittest.Handler(t, root, "", "")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		rec := httptest.NewRecorder()
		backend.ServeHTTP(rec, req)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		body := rec.Body.String()
		if s.is.Load() && req.Method == http.MethodPost {
			body = body[:len(body)*2/3]
		}
		if _, err := io.WriteString(w, body); err != nil {
			return
		}
		if s.is.Load() && req.Method == http.MethodPost {
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
			s.halted <- struct{}{}
			<-req.Context().Done()
		}
	}))
	t.Cleanup(srv.Close)
	s.url = srv.URL + "/bare.git"
	return s
}

// killed runs a fetch as a process of its own and kills it once the server has
// stopped in the middle of the pack, and some of that is on the disk.
func (s *slow) killed(t *testing.T, dir string, least int64) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self)
	child.Env = append(os.Environ(), childURL+"="+s.url, childDir+"="+dir)
	var said strings.Builder
	child.Stderr = &said
	require.NoError(t, child.Start())
	select {
	case <-s.halted:
	case <-time.After(20 * time.Second):
		t.Error("the fetch did not get to the pack")
	}
	require.Eventually(t, func() bool { return diskUse(t, filepath.Dir(dir)) >= least }, 10*time.Second, 2*time.Millisecond)
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.Empty(t, said.String())
}

// G11+G12: twenty fetches that are killed, of the first clone and of a later
// pack, leave no more on the disk than one.
func TestFetchesThatAreKilledDoNotFillTheDisk(t *testing.T) {
	const size = 8 << 20 // more than is spooled in memory
	src, root := served(t)
	src.Write("big.yaml", gittest.Noise(size, 1)).Commit(one, "big")
	src.Git("push", "-q", "origin", "main")
	for _, setting := range []string{"pack.window", "core.compression"} { // packs are made quickly, and are as big as what is in them
		gittest.Run(t, filepath.Join(root, "bare.git"), "config", setting, "0")
	}
	s := newSlow(t, root)
	dir := filepath.Join(t.TempDir(), "clones", "acme")
	for _, first := range []bool{true, false} {
		s.is.Store(true)
		kept := diskUse(t, filepath.Dir(dir))
		for range 10 {
			s.killed(t, dir, kept+size/8)
			require.Less(t, diskUse(t, filepath.Dir(dir)), kept+size+size/2)
		}
		s.is.Store(false)
		r := open(t, s.url, func(c *gitsource.Config) { c.Dir = dir })
		require.Empty(t, leftovers(t, filepath.Dir(dir)))
		require.Equal(t, src.Tip(), fetch(t, r))
		require.Len(t, line(t, r, "", src.Tip()), len(revList(src, "main")))
		require.NoError(t, r.Close())
		if first {
			src.Write("more.yaml", gittest.Noise(size, 2)).Commit(two, "as much again")
			src.Git("push", "-q", "origin", "main")
		}
	}
}

// G13: who needs more than the cap fails alone, with a message, before the disk
// is full, and is not downloaded again and again.
func TestACloneOverItsLimitFailsWithItsNameAndLimit(t *testing.T) {
	src, root := served(t)
	small := src.Tip()
	srv := newMoody(t, root)
	dir := filepath.Join(t.TempDir(), "clones", "acme")
	limit := func(n int64) func(*gitsource.Config) {
		return func(c *gitsource.Config) { c.Dir, c.MaxBytes = dir, n }
	}
	r := open(t, srv.URL+"/bare.git", limit(300<<10))
	require.Equal(t, small, fetch(t, r))
	src.Write("big.yaml", gittest.Noise(1<<20, 1)).Commit(one, "big")
	src.Git("push", "-q", "origin", "main")
	over := func(r *gitsource.Repo) {
		t.Helper()
		_, err := r.Fetch(t.Context())
		require.ErrorIs(t, err, gitsource.ErrTooLarge)
		require.ErrorContains(t, err, srv.URL+"/bare.git: the clone, as far as it was received, is ")
		require.ErrorContains(t, err, "over the limit of 307200")
	}
	over(r)
	asked := srv.asked.Load()
	over(r)
	require.Equal(t, asked+1, srv.asked.Load(), "the pack is not asked for again")
	require.Len(t, line(t, r, "", small), 1, "what was fetched stays")
	require.Empty(t, leftovers(t, filepath.Dir(dir)))
	require.Less(t, diskUse(t, filepath.Dir(dir)), int64(300<<10))
	require.NoError(t, r.Close())
	require.NoError(t, os.RemoveAll(dir))
	fresh := open(t, srv.URL+"/bare.git", limit(300<<10))
	over(fresh)
	require.Empty(t, leftovers(t, filepath.Dir(dir)))
	// the branch goes back to what fits
	src.Git("push", "-q", "--force", "origin", small+":main")
	require.Equal(t, small, fetch(t, fresh))
	require.NoError(t, fresh.Close())
	src.Git("push", "-q", "origin", "main")
	require.Equal(t, src.Tip(), fetch(t, open(t, srv.URL+"/bare.git", limit(0))))
}

func TestACloneNearItsLimitIsMadeAnewIfThatSavesSpace(t *testing.T) {
	src, root := served(t)
	dir := filepath.Join(t.TempDir(), "clones", "acme")
	r := open(t, filepath.Join(root, "bare.git"), func(c *gitsource.Config) { c.Dir, c.MaxBytes = dir, 2<<20 })
	fetch(t, r)
	text := gittest.Noise(300<<10, 1)
	for i := range 10 { // each is sent whole, though they differ little
		src.Write("a.yaml", text[:i*1000]+"x"+text[i*1000:]).Commit(one, "more")
		src.Git("push", "-q", "origin", "main")
		require.Equal(t, src.Tip(), fetch(t, r))
	}
	require.Less(t, diskUse(t, dir), int64(2<<20))
	require.Equal(t, revList(src, "main"), line(t, r, "", src.Tip()))
}

package syncer_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/embedded"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/stretchr/testify/require"
)

// object writes a loose object as it is, whatever git itself would say of it.
func object(t *testing.T, dir, kind string, body []byte) string {
	t.Helper()
	raw := append([]byte(fmt.Sprintf("%s %d\x00", kind, len(body))), body...)
	sum := sha1.Sum(raw)
	id := hex.EncodeToString(sum[:])
	file := filepath.Join(dir, "objects", id[:2], id[2:])
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	if _, err := os.Stat(file); err != nil {
		require.NoError(t, os.WriteFile(file, packed.Bytes(), 0o644))
	}
	return id
}

// tree writes a tree of files in git's order.
func tree(t *testing.T, dir string, files map[string]string, mode string) string {
	t.Helper()
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	sort.Strings(names)
	var b bytes.Buffer
	for _, n := range names {
		id, err := hex.DecodeString(object(t, dir, "blob", []byte(files[n])))
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s %s\x00%s", mode, n, id)
	}
	return object(t, dir, "tree", b.Bytes())
}

// FuzzPass feeds repositories with any file names, contents, authors, messages
// and modes to a whole pass: it ends, in a state that says what is the matter,
// and a second pass finds nothing to do.
func FuzzPass(f *testing.F) {
	f.Add("orders.yaml", job("orders", 1), "Ada <a@example.com> 1767225600 +0000", "first\n\nReverts x#1", "100644", job("orders", 2))
	f.Add("a\nb.yaml", "x: [", "\xff <> 99999999999999 +9999", "\x1b[31m\r\nts=0", "120000", "")
	f.Add(".pawlignore", "**/[", " <@> -1 0", "This reverts commit 0", "160000", "!x")
	f.Add("x.yml", "apiVersion: pawl.dev/v1\nkind: Pavilion\nmetadata: {name: a}\nspec: {id: \"NT:2\", cid: X8FD}\n", "\x00", "", "40000", "- - -")
	srv, err := embedded.Start("127.0.0.1:0")
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, srv.Close()) })
	rdb, err := specstore.Dial(f.Context(), srv.URL())
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, rdb.Close()) })
	store, err := specstore.New(rdb, specstore.Config{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, name, text, author, message, mode, later string) {
		if len(name)+len(text)+len(author)+len(message)+len(later) > 1<<16 {
			return
		}
		require.NoError(t, rdb.FlushAll(t.Context()).Err())
		dir := filepath.Join(t.TempDir(), "r.git")
		gittest.Run(t, t.TempDir(), "init", "-q", "--bare", "-b", "main", dir)
		parent := ""
		for i, content := range []string{text, later} {
			at := tree(t, dir, map[string]string{name: content, "steady.yaml": job("steady", 1)}, mode)
			if i == 0 {
				at = tree(t, dir, map[string]string{name: content, "steady.yaml": job("steady", 1)}, "100644")
			}
			parent = object(t, dir, "commit", fmt.Appendf(nil, "tree %s\n%sauthor %s\ncommitter %s\n\n%s", at, parent, author, author, message))
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "refs", "heads"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "refs", "heads", "main"), []byte(parent+"\n"), 0o644))
			parent = "parent " + parent + "\n"
		}
		repo, err := gitsource.Open(gitsource.Config{URL: dir, Branch: "main", Path: ".", Dir: filepath.Join(t.TempDir(), "clone"), Timeout: 20 * time.Second})
		require.NoError(t, err)
		defer func() { require.NoError(t, repo.Close()) }()
		told := 0
		tenant, err := syncer.New(spec.Pavilion{Name: "acme", ID: "NT:1", CID: "X8FD", Guard: spec.Guard{MaxRemovePercent: 30},
			Source: spec.Source{Branch: "main", Path: ".", History: "full", OnRewrite: "follow"}},
			syncer.Deps{Source: repo, Store: store, Facts: facts{}, Owner: "one", Tell: func(e syncer.Event) {
				if e.Version != nil {
					told++
				}
			}})
		require.NoError(t, err)
		cur, err := tenant.Pass(t.Context())
		if err != nil { // git itself may refuse to serve such objects: then the tenant says so
			require.Equal(t, spec.StateError, cur.State, err)
			require.NotEmpty(t, cur.Error)
			return
		}
		require.Contains(t, []spec.TenantState{spec.Synced, spec.StateRefused, spec.StateHeld}, cur.State)
		for _, finding := range cur.Findings {
			require.NotContains(t, finding.String(), "\x1b")
			require.NotContains(t, finding.String(), "\n")
		}
		first := told
		again, err := tenant.Pass(t.Context())
		require.NoError(t, err)
		require.Equal(t, first, told, "a second pass makes no version")
		require.True(t, cur.Same(again))
	})
}

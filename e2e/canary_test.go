package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// A secret's literal stands in the specs' JSON in Redis and in Git, and nowhere
// else: not in any output of any command, any log, any other key, or the state
// folder's own files.
func TestASecretIsSeenNowhere(t *testing.T) {
	t.Parallel()
	const canary, second, resolved = "canary-5f1d9a", "canary-77aa10", "canary-env-31c8"
	w, tr := newWorld(t), newTrace(t)
	r := gittest.New(t)
	w.repo = r.Dir
	r.Write("jobs/orders.yaml", job("orders", 1, "secret.db="+canary, "secret.ref=env:OTHER_SECRET", "topic=a"))
	r.Commit(ada, "with a literal")
	var said strings.Builder
	say := func(r result) { said.WriteString(r.stdout + r.stderr) }
	say(w.syncer("run", "--once"))
	require.Contains(t, said.String(), "secret.db", "a literal is warned about")
	w.env = []string{"MY_SECRET=" + resolved}

	r.Write("jobs/orders.yaml", job("orders", 1, "secret.db="+second, "topic=a"))
	r.Commit(grace, "another literal")
	say(w.syncer("plan"))
	say(w.syncer("run", "--once"))
	r.Revert(alan, "HEAD")
	back := w.syncer("run", "--once")
	say(back)
	require.Contains(t, back.stdout, "v3 ROLLBACK restores v1", "a masked literal is compared through Git")
	r.Write("jobs/broken.yaml", strings.Replace(job("broken", 1, "secret.db="+canary), `"`+canary+`"`, "["+canary+"]", 1))
	r.Write("jobs/plain.yaml", strings.Replace(job("plain", 1, "secret.db=x"), `"x"`, "0x5f1d9a", 1))
	r.Commit(ada, "broken")
	say(w.syncer("run", "--once"))
	r.Remove("jobs/broken.yaml").Remove("jobs/plain.yaml")
	r.Write("jobs/orders.yaml", job("orders", 1, "secret.db="+canary, "secret.env=env:MY_SECRET", "topic=a"))
	r.Commit(ada, "mended")
	say(w.syncer("run", "--once"))
	a := w.start("agent", "run", "--config", tr.config("one", "6m"), "--redis", w.redis.URL(), "--interval", "200ms")
	eventually(t, 20*time.Second, func() string { return a.out.String() + w.must("status") }, w.running("orders", 4))
	for _, args := range [][]string{{"status"}, {"status", "-o", "json"}, {"get", "orders"}, {"get", "orders", "-o", "json"}, {"get", "orders", "-o", "yaml"},
		{"history", "orders"}, {"history", "orders", "-o", "json"}, {"diff", "orders", "1", "2"}, {"blame", "orders"}, {"blame", "orders", "-o", "json"},
		{"audit"}, {"audit", "-o", "json"}, {"audit", "--export", filepath.Join(tr.dir, "audit.jsonl")}, {"export"}, {"plan"},
		{"validate", filepath.Join(r.Dir, "jobs")}} {
		say(w.syncer(args...))
	}
	require.Zero(t, a.stop(t))
	said.WriteString(a.out.String())
	text := said.String() + w.everythingElse() + files(t, w.state) + files(t, tr.dir)
	for _, secret := range []string{canary, second, resolved, "0x5f1d9a"} {
		require.NotContains(t, text, secret)
	}
	specs := fmt.Sprint(w.rdb.HGetAll(t.Context(), prefix+"acme:jobs").Val())
	require.Contains(t, specs, canary, "the canary was there to be found")
	require.NotContains(t, specs, resolved, "a reference is resolved by the agent alone")
}

// everythingElse is all of Redis but jobs and history.
func (w *world) everythingElse() string {
	w.t.Helper()
	ctx := w.t.Context()
	var b strings.Builder
	keys, err := w.rdb.Keys(ctx, "*").Result()
	require.NoError(w.t, err)
	require.Greater(w.t, len(keys), 5)
	for _, k := range keys {
		name := strings.TrimPrefix(k, prefix)
		if name == "acme:jobs" || strings.HasPrefix(name, "history:") {
			continue
		}
		b.WriteString(k + "\n")
		kind, err := w.rdb.Type(ctx, k).Result()
		require.NoError(w.t, err)
		switch kind {
		case "hash":
			fmt.Fprintln(&b, w.rdb.HGetAll(ctx, k).Val())
		case "string":
			fmt.Fprintln(&b, w.rdb.Get(ctx, k).Val())
		case "stream":
			fmt.Fprintln(&b, w.rdb.XRange(ctx, k, "-", "+").Val())
		case "set":
			fmt.Fprintln(&b, w.rdb.SMembers(ctx, k).Val())
		case "zset":
			fmt.Fprintln(&b, w.rdb.ZRange(ctx, k, 0, -1).Val())
		case "list":
			fmt.Fprintln(&b, w.rdb.LRange(ctx, k, 0, -1).Val())
		default:
			w.t.Fatalf("key %s of type %s", k, kind)
		}
	}
	return b.String()
}

// files reads all files of a folder but Git's own objects.
func files(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(p, "/objects/") {
			return err
		}
		text, err := os.ReadFile(p)
		b.Write(text)
		return err
	}))
	return b.String()
}

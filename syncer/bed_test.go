package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/internal/redistest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/stretchr/testify/require"
)

// bed is a tenant on a real repository and a real Redis.
type bed struct {
	t     *testing.T
	redis *redistest.Server
	store *specstore.Store
	repo  *gittest.Repo
	pav   spec.Pavilion
	facts facts
	told  []syncer.Event
}

type facts map[string]spec.Facts

func (f facts) Load(tenant string) (spec.Facts, error) { return f[tenant], nil }
func (f facts) Keep(tenant string, is spec.Facts) error {
	f[tenant] = is
	return nil
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, redis: redistest.Start(t), repo: gittest.New(t), facts: facts{}}
	rdb, err := specstore.Dial(t.Context(), b.redis.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	b.store, err = specstore.New(rdb, specstore.Config{AuditCap: 100000})
	require.NoError(t, err)
	b.pav = spec.Pavilion{Name: "acme", ID: "NT:1", CID: "X8FD", Guard: spec.Guard{MaxRemovePercent: 30},
		Source: spec.Source{URL: b.repo.Dir, Branch: "main", Path: ".", History: "full", OnRewrite: "follow"}}
	return b
}

// tenant is a fresh worker, as after a restart; wrap may put faults around what it works on.
func (b *bed) tenant(wrap func(*syncer.Deps)) *syncer.Tenant {
	b.t.Helper()
	repo, err := gitsource.Open(gitsource.Config{URL: b.repo.Dir, Branch: b.pav.Source.Branch, Path: b.pav.Source.Path, Dir: b.t.TempDir()})
	require.NoError(b.t, err)
	b.t.Cleanup(func() { require.NoError(b.t, repo.Close()) })
	d := syncer.Deps{Source: repo, Store: b.store, Facts: b.facts, Owner: "one", Lease: time.Minute,
		Tell: func(e syncer.Event) { b.told = append(b.told, e) }}
	if wrap != nil {
		wrap(&d)
	}
	tenant, err := syncer.New(b.pav, d)
	require.NoError(b.t, err)
	return tenant
}

// pass runs one pass of a fresh worker that has to succeed, and gives the lines it told.
func (b *bed) pass() (spec.Cursor, []string) {
	b.t.Helper()
	b.told = nil
	cur, err := b.tenant(nil).Pass(b.t.Context())
	require.NoError(b.t, err)
	return cur, b.lines()
}

func (b *bed) lines() (out []string) {
	for _, e := range b.told {
		if e.Version != nil {
			out = append(out, e.String())
		}
	}
	return out
}

// dump is the ledger as text: specs, origins, history, audit rows without their time.
func (b *bed) dump() string {
	b.t.Helper()
	ctx := b.t.Context()
	var s strings.Builder
	jobs, err := b.store.List(ctx, "acme")
	require.NoError(b.t, err)
	for _, v := range jobs {
		fmt.Fprintln(&s, v.Record.Raw, v.Status.State)
	}
	rows, err := b.store.Audit(ctx, specstore.AuditQuery{Tenant: "acme"})
	require.NoError(b.t, err)
	keys := map[string]bool{}
	for _, r := range rows {
		r.TS, r.ID = 0, ""
		fmt.Fprintf(&s, "%+v\n", r)
		if r.Job == "*" || keys[r.Job] {
			continue
		}
		keys[r.Job] = true
		origins, err := b.store.Origins(ctx, "acme", spec.ParseKey(r.Job))
		require.NoError(b.t, err)
		for _, o := range origins {
			o.AppliedAt = 0
			author := o.Author
			o.Author, o.Committer = nil, nil
			fmt.Fprintf(&s, "%+v %v\n", o, author)
		}
		old, err := b.store.History(ctx, "acme", spec.ParseKey(r.Job))
		require.NoError(b.t, err)
		for _, h := range old {
			fmt.Fprintln(&s, h.Raw)
		}
	}
	return s.String()
}

// job is a job spec as a file.
func job(name string, parallelism int, config ...string) string {
	s := fmt.Sprintf("apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata:\n  name: %s\nspec:\n  pipelineFactory: f\n  parallelism: %d\n", name, parallelism)
	if len(config) > 0 {
		s += "  config:\n"
		for _, kv := range config {
			k, v, _ := strings.Cut(kv, "=")
			s += fmt.Sprintf("    %s: %q\n", k, v)
		}
	}
	return s
}

const (
	ada   = "Ada Lovelace <ada@example.com>"
	grace = "Grace Hopper <grace@example.com>"
	alan  = "Alan Turing <alan@example.com>"
)

// errInjected is what a fault says.
var errInjected = errors.New("injected fault")

// faults fails the nth call that passes through it: before it is made, or after,
// so that its effect stands and its answer is lost.
type faults struct {
	left  int
	after bool
	name  string // of the call that failed
}

func (f *faults) before(name string) error {
	if f.left--; f.left == 0 && !f.after {
		f.name = name
		return errInjected
	}
	return nil
}

func (f *faults) lost(name string) error {
	if f.left == 0 && f.after && f.name == "" {
		f.name = name
		return errInjected
	}
	return nil
}

func through[T any](f *faults, name string, call func() (T, error)) (T, error) {
	if err := f.before(name); err != nil {
		var zero T
		return zero, err
	}
	v, err := call()
	if lost := f.lost(name); lost != nil {
		var zero T
		return zero, lost
	}
	return v, err
}

// badSource is a source with faults.
type badSource struct {
	syncer.Source
	f *faults
}

func (s badSource) Fetch(ctx context.Context) (string, error) {
	return through(s.f, "fetch", func() (string, error) { return s.Source.Fetch(ctx) })
}
func (s badSource) Commit(ctx context.Context, id string) (spec.Commit, error) {
	return through(s.f, "commit", func() (spec.Commit, error) { return s.Source.Commit(ctx, id) })
}
func (s badSource) Changes(ctx context.Context, from, to string) ([]spec.FileChange, error) {
	return through(s.f, "changes", func() ([]spec.FileChange, error) { return s.Source.Changes(ctx, from, to) })
}
func (s badSource) Blob(ctx context.Context, id string, limit int64) ([]byte, error) {
	return through(s.f, "blob", func() ([]byte, error) { return s.Source.Blob(ctx, id, limit) })
}

// badStore is a store with faults.
type badStore struct {
	syncer.Store
	f *faults
}

func (s badStore) Cursor(ctx context.Context, tenant string) (spec.Cursor, error) {
	return through(s.f, "cursor", func() (spec.Cursor, error) { return s.Store.Cursor(ctx, tenant) })
}
func (s badStore) Known(ctx context.Context, tenant string, keys []spec.Key) ([]spec.Known, error) {
	return through(s.f, "known", func() ([]spec.Known, error) { return s.Store.Known(ctx, tenant, keys) })
}
func (s badStore) Lookalikes(ctx context.Context, tenant string, w []spec.Lookup) ([]spec.Origin, error) {
	return through(s.f, "lookalikes", func() ([]spec.Origin, error) { return s.Store.Lookalikes(ctx, tenant, w) })
}
func (s badStore) Apply(ctx context.Context, l spec.Lease, step spec.Step) (spec.Cursor, error) {
	return through(s.f, "apply", func() (spec.Cursor, error) { return s.Store.Apply(ctx, l, step) })
}
func (s badStore) Acquire(ctx context.Context, tenant, owner string, ttl time.Duration) (spec.Lease, error) {
	return through(s.f, "acquire", func() (spec.Lease, error) { return s.Store.Acquire(ctx, tenant, owner, ttl) })
}

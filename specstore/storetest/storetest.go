// Package storetest is the exam that every Redis under a specstore.Store must pass:
// a real server, a cluster, and the embedded store. It owns the cases; the tests
// of this folder own the servers. It runs in tests only, below a prefix of its own
// for each case, and leaves what it wrote behind.
package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

// World is one empty place below a prefix of its own.
type World struct {
	RDB    redis.UniversalClient
	Prefix string // with {tenant} on a cluster
}

// Exercise runs the whole exam. open gives an empty World each time.
func Exercise(t *testing.T, open func(t *testing.T) World) {
	for _, part := range []map[string]func(*testing.T, *hand){ledger, ranges, people, desired, agents, trace, faults} {
		for _, name := range slices.Sorted(maps.Keys(part)) {
			t.Run(name, func(t *testing.T) { part[name](t, newHand(t, open(t), nil)) })
		}
	}
}

// tenant is whose ledger the cases write.
const tenant = "acme"

// hand is a syncer's hand in the tests: a store, a lease, and a counter of commits.
type hand struct {
	t     *testing.T
	world World
	*specstore.Store
	lease   spec.Lease
	commits int
}

func newHand(t *testing.T, w World, change func(*specstore.Config)) *hand {
	t.Helper()
	cfg := specstore.Config{Prefix: w.Prefix}
	if change != nil {
		change(&cfg)
	}
	s, err := specstore.New(w.RDB, cfg)
	require.NoError(t, err)
	h := &hand{t: t, world: w, Store: s}
	h.lease, err = s.Acquire(t.Context(), tenant, "syncer-1", time.Minute)
	require.NoError(t, err)
	return h
}

// with is another store on the same keys, with another configuration.
func (h *hand) with(change func(*specstore.Config)) *hand {
	h.t.Helper()
	return newHand(h.t, h.world, change)
}

// key spells a key below the prefix, for looking behind the store's back.
func (h *hand) key(name string) string {
	return strings.Replace(h.world.Prefix, "{tenant}", "{"+tenant+"}", 1) + name
}

// own spells one of the tenant's own keys.
func (h *hand) own(name string) string { return h.key("pawl:" + tenant + ":" + name) }

func (h *hand) ctx() context.Context { return h.t.Context() }

// nextCommit gives the id of a commit that was not there before.
func (h *hand) nextCommit() string {
	h.commits++
	return fmt.Sprintf("%040x", h.commits)
}

// apply writes items as one commit, from wherever the cursor is.
func (h *hand) apply(items ...spec.Item) spec.Cursor {
	h.t.Helper()
	cur, err := h.tryApply(h.nextCommit(), items...)
	require.NoError(h.t, err)
	return cur
}

func (h *hand) tryApply(commit string, items ...spec.Item) (spec.Cursor, error) {
	h.t.Helper()
	cur, err := h.Cursor(h.ctx(), tenant)
	require.NoError(h.t, err)
	return h.Apply(h.ctx(), h.lease, spec.Step{Tenant: tenant, From: cur, To: cur.Arrived(commit), Items: items})
}

// item is a version of s that replaces version from, the newest of its spec.
func item(op spec.Op, from int64, s spec.Spec, desired spec.Desired) spec.Item {
	return spec.Item{Version: version(op, from, s, desired), Newest: true}
}

var dev = spec.Person{Name: "Dev One", Mail: "dev@example.com", When: 1700000000}

func version(op spec.Op, from int64, s spec.Spec, desired spec.Desired) *spec.Version {
	commit := fmt.Sprintf("%039x%x", from+1, len(op))
	o := spec.Origin{Version: from + 1, Op: op, Result: spec.Applied, Operation: spec.OperationID(commit, s.Key(), from),
		Commit: commit, Path: "specs/" + s.Key().Name + ".yaml", Actor: dev.String(), Author: &dev, Verified: spec.VerifiedUnknown,
		Digest: s.Digest(), Suspend: s.Suspended(), Fields: []string{"config.n"}}
	return &spec.Version{Key: s.Key(), Op: op, Result: spec.Applied, From: from, Number: from + 1, Spec: s,
		UpdatedAt: 1700000000000, Origin: o, Desired: desired, Fields: o.Fields}
}

// removal removes version from of a spec.
func removal(from int64, k spec.Key) spec.Item {
	commit := fmt.Sprintf("%040x", 0xdead0000+from)
	return spec.Item{Newest: true, Version: &spec.Version{Key: k, Op: spec.OpStop, Result: spec.Removed, From: from, Number: from,
		Origin: spec.Origin{Version: from, Op: spec.OpStop, Result: spec.Removed, Operation: spec.OperationID(commit, k, from),
			Commit: commit, Actor: dev.String(), Verified: spec.VerifiedUnknown}}}
}

// job is a job whose content is told apart by n.
func job(name string, n int) spec.Job {
	return spec.Job{Name: name, Factory: "enrich", Parallelism: 2, Config: map[string]string{"n": fmt.Sprint(n)}}
}

func suspended(j spec.Job) spec.Job { j.Suspend = true; return j }

func sub(name, tag string) spec.Subscription {
	return spec.Subscription{Name: name, Kollex: spec.KollexRef{ID: "NT:1-K0001", ImageTag: tag},
		Episodes: []spec.Episode{{ID: "NT:1-E0001", Name: "web", Image: "registry.example.com/web:1"}}, Dramas: []spec.Drama{}, ExternalTargetIDs: []string{}}
}

// submitted and upgraded are the usual items.
func submitted(s spec.Spec) spec.Item { return item(spec.OpSubmit, 0, s, spec.WantRunning) }
func upgraded(from int64, s spec.Spec) spec.Item {
	return item(spec.OpUpgrade, from, s, spec.LeaveStatus)
}

// rows reads the audit of the tenant, oldest first.
func (h *hand) rows() []spec.AuditRow {
	h.t.Helper()
	rows, err := h.Audit(h.ctx(), specstore.AuditQuery{Tenant: tenant})
	require.NoError(h.t, err)
	return rows
}

func (h *hand) lastRow() spec.AuditRow {
	h.t.Helper()
	rows := h.rows()
	require.NotEmpty(h.t, rows)
	return rows[len(rows)-1]
}

func (h *hand) status(name string) spec.Status {
	h.t.Helper()
	st, err := h.Status(h.ctx(), tenant, name)
	require.NoError(h.t, err)
	return st
}

func (h *hand) known(k spec.Key) spec.Known {
	h.t.Helper()
	known, err := h.Known(h.ctx(), tenant, []spec.Key{k})
	require.NoError(h.t, err)
	return known[0]
}

// dump reads every key below the tenant's prefix as text, without what only time decides.
func (h *hand) dump() map[string]string {
	h.t.Helper()
	out := map[string]string{}
	for _, k := range h.keys() {
		name := strings.TrimPrefix(k, h.key(""))
		if name == "pawl:acme:lease" || name == "tenants" || strings.HasPrefix(name, "pawl:acme:applied:") || name == "pawl:acme:rev" || name == "pawl:acme:cursor" {
			continue
		}
		out[name] = h.text(k)
	}
	return out
}

// equal compares two dumps and shows only what differs.
func equal(t *testing.T, want, have map[string]string) {
	t.Helper()
	all := maps.Clone(want)
	maps.Copy(all, have)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		require.Equal(t, want[name], have[name], name)
	}
}

func (h *hand) keys() []string {
	h.t.Helper()
	var keys []string
	scan := func(ctx context.Context, c redis.Cmdable) error {
		for cursor := uint64(0); ; {
			part, next, err := c.Scan(ctx, cursor, strings.NewReplacer("{", "\\{", "[", "\\[").Replace(h.key(""))+"*", 1000).Result()
			if err != nil {
				return err
			}
			if keys = append(keys, part...); next == 0 {
				return nil
			}
			cursor = next
		}
	}
	if c, ok := h.world.RDB.(*redis.ClusterClient); ok {
		require.NoError(h.t, c.ForEachMaster(h.ctx(), func(ctx context.Context, n *redis.Client) error { return scan(ctx, n) }))
	} else {
		require.NoError(h.t, scan(h.ctx(), h.world.RDB))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// text is the whole value of a key.
func (h *hand) text(key string) string {
	h.t.Helper()
	ctx, c := h.ctx(), h.world.RDB
	kind, err := c.Type(ctx, key).Result()
	require.NoError(h.t, err)
	switch kind {
	case "hash":
		m, err := c.HGetAll(ctx, key).Result()
		require.NoError(h.t, err)
		var lines []string
		for _, f := range slices.Sorted(maps.Keys(m)) {
			if f != "updatedAt" {
				lines = append(lines, f+"="+m[f])
			}
		}
		return strings.Join(lines, "\n")
	case "list":
		l, err := c.LRange(ctx, key, 0, -1).Result()
		require.NoError(h.t, err)
		return strings.Join(l, "\n")
	case "stream":
		rows, err := c.XRange(ctx, key, "-", "+").Result()
		require.NoError(h.t, err)
		var lines []string
		for _, r := range rows {
			delete(r.Values, "ts")
			lines = append(lines, fmt.Sprint(r.Values))
		}
		return strings.Join(lines, "\n")
	case "set":
		m, err := c.SMembers(ctx, key).Result()
		require.NoError(h.t, err)
		slices.Sort(m)
		return strings.Join(m, "\n")
	case "zset":
		m, err := c.ZRange(ctx, key, 0, -1).Result()
		require.NoError(h.t, err)
		return strings.Join(m, "\n")
	case "string":
		v, err := c.Get(ctx, key).Result()
		require.NoError(h.t, err)
		return v
	}
	return kind
}

// worldKey spells a key that belongs to no tenant.
func worldKey(w World, name string) string {
	return strings.Replace(w.Prefix, "{tenant}", "{pawl}", 1) + name
}

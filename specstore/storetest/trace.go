package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

func isTaken(err error) bool { return errors.Is(err, spec.ErrTaken) }

var trace = map[string]func(*testing.T, *hand){
	"audit rows have exactly the fields that the Java reader knows, and ours": rowFields,
	"the audit keeps to its cap, about":                                       auditCap,
	"the audit is read by tenant, by job, and from a row on":                  auditQueries,
	"a tail waits for the next row":                                           tail,
	"details name fields and versions and never a value":                      details,
	"a secret stands in jobs and history alone":                               canary,
	"texts of strangers are cut and cleaned":                                  cleaned,
}

func rowFields(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	h.apply(upgraded(1, job("orders", 2)))
	h.apply(removal(2, job("orders", 1).Key()))
	msgs := h.world.RDB.XRange(t.Context(), h.key("audit"), "-", "+").Val()
	require.Len(t, msgs, 3)
	common := []string{"actor", "allowed", "commit", "detail", "jobName", "kind", "op", "result", "tenant", "ts"}
	for i, extra := range [][]string{{"toVersion"}, {"fromVersion", "toVersion"}, {"fromVersion"}} {
		want := append(slices.Clone(common), extra...)
		slices.Sort(want)
		var have []string
		for f, v := range msgs[i].Values {
			have = append(have, f)
			require.NotEmpty(t, v, f)
		}
		slices.Sort(have)
		require.Equal(t, want, have)
		require.Equal(t, "true", msgs[i].Values["allowed"])
		require.Contains(t, []any{"SUBMIT", "UPGRADE", "STOP"}, msgs[i].Values["op"])
	}
}

func auditCap(t *testing.T, h *hand) {
	h = h.with(func(c *specstore.Config) { c.AuditCap = 100 })
	h.apply(submitted(job("orders", 1)))
	for range 500 {
		require.NoError(t, h.Restart(t.Context(), tenant, "alice", "orders"))
	}
	n := h.world.RDB.XLen(t.Context(), h.key("audit")).Val()
	require.GreaterOrEqual(t, n, int64(100))
	require.LessOrEqual(t, n, int64(300))
}

func auditQueries(t *testing.T, h *hand) {
	h.apply(submitted(job("a", 1)), submitted(job("b", 1)))
	_, err := h.Submit(t.Context(), "umbrella", "alice", job("a", 1))
	require.NoError(t, err)
	h.apply(upgraded(1, job("a", 2)))
	read := func(q specstore.AuditQuery) (seen []string, rows []spec.AuditRow) {
		rows, err := h.Audit(t.Context(), q)
		require.NoError(t, err)
		for _, r := range rows {
			seen = append(seen, fmt.Sprintf("%s/%s v%d", r.Tenant, r.Job, r.To))
		}
		return seen, rows
	}
	seen, rows := read(specstore.AuditQuery{Tenant: tenant})
	require.Equal(t, []string{"acme/a v1", "acme/b v1", "acme/a v2"}, seen)
	seen, _ = read(specstore.AuditQuery{Tenant: tenant, Job: "a"})
	require.Equal(t, []string{"acme/a v1", "acme/a v2"}, seen)
	seen, _ = read(specstore.AuditQuery{Tenant: tenant, Limit: 1})
	require.Equal(t, []string{"acme/a v2"}, seen, "the newest")
	seen, _ = read(specstore.AuditQuery{Tenant: tenant, Since: rows[0].ID, Limit: 1})
	require.Equal(t, []string{"acme/b v1"}, seen, "the next")
	for i := range 600 { // more than a page between
		_, err := h.Submit(t.Context(), tenant, "alice", job("UPPER", i))
		require.Error(t, err)
	}
	seen, _ = read(specstore.AuditQuery{Tenant: tenant, Job: "b"})
	require.Equal(t, []string{"acme/b v1"}, seen)
}

func tail(t *testing.T, h *hand) {
	rows, next, err := h.Tail(t.Context(), specstore.AuditQuery{Tenant: tenant}, time.Millisecond)
	require.NoError(t, err)
	require.Empty(t, rows)
	h.apply(submitted(job("orders", 1)))
	rows, next, err = h.Tail(t.Context(), specstore.AuditQuery{Tenant: tenant, Since: next}, 10*time.Second)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, rows[0].ID, next)
	rows, _, err = h.Tail(t.Context(), specstore.AuditQuery{Tenant: tenant}, time.Millisecond)
	require.NoError(t, err)
	require.Empty(t, rows, "from now on")
}

func details(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	scaled := upgraded(1, job("orders", 1))
	scaled.Version.Fields, scaled.Version.RescaleOnly = []string{"parallelism"}, true
	h.apply(scaled)
	require.Equal(t, "parallelism (rescale only)", h.lastRow().Detail)
	back := item(spec.OpRollback, 2, job("orders", 1), spec.LeaveStatus)
	back.Version.Fields, back.Version.Origin.Restores = []string{"config.batch", "parallelism"}, 1
	h.apply(back)
	require.Equal(t, "config.batch, parallelism restores v1", h.lastRow().Detail)
}

func canary(t *testing.T, h *hand) {
	const secret = "hunter2-canary"
	j := job("orders", 1)
	j.Config["secret.db"] = secret
	h.apply(submitted(j))
	k := job("orders", 2)
	k.Config["secret.db"] = secret + "-2"
	h.apply(upgraded(1, k))
	by := job("own", 1)
	by.Config["secret.db"] = secret
	_, err := h.Submit(t.Context(), tenant, "alice", by)
	require.NoError(t, err)
	require.Contains(t, h.lastRow().Detail, "secret.db")
	by.Config["secret.db"] = secret + "-3"
	_, err = h.Upgrade(t.Context(), tenant, "alice", by, 1)
	require.NoError(t, err)
	by.Parallelism = 0
	_, err = h.Upgrade(t.Context(), tenant, "alice", by, 2)
	require.NotContains(t, err.Error(), secret)
	_, err = h.Rollback(t.Context(), tenant, "alice", "own", 1, 2)
	require.NoError(t, err)
	require.NoError(t, h.world.RDB.HSet(t.Context(), h.key("acme:jobs"), "broken", `{"config":{"secret.db":["`+secret+`"]}}`).Err())
	_, err = h.Get(t.Context(), tenant, "broken")
	require.Error(t, err)
	require.NotContains(t, err.Error(), secret)
	for _, key := range h.keys() {
		name := strings.TrimPrefix(key, h.key(""))
		if name == "acme:jobs" || strings.HasPrefix(name, "history:acme:") {
			require.Contains(t, h.text(key), secret)
			continue
		}
		require.NotContains(t, h.text(key), secret, name)
	}
}

func cleaned(t *testing.T, h *hand) {
	_, err := h.Submit(t.Context(), tenant, "eve\n\x1b[31m"+strings.Repeat("x", 1000), job("orders", 1))
	require.NoError(t, err)
	row := h.lastRow()
	require.LessOrEqual(t, len(row.Actor), 300)
	require.NotContains(t, row.Actor, "\n")
	require.NotContains(t, row.Actor, "\x1b")
	require.NoError(t, h.Stop(t.Context(), tenant, "\xff\"quote", "orders"))
	over, err := h.Overrides(t.Context(), tenant)
	require.NoError(t, err)
	require.Equal(t, "\uFFFD\"quote", over[0].Actor)
	var any map[string]any
	require.NoError(t, json.Unmarshal([]byte(h.world.RDB.HGet(t.Context(), h.own("overrides"), "orders").Val()), &any))
}

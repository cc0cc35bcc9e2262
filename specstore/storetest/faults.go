package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

var faults = map[string]func(*testing.T, *hand){
	"a key of another type is named and nothing is written": wrongType,
	"scripts that the server forgot are sent again":         scriptFlush,
	"a context that is over ends every call":                cancelled,
	"a record that the Java runtime wrote is read":          javaRecord,
	"a store that needs a newer reader is refused":          newerSchema,
}

func wrongType(t *testing.T, h *hand) {
	ctx, rdb := t.Context(), h.world.RDB
	for _, key := range []string{h.key("audit"), h.key("history:acme:orders"), h.own("origins:orders"), h.own("tombstones"), h.own("rev"), h.own("refusals")} {
		if key == h.own("rev") {
			require.NoError(t, rdb.HSet(ctx, key, "a", "b").Err())
		} else {
			require.NoError(t, rdb.Set(ctx, key, "astray", 0).Err())
		}
		before := h.dump()
		_, err := h.tryApply(h.nextCommit(), submitted(job("first", 1)), submitted(job("orders", 1)))
		require.ErrorContains(t, err, key)
		require.ErrorContains(t, err, "nothing was written")
		equal(t, before, h.dump())
		cur, err := h.Cursor(ctx, tenant)
		require.NoError(t, err)
		require.Empty(t, cur.Applied)
		require.NoError(t, rdb.Del(ctx, key).Err())
	}
	require.NoError(t, rdb.Set(ctx, h.own("joblease:orders"), "astray", 0).Err())
	h.apply(submitted(job("orders", 1)))
	_, err := h.claim("orders", 1, "agent-1", time.Minute, 0)
	require.ErrorContains(t, err, "joblease:orders")
}

func scriptFlush(t *testing.T, h *hand) {
	flush := func() { require.NoError(t, h.world.RDB.ScriptFlush(t.Context()).Err()) }
	flush()
	h.apply(submitted(job("orders", 1)))
	flush()
	lease, err := h.claim("orders", 1, "agent-1", time.Minute, 0)
	require.NoError(t, err)
	flush()
	require.NoError(t, h.Report(t.Context(), spec.Report{Tenant: tenant, Job: "orders", Claim: lease, State: spec.Running, RunningVersion: 1}))
	flush()
	h.apply(upgraded(1, job("orders", 2)))
	require.EqualValues(t, 2, h.known(job("orders", 1).Key()).Current.Version)
}

func cancelled(t *testing.T, h *hand) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Snapshot(ctx, tenant)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, specstore.ErrUnavailable)
	_, err = h.Apply(ctx, h.lease, spec.Step{Tenant: tenant, To: spec.Cursor{}.Arrived(h.nextCommit())})
	require.Error(t, err)
	require.True(t, errors.Is(err, specstore.ErrUnavailable), err)
	cur, err := h.Cursor(t.Context(), tenant)
	require.NoError(t, err)
	require.Empty(t, cur.Applied)
}

func javaRecord(t *testing.T, h *hand) {
	ctx, rdb := t.Context(), h.world.RDB
	raw := `{"jobName":"legacy","tenant":"acme","pipelineFactory":"f","config":null,"parallelism":3,"version":7,"description":null,"updatedBy":null,"updatedAt":1600000000000,"specHash":"abc","later":{"x":[1]}}`
	require.NoError(t, rdb.HSet(ctx, h.key("acme:jobs"), "legacy", raw).Err())
	require.NoError(t, rdb.HSet(ctx, h.key("acme:versions"), "legacy", "7").Err())
	v, err := h.Get(ctx, tenant, "legacy")
	require.NoError(t, err)
	require.EqualValues(t, 7, v.Record.Version)
	require.Equal(t, 3, v.Record.Spec.(spec.Job).Parallelism)
	require.True(t, h.known(spec.Key{Kind: spec.KindJob, Name: "legacy"}).Foreign)
	rec, err := h.Upgrade(ctx, tenant, "alice", job("legacy", 1), 7)
	require.NoError(t, err)
	require.EqualValues(t, 8, rec.Version)
	past, err := h.History(ctx, tenant, spec.Key{Kind: spec.KindJob, Name: "legacy"})
	require.NoError(t, err)
	require.Equal(t, raw, past[0].Raw, "byte for byte")
}

func newerSchema(t *testing.T, h *hand) {
	_, err := h.Check(t.Context())
	if err != nil {
		require.ErrorIs(t, err, specstore.ErrUnsafe)
	}
	key := worldKey(h.world, "pawl:schema")
	require.Equal(t, "1", h.world.RDB.HGet(t.Context(), key, "minReader").Val())
	require.NoError(t, h.world.RDB.HSet(t.Context(), key, "schema", "5", "minReader", "1").Err())
	_, err = h.Check(t.Context())
	require.NotErrorIs(t, err, specstore.ErrSchema, "what a newer release wrote may still be readable")
	require.NoError(t, h.world.RDB.HSet(t.Context(), key, "minReader", "4").Err())
	_, err = h.Check(t.Context())
	require.ErrorIs(t, err, specstore.ErrSchema)
}

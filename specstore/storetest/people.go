package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

var people = map[string]func(*testing.T, *hand){
	"a submit makes version 1 and refuses a name that is taken":         submit,
	"of parallel upgraders exactly one wins each version":               parallelUpgrades,
	"parallel submits of one name make one job":                         parallelSubmits,
	"a rollback restores a content and the version still grows":         rollback,
	"what belongs to Git is not upgraded by a person":                   gitOwned,
	"every failed attempt of a person is a row":                         attemptsAudited,
	"a refusal, a panic and a timeout of the authoriser are audited":    authoriser,
	"a spec that no document could declare is refused":                  invalidContent,
	"a name that was removed from Git can be submitted again":           submitAfterRemoval,
	"suspend of a person's spec decides what is desired":                submitSuspended,
	"two tenants with jobs of one name do not meet":                     twoTenants,
	"a tenant that only people write to is listed":                      tenantOfPeople,
	"the tenant default has keys without its name, as the Java runtime": defaultTenant,
}

func tenantOfPeople(t *testing.T, h *hand) {
	_, err := h.Submit(t.Context(), "byhand", "alice", job("orders", 1))
	require.NoError(t, err)
	names, err := h.Tenants(t.Context())
	require.NoError(t, err)
	require.Contains(t, names, "byhand")
}

func submit(t *testing.T, h *hand) {
	rec, err := h.Submit(t.Context(), tenant, "alice", job("orders", 1))
	require.NoError(t, err)
	require.EqualValues(t, 1, rec.Version)
	got, err := h.Get(t.Context(), tenant, "orders")
	require.NoError(t, err)
	require.Equal(t, rec.Raw, got.Record.Raw)
	require.Equal(t, spec.PendingDeploy, got.Status.State)
	row := h.lastRow()
	require.Equal(t, spec.AuditRow{ID: row.ID, TS: row.TS, Tenant: tenant, Actor: "alice", Op: spec.OpSubmit, Job: "orders", To: 1,
		Allowed: true, Detail: "new job", Kind: spec.KindPerson, Result: spec.Applied}, row)

	_, err = h.Submit(t.Context(), tenant, "bob", job("orders", 2))
	require.ErrorIs(t, err, spec.ErrExists)
	row = h.lastRow()
	require.Equal(t, spec.Conflict, row.Result)
	require.Equal(t, "bob", row.Actor)
	o, err := h.Origin(t.Context(), tenant, job("orders", 1).Key(), 1)
	require.NoError(t, err)
	require.Equal(t, "alice", o.Actor)
	require.True(t, strings.HasPrefix(o.Operation, "api:"))
}

func parallelUpgrades(t *testing.T, h *hand) {
	_, err := h.Submit(t.Context(), tenant, "alice", job("orders", 0))
	require.NoError(t, err)
	const people, rounds = 8, 5
	for round := int64(1); round <= rounds; round++ {
		var wg sync.WaitGroup
		results := make([]error, people)
		for i := range people {
			wg.Go(func() { _, results[i] = h.Upgrade(t.Context(), tenant, "alice", job("orders", i+1), round) })
		}
		wg.Wait()
		won := 0
		for _, err := range results {
			var conflict *spec.ConflictError
			if err == nil {
				won++
			} else {
				require.ErrorAs(t, err, &conflict)
			}
		}
		require.Equal(t, 1, won)
	}
	require.EqualValues(t, rounds+1, h.known(job("orders", 0).Key()).Current.Version)
	conflicts := 0
	for _, r := range h.rows() {
		if r.Result == spec.Conflict {
			conflicts++
		}
	}
	require.Equal(t, rounds*(people-1), conflicts)
}

func parallelSubmits(t *testing.T, h *hand) {
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Go(func() { _, results[i] = h.Submit(t.Context(), tenant, "alice", job("orders", i)) })
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else {
			require.ErrorIs(t, err, spec.ErrExists)
		}
	}
	require.Equal(t, 1, won)
	require.EqualValues(t, 1, h.known(job("orders", 0).Key()).Last)
}

func rollback(t *testing.T, h *hand) {
	for n := range 3 {
		var err error
		if n == 0 {
			_, err = h.Submit(t.Context(), tenant, "alice", job("orders", 1))
		} else {
			_, err = h.Upgrade(t.Context(), tenant, "alice", job("orders", n+1), int64(n))
		}
		require.NoError(t, err)
	}
	rec, err := h.Rollback(t.Context(), tenant, "alice", "orders", 1, 3)
	require.NoError(t, err)
	require.EqualValues(t, 4, rec.Version)
	require.True(t, rec.Spec.Equal(job("orders", 1)))
	row := h.lastRow()
	require.Equal(t, "config.n restores v1", row.Detail)
	require.Equal(t, []int64{3, 4}, []int64{row.From, row.To})
	past, err := h.History(t.Context(), tenant, job("orders", 1).Key())
	require.NoError(t, err)
	require.Len(t, past, 3)

	rec, err = h.Rollback(t.Context(), tenant, "alice", "orders", 0, 4)
	require.NoError(t, err)
	require.True(t, rec.Spec.Equal(job("orders", 3)), "without a version: the one before the current")
	_, err = h.Rollback(t.Context(), tenant, "alice", "orders", 77, 5)
	require.ErrorIs(t, err, spec.ErrNotFound)
	require.Equal(t, spec.Refused, h.lastRow().Result)
	var conflict *spec.ConflictError
	_, err = h.Rollback(t.Context(), tenant, "alice", "orders", 1, 2)
	require.ErrorAs(t, err, &conflict)
}

func gitOwned(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	h.apply(upgraded(1, job("orders", 2)))
	_, err := h.Upgrade(t.Context(), tenant, "alice", job("orders", 3), 2)
	require.ErrorIs(t, err, spec.ErrForeign)
	_, err = h.Rollback(t.Context(), tenant, "alice", "orders", 1, 2)
	require.ErrorIs(t, err, spec.ErrForeign)
	require.ErrorContains(t, err, "revert commit")
	require.EqualValues(t, 2, h.known(job("orders", 1).Key()).Current.Version)
	row := h.lastRow()
	require.False(t, row.Allowed)
	require.Equal(t, spec.Refused, row.Result)
}

func attemptsAudited(t *testing.T, h *hand) {
	_, err := h.Upgrade(t.Context(), tenant, "alice", job("ghost", 1), 1)
	require.ErrorIs(t, err, spec.ErrNotFound)
	for _, act := range []func(context.Context, string, string, string) error{h.Stop, h.Resume, h.Restart, h.Adopt} {
		require.ErrorIs(t, act(t.Context(), tenant, "alice", "ghost"), spec.ErrNotFound)
	}
	_, err = h.Submit(t.Context(), tenant, "alice", job("UPPER", 1))
	require.ErrorContains(t, err, "UPPER")
	rows := h.rows()
	require.Len(t, rows, 6)
	for _, r := range rows {
		require.Equal(t, spec.Refused, r.Result, r)
		require.Equal(t, spec.KindPerson, r.Kind)
	}
	require.Equal(t, "*", rows[5].Job)
	_, err = h.Submit(t.Context(), tenant, "", job("orders", 1))
	require.ErrorContains(t, err, "no actor")
	_, err = h.Submit(t.Context(), "claim", "alice", job("orders", 1))
	require.ErrorContains(t, err, "reserved")
}

func authoriser(t *testing.T, h *hand) {
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) })
	answers := map[string]func() error{
		"only admins":                    func() error { return errors.New("only admins") },
		"the authoriser panicked":        func() error { panic("boom") },
		"the authoriser gave no answer:": func() error { <-silent; return nil },
	}
	for want, answer := range answers {
		guarded := h.with(func(c *specstore.Config) {
			c.AuthorizeTimeout = 50 * time.Millisecond
			c.Authorize = func(context.Context, string, spec.Op, string, string) error { return answer() }
		})
		_, err := guarded.Submit(t.Context(), tenant, "mallory", job("orders", 1))
		require.ErrorIs(t, err, spec.ErrDenied)
		row := h.lastRow()
		require.Contains(t, row.Detail, want)
		require.False(t, row.Allowed)
		require.Equal(t, spec.Refused, row.Result)
		require.Equal(t, "mallory", row.Actor)
	}
	require.Nil(t, h.known(job("orders", 1).Key()).Current)

	var asked []string
	lenient := h.with(func(c *specstore.Config) {
		c.Authorize = func(_ context.Context, who string, op spec.Op, tenant, job string) error {
			asked = append(asked, strings.Join([]string{who, string(op), tenant, job}, " "))
			return nil
		}
	})
	_, err := lenient.Submit(t.Context(), tenant, "alice", job("orders", 1))
	require.NoError(t, err)
	require.NoError(t, lenient.Stop(t.Context(), tenant, "alice", "orders"))
	require.Equal(t, []string{"alice SUBMIT acme orders", "alice STOP acme orders"}, asked)
}

func invalidContent(t *testing.T, h *hand) {
	none, wide, big, empty := job("a", 1), job("a", 1), job("a", 1), job("a", 1)
	none.Factory = ""
	wide.Parallelism = spec.MaxParallelism + 1
	big.Config = map[string]string{"k": strings.Repeat("x", spec.MaxValueBytes+1)}
	empty.Config = map[string]string{"": "v"}
	for _, j := range []spec.Job{none, wide, big, empty} {
		_, err := h.Submit(t.Context(), tenant, "alice", j)
		require.Error(t, err)
		require.Equal(t, "invalid spec", h.lastRow().Detail)
	}
}

func submitAfterRemoval(t *testing.T, h *hand) {
	h.apply(submitted(job("orders", 1)))
	h.apply(removal(1, job("orders", 1).Key()))
	rec, err := h.Submit(t.Context(), tenant, "alice", job("orders", 2))
	require.NoError(t, err)
	require.EqualValues(t, 2, rec.Version)
	require.True(t, h.known(job("orders", 1).Key()).Foreign)
}

func submitSuspended(t *testing.T, h *hand) {
	_, err := h.Submit(t.Context(), tenant, "alice", suspended(job("orders", 1)))
	require.NoError(t, err)
	require.Equal(t, spec.DesiredStopped, h.status("orders").State)
	require.True(t, h.known(job("orders", 1).Key()).Current.Spec.Suspended())
	_, err = h.Upgrade(t.Context(), tenant, "alice", job("orders", 1), 1)
	require.NoError(t, err)
	require.Equal(t, spec.PendingDeploy, h.status("orders").State)
	_, err = h.Upgrade(t.Context(), tenant, "alice", suspended(job("orders", 2)), 2)
	require.NoError(t, err)
	require.Equal(t, spec.DesiredStopped, h.status("orders").State)
}

func twoTenants(t *testing.T, h *hand) {
	_, err := h.Submit(t.Context(), tenant, "alice", job("orders", 1))
	require.NoError(t, err)
	_, err = h.Submit(t.Context(), "umbrella", "alice", job("orders", 2))
	require.NoError(t, err)
	a, err := h.Get(t.Context(), tenant, "orders")
	require.NoError(t, err)
	u, err := h.Get(t.Context(), "umbrella", "orders")
	require.NoError(t, err)
	require.False(t, a.Record.Spec.Equal(u.Record.Spec))
	rows, err := h.Audit(t.Context(), specstore.AuditQuery{Tenant: "umbrella"})
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

func defaultTenant(t *testing.T, h *hand) {
	before, err := h.Tenants(t.Context())
	require.NoError(t, err)
	require.NotContains(t, before, "default")
	_, err = h.Submit(t.Context(), "default", "alice", job("orders", 1))
	require.NoError(t, err)
	p := strings.Replace(h.world.Prefix, "{tenant}", "{default}", 1)
	for _, k := range []string{"jobs", "versions", "status:orders", "audit", "pawl:default:origins:orders"} {
		require.EqualValues(t, 1, h.world.RDB.Exists(t.Context(), p+k).Val(), k)
	}
	after, err := h.Tenants(t.Context())
	require.NoError(t, err)
	require.Contains(t, after, "default")
	members := h.world.RDB.SMembers(t.Context(), worldKey(h.world, "tenants")).Val()
	require.Equal(t, []string{tenant}, members)
}

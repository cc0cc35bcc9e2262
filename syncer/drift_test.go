package syncer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/stretchr/testify/require"
)

// compared runs passes of one worker until its comparison of the whole is over.
func (b *bed) compared() spec.Cursor {
	b.t.Helper()
	b.told = nil
	again := true
	tenant := b.tenant(func(d *syncer.Deps) {
		d.DriftEvery = time.Hour
		d.Again = func() { again = true }
	})
	var cur spec.Cursor
	for passes := 0; again; passes++ {
		require.Less(b.t, passes, 20, "the comparison has an end")
		again = false
		var err error
		cur, err = tenant.Pass(b.t.Context())
		require.NoError(b.t, err)
	}
	require.NoError(b.t, tenant.Close(b.t.Context()))
	return cur
}

const jobsKey = "streaming:runtime:control:acme:jobs"

func TestDriftIsNamedWithWhoDidIt(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r := b.repo
	for i := range 1200 { // more than two slices
		r.Write(fmt.Sprintf("job-%04d.yaml", i), job(fmt.Sprintf("job-%04d", i), 2))
	}
	r.Commit(ada, "first")
	require.Empty(t, b.compared().Drift)

	// by the other control plane: one changed, one gone; one of a foreign owner
	raw := b.redis.Do("HGET", jobsKey, "job-0007")
	changed := strings.Replace(strings.Replace(raw, `"parallelism":2`, `"parallelism":9`, 1), ada, "Java Plane", 1)
	b.redis.Do("HSET", jobsKey, "job-0007", changed)
	b.redis.Do("HDEL", jobsKey, "job-1100")
	b.redis.Do("HSET", jobsKey, "foreign", strings.ReplaceAll(raw, "job-0007", "foreign"))
	before := b.dump()
	cur := b.compared()
	require.Equal(t, before, b.dump(), "report changes nothing")
	require.Len(t, cur.Drift, 2)
	require.Equal(t, "job-0007.yaml:1: job-0007: warning: stored as v1, last written by Java Plane, differs from commit "+r.Tip()[:7]+" in [parallelism]", cur.Drift[0].String())
	require.Contains(t, cur.Drift[1].String(), "job-1100: warning: is declared in commit")

	b.pav.Drift = "heal"
	cur = b.compared()
	require.Empty(t, cur.Drift)
	require.Equal(t, []string{"acme job-0007 v2 ROLLBACK restores v1 by syncer in " + r.Tip()[:7], "acme job-1100 v2 ROLLBACK restores v1 by syncer in " + r.Tip()[:7]}, b.lines())
	rows := b.dump()
	require.Contains(t, rows, "Result:healed")
	require.Empty(t, b.compared().Drift)
	require.Contains(t, b.redis.Do("HKEYS", jobsKey), "foreign", "what is foreign is left alone")
}

// The cursor is gone and the specs are not: one step to the tip, versions grow.
func TestALostCursorMakesNoVersionTwice(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	story(b)
	b.pass()
	b.redis.Do("DEL", "streaming:runtime:control:pawl:acme:cursor")
	cur, lines := b.pass()
	require.Empty(t, lines, "the store equals the tip already")
	require.Equal(t, b.repo.Tip(), cur.Applied)
	b.redis.Do("DEL", "streaming:runtime:control:pawl:acme:cursor")
	b.repo.Write("a.yaml", job("a", 7))
	b.repo.Remove("b.yaml")
	b.repo.Commit(grace, "two changes")
	_, lines = b.pass()
	require.Equal(t, []string{"acme a v5 UPGRADE by " + grace, "acme b v2 STOP removed by " + grace}, told(lines))
}

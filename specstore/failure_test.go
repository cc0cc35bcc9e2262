package specstore_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/internal/redistest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

func open(t testing.TB, url string, cfg specstore.Config) *specstore.Store {
	t.Helper()
	rdb, err := specstore.Dial(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	s, err := specstore.New(rdb, cfg)
	require.NoError(t, err)
	return s
}

func job(name string, n int) spec.Job {
	return spec.Job{Name: name, Factory: "enrich", Parallelism: 1, Config: map[string]string{"n": fmt.Sprint(n)}}
}

// version is a new version of a job, made by commit n.
func version(op spec.Op, from int64, j spec.Job, n int) spec.Item {
	commit := fmt.Sprintf("%040x", n)
	want := spec.LeaveStatus
	if op == spec.OpSubmit {
		want = spec.WantRunning
	}
	return spec.Item{Newest: true, Version: &spec.Version{Key: j.Key(), Op: op, Result: spec.Applied, From: from, Number: from + 1, Spec: j, Desired: want,
		Origin: spec.Origin{Version: from + 1, Op: op, Result: spec.Applied, Operation: spec.OperationID(commit, j.Key(), from), Commit: commit,
			Actor: "Dev <dev@example.com>", Verified: spec.VerifiedUnknown, Digest: j.Digest()}}}
}

// script gives the digest by which a script is called, for a proxy to look for.
func script(t *testing.T, name string) string {
	t.Helper()
	all, err := specstore.LoadScripts()
	require.NoError(t, err)
	return all[name].Hash()
}

// warm makes the server know all scripts, so that each call is one request.
func warm(t *testing.T, s *redistest.Server) {
	t.Helper()
	all, err := specstore.LoadScripts()
	require.NoError(t, err)
	rdb, err := specstore.Dial(t.Context(), s.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, rdb.Close()) }()
	for _, one := range all {
		require.NoError(t, one.Load(t.Context(), rdb).Err())
	}
}

func TestALostReplyOfASuccessIsSuccess(t *testing.T) {
	srv := redistest.Start(t)
	warm(t, srv)
	proxy := redistest.NewProxy(t, srv)
	s := open(t, proxy.URL(), specstore.Config{})
	ctx := t.Context()
	lease, err := s.Acquire(ctx, "acme", "one", time.Minute)
	require.NoError(t, err)

	var cur spec.Cursor
	step := spec.Step{Tenant: "acme", From: cur, To: cur.Arrived(strings.Repeat("1", 40)), Items: []spec.Item{version(spec.OpSubmit, 0, job("orders", 1), 1)}}
	proxy.LoseReply(script(t, "apply"))
	cur, err = s.Apply(ctx, lease, step)
	require.NoError(t, err)
	require.False(t, proxy.Armed())
	require.Equal(t, step.To.Applied, cur.Applied)

	refused := cur
	refused.State, refused.Refused, refused.Seen = spec.StateRefused, strings.Repeat("2", 40), strings.Repeat("2", 40)
	proxy.LoseReply(script(t, "apply"))
	cur, err = s.Apply(ctx, lease, spec.Step{Tenant: "acme", From: cur, To: refused})
	require.NoError(t, err, "also where the cursor stays at its commit")
	require.True(t, cur.Same(refused))

	proxy.LoseReply(script(t, "submit"))
	rec, err := s.Submit(ctx, "acme", "alice", job("own", 1))
	require.NoError(t, err)
	require.EqualValues(t, 1, rec.Version)
	proxy.LoseReply(script(t, "upgrade"))
	rec, err = s.Upgrade(ctx, "acme", "alice", job("own", 2), 1)
	require.NoError(t, err)
	require.EqualValues(t, 2, rec.Version, "never version + 2, never a conflict with itself")

	rows, err := s.Audit(ctx, specstore.AuditQuery{Tenant: "acme"})
	require.NoError(t, err)
	require.Len(t, rows, 3, "a row for each effect and none for the lost replies")
}

func TestALostRequestWroteNothingAndSaysSo(t *testing.T) {
	srv := redistest.Start(t)
	warm(t, srv)
	proxy := redistest.NewProxy(t, srv)
	s := open(t, proxy.URL(), specstore.Config{})
	ctx := t.Context()
	lease, err := s.Acquire(ctx, "acme", "one", time.Minute)
	require.NoError(t, err)
	step := spec.Step{Tenant: "acme", To: spec.Cursor{}.Arrived(strings.Repeat("1", 40)), Items: []spec.Item{version(spec.OpSubmit, 0, job("orders", 1), 1)}}
	proxy.LoseRequest(script(t, "apply"))
	_, err = s.Apply(ctx, lease, step)
	require.ErrorIs(t, err, specstore.ErrUnavailable)
	require.NotErrorIs(t, err, specstore.ErrUnknown)
	_, err = s.Apply(ctx, lease, step)
	require.NoError(t, err, "again does it once")

	proxy.LoseRequest(script(t, "submit"))
	_, err = s.Submit(ctx, "acme", "alice", job("own", 1))
	require.ErrorIs(t, err, specstore.ErrUnavailable)
}

func TestAnOutcomeIsUnknownOnlyWhereItCannotBeReadBack(t *testing.T) {
	srv := redistest.StartTCP(t)
	s := open(t, srv.URL(), specstore.Config{})
	lease, err := s.Acquire(t.Context(), "acme", "one", time.Minute)
	require.NoError(t, err)
	apply := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := s.Apply(ctx, lease, spec.Step{Tenant: "acme", To: spec.Cursor{}.Arrived(strings.Repeat("1", 40))})
		return err
	}
	srv.Do("CLIENT", "PAUSE", "60000", "WRITE")
	err = apply()
	require.ErrorIs(t, err, specstore.ErrUnavailable, "reads go on, and the cursor tells that nothing is there")
	require.NotErrorIs(t, err, specstore.ErrUnknown)

	srv.Do("CLIENT", "PAUSE", "60000", "ALL")
	err = apply()
	require.ErrorIs(t, err, specstore.ErrUnknown)
	require.ErrorContains(t, err, "read back")

	srv.Kill()
	require.ErrorIs(t, apply(), specstore.ErrUnavailable, "nobody was there to do it")
}

func TestOutOfMemoryWritesNothingIsNamedAndLetsRunningJobsGoOn(t *testing.T) {
	srv := redistest.Start(t)
	s := open(t, srv.URL(), specstore.Config{})
	ctx := t.Context()
	lease, err := s.Acquire(ctx, "acme", "one", time.Hour)
	require.NoError(t, err)
	_, err = s.Submit(ctx, "acme", "alice", job("running", 1))
	require.NoError(t, err)
	claim, err := s.Claim(ctx, "acme", "running", 1, "agent-1", time.Hour, time.Hour)
	require.NoError(t, err)

	srv.Do("CONFIG", "SET", "maxmemory", "1")
	before := srv.Do("DBSIZE")
	_, err = s.Apply(ctx, lease, spec.Step{Tenant: "acme", To: spec.Cursor{}.Arrived(strings.Repeat("1", 40)), Items: []spec.Item{version(spec.OpSubmit, 0, job("orders", 1), 1)}})
	require.ErrorIs(t, err, specstore.ErrFull)
	require.Equal(t, before, srv.Do("DBSIZE"))
	known, err := s.Known(ctx, "acme", []spec.Key{job("orders", 1).Key()})
	require.NoError(t, err)
	require.Nil(t, known[0].Current)
	_, err = s.Upgrade(ctx, "acme", "alice", job("running", 2), 1)
	require.ErrorIs(t, err, specstore.ErrFull)
	lost, err := s.RenewClaims(ctx, "acme", map[string]spec.Lease{"running": claim})
	require.NoError(t, err, "jobs that run go on")
	require.Empty(t, lost)
	require.NoError(t, s.Report(ctx, spec.Report{Tenant: "acme", Job: "running", Claim: claim, State: spec.Running, RunningVersion: 1}))
	require.NoError(t, s.ReleaseClaim(ctx, "acme", "running", claim))
}

func TestAReplicaIsUnavailableAndNoRestartIsNeededAfterwards(t *testing.T) {
	main, srv := redistest.StartTCP(t), redistest.StartTCP(t)
	s := open(t, srv.URL(), specstore.Config{})
	ctx := t.Context()
	_, err := s.Acquire(ctx, "acme", "one", time.Minute)
	require.NoError(t, err)
	host, port, _ := strings.Cut(main.Addr(), ":")
	srv.Do("REPLICAOF", host, port)
	_, err = s.Submit(ctx, "default", "alice", job("orders", 1))
	require.ErrorIs(t, err, specstore.ErrUnavailable)
	srv.Do("REPLICAOF", "NO", "ONE")
	_, err = s.Submit(ctx, "default", "alice", job("orders", 1))
	require.NoError(t, err)
}

func TestARestartedServerIsFoundAgain(t *testing.T) {
	srv := redistest.StartTCP(t, "--appendonly", "yes", "--appendfsync", "always")
	s := open(t, srv.URL(), specstore.Config{})
	ctx := t.Context()
	_, err := s.Submit(ctx, "default", "alice", job("orders", 1))
	require.NoError(t, err)
	srv.Restart()
	var rec spec.Record
	require.Eventually(t, func() bool { // connections of the pool die one by one
		rec, err = s.Upgrade(ctx, "default", "alice", job("orders", 2), 1)
		return err == nil
	}, 10*time.Second, time.Millisecond)
	require.EqualValues(t, 2, rec.Version)
}

func TestAFullStepStaysFarBelowFiftyMilliseconds(t *testing.T) {
	srv := redistest.Start(t)
	s := open(t, srv.URL(), specstore.Config{})
	ctx := t.Context()
	lease, err := s.Acquire(ctx, "acme", "one", time.Hour)
	require.NoError(t, err)
	var cur spec.Cursor
	step := func(op spec.Op, from int64) spec.Step {
		var items []spec.Item
		for i := range specstore.MaxStepItems {
			j := job(fmt.Sprintf("job-%03d", i), int(from))
			for k := range 20 {
				j.Config[fmt.Sprintf("key.%02d", k)] = strings.Repeat("v", 20)
			}
			items = append(items, version(op, from, j, i))
		}
		return spec.Step{Tenant: "acme", From: cur, To: cur.Arrived(fmt.Sprintf("%040x", from+1)), Items: items}
	}
	cur, err = s.Apply(ctx, lease, step(spec.OpSubmit, 0))
	require.NoError(t, err)
	srv.Do("CONFIG", "SET", "slowlog-log-slower-than", "50000")
	srv.Do("SLOWLOG", "RESET")
	for from := int64(1); from <= 10; from++ {
		cur, err = s.Apply(ctx, lease, step(spec.OpUpgrade, from))
		require.NoError(t, err)
	}
	slow, err := strconv.Atoi(srv.Do("SLOWLOG", "LEN"))
	require.NoError(t, err)
	require.Less(t, slow, 5, "of ten steps so many took over 50 ms") // a busy machine may stop a server for as long
}

func TestTwoSyncersOfOneStepMakeItOnce(t *testing.T) {
	srv := redistest.Start(t)
	s := open(t, srv.URL(), specstore.Config{})
	ctx := t.Context()
	lease, err := s.Acquire(ctx, "acme", "one", time.Minute)
	require.NoError(t, err)
	step := spec.Step{Tenant: "acme", To: spec.Cursor{}.Arrived(strings.Repeat("1", 40)), Items: []spec.Item{version(spec.OpSubmit, 0, job("orders", 1), 1)}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := s.Apply(ctx, lease, step); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	rows, err := s.Audit(ctx, specstore.AuditQuery{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

func TestAClosedClientIsUnavailable(t *testing.T) {
	rdb, err := specstore.Dial(t.Context(), redistest.Start(t).URL())
	require.NoError(t, err)
	s, err := specstore.New(rdb, specstore.Config{})
	require.NoError(t, err)
	require.NoError(t, rdb.Close())
	_, err = s.Tenants(t.Context())
	require.ErrorIs(t, err, specstore.ErrUnavailable)
	require.ErrorIs(t, err, redis.ErrClosed)
}

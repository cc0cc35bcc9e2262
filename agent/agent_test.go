package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/agent"
	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

// house is one agent on a fake store, within a bubble of fake time.
type house struct {
	t     *testing.T
	store *fakeStore
	world *world
	agent *agent.Agent
	log   *logs
	stop  func() error // ends the agent and gives what Run returned
}

type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, store *fakeStore, w *world, change ...func(*agent.Config)) *house {
	t.Helper()
	cfg := agent.Config{Owner: me, TakeoverAfter: time.Minute, Lease: 15 * time.Second, Grace: 10 * time.Second}
	for _, c := range change {
		c(&cfg)
	}
	h := &house{t: t, store: store, world: w, log: &logs{}}
	a, err := agent.New(cfg, agent.Deps{Store: store, Launchers: map[string]runner.Launcher{"enrich": w}, Log: slog.New(slog.NewTextHandler(h.log, nil))})
	require.NoError(t, err)
	h.agent = a
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	h.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { require.NoError(t, h.stop()); require.Empty(t, w.twice, "no job may run twice") })
	synctest.Wait()
	return h
}

// after lets fake time pass.
func (h *house) after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func TestAPendingJobIsClaimedLaunchedAndReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		require.Equal(t, []string{"launch acme/orders v1 x2"}, w.seen())
		v := s.get("acme", "orders")
		require.Equal(t, spec.Running, v.Status.State)
		require.Equal(t, me, v.Status.InstanceID)
		require.EqualValues(t, 1, v.Status.RunningVersion)
		require.Equal(t, v.Record.SpecHash, v.Status.RunningHash)
		h.after(time.Hour)
		require.Len(t, s.told(), 1, "what has been said is not said again")
		require.Len(t, w.seen(), 1)
		require.Equal(t, int64(1), s.get("acme", "orders").Lease.Generation, "the claim was renewed, not taken again")
	})
}

func TestAVersionIsFollowedInTheMildestWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		s.put("acme", job("orders", func(j *spec.Job) { j.Parallelism = 5 }))
		s.put("acme", job("orders", func(j *spec.Job) { j.Parallelism = 4 }))
		h.agent.Kick("acme")
		synctest.Wait()
		s.put("acme", job("orders", func(j *spec.Job) { j.Parallelism, j.Description = 4, "new words" }))
		h.agent.Kick("acme")
		synctest.Wait()
		require.EqualValues(t, 4, s.get("acme", "orders").Status.RunningVersion)
		s.put("acme", job("orders", func(j *spec.Job) { j.Parallelism, j.Config = 4, map[string]string{"k": "w"} }))
		h.agent.Kick("acme")
		synctest.Wait()
		s.edit("acme", "orders", func(v *spec.JobView) { v.Restart = 1 })
		h.after(2 * time.Second)
		require.Equal(t, []string{
			"launch acme/orders v1 x2", "rescale acme/orders v3 x4", "stop acme/orders", "launch acme/orders v5 x4", "stop acme/orders", "launch acme/orders v5 x4",
		}, w.seen())
		require.EqualValues(t, 5, s.get("acme", "orders").Status.RunningVersion)
	})
}

func TestAStopIsConfirmedAndGivesTheClaimBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		s.desire("acme", "orders", spec.DesiredStopped)
		h.after(2 * time.Second)
		v := s.get("acme", "orders")
		require.Equal(t, spec.Status{State: spec.DesiredStopped, Detail: "desired stopped", Generation: 1}, v.Status)
		require.Empty(t, v.Lease.Owner)
		require.Equal(t, []string{"launch acme/orders v1 x2", "stop acme/orders"}, w.seen())
		s.desire("acme", "orders", spec.PendingDeploy)
		h.after(2 * time.Second)
		require.Equal(t, spec.Running, s.get("acme", "orders").Status.State)
	})
}

func TestAConfirmationThatWasNotHeardIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		s.set(func(s *fakeStore) {
			s.lose = func(r spec.Report) error {
				if r.State == spec.DesiredStopped {
					return errAway
				}
				return nil
			}
		})
		s.desire("acme", "orders", spec.DesiredStopped)
		h.after(5 * time.Second)
		require.Equal(t, me, s.get("acme", "orders").Lease.Owner)
		s.set(func(s *fakeStore) { s.lose = nil })
		h.after(15 * time.Second)
		require.Empty(t, s.get("acme", "orders").Lease.Owner)
		require.Equal(t, []string{"launch acme/orders v1 x2", "stop acme/orders"}, w.seen())
	})
}

func TestARemovedJobIsStoppedOnceTheCommitIsWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		s.set(func(s *fakeStore) {
			s.cursor["acme"] = spec.Cursor{Applied: "c1", Target: "c2", Epoch: "e1"}
			s.jobs["acme"]["orders"].Record.Version = 0
		})
		h.after(time.Minute)
		require.Equal(t, 1, w.copiesOf("acme/orders"))
		s.set(func(s *fakeStore) { s.cursor["acme"] = spec.Cursor{Applied: "c2", Epoch: "e1"} })
		h.after(2 * time.Second)
		require.Equal(t, 0, w.copiesOf("acme/orders"))
		require.Empty(t, s.get("acme", "orders").Lease.Owner)
	})
}

func TestAnEmptiedStoreDisturbsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		rival := start(t, s, w, func(c *agent.Config) { c.Owner = other })
		h.after(2 * time.Second) // renewed a second ago: the next time is far off
		s.set(func(s *fakeStore) { s.jobs, s.cursor = map[string]map[string]*spec.JobView{}, map[string]spec.Cursor{} })
		h.after(3 * time.Second)
		s.put("acme", job("orders")) // filled again from Git
		s.set(func(s *fakeStore) { s.cursor["acme"] = spec.Cursor{Applied: "c1", Epoch: "e2"} })
		h.agent.Kick("acme")
		rival.agent.Kick("acme")
		h.after(time.Minute)
		require.Equal(t, []string{"launch acme/orders v1 x2"}, w.seen())
		require.Equal(t, spec.Running, s.get("acme", "orders").Status.State)
		require.Equal(t, me, s.get("acme", "orders").Lease.Owner)
	})
}

func TestAFailedLaunchIsToldOnceAndTriedEverLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		w.failing["acme/orders"] = errors.New("config secret.db: env:DB is not set")
		h := start(t, s, w)
		h.after(10 * time.Minute)
		tries := len(w.seen())
		require.Greater(t, tries, 10)
		require.Less(t, tries, 25)
		require.Len(t, s.told(), 1, "one row, however often it is tried")
		v := s.get("acme", "orders")
		require.Equal(t, spec.Failed, v.Status.State)
		require.Equal(t, "launch v1: config secret.db: env:DB is not set", v.Status.Detail)
		require.Zero(t, v.Status.RunningVersion)
		require.EqualValues(t, tries, v.Status.Attempt)
		require.Equal(t, me, v.Lease.Owner, "it stays claimed")

		s.put("acme", job("orders", func(j *spec.Job) { j.Description = "another version" }))
		h.agent.Kick("acme")
		synctest.Wait()
		require.Len(t, w.seen(), tries+1, "a new version is tried at once")
		w.set(func(w *world) { delete(w.failing, "acme/orders") })
		h.after(2 * time.Minute)
		require.Equal(t, spec.Running, s.get("acme", "orders").Status.State)
		require.EqualValues(t, 2, s.get("acme", "orders").Status.RunningVersion)
	})
}

func TestAFailedRescaleLeavesTheCopyAndIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		w.set(func(w *world) { w.failing["acme/orders"] = errors.New("start process 2: no memory") })
		s.put("acme", job("orders", func(j *spec.Job) { j.Parallelism = 3 }))
		h.after(5 * time.Second)
		v := s.get("acme", "orders")
		require.Equal(t, spec.Failed, v.Status.State)
		require.Equal(t, "rescale v2: start process 2: no memory", v.Status.Detail)
		require.EqualValues(t, 1, v.Status.RunningVersion)
		w.set(func(w *world) { delete(w.failing, "acme/orders") })
		h.after(time.Minute)
		require.Equal(t, spec.Running, s.get("acme", "orders").Status.State)
		require.Equal(t, []string{"launch acme/orders v1 x2", "rescale acme/orders v2 x3"}, w.seen())
	})
}

func TestWhatTheLauncherSeesIsReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		for i := range int64(20) {
			w.sicken("acme/orders", runner.Health{State: spec.Failed, Detail: "process 0: exit status 1", Attempt: 3 + i})
			synctest.Wait()
		}
		require.Equal(t, spec.Failed, s.get("acme", "orders").Status.State)
		require.Len(t, s.told(), 2, "more attempts are no news")
		w.sicken("acme/orders", runner.Health{State: spec.Running})
		synctest.Wait()
		require.Equal(t, spec.Running, s.get("acme", "orders").Status.State)
		h.after(time.Minute)
		require.Len(t, s.told(), 3)
	})
}

func TestALauncherThatPanicsFailsOneJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("bad"))
		s.put("acme", job("good"))
		w.panics["acme/bad"] = true
		h := start(t, s, w)
		h.after(5 * time.Second)
		require.Equal(t, spec.Running, s.get("acme", "good").Status.State)
		require.Equal(t, spec.Failed, s.get("acme", "bad").Status.State)
		require.Equal(t, "launch v1: the launcher panicked", s.get("acme", "bad").Status.Detail)
		require.Contains(t, h.log.String(), "no such plugin")
	})
}

func TestCapacityIsRespectedAndRoomIsUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		for i := range 40 {
			s.put(fmt.Sprintf("t%d", i%3), job(fmt.Sprintf("job-%02d", i)))
		}
		h := start(t, s, w, func(c *agent.Config) { c.Capacity, c.AtOnce = 30, 4 })
		h.after(10 * time.Second)
		require.Len(t, w.seen(), 30)
		s.desire("t0", "job-00", spec.DesiredStopped)
		h.after(3 * time.Second)
		require.Len(t, w.seen(), 32, "one stopped, another launched")
		h.after(time.Minute)
		require.Len(t, w.seen(), 32)
	})
}

func TestTenantsNeverMixAndGlobsAreMeant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		s.put("acme", job("orders", func(j *spec.Job) { j.Parallelism = 7 }))
		s.put("beta", job("orders"))
		s.put("gamma", job("orders"))
		s.put("default", job("orders"))
		h := start(t, s, w, func(c *agent.Config) { c.Tenants = []string{"a*", "beta", "default"} })
		got := w.seen()
		slices.Sort(got)
		require.Equal(t, []string{"launch acme/orders v2 x7", "launch beta/orders v1 x2", "launch default/orders v1 x2"}, got)
		s.desire("beta", "orders", spec.DesiredStopped)
		h.after(2 * time.Second)
		require.Equal(t, 1, w.copiesOf("acme/orders"))
		require.Equal(t, 0, w.copiesOf("beta/orders"))
	})
}

func TestAFactoryThatIsNotOfferedIsLeftToOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders", func(j *spec.Job) { j.Factory = "pipe" }))
		s.put("acme", job("refunds"))
		h := start(t, s, w)
		require.Equal(t, []string{"launch acme/refunds v1 x2"}, w.seen())
		s.put("acme", job("refunds", func(j *spec.Job) { j.Factory = "pipe" }))
		h.after(2 * time.Second)
		v := s.get("acme", "refunds")
		require.Equal(t, spec.PendingDeploy, v.Status.State)
		require.Empty(t, v.Lease.Owner)
		require.Equal(t, "factory pipe is not offered here", v.Status.Detail)
	})
}

func TestOneSlowStopDelaysNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("slow"))
		w.stopTime["acme/slow"] = time.Hour
		h := start(t, s, w)
		s.desire("acme", "slow", spec.DesiredStopped)
		h.after(2 * time.Second)
		s.put("acme", job("quick"))
		h.agent.Kick("acme")
		synctest.Wait()
		require.Equal(t, 1, w.copiesOf("acme/quick"))
		require.Equal(t, 1, w.copiesOf("acme/slow"))
		require.NoError(t, h.stop())
		require.Contains(t, w.seen(), "kill acme/slow", "the end of the agent does not wait for an hour")
	})
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := agent.New(agent.Config{Tenants: []string{"[a"}, Lease: time.Millisecond, Capacity: -1}, agent.Deps{Store: newStore()})
	require.Error(t, err)
	require.Equal(t, 4, len(strings.Split(err.Error(), "\n")), err.Error())
	_, err = agent.New(agent.Config{Owner: me}, agent.Deps{})
	require.ErrorContains(t, err, "a store is missing")
}

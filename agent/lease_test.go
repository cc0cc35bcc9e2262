package agent_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/agent"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

func TestALostClaimEndsTheCopyByForceAndSaysNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		w.stopTime["acme/orders"] = time.Hour // it would not go by itself
		h := start(t, s, w, func(c *agent.Config) { c.Every = time.Hour })
		s.edit("acme", "orders", func(v *spec.JobView) { v.Lease = spec.Lease{Owner: other, Generation: 9, Until: 1 << 50} })
		h.after(7 * time.Second)
		require.Equal(t, []string{"launch acme/orders v1 x2", "kill acme/orders"}, w.seen())
		require.Len(t, s.told(), 1)
		require.Equal(t, other, s.get("acme", "orders").Lease.Owner, "nothing of another's is released")
	})
}

func TestASnapshotThatShowsAnotherOwnerIsEnough(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		h.after(2 * time.Second) // renewed a second ago: the next time is far off
		s.edit("acme", "orders", func(v *spec.JobView) { v.Lease = spec.Lease{Owner: other, Generation: 9, Until: 1 << 50} })
		h.agent.Kick("acme")
		synctest.Wait()
		require.Equal(t, []string{"launch acme/orders v1 x2", "kill acme/orders"}, w.seen())
	})
}

func TestASnapshotFromBeforeAStepIsNotBelieved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		s.edit("acme", "orders", func(v *spec.JobView) { v.Lease = spec.Lease{Owner: other, Generation: 3, Until: 1} })
		s.early = time.Second // the claim is under way for a second
		h := start(t, s, w)
		s.set(func(s *fakeStore) { s.stale = 2 * time.Second })
		h.agent.Kick("acme") // reads that another owns it, and hears so when it is ours
		h.after(10 * time.Second)
		require.Equal(t, []string{"launch acme/orders v1 x2"}, w.seen())
	})
}

func TestAClaimThatTheStoreForgotIsRenewedBeforeAnythingIsStopped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		s.lose = func(spec.Report) error { // emptied between snapshot and report
			s.lose = nil
			s.jobs["acme"]["orders"].Lease = spec.Lease{}
			return spec.ErrLost
		}
		s.put("acme", job("orders", func(j *spec.Job) { j.Parallelism = 3 }))
		h.after(5 * time.Second)
		require.Equal(t, []string{"launch acme/orders v1 x2", "rescale acme/orders v2 x3"}, w.seen())
		require.EqualValues(t, 2, s.get("acme", "orders").Status.RunningVersion)
	})
}

func TestAReportThatIsRefusedAsStaleEndsTheCopy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		s.lose = func(spec.Report) error { // taken over between launch and report
			s.jobs["acme"]["orders"].Lease = spec.Lease{Owner: other, Generation: 9, Until: 1 << 50}
			return spec.ErrLost
		}
		start(t, s, w)
		require.Equal(t, []string{"launch acme/orders v1 x2", "kill acme/orders"}, w.seen())
		require.Empty(t, s.told())
	})
}

func TestAnOutageStopsNothingUntilOthersCouldTakeOver(t *testing.T) {
	for _, hang := range []bool{false, true} {
		t.Run(fmt.Sprintf("hang %v", hang), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, w := newStore(), newWorld()
				s.put("acme", job("orders"))
				w.stopTime["acme/orders"] = 9 * time.Second
				h := start(t, s, w)
				lapses := time.Now().Add(15*time.Second + time.Minute)
				s.set(func(s *fakeStore) { s.away, s.hang = true, hang })
				h.after(50 * time.Second)
				require.Equal(t, 1, w.copiesOf("acme/orders"), "long after the lease it runs on")
				h.after(time.Until(lapses))
				require.Equal(t, []string{"launch acme/orders v1 x2", "stop acme/orders"}, w.seen(), "politely, and in time")
				s.set(func(s *fakeStore) { s.away, s.hang = false, false })
				h.after(20 * time.Second)
				require.Equal(t, 1, w.copiesOf("acme/orders"), "nobody took it, so it is ours again")
				require.Equal(t, spec.Running, s.get("acme", "orders").Status.State)
			})
		})
	}
}

func TestWithoutTakeoverAnOutageStopsNothingEver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w, func(c *agent.Config) { c.TakeoverAfter = 0 })
		s.set(func(s *fakeStore) { s.away = true })
		h.after(24 * time.Hour)
		s.set(func(s *fakeStore) { s.away = false })
		h.after(time.Minute)
		require.Equal(t, []string{"launch acme/orders v1 x2"}, w.seen())
		require.Len(t, s.told(), 1)
	})
}

func TestACopyThatWillNotGoIsKilledBeforeTheTakeover(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		w.stopTime["acme/orders"] = time.Hour
		h := start(t, s, w, func(c *agent.Config) { c.TakeoverAfter = 2 * time.Second })
		s.set(func(s *fakeStore) { s.away = true })
		h.after(17*time.Second - time.Millisecond)
		require.Equal(t, []string{"launch acme/orders v1 x2", "kill acme/orders"}, w.seen())
	})
}

func TestAClaimIsTrustedFromWhenItWasAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		s.slow["orders"] = 14 * time.Second // the answer comes when the lease is almost over
		h := start(t, s, w, func(c *agent.Config) { c.Every = time.Hour })
		h.after(14*time.Second + time.Millisecond)
		require.Empty(t, w.seen(), "not launched on a claim that old")
		h.after(10 * time.Second)
		require.Equal(t, int64(1), s.get("acme", "orders").Lease.Generation)
		h.agent.Kick("acme")
		synctest.Wait()
		require.Equal(t, []string{"launch acme/orders v1 x2"}, w.seen(), "renewed, then launched")
	})
}

func TestAClaimWhoseAnswerWasLostIsAskedForAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		lost := 0
		s.claims = func(string) error {
			if lost++; lost == 1 {
				return errAway
			}
			return nil
		}
		h := start(t, s, w)
		require.Empty(t, w.seen())
		h.after(5 * time.Second)
		require.Equal(t, []string{"launch acme/orders v1 x2"}, w.seen())
	})
}

func TestTheEndOfAnAgentHandsItsJobsToTheNext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		for i := range 30 {
			s.put("acme", job(fmt.Sprintf("job-%02d", i)))
			w.stopTime[fmt.Sprintf("acme/job-%02d", i)] = 5 * time.Second
		}
		h := start(t, s, w)
		h.after(time.Second)
		began := time.Now()
		require.NoError(t, h.stop())
		require.Less(t, time.Since(began), 6*time.Second, "all at the same time")
		for i := range 30 {
			v := s.get("acme", fmt.Sprintf("job-%02d", i))
			require.Equal(t, spec.Status{State: spec.PendingDeploy, Detail: "agent stops", Generation: 1}, v.Status)
			require.Empty(t, v.Lease.Owner)
		}
		next := start(t, s, w, func(c *agent.Config) { c.Owner = other })
		next.after(2 * time.Second)
		require.Equal(t, other, s.get("acme", "job-29").Status.InstanceID)
	})
}

func TestNothingIsLaunchedOnceTheAgentIsToEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		w.stopTime["acme/orders"] = 3 * time.Second
		h := start(t, s, w)
		s.put("acme", job("orders", func(j *spec.Job) { j.Config = nil }))
		h.after(2 * time.Second) // stopping, in order to launch version 2
		require.NoError(t, h.stop())
		require.Equal(t, []string{"launch acme/orders v1 x2", "stop acme/orders"}, w.seen())
		require.Equal(t, spec.PendingDeploy, s.get("acme", "orders").Status.State)
	})
}

func TestAnEndWithTheStoreAwayIsBoundedAndSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, w := newStore(), newWorld()
		s.put("acme", job("orders"))
		h := start(t, s, w)
		s.set(func(s *fakeStore) { s.hang = true })
		began := time.Now()
		stop := h.stop
		h.stop = func() error { return nil }
		err := stop()
		require.ErrorContains(t, err, "acme/orders could not be stopped and handed back: its claim lapses by itself")
		require.Less(t, time.Since(began), time.Minute)
		require.Zero(t, w.copiesOf("acme/orders"))
	})
}

// Two agents, ten jobs, a store that comes and goes, versions and stops: at no
// moment does a job run twice, and when all is quiet, each runs once.
func TestRivalsNeverRunAJobTwice(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 7))
				s, w := newStore(), newWorld()
				for i := range 10 {
					s.put("acme", job(fmt.Sprint("job-", i)))
					w.stopTime[fmt.Sprint("acme/job-", i)] = time.Duration(rnd.IntN(12)) * time.Second
				}
				quick := func(c *agent.Config) { c.TakeoverAfter, c.AtOnce = 20*time.Second, 3 }
				a := start(t, s, w, quick)
				start(t, s, w, quick, func(c *agent.Config) { c.Owner = other })
				for range 60 {
					name := fmt.Sprint("job-", rnd.IntN(10))
					switch rnd.IntN(6) {
					case 0:
						s.set(func(s *fakeStore) { s.away, s.hang = rnd.IntN(2) == 0, rnd.IntN(4) == 0 })
					case 1:
						s.put("acme", job(name, func(j *spec.Job) { j.Parallelism = 1 + rnd.IntN(5) }))
					case 2:
						s.put("acme", job(name, func(j *spec.Job) { j.Config = map[string]string{"k": fmt.Sprint(rnd.IntN(3))} }))
					case 3:
						s.desire("acme", name, spec.DesiredStopped)
					case 4:
						s.desire("acme", name, spec.PendingDeploy)
					case 5:
						s.set(func(s *fakeStore) { s.away, s.hang = false, false })
					}
					a.after(time.Duration(rnd.IntN(30_000)) * time.Millisecond)
				}
				s.set(func(s *fakeStore) { s.away, s.hang = false, false })
				for i := range 10 {
					s.desire("acme", fmt.Sprint("job-", i), spec.PendingDeploy)
				}
				a.after(3 * time.Minute)
				for i := range 10 {
					require.Equal(t, 1, w.copiesOf(fmt.Sprint("acme/job-", i)))
					v := s.get("acme", fmt.Sprint("job-", i))
					require.Equal(t, spec.Running, v.Status.State)
					require.Equal(t, v.Record.Version, v.Status.RunningVersion)
				}
			})
		})
	}
}

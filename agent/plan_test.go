package agent_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/agent"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const me, other = "pool-a-1", "pool-b-2"

var whole = spec.Cursor{Applied: "c1", CID: "X8FD", Pavilion: "NT:1"}

func job(name string, change ...func(*spec.Job)) spec.Job {
	j := spec.Job{Name: name, Factory: "enrich", Parallelism: 2, Config: map[string]string{"k": "v"}, Description: "d"}
	for _, c := range change {
		c(&j)
	}
	return j
}

func record(j spec.Job, version int64) spec.Record {
	return spec.Record{Tenant: "acme", Key: j.Key(), Spec: j, Version: version, SpecHash: j.SpecHash("acme")}
}

// settled is a job that runs here at version 3, and how the store and the agent see it.
func settled(j spec.Job) (agent.Held, spec.JobView) {
	lease := spec.Lease{Owner: me, Generation: 5, Until: 20_000}
	told := spec.Report{State: spec.Running, RunningVersion: 3, RunningHash: j.SpecHash("acme"), Claim: lease}
	return agent.Held{Lease: lease, Copy: true, Job: j, Version: 3, Hash: j.SpecHash("acme"), Seen: told, Told: told},
		spec.JobView{Record: record(j, 3), Lease: lease, Status: spec.Status{State: spec.Running, InstanceID: me, RunningVersion: 3}}
}

func view(held map[string]agent.Held, jobs ...spec.JobView) agent.View {
	return agent.View{
		Snapshot: spec.Snapshot{Tenant: "acme", Cursor: whole, Now: 10_000, Jobs: jobs}, Owner: me, Held: held,
		Factories: map[string]bool{"enrich": true, "other": true}, Room: 10, TakeoverAfter: time.Second,
	}
}

func verb(v agent.View) agent.Verb {
	switch acts := agent.Plan(v); len(acts) {
	case 0:
		return ""
	case 1:
		return acts[0].Verb
	default:
		return "several"
	}
}

func TestWhatIsHeldFollowsWhatIsDesired(t *testing.T) {
	j := job("orders")
	for name, c := range map[string]struct {
		change func(*agent.Held, *spec.JobView)
		want   agent.Verb
	}{
		"all is well": {func(*agent.Held, *spec.JobView) {}, ""},
		"config differs": {func(_ *agent.Held, v *spec.JobView) {
			v.Record = record(job("orders", func(j *spec.Job) { j.Config = nil }), 4)
		}, agent.Relaunch},
		"config differs, same hash": {func(h *agent.Held, v *spec.JobView) { h.Job.Config = map[string]string{"k": "w"} }, agent.Relaunch},
		"factory differs": {func(_ *agent.Held, v *spec.JobView) {
			v.Record = record(job("orders", func(j *spec.Job) { j.Factory = "other" }), 4)
		}, agent.Relaunch},
		"factory is not offered": {func(_ *agent.Held, v *spec.JobView) {
			v.Record = record(job("orders", func(j *spec.Job) { j.Factory = "gone" }), 4)
		}, agent.HandBack},
		"only parallelism differs": {func(_ *agent.Held, v *spec.JobView) {
			v.Record = record(job("orders", func(j *spec.Job) { j.Parallelism = 3 }), 4)
		}, agent.Rescale},
		"parallelism and description": {func(_ *agent.Held, v *spec.JobView) {
			v.Record = record(job("orders", func(j *spec.Job) { j.Parallelism, j.Description = 3, "x" }), 4)
		}, agent.Rescale},
		"parallelism and config": {func(_ *agent.Held, v *spec.JobView) {
			v.Record = record(job("orders", func(j *spec.Job) { j.Parallelism, j.Config = 3, nil }), 4)
		}, agent.Relaunch},
		"only the description": {func(_ *agent.Held, v *spec.JobView) {
			v.Record = record(job("orders", func(j *spec.Job) { j.Description = "x" }), 4)
		}, agent.Adopt},
		"only the version":  {func(_ *agent.Held, v *spec.JobView) { v.Record.Version = 4 }, agent.Adopt},
		"restart asked for": {func(_ *agent.Held, v *spec.JobView) { v.Restart = 1 }, agent.Relaunch},
		"desired stopped":   {func(_ *agent.Held, v *spec.JobView) { v.Status.State = spec.DesiredStopped }, agent.Stop},
		"stopped while launching fails": {func(h *agent.Held, v *spec.JobView) {
			h.Copy, h.Waiting, h.Tried = false, true, agent.Tried{Verb: agent.Launch, Version: 3}
			v.Status.State = spec.DesiredStopped
		}, agent.Stop},
		"resumed before it was stopped": {func(_ *agent.Held, v *spec.JobView) { v.Status = spec.Status{State: spec.PendingDeploy} }, agent.Report},
		"nothing runs":                  {func(h *agent.Held, _ *spec.JobView) { h.Copy = false }, agent.Launch},
		"too early to launch again": {func(h *agent.Held, _ *spec.JobView) {
			h.Copy, h.Waiting, h.Tried = false, true, agent.Tried{Verb: agent.Launch, Version: 3}
		}, ""},
		"a new version is tried at once": {func(h *agent.Held, v *spec.JobView) {
			h.Copy, h.Waiting, h.Tried = false, true, agent.Tried{Verb: agent.Launch, Version: 2}
		}, agent.Launch},
		"a restart is tried at once": {func(h *agent.Held, v *spec.JobView) {
			h.Copy, h.Waiting, h.Tried = false, true, agent.Tried{Verb: agent.Launch, Version: 3}
			v.Restart = 1
		}, agent.Launch},
		"it fails": {func(h *agent.Held, _ *spec.JobView) {
			h.Seen.State, h.Seen.Detail = spec.Failed, "process 0: exit status 1"
		}, agent.Report},
		"it fails once more, as told": {func(h *agent.Held, v *spec.JobView) {
			h.Seen.State, h.Seen.Attempt = spec.Failed, 9
			h.Told.State, v.Status.State = spec.Failed, spec.Failed
		}, ""},
		"the claim is another's":   {func(_ *agent.Held, v *spec.JobView) { v.Lease.Owner = other }, agent.Drop},
		"the claim is a later one": {func(_ *agent.Held, v *spec.JobView) { v.Lease.Generation++ }, agent.Drop},
		"the store forgot the claim": {func(_ *agent.Held, v *spec.JobView) {
			v.Lease, v.Status = spec.Lease{}, spec.Status{State: spec.PendingDeploy}
		}, ""},
		"the record cannot be understood": {func(_ *agent.Held, v *spec.JobView) { v.Record.Spec = nil }, ""},
	} {
		h, v := settled(j)
		c.change(&h, &v)
		require.Equal(t, c.want, verb(view(map[string]agent.Held{"orders": h}, v)), name)
		skipped := view(map[string]agent.Held{"orders": h}, v)
		skipped.Skip = map[string]bool{"orders": true}
		require.Empty(t, agent.Plan(skipped), name)
	}
}

func TestAnAbsenceIsBelievedOnlyOfAWholeCommit(t *testing.T) {
	h, _ := settled(job("orders"))
	for _, c := range []struct {
		cursor spec.Cursor
		want   agent.Verb
	}{
		{spec.Cursor{Applied: "c1"}, agent.Stop},
		{spec.Cursor{}, ""},
		{spec.Cursor{Applied: "c1", Target: "c2"}, ""},
		{spec.Cursor{Target: "c2"}, ""},
	} {
		v := view(map[string]agent.Held{"orders": h})
		v.Snapshot.Cursor = c.cursor
		require.Equal(t, c.want, verb(v), "%+v", c.cursor)
	}
}

func TestWhatMayBeClaimed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*agent.View, *spec.JobView)
		want   agent.Verb
	}{
		"pending and nobody's":   {func(*agent.View, *spec.JobView) {}, agent.Claim},
		"without any status":     {func(_ *agent.View, j *spec.JobView) { j.Status = spec.Status{} }, agent.Claim},
		"failed and handed back": {func(_ *agent.View, j *spec.JobView) { j.Status.State = spec.Failed }, agent.Claim},
		"desired stopped":        {func(_ *agent.View, j *spec.JobView) { j.Status.State = spec.DesiredStopped }, ""},
		"factory not offered":    {func(v *agent.View, _ *spec.JobView) { v.Factories = nil }, ""},
		"no room":                {func(v *agent.View, _ *spec.JobView) { v.Room = 0 }, ""},
		"refused a moment ago":   {func(v *agent.View, _ *spec.JobView) { v.Refused = map[string]bool{"orders": true} }, ""},
		"store just filled anew": {func(v *agent.View, _ *spec.JobView) { v.Unsettled = true }, ""},
		"run by an agent of another make": {func(_ *agent.View, j *spec.JobView) {
			j.Status = spec.Status{State: spec.Running, InstanceID: "java-1"}
		}, ""},
		"failed there":            {func(_ *agent.View, j *spec.JobView) { j.Status = spec.Status{State: spec.Failed, InstanceID: "java-1"} }, ""},
		"runs nobody knows where": {func(_ *agent.View, j *spec.JobView) { j.Status.State = spec.Running }, ""},
		"leased by another":       {func(_ *agent.View, j *spec.JobView) { j.Lease = spec.Lease{Owner: other, Until: 10_001} }, ""},
		"lapsed a moment ago":     {func(_ *agent.View, j *spec.JobView) { j.Lease = spec.Lease{Owner: other, Until: 9_001} }, ""},
		"lapsed for long":         {func(_ *agent.View, j *spec.JobView) { j.Lease = spec.Lease{Owner: other, Until: 9_000} }, agent.Claim},
		"lapsed, running where it lapsed": {func(_ *agent.View, j *spec.JobView) {
			j.Lease, j.Status = spec.Lease{Owner: other, Until: 9_000}, spec.Status{State: spec.Running, InstanceID: other}
		}, agent.Claim},
		"lapsed, but run by a third": {func(_ *agent.View, j *spec.JobView) {
			j.Lease, j.Status = spec.Lease{Owner: other, Until: 9_000}, spec.Status{State: spec.Running, InstanceID: "java-1"}
		}, ""},
		"lapsed, and never taken over": {func(v *agent.View, j *spec.JobView) {
			v.TakeoverAfter, j.Lease = 0, spec.Lease{Owner: other, Until: 1}
		}, ""},
		"ours, the answer was lost": {func(_ *agent.View, j *spec.JobView) { j.Lease = spec.Lease{Owner: me, Until: 10_001} }, agent.Claim},
		"no job at all":             {func(_ *agent.View, j *spec.JobView) { j.Record.Spec = spec.Subscription{} }, ""},
	} {
		jv := spec.JobView{Record: record(job("orders"), 3), Status: spec.Status{State: spec.PendingDeploy}}
		v := view(nil)
		c.change(&v, &jv)
		v.Snapshot.Jobs = []spec.JobView{jv}
		require.Equal(t, c.want, verb(v), name)
	}
}

func TestAnActionKnowsTheGlobalIDOnlyIfItIsWhole(t *testing.T) {
	v := view(nil, spec.JobView{Record: record(job("orders"), 1)})
	require.Equal(t, "X8FD-NT:1-orders", agent.Plan(v)[0].GID)
	v.Snapshot.Cursor.CID = ""
	require.Empty(t, agent.Plan(v)[0].GID)
}

// anyView generates a tenant in any state, possible or not.
func anyView(t *rapid.T) agent.View {
	owners := rapid.SampledFrom([]string{"", me, other, "java-1"})
	states := rapid.SampledFrom([]spec.State{"", spec.DesiredStopped, spec.PendingDeploy, spec.Running, spec.Failed})
	small := rapid.Int64Range(0, 3)
	v := view(map[string]agent.Held{})
	v.Skip, v.Refused = map[string]bool{}, map[string]bool{}
	v.Room = rapid.IntRange(-1, 4).Draw(t, "room")
	v.Unsettled = rapid.Bool().Draw(t, "unsettled")
	v.TakeoverAfter = time.Duration(rapid.IntRange(0, 2).Draw(t, "takeover")) * time.Second
	v.Snapshot.Cursor.Applied = rapid.SampledFrom([]string{"", "c1"}).Draw(t, "applied")
	v.Snapshot.Cursor.Target = rapid.SampledFrom([]string{"", "c2"}).Draw(t, "target")
	for i := range rapid.IntRange(0, 6).Draw(t, "jobs") {
		name := fmt.Sprintf("job-%d", i)
		j := job(name, func(j *spec.Job) {
			j.Factory = rapid.SampledFrom([]string{"enrich", "gone"}).Draw(t, "factory")
			j.Parallelism = rapid.IntRange(1, 3).Draw(t, "parallelism")
		})
		if rapid.IntRange(0, 4).Draw(t, "there") > 0 {
			v.Snapshot.Jobs = append(v.Snapshot.Jobs, spec.JobView{
				Record: record(j, small.Draw(t, "version")), Restart: small.Draw(t, "restart"),
				Status: spec.Status{State: states.Draw(t, "state"), InstanceID: owners.Draw(t, "instance")},
				Lease:  spec.Lease{Owner: owners.Draw(t, "owner"), Generation: small.Draw(t, "generation"), Until: rapid.Int64Range(7_000, 12_000).Draw(t, "until")},
			})
		}
		if rapid.Bool().Draw(t, "held") {
			v.Held[name] = agent.Held{
				Lease: spec.Lease{Owner: me, Generation: small.Draw(t, "held generation")}, Copy: rapid.Bool().Draw(t, "copy"),
				Job: job(name), Version: small.Draw(t, "launched"), Waiting: rapid.Bool().Draw(t, "waiting"),
				Seen: spec.Report{State: states.Draw(t, "seen")}, Told: spec.Report{State: states.Draw(t, "told")},
			}
		}
		v.Skip[name] = rapid.IntRange(0, 4).Draw(t, "skip") == 0
		v.Refused[name] = rapid.IntRange(0, 4).Draw(t, "refused") == 0
	}
	return v
}

func TestPlanNeverOversteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyView(t)
		acts := agent.Plan(v)
		shuffled := v
		shuffled.Snapshot.Jobs = slices.Clone(v.Snapshot.Jobs)
		slices.Reverse(shuffled.Snapshot.Jobs)
		require.Equal(t, acts, agent.Plan(shuffled), "the order of the snapshot does not matter")
		claims, last := 0, ""
		views := map[string]spec.JobView{}
		for _, j := range v.Snapshot.Jobs {
			views[j.Record.Key.Name] = j
		}
		for _, a := range acts {
			require.Greater(t, a.Job, last, "sorted, one step a job")
			last = a.Job
			require.False(t, v.Skip[a.Job])
			_, held := v.Held[a.Job]
			j, there := views[a.Job]
			require.Equal(t, a.Verb != agent.Claim, held, "what is not held is only claimed")
			desiredStopped := there && j.Status.State == spec.DesiredStopped
			switch a.Verb {
			case agent.Claim:
				claims++
				require.False(t, desiredStopped)
				require.False(t, v.Unsettled || v.Refused[a.Job])
				require.Equal(t, "enrich", j.Record.Spec.(spec.Job).Factory)
				if j.Lease.Owner == other || j.Lease.Owner == "java-1" {
					require.LessOrEqual(t, j.Lease.Until+v.TakeoverAfter.Milliseconds(), v.Snapshot.Now)
					require.NotZero(t, v.TakeoverAfter)
				}
				if j.Status.State == spec.Running && j.Lease.Owner != me {
					require.Contains(t, []string{"", j.Lease.Owner}, j.Status.InstanceID)
				}
			case agent.Launch, agent.Relaunch, agent.Rescale, agent.Adopt, agent.Report:
				require.False(t, desiredStopped && a.Verb != agent.Report)
				require.Equal(t, me, j.Lease.Owner)
				require.Equal(t, v.Held[a.Job].Lease.Generation, j.Lease.Generation, "a stale owner changes nothing")
			case agent.Stop:
				if !there {
					require.True(t, v.Snapshot.Cursor.Applied != "" && v.Snapshot.Cursor.Target == "")
				} else {
					require.True(t, desiredStopped)
				}
			}
		}
		require.LessOrEqual(t, claims, max(0, v.Room))
	})
}

// carryOut is a world in which every step succeeds.
func carryOut(v agent.View, acts []agent.Action) agent.View {
	held, jobs := maps.Clone(v.Held), map[string]spec.JobView{}
	for _, j := range v.Snapshot.Jobs {
		jobs[j.Record.Key.Name] = j
	}
	for _, a := range acts {
		j, there := jobs[a.Job]
		switch a.Verb {
		case agent.Stop, agent.HandBack, agent.Drop:
			delete(held, a.Job)
			if a.Verb != agent.Drop {
				v.Room++
				j.Lease = spec.Lease{}
				j.Status.InstanceID = ""
			}
		default:
			h := held[a.Job]
			want := j.Record.Spec.(spec.Job)
			if a.Verb == agent.Claim {
				v.Room--
				h.Lease = spec.Lease{Owner: me, Generation: j.Lease.Generation + 1}
				j.Lease = h.Lease
			}
			if a.Verb != agent.Report {
				h.Copy, h.Job, h.Version, h.Hash, h.Restart, h.Waiting = true, want, j.Record.Version, j.Record.SpecHash, j.Restart, false
				h.Seen = spec.Report{State: spec.Running, Claim: h.Lease, RunningVersion: h.Version, RunningHash: h.Hash}
			}
			h.Told = h.Seen
			if j.Status.State != spec.DesiredStopped {
				j.Status = spec.Status{State: h.Seen.State, InstanceID: me, RunningVersion: h.Seen.RunningVersion}
			}
			held[a.Job] = h
		}
		if there {
			jobs[a.Job] = j
		}
	}
	v.Held = held
	v.Snapshot.Jobs = slices.Collect(maps.Values(jobs))
	return v
}

func TestWhenAllStepsSucceedNothingIsLeftToDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyView(t)
		for range 6 { // drop, claim, launch, adopt …: a job takes a few steps, never many
			v = carryOut(v, agent.Plan(v))
		}
		require.Empty(t, agent.Plan(v))
	})
}

package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// Verb is one kind of step.
type Verb string

// The steps that an agent takes.
const (
	Claim    Verb = "claim"    // take the right to run a job, then launch it
	Launch   Verb = "launch"   // start what is claimed and does not run
	Relaunch Verb = "relaunch" // stop what runs and start what is wanted
	Rescale  Verb = "rescale"  // only parallelism differs: in place
	Adopt    Verb = "adopt"    // the new version asks for nothing: report it
	Report   Verb = "report"   // the store does not know what is seen here
	Stop     Verb = "stop"     // end it, confirm, give the claim back
	HandBack Verb = "handback" // end it here, so that another agent can run it
	Drop     Verb = "drop"     // the claim is another's: end it by force, say nothing
)

// Action is one step for one job, with its reason.
type Action struct {
	Verb   Verb
	Tenant string
	Job    string
	View   spec.JobView // what it was decided on; zero for a job that is gone
	GID    string       // of the job; empty = not known
	Why    string       // for logs; names fields, never values of a config
}

// Held is what an agent knows of one job that it has claimed.
type Held struct {
	Lease   spec.Lease
	Copy    bool        // a copy was launched and not stopped
	Job     spec.Job    // what was launched
	Version int64       // of Job
	Hash    string      // its specHash, as stored
	Restart int64       // the restart that it was launched for
	Seen    spec.Report // what there is to report now
	Told    spec.Report // what the store accepted last
	Tried   Tried       // the step that failed last
	Waiting bool        // it is too early to try that again
}

// Tried names a step that failed: at another version, or for another restart,
// it is tried anew at once.
type Tried struct {
	Verb             Verb
	Version, Restart int64
}

// View is all that Plan decides on: one tenant, as an agent sees it.
type View struct {
	Snapshot      spec.Snapshot
	Owner         string
	Held          map[string]Held
	Skip          map[string]bool // jobs with a step under way, now or since the snapshot was asked for
	Refused       map[string]bool // jobs whose claim was refused a moment ago
	Factories     map[string]bool // what this agent offers
	Room          int             // how many more jobs it takes
	TakeoverAfter time.Duration   // 0 = never
	Unsettled     bool            // the store was filled anew: owners that run jobs renew first
}

// Plan lists what to do, at most one step a job, in the order of their names.
func Plan(v View) []Action {
	views := make(map[string]spec.JobView, len(v.Snapshot.Jobs))
	for _, j := range v.Snapshot.Jobs {
		views[j.Record.Key.Name] = j
	}
	names := maps.Clone(v.Held)
	if names == nil {
		names = map[string]Held{}
	}
	for name := range views {
		if _, ok := names[name]; !ok {
			names[name] = Held{}
		}
	}
	var out []Action
	room := v.Room
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if v.Skip[name] {
			continue
		}
		view, there := views[name]
		a := Action{Tenant: v.Snapshot.Tenant, Job: name, View: view, GID: globalID(v.Snapshot.Cursor, name)}
		held, ours := v.Held[name]
		switch {
		case ours && there:
			a.Verb, a.Why = v.keep(held, view)
		case ours:
			a.Verb, a.Why = v.gone(held)
		case room > 0 && v.free(view):
			a.Verb, a.Why = Claim, "nobody runs it"
			room--
		}
		if a.Verb != "" {
			out = append(out, a)
		}
	}
	return out
}

// keep decides on a job that is held here.
func (v View) keep(h Held, view spec.JobView) (Verb, string) {
	switch l := view.Lease; {
	case l.Owner == "":
		return "", "" // the store was emptied; renewing the claim comes first, and tells
	case l.Owner != v.Owner || l.Generation != h.Lease.Generation:
		return Drop, fmt.Sprintf("claimed by %s, generation %d", l.Owner, l.Generation)
	}
	want, readable := view.Record.Spec.(spec.Job)
	verb, why := Verb(""), ""
	switch {
	case view.Status.State == spec.DesiredStopped:
		verb, why = Stop, "desired stopped"
	case !readable:
	case !v.Factories[want.Factory]:
		verb, why = HandBack, "factory "+want.Factory+" is not offered here"
	case !h.Copy:
		verb, why = Launch, "nothing runs"
	default:
		verb, why = differs(h, view, want)
	}
	if h.Waiting && h.Tried == (Tried{verb, view.Record.Version, view.Restart}) {
		verb = ""
	}
	if verb == "" && untold(h, view.Status) {
		return Report, string(h.Seen.State)
	}
	return verb, why
}

// differs compares what was launched with what is wanted.
func differs(h Held, view spec.JobView, want spec.Job) (Verb, string) {
	switch {
	case want.Factory != h.Job.Factory:
		return Relaunch, "pipelineFactory"
	case !maps.Equal(want.Config, h.Job.Config):
		return Relaunch, "config"
	case view.Restart != h.Restart:
		return Relaunch, "restart asked for"
	case want.Parallelism != h.Job.Parallelism:
		return Rescale, fmt.Sprintf("parallelism: %d -> %d", h.Job.Parallelism, want.Parallelism)
	case view.Record.Version != h.Version || view.Record.SpecHash != h.Hash:
		return Adopt, "nothing that runs differs"
	}
	return "", ""
}

// untold tells whether the store has to be told what is seen. Attempts alone
// are no news, or a job that keeps failing would fill the audit.
func untold(h Held, status spec.Status) bool {
	seen, told := h.Seen, h.Told
	if seen.State != spec.Running && seen.State != spec.Failed {
		return false
	}
	return seen.State != told.State || seen.Detail != told.Detail || seen.RunningVersion != told.RunningVersion ||
		seen.RunningHash != told.RunningHash || seen.Claim.Generation != told.Claim.Generation ||
		status.State != told.State || status.RunningVersion != told.RunningVersion
}

// gone decides on a job that is held here and no longer in the store.
func (v View) gone(h Held) (Verb, string) {
	c := v.Snapshot.Cursor
	if c.Applied == "" || c.Target != "" {
		return "", "" // the store may be empty or half-filled: that is not an absence
	}
	if h.Waiting && h.Tried.Verb == Stop {
		return "", ""
	}
	return Stop, "removed"
}

// free tells whether a job that is not held here may be claimed; the store has
// the last word.
func (v View) free(view spec.JobView) bool {
	job, ok := view.Record.Spec.(spec.Job)
	name, status, lease := view.Record.Key.Name, view.Status, view.Lease
	if !ok || v.Refused[name] || v.Unsettled || status.State == spec.DesiredStopped || !v.Factories[job.Factory] {
		return false
	}
	switch lease.Owner {
	case "":
		// without a lease, whoever the status names is of another make and not ours to judge
		return status.InstanceID == "" && status.State != spec.Running
	case v.Owner:
		return true // the answer to an earlier claim was lost, or we stopped while the store was away
	}
	if status.State == spec.Running && status.InstanceID != "" && status.InstanceID != lease.Owner {
		return false
	}
	return v.TakeoverAfter > 0 && v.Snapshot.Now >= lease.Until+v.TakeoverAfter.Milliseconds()
}

// globalID is the GID of a job, if the tenant's ids are known.
func globalID(c spec.Cursor, job string) string {
	if c.CID == "" || c.Pavilion == "" {
		return ""
	}
	return c.CID + "-" + c.Pavilion + "-" + job
}

package spec

import (
	"fmt"
	"strings"
)

// Meaning explains a state to people: what it says, and what ends it.
type Meaning struct {
	State   string
	Means   string
	WayOut  string
	Writers string // who writes it
}

// TenantStates explains every state of a tenant, in the order of docs/STATES.md.
func TenantStates() []Meaning {
	return []Meaning{
		{string(Synced), "the specs equal the tip of the branch", "the next commit", "syncer"},
		{string(StateRefused), "a commit has findings; the last good one stays in force", "a commit that repairs it, or `syncer adopt` where a job of another owner is in the way", "syncer"},
		{string(StateHeld), "a commit would remove too much, is not by somebody that `verify` or `policy` lets, or the branch was rewritten and `onRewrite: hold` is set", "a commit that undoes it, `syncer approve`, or `approved:` in the Pavilion", "syncer"},
		{string(StateError), "the repository or the branch cannot be read; nothing is taken for removed", "it can be read again", "syncer"},
		{string(StateWaiting), "there is no commit yet", "the first commit", "syncer"},
		{string(StatePaused), "the Pavilion says `suspend: true`", "taking that out", "syncer"},
		{string(StateApplying), "a big commit, a first sync or a rebuild is being written in steps; agents wait", "its last step; a killed syncer's work is continued by the next", "syncer"},
	}
}

// JobStates explains every state of a job.
func JobStates() []Meaning {
	return []Meaning{
		{string(PendingDeploy), "it is wanted, and nobody runs it", "an agent claims it", "syncer (SUBMIT, RESUME, added again), `syncer resume`, an agent that hands it back"},
		{string(Running), "its owner saw it running, in the version that the status names", "a new version, a stop, a failure; if its owner's lease runs out it is shown as lapsed", "its owner, under the claim"},
		{string(Failed), "a launch or a run failed; the detail names the step", "its owner tries again, with a growing wait; a new version", "its owner, under the claim"},
		{string(DesiredStopped), "it is not wanted: suspended in Git, stopped by a person, or removed", "RESUME in Git or `syncer resume`; added again", "syncer, `syncer stop`; its owner confirms by clearing itself"},
	}
}

// Operation says what a version does beside making a number.
type Operation struct {
	Op     Op
	When   string
	Status string
}

// Operations explains every op of a version in Git.
func Operations() []Operation {
	return []Operation{
		{OpSubmit, "a spec is there for the first time, or again with content that it never had", "PENDING_DEPLOY; DESIRED_STOPPED if it is suspended"},
		{OpUpgrade, "its content changed", "as it is, unless `suspend` changed too"},
		{OpRollback, "its content is again that of an earlier version, the latest such is named", "as it is, unless `suspend` changed too; PENDING_DEPLOY if it had been removed"},
		{OpStop, "`suspend` alone turned true; or it was removed (result removed, no new number)", "DESIRED_STOPPED"},
		{OpResume, "`suspend` alone turned false", "PENDING_DEPLOY"},
	}
}

// StatesPage is docs/STATES.md, made from the tables above.
func StatesPage() string {
	var b strings.Builder
	b.WriteString("# States\n\nMade from `spec/states.go` by `make docs`; a test fails if they differ.\n\n## A tenant\n\n| state | means | ends by | written by |\n|---|---|---|---|\n")
	for _, m := range TenantStates() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.State, m.Means, m.WayOut, m.Writers)
	}
	b.WriteString("\n## A job\n\n| state | means | ends by | written by |\n|---|---|---|---|\n")
	for _, m := range JobStates() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.State, m.Means, m.WayOut, m.Writers)
	}
	b.WriteString("\n## What a version does to a job's status\n\n| op | when | status becomes |\n|---|---|---|\n")
	for _, o := range Operations() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Op, o.When, o.Status)
	}
	b.WriteString("\nA stop by a person is an override: it stays DESIRED_STOPPED whatever Git says, until it is resumed.\n")
	return b.String()
}

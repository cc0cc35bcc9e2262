// Package agent owns one pass of an agent: what the store desires against what
// runs here, and the steps between the two: claim, launch, relaunch, rescale,
// stop, report. Deciding is Plan, a pure function; the rest carries it out.
//
// # The trust window of a claim
//
// A claim is a lease in the store with a generation. The agent counts its time
// from when it asked, not from when the answer came, and by the clock that says
// more has passed (a machine that slept stops one of them):
//
//	asked          asked+ttl-margin   asked+ttl                asked+ttl+takeoverAfter
//	  |-- may launch -----|               |                          |
//	  |-- renewed each ttl/3 ...          | lapsed: still ours, and  | others may take it
//	  |                                   | its copy runs on         |
//	  |                                   |           |-- stopped ---| nothing runs here any more
//
// So a store that is away stops no job, until another agent could take it over;
// by then this one has stopped its own copy, and no job runs twice. With
// takeoverAfter 0 nobody takes over and nothing is stopped. All agents of a
// store must be given the same takeoverAfter. A claim that the store calls lost
// is stopped at once, by force, and nothing is reported of it.
//
// # What it never does
//
// It never sees Git, never changes what is desired, never touches a job that
// another instance runs, and never takes an error for an absence: a job that is
// gone from the store is stopped only if the store equals one whole commit.
//
// # After a crash
//
// Nothing is kept on disk. Copies die with the agent where the launcher can see
// to it; the claims lapse and are taken over. The next process is another owner.
package agent

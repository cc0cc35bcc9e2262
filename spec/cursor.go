package spec

import (
	"slices"
	"strconv"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// TenantState is how a tenant stands, in one word.
type TenantState string

// The states of a tenant. Source: CONTRACT section 6.
const (
	Synced        TenantState = "synced"
	StateRefused  TenantState = "refused"
	StateHeld     TenantState = "held"
	StateError    TenantState = "error"
	StateWaiting  TenantState = "waiting" // no first commit yet
	StatePaused   TenantState = "paused"
	StateApplying TenantState = "applying" // a big commit is being written in batches
)

// Cursor is where a tenant stands: its specs equal the tree of commit Applied,
// unless Target is set.
type Cursor struct {
	Applied  string // commit that the specs equal; empty = none yet
	Target   string // commit that is being written in batches; empty = none
	Step     int64  // batches of Target that are written
	Seen     string // last commit that was looked at
	State    TenantState
	Refused  string    // commit that is refused or held; empty = none
	Findings []Finding // why
	Error    string    // what is wrong with the source, when State is error
	Errors   int64     // passes in a row that ended in an error
	Since    int64     // ms, Redis time: when State became what it is
	Specs    int64     // specs there are
	Epoch    string    // names this filling of the store

	EnforceFrom string // guard, verify and policy bind the commits after it; resolved at the first sync
	Pavilion    string // NT:1, so that an agent can build the GID of a job
	CID         string // X8FD
	Branch      string // that was followed, and
	Path        string // the folder of specs, when Applied was applied

	Drift []Finding // specs whose stored content is not that of Applied, with who changed them
}

// Step is one atomic write of a tenant's ledger: some versions and rows, and
// the cursor from where it was to where it goes.
type Step struct {
	Tenant string
	From   Cursor // must be what is stored: Applied, Target and Step are compared
	To     Cursor
	Items  []Item
}

// Item is a version or a row of a refused or held commit, in the order of the ledger.
type Item struct {
	Version  *Version
	Newest   bool      // the last of its spec in this step's range: the spec and its status are written; else history, origin, version and row only
	Replaced *Record   // what Version replaces, where that was never written as the spec (inside a fold); nil = take it from the store
	Refusal  *AuditRow // of a whole commit: refused, held, or (applied) a rewritten branch
}

// Lease is the right to write a tenant's ledger or to run a job, judged by the
// store's clock.
type Lease struct {
	Owner      string
	Generation int64 // grows with every acquisition: the fence
	Until      int64 // ms, Redis time
	TTL        int64 // ms that were asked for
}

// Lookup asks for the latest version of a spec that has one digest.
type Lookup struct {
	Key    Key
	Digest string
	Upto   int64 // later versions do not count
}

// Same tells whether two cursors say the same to whoever reads them.
func (c Cursor) Same(o Cursor) bool {
	return c.Applied == o.Applied && c.Target == o.Target && c.Step == o.Step && c.Seen == o.Seen && c.State == o.State &&
		c.Refused == o.Refused && slices.Equal(c.Findings, o.Findings) && c.Error == o.Error && c.Errors == o.Errors &&
		c.Specs == o.Specs && c.EnforceFrom == o.EnforceFrom && c.Pavilion == o.Pavilion && c.CID == o.CID &&
		c.Branch == o.Branch && c.Path == o.Path && slices.Equal(c.Drift, o.Drift)
}

// Arrived is c at a commit that is wholly applied, with nothing wrong.
func (c Cursor) Arrived(commit string) Cursor {
	c.Applied, c.Seen, c.State = commit, commit, Synced
	c.Target, c.Step, c.Refused, c.Findings, c.Error, c.Errors = "", 0, "", nil, "", 0
	return c
}

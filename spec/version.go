package spec

// Op is what a version or an audit row did. Readers of the Java contract know
// these six and no other.
type Op string

// The operations. Source: CONTRACT section 4.
const (
	OpSubmit   Op = "SUBMIT"
	OpUpgrade  Op = "UPGRADE"
	OpRollback Op = "ROLLBACK"
	OpStop     Op = "STOP"
	OpResume   Op = "RESUME"
	OpReport   Op = "REPORT_STATUS"
)

// Result is how an operation ended.
type Result string

// The results. Source: CONTRACT section 4.
const (
	Applied  Result = "applied"
	Refused  Result = "refused"
	Held     Result = "held"
	Conflict Result = "conflict"
	Healed   Result = "healed"
	Removed  Result = "removed"
)

// Version is one new version of one spec, decided and ready to be stored.
type Version struct {
	Key         Key
	Op          Op
	Result      Result // Applied or Removed
	From        int64  // the version it replaces, 0 for none; the precondition of the write
	Number      int64  // its own number; equal to From for a removal
	Spec        Spec   // nil for a removal
	UpdatedAt   int64  // ms; committer's time of the commit that changed the content
	Origin      Origin
	Desired     Desired // what becomes of the status
	Fields      []string
	RescaleOnly bool     // only parallelism differs
	Class       string   // what an agent has to do; told, not stored
	Why         []string // the fields with their values for people, secrets masked; told, not stored
}

// Desired says what a version does to a spec's status.
type Desired string

// What a version does to a status.
const (
	LeaveStatus Desired = ""        // UPGRADE, ROLLBACK: the agent sees the new version by itself
	WantRunning Desired = "running" // PENDING_DEPLOY with empty owner and detail
	WantStopped Desired = "stopped" // DESIRED_STOPPED
)

// Origin is all that is known of a version beyond its content: the ledger. It
// is a pure function of the repository, so a rebuilt store has the same bytes;
// when it was applied is kept beside it. Source: CONTRACT section 4.
type Origin struct {
	Version      int64    `json:"version"`
	Op           Op       `json:"op"`
	Result       Result   `json:"result"`
	Operation    string   `json:"operation"`        // commit, spec and version replaced: done twice = once
	Commit       string   `json:"commit,omitempty"` // that brought it in; empty for an operation by API
	Parent       string   `json:"parent,omitempty"`
	Path         string   `json:"path,omitempty"`
	Line         int      `json:"line,omitempty"` // where its document starts
	Actor        string   `json:"actor"`          // who changed the content
	ChangedIn    string   `json:"changedIn,omitempty"`
	Author       *Person  `json:"author,omitempty"`
	Committer    *Person  `json:"committer,omitempty"`
	Signer       string   `json:"signer,omitempty"`
	Verified     string   `json:"verified"` // true | false | unknown
	Subject      string   `json:"subject,omitempty"`
	Contributors []string `json:"contributors,omitempty"` // earlier actors of content that was held
	Restores     int64    `json:"restores,omitempty"`     // the version whose content this is again
	SameDigest   int64    `json:"sameDigest,omitempty"`   // the latest earlier version with this digest
	Digest       string   `json:"digest,omitempty"`
	SpecHash     string   `json:"specHash,omitempty"`
	Suspend      bool     `json:"suspend,omitempty"`
	Fields       []string `json:"fields,omitempty"` // names of the fields that changed, never values
	Notes
}

// Verified states of an author.
const (
	VerifiedTrue    = "true"
	VerifiedFalse   = "false"
	VerifiedUnknown = "unknown"
)

// OperationID names a write for ever: done twice, it is done once.
func OperationID(commit string, k Key, from int64) string {
	return commit + "/" + k.String() + "/" + itoa(from)
}

// Record is a spec as it is stored: content, number and who.
type Record struct {
	Tenant    string
	Key       Key
	Spec      Spec // Suspend of a job is not in the stored JSON; it comes from the origin
	Version   int64
	UpdatedBy string
	UpdatedAt int64 // ms
	SpecHash  string
	Raw       string // the stored JSON, as it is
}

// Known is what the store knows of one spec when a commit is decided.
type Known struct {
	Key     Key
	Last    int64   // the last version ever; 0 = never seen
	Current *Record // nil = not there now
	Foreign bool    // there, but not made from Git (by hand, by API, by the Java plane)
	Adopted bool    // taken over for Git, and no commit has touched it yet
	Path    string  // path of the current version's origin, for messages
}

// AuditRow is one row of the audit stream. Source: CONTRACT section 4. Detail
// names fields and reasons, never a config value.
type AuditRow struct {
	ID      string `json:"id,omitempty"` // stream id, when read
	TS      int64  `json:"ts"`           // ms, Redis time
	Tenant  string `json:"tenant"`
	Actor   string `json:"actor"`
	Op      Op     `json:"op"`
	Job     string `json:"job"` // Key.String, or * for a whole commit
	From    int64  `json:"from,omitempty"`
	To      int64  `json:"to,omitempty"`
	Allowed bool   `json:"allowed"`
	Detail  string `json:"detail"`
	Kind    string `json:"kind,omitempty"`
	Result  Result `json:"result,omitempty"`
	Commit  string `json:"commit,omitempty"`
}

// Kinds of audit rows: who was at work.
const (
	KindGit    = "git"    // a commit
	KindPerson = "person" // somebody by command or API
	KindWorker = "agent"  // an agent's report
)

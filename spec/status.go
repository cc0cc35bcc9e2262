package spec

// State is what is known of a job's run. Readers of the Java contract know
// these four.
type State string

// The states of a job. Source: CONTRACT section 4.
const (
	DesiredStopped State = "DESIRED_STOPPED"
	PendingDeploy  State = "PENDING_DEPLOY"
	Running        State = "RUNNING"
	Failed         State = "FAILED"
)

// Status is what an agent reported, or what an operation asked for.
type Status struct {
	State          State
	InstanceID     string // the agent that owns it; empty = nobody
	Detail         string
	UpdatedAt      int64 // ms
	RunningVersion int64 // the version that really runs; 0 = none
	RunningHash    string
	Generation     int64 // of the claim that reported it
	Since          int64 // ms: running that version since
	Attempt        int64
}

// Report is an agent's word on a job that it holds a claim of.
type Report struct {
	Tenant         string
	Job            string
	Claim          Lease
	State          State
	Detail         string
	RunningVersion int64
	RunningHash    string
	Attempt        int64
}

// Snapshot is what an agent sees of one tenant: an empty list of jobs is to be
// believed only when Cursor.Applied is set and Cursor.Target is not.
type Snapshot struct {
	Tenant string
	Cursor Cursor
	Now    int64 // ms, the store's clock when it was read
	Jobs   []JobView
}

// JobView is one job as an agent or `status` sees it.
type JobView struct {
	Record  Record
	Status  Status
	Lease   Lease // of the agent that runs it; zero if nobody does
	Restart int64 // number of the last `restart` that was asked for, 0 = none
}

// Lapsed tells whether somebody owned the job and its lease has run out by the
// store's clock: what runs now is not known.
func (v JobView) Lapsed(now int64) bool {
	return v.Lease.Owner != "" && v.Lease.Until <= now
}

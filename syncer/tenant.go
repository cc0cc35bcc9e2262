package syncer

import (
	"context"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
)

// Source is a branch as commits. Its errors never mean that something is absent.
type Source interface {
	// Fetch looks at the server and gives the branch's commit id there.
	// spec.ErrNoCommits: an empty repository; spec.ErrNoBranch: no such branch.
	Fetch(ctx context.Context) (tip string, err error)
	// Line gives the first-parent commits after `after` up to tip, oldest
	// first; after "" = from the root. found is false if after is not on the
	// line of tip: then ids is the whole line.
	Line(ctx context.Context, after, tip string) (ids []string, found bool, err error)
	// MergeBase gives the newest commit on tip's line that old descends from, "" if none.
	MergeBase(ctx context.Context, old, tip string) (string, error)
	// Descends tells whether old is tip or an ancestor of it, over any parents.
	Descends(ctx context.Context, tip, old string) (bool, error)
	// Commit reads one commit; spec.ErrNoCommit if the clone has it not.
	Commit(ctx context.Context, id string) (spec.Commit, error)
	// Changes gives the specs, links and gitlinks that differ between two
	// commits, by path; from "" = everything. spec.ErrNoPath: the folder of
	// specs is not in to.
	Changes(ctx context.Context, from, to string) ([]spec.FileChange, error)
	// Blob reads one file's bytes; *spec.SizeError if it is over limit.
	Blob(ctx context.Context, id string, limit int64) ([]byte, error)
	File(ctx context.Context, commit, path string, limit int64) ([]byte, error)
	// Raw gives a commit object as Git stores it, for judging its signature.
	Raw(ctx context.Context, id string) ([]byte, error)
}

// Store keeps the ledger. Apply is one atomic step under a lease.
type Store interface {
	Cursor(ctx context.Context, tenant string) (spec.Cursor, error)
	Keys(ctx context.Context, tenant string) ([]spec.Key, error) // of all specs that are there now, whoever made them
	Known(ctx context.Context, tenant string, keys []spec.Key) ([]spec.Known, error)
	Lookalikes(ctx context.Context, tenant string, wanted []spec.Lookup) ([]spec.Origin, error) // Version 0 = none
	Origin(ctx context.Context, tenant string, key spec.Key, version int64) (spec.Origin, error)
	Apply(ctx context.Context, lease spec.Lease, step spec.Step) (spec.Cursor, error)
	Acquire(ctx context.Context, tenant, owner string, ttl time.Duration) (spec.Lease, error)
	Release(ctx context.Context, tenant string, lease spec.Lease) error
	Approvals(ctx context.Context, tenant string) ([]spec.Approval, error)
	Overrides(ctx context.Context, tenant string) ([]spec.Override, error)
	Restore(ctx context.Context, tenant string, facts spec.Facts) error
	SetMailmap(ctx context.Context, tenant, text string) error
}

// Facts are what Git does not have; they are kept outside the store too.
type Facts interface {
	Load(tenant string) (spec.Facts, error) // the zero Facts if there are none yet
	Keep(tenant string, facts spec.Facts) error
}

// Deps is what a Tenant works with.
type Deps struct {
	Source Source
	Store  Store
	Facts  Facts
	Trust  Trust         // nil = nobody is verified and everybody accepted
	Owner  string        // names this process and its state folder in leases
	Lease  time.Duration // default 15s
	Log    *slog.Logger

	// DriftEvery is how often the whole of what is stored is compared with the
	// applied commit, in slices between commits; 0 = never.
	DriftEvery time.Duration
	Tell       func(Event)                                 // every version and refusal, after it is stored; may be nil
	Again      func()                                      // asked for when work is left over from a pass; may be nil
	Watch      func(tenant, phase string, done, total int) // progress of a long replay; may be nil
}

// Limits of one step and of the catch-up that is folded. Source: CONTRACT section 3.
const (
	maxStepItems = 200
	maxStepBytes = 4 << 20
	foldFrom     = 1000
	defaultLease = 15 * time.Second
)

// Tenant works one tenant. It is used by one goroutine at a time.
type Tenant struct {
	Deps
	name  string
	pav   spec.Pavilion
	opt   specfile.Options
	cache *lru.Cache[string, []specfile.Doc] // decoded files by blob id; only those without findings

	mapped   string      // the commit whose .mailmap is in the store, and
	mailmap  string      // its text
	check    *comparison // under way
	compared time.Time   // when the last one ended

	facts   spec.Facts // as kept; read at the first pass
	loaded  bool
	foldAll bool // even a short way is folded: for a plan, which writes nothing in between

	lease spec.Lease
	asked time.Time // when lease was last asked for
}

// decodedFiles bounds the cache of decoded files, in files.
const decodedFiles = 8192

// New makes the worker of one tenant; nothing is read or started.
func New(pav spec.Pavilion, d Deps) (*Tenant, error) {
	if err := spec.CheckTenant(pav.Name); err != nil {
		return nil, err
	}
	if d.Lease == 0 {
		d.Lease = defaultLease
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	cache, err := lru.New[string, []specfile.Doc](decodedFiles)
	if err != nil {
		return nil, err
	}
	return &Tenant{Deps: d, name: pav.Name, pav: pav, cache: cache,
		opt: specfile.Options{Pavilion: pav.ID, CID: pav.CID, AllowSelf: pav.AllowSelf}}, nil
}

// Name is the tenant's name.
func (t *Tenant) Name() string { return t.name }

func (t *Tenant) tell(e Event) {
	if t.Tell != nil {
		e.Tenant = t.name
		t.Tell(e)
	}
}

func (t *Tenant) progress(phase string, done, total int) {
	if t.Watch != nil {
		t.Watch(t.name, phase, done, total)
	}
}

package gitsource

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/pawl-dev/pawl/spec"
)

const (
	// DefaultTimeout bounds one network operation: enough for the first clone of
	// a hundred thousand specs over a slow line, short enough that a dead server shows.
	DefaultTimeout = 2 * time.Minute
	// healPause is the least time between two clones that Fetch makes anew by
	// itself: damage that a new clone does not heal must not become a download loop.
	healPause = 10 * time.Minute
	// DefaultMaxBytes is a hundred times what a hundred thousand specs with a
	// thousand commits take.
	DefaultMaxBytes = 2 << 30
)

// Config says what to read and where to keep the clone.
type Config struct {
	URL     string        // path, file://, http(s)://, ssh:// or user@host:path
	Branch  string        // default main
	Path    string        // folder in the repository; "." or "" is its root
	Dir     string        // folder of our clone; made if absent
	Timeout time.Duration // of one network operation; default DefaultTimeout
	// MaxBytes bounds the clone; a source that needs more is ErrTooLarge. Default
	// DefaultMaxBytes. While a clone is made anew, the old one is there as well.
	MaxBytes int64
	// Auth refers to credentials, which are read for each network operation and
	// sent to the source's host alone. What it does not set is taken from the URL.
	Auth   spec.Auth
	Getenv func(name string) (value string, ok bool) // for env: references; default os.LookupEnv
	Limits *Limits                                   // shared by all sources of the process; nil = limits of its own
	// Credentials is asked instead of Auth before each network operation over
	// http(s), for user and password.
	Credentials func(ctx context.Context) (user, password string, err error)
}

// Repo is one branch of one source with its clone. It is used by one goroutine
// at a time.
type Repo struct {
	cfg    Config
	root   []string // components of cfg.Path
	remote *remote
	store  *store // nil until there is a clone
	tip    plumbing.Hash
	ends   map[plumbing.Hash]bool // commits whose parents the source does not have (it is shallow)

	damaged bool      // an object that must be there could not be read
	healed  time.Time // when the last clone was set aside for that
	idle    int       // fetches without change in a row
	stuck   chan struct{}
	closed  bool

	failures int     // of Fetch, in a row
	over     tooMuch // what was too large for the clone
	ignores  ignoreCache
}

// Open checks cfg and opens or prepares the clone's folder, without network. A
// folder that is half-made, damaged or of another source is set aside as
// <Dir>.aside, of which there is one at most, and made again by the next Fetch.
func Open(cfg Config) (*Repo, error) {
	if cfg.Dir == "" {
		return nil, errors.New("gitsource: no folder for the clone is given")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	cfg.Branch = strings.TrimPrefix(cfg.Branch, "refs/heads/")
	if cfg.Branch == "" {
		cfg.Branch = "main"
	}
	remote, err := newRemote(cfg)
	if err != nil {
		return nil, err
	}
	if err := plumbing.NewBranchReferenceName(cfg.Branch).Validate(); err != nil {
		return nil, fmt.Errorf("source %s: branch %q is not a name that git allows", remote.name, cfg.Branch)
	}
	root, err := splitPath(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", remote.name, err)
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, fmt.Errorf("source %s: folder of the clone: %w", remote.name, err)
	}
	r := &Repo{cfg: cfg, root: root, remote: remote}
	if err := r.prepare(); err != nil {
		return nil, fmt.Errorf("source %s: clone %s: %w", remote.name, cfg.Dir, err)
	}
	return r, nil
}

// splitPath gives the components of a folder in the repository.
func splitPath(p string) ([]string, error) {
	clean := path.Clean("/" + p)
	if p != "" && (path.IsAbs(p) || strings.HasPrefix(path.Clean(p), "..")) {
		return nil, fmt.Errorf("path %s must be a folder in the repository, relative to its root", spec.QuotePath(p))
	}
	if clean == "/" {
		return nil, nil
	}
	return strings.Split(clean[1:], "/"), nil
}

// Reset sets the clone aside; the next Fetch clones anew. For a caller that
// met ErrDamaged and does not want to wait for Fetch to do so.
func (r *Repo) Reset() error {
	if r.closed {
		return ErrClosed
	}
	if err := r.dropStore(); err != nil {
		return fmt.Errorf("source %s: close the clone: %w", r.remote.name, err)
	}
	if err := setAside(r.cfg.Dir); err != nil {
		return fmt.Errorf("source %s: set the clone aside: %w", r.remote.name, err)
	}
	return nil
}

// dropStore forgets all that is known of the clone.
func (r *Repo) dropStore() error {
	s := r.store
	r.store, r.tip, r.ends, r.damaged = nil, plumbing.ZeroHash, nil, false
	if s == nil {
		return nil
	}
	return s.close()
}

// Close releases the clone, and sets one that was found damaged aside, so that
// the next process makes it anew. A fetch that is stuck in the network is not
// waited for; it touches nothing of the clone.
func (r *Repo) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.remote.close()
	damaged := r.damaged
	if err := r.dropStore(); err != nil || !damaged {
		return err
	}
	return setAside(r.cfg.Dir)
}

// Moved is the address, redacted, that the server sent the last fetch to on the
// same host; empty if it did not.
func (r *Repo) Moved() string {
	if to := r.remote.moved.Load(); to != nil {
		return to.url
	}
	return ""
}

// refName is where the clone keeps the branch.
func (r *Repo) refName() plumbing.ReferenceName {
	return plumbing.NewRemoteReferenceName("origin", r.cfg.Branch)
}

// parseID reads a full object id.
func parseID(id string) (plumbing.Hash, error) {
	if len(id) != 40 || !plumbing.IsHash(id) {
		return plumbing.ZeroHash, fmt.Errorf("%q is not a full object id: %w", cut(id, 50), ErrUnknownCommit)
	}
	return plumbing.NewHash(id), nil
}

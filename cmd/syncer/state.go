package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
)

// stateDir is the folder that a syncer keeps beside the store: clones (a cache),
// its identity, and facts that Git does not have.
type stateDir struct {
	path  string
	owner string // names this folder in leases: whoever holds its lock is the only one with it
	lock  *flock.Flock
	mu    sync.Mutex // facts files
}

// openState makes and locks the state folder; it waits while another process holds it.
func (a *app) openState(ctx context.Context, log *slog.Logger) (*stateDir, error) {
	path, err := a.statePath()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(path, "facts"), 0o700); err != nil {
		return nil, cli.ErrorHint(fmt.Errorf("state folder: %w", err), "choose another --state-dir")
	}
	s := &stateDir{path: path, lock: flock.New(filepath.Join(path, "lock"))}
	ok, err := s.lock.TryLock()
	if err == nil && !ok {
		log.Info("another syncer uses this state folder; waiting for it to end", "state-dir", path)
		_, err = s.lock.TryLockContext(ctx, 50*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock state folder %s: %w", path, err)
	}
	if s.owner, err = s.identity(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (a *app) statePath() (string, error) {
	if a.stateDir != "" {
		return filepath.Abs(a.stateDir)
	}
	env := map[string]string{}
	for _, e := range a.environ {
		k, v, _ := strings.Cut(e, "=")
		env[k] = v
	}
	switch {
	case env["STATE_DIRECTORY"] != "":
		return env["STATE_DIRECTORY"], nil
	case env["XDG_STATE_HOME"] != "":
		return filepath.Join(env["XDG_STATE_HOME"], "pawl"), nil
	case env["HOME"] != "":
		return filepath.Join(env["HOME"], ".local", "state", "pawl"), nil
	}
	return "", cli.ErrorHint(cli.Usagef("no state folder"), "give --state-dir")
}

// identity is made once for each folder, so that a successor is told from a rival.
func (s *stateDir) identity() (string, error) {
	file := filepath.Join(s.path, "identity")
	b, err := os.ReadFile(file)
	if err == nil && len(b) > 0 {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("identity of the state folder: %w", err)
	}
	id := "syncer-" + strings.ToLower(rand.Text()[:12])
	return id, writeFile(file, []byte(id+"\n"))
}

// clone is where a tenant's clone is kept.
func (s *stateDir) clone(tenant string) string { return filepath.Join(s.path, "clones", tenant) }

// Keep replaces a tenant's facts as a whole.
func (s *stateDir) Keep(tenant string, f spec.Facts) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return writeFile(s.factsFile(tenant), append(b, '\n'))
}

func (s *stateDir) factsFile(tenant string) string {
	return filepath.Join(s.path, "facts", tenant+".json")
}

// Load reads what is kept of a tenant beside the store.
func (s *stateDir) Load(tenant string) (f spec.Facts, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := os.ReadFile(s.factsFile(tenant))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return f, cli.ErrorHint(fmt.Errorf("facts of tenant %s in %s: %w", tenant, s.factsFile(tenant), err), "restore the file, or remove it to resolve the facts anew")
	}
	return f, nil
}

// writeFile replaces a file as a whole: a crash leaves the old or the new one.
func writeFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// Close unlocks the folder.
func (s *stateDir) Close() error { return s.lock.Unlock() }

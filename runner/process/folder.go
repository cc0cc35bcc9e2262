package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-dev/pawl/runner"
)

const (
	folderPrefix = "pawl-agent-"
	lockName     = "lock"
	// youth is how long a folder without a lock may be one that is just being made.
	youth = time.Minute
)

// folder is a private folder (mode 0700) that holds a locked file for as long
// as its launcher lives.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes a folder below base, and removes those whose owners are gone.
func newFolder(base string, log *slog.Logger) (*folder, error) {
	if base == "" {
		base = os.TempDir()
	}
	if err := sweep(base); err != nil {
		log.Warn("folders of ended agents stay", "dir", base, "err", err)
	}
	path, err := os.MkdirTemp(base, folderPrefix)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	if ok, err := tryLock(lock); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, errors.Join(err, errors.New("somebody else has it"))), lock.Close(), os.RemoveAll(path))
	}
	return &folder{path: path, lock: lock}, nil
}

// sweep removes folders of the same user whose lock nobody holds.
func sweep(base string) error {
	found, err := filepath.Glob(filepath.Join(base, folderPrefix+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !ours(info) {
			continue // gone meanwhile, or not ours to touch
		}
		lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) {
			if time.Since(info.ModTime()) > youth {
				errs = append(errs, os.RemoveAll(path))
			}
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		free, err := tryLock(lock)
		if free {
			err = errors.Join(err, os.RemoveAll(path))
		}
		errs = append(errs, err, lock.Close())
	}
	return errors.Join(errs...)
}

// write stores a job's config and gives the folder to remove and the file.
func (f *folder) write(t runner.Task, config map[string]string) (dir, file string, err error) {
	b, err := json.Marshal(config)
	if err != nil {
		return "", "", err
	}
	dir, err = os.MkdirTemp(f.path, t.Tenant+"."+t.Job.Name+".")
	if err != nil {
		return "", "", err
	}
	file = filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, append(b, '\n'), 0o600); err != nil {
		return "", "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, file, nil
}

func (f *folder) close() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

package gitsource

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watchAgain is how often everything is looked at afresh: what no event tells,
// such as a folder moved away with its watch, is noticed then.
const watchAgain = 15 * time.Second

// watchRetry is the pause after watching itself failed.
const watchRetry = 2 * time.Second

// Watch calls kick whenever the branch of a repository on this machine may have
// moved, and once at the start. It blocks until ctx ends; for any other url it
// returns nil at once. A repository that is absent, or removed and made again,
// is waited for. kick must not block; that it was called says nothing but "look
// now", and a missed event is possible: a slow timer belongs beside it.
func Watch(ctx context.Context, url, branch string, kick func()) error {
	path, ok := Local(url)
	if !ok {
		return nil
	}
	if branch = strings.TrimPrefix(branch, "refs/heads/"); branch == "" {
		branch = "main"
	}
	tick := time.NewTicker(watchAgain)
	defer tick.Stop()
	for ctx.Err() == nil {
		w := watcher{path: path, branch: branch, kick: kick}
		if err := w.run(ctx, tick.C); err == nil {
			break
		}
		kick() // blind for the moment: perhaps no watches are left to be had
		select {
		case <-ctx.Done():
		case <-time.After(watchRetry):
		}
	}
	return nil
}

// watcher is one set of watches.
type watcher struct {
	path, branch string
	kick         func()
	fs           *fsnotify.Watcher
	dirs         map[string]os.FileInfo // what is watched, as it was then
	names        map[string]bool        // the paths whose events count
}

// run watches until ctx ends (nil) or watching itself fails.
func (w *watcher) run(ctx context.Context, tick <-chan time.Time) (err error) {
	w.dirs = map[string]os.FileInfo{}
	if w.fs, err = fsnotify.NewWatcher(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.fs.Close()) }()
	if err := w.refresh(); err != nil {
		return err
	}
	w.kick()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-w.fs.Events:
			if !ok {
				return fsnotify.ErrClosed
			}
			if !w.concerns(event) {
				continue
			}
			if event.Has(fsnotify.Create | fsnotify.Remove | fsnotify.Rename) {
				if err := w.refresh(); err != nil {
					return err
				}
			}
			w.kick()
		case _, ok := <-w.fs.Errors: // events were lost: look at everything
			if !ok {
				return fsnotify.ErrClosed
			}
			if err := w.refresh(); err != nil {
				return err
			}
			w.kick()
		case <-tick:
			if err := w.refresh(); err != nil {
				return err
			}
		}
	}
}

// concerns leaves out lock files, attributes, and what else lives in these folders.
func (w *watcher) concerns(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod || strings.HasSuffix(event.Name, ".lock") {
		return false
	}
	return w.names[event.Name] || w.names[filepath.Dir(event.Name)+"/*"]
}

// refresh watches the folders that matter now, and kicks if one of them is new:
// what happened in it before is not known. A folder may get children between
// looking and watching, so it looks until nothing is new.
func (w *watcher) refresh() error {
	for range 20 { // what changes as fast as we look will send events
		fresh, err := w.look()
		if err != nil || !fresh {
			return err
		}
		w.kick()
	}
	return nil
}

// look brings the watches in line with what there is, and tells if that was new.
func (w *watcher) look() (fresh bool, err error) {
	var want []string
	want, w.names = watched(w.path, w.branch)
	wanted := map[string]bool{}
	for _, dir := range want {
		wanted[dir] = true
		info, err := os.Stat(dir)
		if err != nil {
			fresh = true // gone since we saw it: look again from its parent
			continue
		}
		if old, ok := w.dirs[dir]; ok && os.SameFile(old, info) && slices.Contains(w.fs.WatchList(), dir) {
			continue // the list matters: a watch dies with its folder
		}
		if err := w.remove(dir); err != nil {
			return false, err
		}
		switch err := w.fs.Add(dir); {
		case errors.Is(err, fs.ErrNotExist):
			fresh = true
			continue
		case err != nil:
			return false, err
		}
		w.dirs[dir], fresh = info, true
	}
	for dir := range w.dirs {
		if !wanted[dir] {
			if err := w.remove(dir); err != nil {
				return false, err
			}
		}
	}
	return fresh, nil
}

// remove ends a watch, which may have died with its folder already: fsnotify
// says so, or the kernel does where fsnotify does not know yet.
func (w *watcher) remove(dir string) error {
	delete(w.dirs, dir)
	err := w.fs.Remove(dir)
	if errors.Is(err, fsnotify.ErrNonExistentWatch) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

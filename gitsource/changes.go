package gitsource

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/pawl-dev/pawl/spec"
)

const (
	maxDepth   = 64      // folders below Config.Path
	maxChanges = 1 << 20 // files in one difference: ten times the greatest tree that we are made for
	maxEntries = 1 << 22 // entries looked at for one difference; stops trees that contain the same folder again and again
	maxPath    = 4096    // bytes of a path
)

// Changes lists what differs below Config.Path between the trees of two commits,
// sorted by path: spec files (spec.IsSpecPath of the path below Config.Path),
// and symbolic links and gitlinks of any name, so that the caller can warn of
// them. A change of mode alone is none. from == "" is everything in to.
//
// What .pawlignore in Config.Path names is left out, in each of the two by its
// own; if that file changed, what is ignored from now on is removed, and what is
// not any more is new. An unusable one in to is an *IgnoreError; in from it
// ignored nothing.
//
// ErrNoPath: Config.Path is not a folder in to. In from it may be absent.
func (r *Repo) Changes(ctx context.Context, from, to string) ([]spec.FileChange, error) {
	var before plumbing.Hash
	if from != "" {
		root, err := r.treeOf(ctx, from)
		if err != nil {
			return nil, err
		}
		if before, _, err = r.folder(ctx, root); err != nil {
			return nil, fmt.Errorf("commit %s: %w", spec.Short(from), err)
		}
	}
	root, err := r.treeOf(ctx, to)
	if err != nil {
		return nil, err
	}
	after, ok, err := r.folder(ctx, root)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", ErrNoPath, spec.QuotePath(r.cfg.Path))
	}
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", spec.Short(to), err)
	}
	found, err := r.compare(ctx, before, after)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", spec.Short(to), err)
	}
	return found, nil
}

// compare lists what differs between two folders at Config.Path. As long as they
// ignore the same, that costs as much as differs; else both are listed whole.
func (r *Repo) compare(ctx context.Context, before, after plumbing.Hash) ([]spec.FileChange, error) {
	nowID, now, finding, err := r.ignoreOf(ctx, after)
	if err != nil {
		return nil, err
	}
	if finding != nil {
		return nil, &IgnoreError{Finding: *finding}
	}
	thenID, then, _, err := r.ignoreOf(ctx, before)
	if err != nil {
		return nil, err
	}
	if thenID == nowID || before.IsZero() {
		return r.walkPair(ctx, before, after, now)
	}
	old, err := r.walkPair(ctx, plumbing.ZeroHash, before, then)
	if err != nil {
		return nil, err
	}
	whole, err := r.walkPair(ctx, plumbing.ZeroHash, after, now)
	if err != nil {
		return nil, err
	}
	return difference(old, whole), nil
}

func (r *Repo) walkPair(ctx context.Context, before, after plumbing.Hash, ignore *matcher) ([]spec.FileChange, error) {
	w := walk{repo: r, ctx: ctx, prefix: []byte(strings.Join(r.root, "/")), ignore: ignore}
	if len(w.prefix) > 0 {
		w.prefix = append(w.prefix, '/')
	}
	w.base = len(w.prefix)
	err := w.folders(before, after, 0)
	return w.found, err
}

// difference joins two lists of all that there is into one of what differs.
// Both are sorted by path, each with its side in New.
func difference(old, whole []spec.FileChange) []spec.FileChange {
	var found []spec.FileChange
	for len(old) > 0 || len(whole) > 0 {
		order := 0
		switch {
		case len(old) == 0:
			order = 1
		case len(whole) == 0:
			order = -1
		default:
			order = strings.Compare(old[0].Path, whole[0].Path)
		}
		var c spec.FileChange
		if order <= 0 {
			c.Path, c.Old, old = old[0].Path, old[0].New, old[1:]
		}
		if order >= 0 {
			c.Path, c.New, whole = whole[0].Path, whole[0].New, whole[1:]
		}
		if c.Old != c.New {
			found = append(found, c)
		}
	}
	return found
}

// treeOf is the root tree of a commit that the caller names.
func (r *Repo) treeOf(ctx context.Context, id string) (plumbing.Hash, error) {
	hash, err := parseID(id)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	c, err := r.header(ctx, hash, false)
	return c.tree, err
}

// folder descends from a root tree to Config.Path; ok is false if that is no folder.
func (r *Repo) folder(ctx context.Context, root plumbing.Hash) (id plumbing.Hash, ok bool, err error) {
	e, ok, err := r.lookup(ctx, root, r.root)
	if err != nil || !ok || e.kind != kindFolder {
		return plumbing.ZeroHash, false, err
	}
	return e.id, true, nil
}

// lookup descends from a tree along the components of a path.
func (r *Repo) lookup(ctx context.Context, root plumbing.Hash, parts []string) (entry, bool, error) {
	e := entry{kind: kindFolder, id: root}
	for _, part := range parts {
		if e.kind != kindFolder {
			return entry{}, false, nil
		}
		t, err := r.tree(ctx, e.id)
		if err != nil {
			return entry{}, false, err
		}
		var ok bool
		if e, ok = t.find(part); !ok {
			return entry{}, false, nil
		}
	}
	return e, true, nil
}

// Blob reads a blob by its id, at most limit bytes: ErrTooLarge before anything
// of a greater one is read.
func (r *Repo) Blob(ctx context.Context, id string, limit int64) ([]byte, error) {
	hash, err := parseID(id)
	if err != nil {
		return nil, err
	}
	return r.read(ctx, plumbing.BlobObject, hash, limit, true)
}

// File reads a file by its path from the repository's root at a commit, at most
// limit bytes. fs.ErrNotExist: there is none, or it is a folder, link or gitlink.
func (r *Repo) File(ctx context.Context, commit, path string, limit int64) ([]byte, error) {
	root, err := r.treeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	e, ok, err := r.lookup(ctx, root, strings.Split(path, "/"))
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", spec.Short(commit), err)
	}
	if !ok || e.kind != kindFile {
		return nil, fmt.Errorf("commit %s: %s: %w", spec.Short(commit), spec.QuotePath(path), fs.ErrNotExist)
	}
	data, err := r.read(ctx, plumbing.BlobObject, e.id, limit, true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec.QuotePath(path), err)
	}
	return data, nil
}

package gitsource

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/pawl-dev/pawl/spec"
)

// walk is one run over two trees, side by side, descending only where the ids
// of two folders differ.
type walk struct {
	repo   *Repo
	ctx    context.Context
	prefix []byte // path of the present folder, with a slash at its end
	base   int    // how much of it is Config.Path
	ignore *matcher
	looked int // entries looked at
	found  []spec.FileChange
}

// folders compares two folders; the zero id is one that does not exist.
func (w *walk) folders(a, b plumbing.Hash, depth int) error {
	if a == b {
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%s: %w: more than %d folders deep", spec.QuotePath(string(cutBytes(w.prefix))), ErrTooLarge, maxDepth)
	}
	ta, err := w.repo.tree(w.ctx, a)
	if err != nil {
		return fmt.Errorf("folder %s: %w", spec.QuotePath(string(w.prefix)), err)
	}
	tb, err := w.repo.tree(w.ctx, b)
	if err != nil {
		return fmt.Errorf("folder %s: %w", spec.QuotePath(string(w.prefix)), err)
	}
	return w.entries(ta, tb, depth)
}

// entries merges two sorted lists of entries. Runs that are alike byte by byte,
// nearly all of a big folder, are stepped over without being looked at.
func (w *walk) entries(a, b *tree, depth int) error {
	i, j := 0, 0
	for i < len(a.raw) || j < len(b.raw) {
		if n := commonPrefix(a.raw[i:], b.raw[j:]); n > len(plumbing.ZeroHash) {
			step := a.floor(i, i+n) - i
			if step > 0 {
				i, j = i+step, j+step
				continue
			}
		}
		var ea, eb entry
		order := 0
		switch {
		case i == len(a.raw):
			eb, order = b.at(j), 1
		case j == len(b.raw):
			ea, order = a.at(i), -1
		default:
			ea, eb = a.at(i), b.at(j)
			order = compare(ea, eb)
		}
		if order < 0 {
			eb = entry{}
		}
		if order > 0 {
			ea = entry{}
		}
		if err := w.pair(ea, eb, depth); err != nil {
			return err
		}
		i, j = max(i, ea.next), max(j, eb.next)
	}
	return nil
}

// pair looks at one name on both sides; the zero entry is absent. Folders only
// ever meet folders: git's order puts a file of the same name elsewhere.
func (w *walk) pair(a, b entry, depth int) error {
	name := a.name
	if name == nil {
		name = b.name
	}
	if w.looked++; w.looked > maxEntries {
		return fmt.Errorf("%w: more than %d entries of folders differ", ErrTooLarge, maxEntries)
	}
	if w.ignore != nil && w.looked%256 == 0 && w.ctx.Err() != nil { // matching takes time
		return w.ctx.Err()
	}
	if name[0] == '.' {
		return nil
	}
	if len(w.prefix)+len(name) > maxPath {
		return fmt.Errorf("%s: %w: a path of more than %d bytes", spec.QuotePath(string(cutBytes(w.prefix))), ErrTooLarge, maxPath)
	}
	folder := a.kind == kindFolder || b.kind == kindFolder
	if w.ignored(name, folder || a.kind == kindGitlink || b.kind == kindGitlink) {
		return nil
	}
	if folder {
		keep := len(w.prefix)
		w.prefix = append(append(w.prefix, name...), '/')
		err := w.folders(a.id, b.id, depth+1)
		w.prefix = w.prefix[:keep]
		return err
	}
	was, is := side(a), side(b)
	if was == is {
		return nil
	}
	if len(w.found) == maxChanges {
		return fmt.Errorf("%w: more than %d files differ", ErrTooLarge, maxChanges)
	}
	w.found = append(w.found, spec.FileChange{Path: string(w.prefix) + string(name), Old: was, New: is})
	return nil
}

// ignored asks .pawlignore; a gitlink is a folder to it, as to git.
func (w *walk) ignored(name []byte, folder bool) bool {
	return w.ignore != nil && w.ignore.ignores(string(w.prefix[w.base:])+string(name), folder)
}

// side is what of an entry concerns the caller.
func side(e entry) spec.Blob {
	switch {
	case e.kind == kindLink:
		return spec.Blob{ID: e.id.String(), Mode: spec.ModeLink}
	case e.kind == kindGitlink:
		return spec.Blob{ID: e.id.String(), Mode: spec.ModeGitlink}
	case e.kind == kindFile && spec.IsSpecPath(string(e.name)):
		return spec.Blob{ID: e.id.String(), Mode: spec.ModeFile}
	}
	return spec.Blob{}
}

package gitsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/pawl-dev/pawl/spec"
)

// IgnoreName is the file in Config.Path that names what below it is no spec.
const IgnoreName = ".pawlignore"

const (
	maxIgnore   = 64 << 10 // bytes of the file
	maxPatterns = 256      // each is tried on each path
	maxPattern  = 1024     // bytes of one pattern
)

// IgnoreError says that a .pawlignore cannot be used. It refuses the commit that
// has it: to guess would be to take specs for removed, or for new.
type IgnoreError = spec.FindingError

// Ignore reads the contents of a .pawlignore in the syntax of .gitignore. name is
// its path, for findings and as the place that patterns are relative to. The
// function tells whether a path is ignored, by itself or by a folder above it;
// it fits specfile.Options.Skip. An error is an *IgnoreError.
func Ignore(name string, data []byte) (func(path string, folder bool) bool, error) {
	m, finding := parseIgnore(name, data)
	if finding != nil {
		return nil, &IgnoreError{Finding: *finding}
	}
	dir := path.Dir(name)
	return func(p string, folder bool) bool {
		rel := p
		if dir != "." {
			var below bool
			if rel, below = strings.CutPrefix(p, dir+"/"); !below {
				return false
			}
		}
		for i := 0; i < len(rel); i++ {
			if rel[i] == '/' && m.ignores(rel[:i], true) {
				return true
			}
		}
		return rel != "." && m.ignores(rel, folder)
	}, nil
}

// IgnoreFile is Ignore for the .pawlignore of a folder in fsys; without one, the
// function is nil. A link is an error: what it points to may not be in Git.
func IgnoreFile(fsys fs.FS, folder string) (func(path string, folder bool) bool, error) {
	name := path.Join(folder, IgnoreName)
	info, err := fs.Lstat(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &IgnoreError{Finding: notAFile(name)}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnore+1))
	if err = firstOf(err, f.Close()); err != nil {
		return nil, err
	}
	return Ignore(name, data)
}

func notAFile(name string) spec.Finding {
	return spec.Finding{Path: name, Message: "is not a regular file: write the patterns into a file of this name"}
}

// matcher is a .pawlignore.
type matcher struct {
	rules []rule // the last that matches decides
}

// ignores judges a path by itself; folders above it were judged before.
func (m *matcher) ignores(rel string, folder bool) bool {
	if m == nil {
		return false
	}
	rel = byteRunes(rel)
	base := rel[strings.LastIndexByte(rel, '/')+1:]
	for i := len(m.rules) - 1; i >= 0; i-- {
		if r := &m.rules[i]; r.matches(rel, base, folder) {
			return !r.include
		}
	}
	return false
}

// parseIgnore reads all patterns; the first that cannot be used is the finding.
func parseIgnore(name string, data []byte) (*matcher, *spec.Finding) {
	if len(data) > maxIgnore {
		return nil, &spec.Finding{Path: name, Message: fmt.Sprintf("is over the limit of %d bytes", maxIgnore)}
	}
	m := &matcher{}
	n := 0
	for line := range bytes.SplitSeq(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n")) {
		n++
		fail := func(format string, args ...any) (*matcher, *spec.Finding) {
			return nil, &spec.Finding{Path: name, Line: n, Message: fmt.Sprintf(format, args...)}
		}
		text := string(bytes.TrimSuffix(line, []byte("\r")))
		switch {
		case !utf8.ValidString(text):
			return fail("is not UTF-8")
		case len(text) > maxPattern:
			return fail("a pattern of %d bytes (limit %d)", len(text), maxPattern)
		}
		r, err := parseRule(text)
		if err != nil {
			return fail("%s", err)
		}
		if r == nil {
			continue
		}
		if m.rules = append(m.rules, *r); len(m.rules) > maxPatterns {
			return fail("more than %d patterns", maxPatterns)
		}
	}
	return m, nil
}

// ignoreCache keeps the matchers used last, by the blob they were read from.
type ignoreCache struct {
	ids      [2]plumbing.Hash
	matchers [2]*matcher
}

// ignoreOf gives the blob and the matcher of a folder's .pawlignore; without one
// both are zero. A finding says why it cannot be used.
func (r *Repo) ignoreOf(ctx context.Context, folder plumbing.Hash) (plumbing.Hash, *matcher, *spec.Finding, error) {
	t, err := r.tree(ctx, folder)
	if err != nil {
		return plumbing.ZeroHash, nil, nil, err
	}
	e, ok := t.find(IgnoreName)
	if !ok {
		return plumbing.ZeroHash, nil, nil, nil
	}
	name := path.Join(path.Join(r.root...), IgnoreName)
	if e.kind != kindFile {
		finding := notAFile(name)
		return e.id, nil, &finding, nil
	}
	cache := &r.ignores
	for i, id := range cache.ids {
		if id == e.id {
			return e.id, cache.matchers[i], nil, nil
		}
	}
	data, err := r.read(ctx, plumbing.BlobObject, e.id, maxIgnore, true)
	if errors.Is(err, ErrTooLarge) {
		return e.id, nil, &spec.Finding{Path: name, Message: fmt.Sprintf("is over the limit of %d bytes", maxIgnore)}, nil
	}
	if err != nil {
		return plumbing.ZeroHash, nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	m, finding := parseIgnore(name, data)
	if finding == nil {
		cache.ids[1], cache.matchers[1] = cache.ids[0], cache.matchers[0]
		cache.ids[0], cache.matchers[0] = e.id, m
	}
	return e.id, m, finding, nil
}

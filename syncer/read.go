package syncer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
	"golang.org/x/sync/errgroup"
)

// declared is one spec as a file declares it.
type declared struct {
	spec spec.Spec
	path string
	line int
}

// side is what the changed files of one side of a difference declare.
type side map[spec.Key]declared

// reading is a difference between two trees, decoded.
type reading struct {
	before, after side
	findings      []spec.Finding // of the after side
}

// decodeBatch is how many files are held in memory between reading and decoding.
const decodeBatch = 512

// read decodes both sides of changes. Findings of the side before do not count:
// it was applied, or it was refused for them. A file with an error still gives
// its good documents, which the caller may only use to tell who changed what.
func (t *Tenant) read(ctx context.Context, changes []spec.FileChange) (reading, error) {
	r := reading{before: side{}, after: side{}}
	for batch := range slices.Chunk(changes, decodeBatch) {
		if err := t.keep(ctx); err != nil {
			return reading{}, err
		}
		before, err := t.decodeAll(ctx, batch, func(c spec.FileChange) spec.Blob { return c.Old })
		if err != nil {
			return reading{}, err
		}
		after, err := t.decodeAll(ctx, batch, func(c spec.FileChange) spec.Blob { return c.New })
		if err != nil {
			return reading{}, err
		}
		for _, f := range before {
			r.before.add(f, nil)
		}
		for _, f := range after {
			r.findings = append(r.findings, f.findings...)
			r.after.add(f, &r.findings)
		}
	}
	r.findings = spec.SortFindings(r.findings)
	return r, nil
}

// add enters the specs of a file; a key that is declared already is a finding at both places.
func (s side) add(f file, findings *[]spec.Finding) {
	for _, d := range f.docs {
		if d.Spec == nil {
			continue // a Pavilion: checked, never used
		}
		if other, twice := s[d.Key]; twice { // the first by path stands, on either side
			if findings != nil {
				*findings = append(*findings, twiceDeclared(d.Key, f.path, d.Line, other.path, other.line),
					twiceDeclared(d.Key, other.path, other.line, f.path, d.Line))
			}
			continue
		}
		s[d.Key] = declared{d.Spec, f.path, d.Line}
	}
}

func twiceDeclared(k spec.Key, path string, line int, otherPath string, otherLine int) spec.Finding {
	at := spec.QuotePath(otherPath)
	if otherLine > 0 {
		at = fmt.Sprintf("%s:%d", at, otherLine)
	}
	return spec.Finding{Path: path, Line: line, Field: "metadata.name",
		Message: fmt.Sprintf("%s %q is declared twice, also in %s; remove one of them", k.Kind, k.Name, at)}
}

// file is one decoded file.
type file struct {
	path     string
	docs     []specfile.Doc
	findings []spec.Finding
}

// decodeAll reads one side of some changes in order and decodes it in parallel.
func (t *Tenant) decodeAll(ctx context.Context, changes []spec.FileChange, pick func(spec.FileChange) spec.Blob) ([]file, error) {
	files := make([]file, len(changes))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range changes {
		blob := pick(c)
		files[i].path = c.Path
		if blob.Absent() {
			continue
		}
		if finding, skip := oddEntry(c.Path, blob); skip {
			files[i].findings = finding
			continue
		}
		if docs, ok := t.cache.Get(blob.ID); ok {
			files[i].docs = docs
			continue
		}
		data, err := t.Source.Blob(ctx, blob.ID, specfile.MaxFileBytes)
		var tooBig *spec.SizeError
		switch {
		case errors.As(err, &tooBig):
			files[i].findings = []spec.Finding{{Path: c.Path,
				Message: fmt.Sprintf("file of %d bytes (limit %d); split it", tooBig.Size, tooBig.Limit)}}
			continue
		case err != nil:
			return nil, errors.Join(fmt.Errorf("read %s: %w", spec.QuotePath(c.Path), err), g.Wait())
		}
		g.Go(func() error {
			docs, findings := specfile.Decode(c.Path, data, t.opt)
			files[i].docs, files[i].findings = docs, findings
			if len(findings) == 0 {
				t.cache.Add(blob.ID, docs)
			}
			return nil
		})
	}
	return files, g.Wait()
}

// oddEntry handles what is not to be read as a file: links and gitlinks warn, a
// control character in a name refuses.
func oddEntry(path string, b spec.Blob) (f []spec.Finding, skip bool) {
	switch {
	case b.Mode == spec.ModeLink:
		return []spec.Finding{{Path: path, Warning: true, Message: "a symbolic link is not followed; what it points to counts only where it stands itself"}}, true
	case b.Mode == spec.ModeGitlink:
		return []spec.Finding{{Path: path, Warning: true, Message: "a submodule is not fetched; its files are not specs of this repository"}}, true
	case strings.ContainsFunc(path, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return []spec.Finding{{Path: path, Message: "control character in the name; rename the file"}}, true
	}
	return nil, false
}

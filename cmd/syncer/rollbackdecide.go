package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
)

// wanted is the content that a rollback brings back, as it stood in Git.
type wanted struct {
	key     spec.Key
	version int64
	spec    spec.Spec
	path    string // of its file, as it was
	file    []byte
	doc     section
	alone   bool // it was the only document of its file
}

// decision is what a rollback does to the branch as it is at base.
type decision struct {
	base    string
	path    string
	old     []byte // nil: there is no such file
	data    []byte
	present bool      // the spec is declared at base
	there   spec.Spec // with this content; nil: none that is valid
	done    bool      // base has the wanted content already
	reverts string    // the commit that this undoes exactly; empty = none
}

// rollback decides and writes the rollback of one spec.
type rollback struct {
	pav  spec.Pavilion
	repo *gitsource.Repo
	live string // path of the current version; empty = the spec is removed
}

func (b *rollback) options() specfile.Options {
	return specfile.Options{Pavilion: b.pav.ID, CID: b.pav.CID, AllowSelf: b.pav.AllowSelf}
}

// content reads the content of a version from the commit that brought it in.
func (b *rollback) content(ctx context.Context, key spec.Key, o spec.Origin) (wanted, error) {
	w := wanted{key: key, version: o.Version, path: o.Path}
	what := fmt.Sprintf("the content of %s v%d", key, o.Version)
	if o.Commit == "" {
		return w, cli.ErrorHint(fmt.Errorf("%s does not come from Git", what), "choose another version with --to; `syncer history "+key.String()+"` lists them")
	}
	var err error
	if w.file, err = b.repo.File(ctx, o.Commit, o.Path, specfile.MaxFileBytes); err != nil {
		err = fmt.Errorf("%s: %w", what, err)
		if errors.Is(err, spec.ErrNoCommit) {
			err = cli.ErrorHint(err, "the branch was rewritten since; `syncer export` writes what the store has")
		}
		return w, err
	}
	w.spec, _ = declared(o.Path, w.file, key, b.options())
	found, _ := findSpec(w.file, key)
	if w.spec == nil || len(found) != 1 || (o.Digest != "" && w.spec.Digest() != o.Digest) {
		return w, fmt.Errorf("%s: %s in commit %s does not hold it as it was read then", what, spec.QuotePath(o.Path), spec.Short(o.Commit))
	}
	w.doc = found[0]
	w.alone = !slices.ContainsFunc(sections(w.file), func(s section) bool { return !s.empty() && s != w.doc })
	return w, nil
}

// declared is what a file declares for one spec, nil if nothing valid, with all
// that is wrong in the file.
func declared(file string, data []byte, key spec.Key, opt specfile.Options) (spec.Spec, []spec.Finding) {
	docs, findings := specfile.Decode(file, data, opt)
	bad, _ := spec.Split(findings)
	for _, d := range docs {
		if d.Key == key {
			return d.Spec, bad
		}
	}
	return nil, bad
}

// decide finds the spec at a commit, wherever it is by now, and makes the file
// that has the wanted content.
func (b *rollback) decide(ctx context.Context, base string, w wanted) (decision, error) {
	d := decision{base: base}
	at, err := b.locate(ctx, base, w.key, &d)
	if err != nil {
		return d, err
	}
	if at == nil {
		d.path = w.path
	}
	if err := b.looked(ctx, d); err != nil {
		return d, err
	}
	var ways [][]byte
	if d.present = at != nil; d.present {
		if d.there, _ = declared(d.path, d.old, w.key, b.options()); d.there != nil && d.there.Equal(w.spec) {
			d.done = true
			return d, nil
		}
		ways = spliced(d.old, *at, w.file, w.doc)
	} else if ways, err = b.addedBack(ctx, w, &d); err != nil {
		return d, err
	}
	var bad []spec.Finding
	for _, d.data = range ways {
		var again spec.Spec
		if again, bad = declared(d.path, d.data, w.key, b.options()); len(bad) == 0 && w.spec.Equal(again) && again.Digest() == w.spec.Digest() && b.othersKept(d, w.key) {
			return d, nil
		}
	}
	err = fmt.Errorf("%s cannot get the content of %s v%d back: its text would not mean the same there", spec.QuotePath(d.path), w.key, w.version)
	if len(bad) > 0 {
		err = fmt.Errorf("%s cannot get the content of %s v%d back: the file would not be valid\n%s", spec.QuotePath(d.path), w.key, w.version, lines(bad))
	}
	return d, cli.ErrorHint(err, "repair the file first, or revert the commit that broke it with git revert")
}

// locate finds the section of a spec at a commit, nil if it is not there, and
// notes its file.
func (b *rollback) locate(ctx context.Context, base string, key spec.Key, d *decision) (*section, error) {
	if b.live != "" { // where it was last, so that not all files are read
		data, err := b.repo.File(ctx, base, b.live, specfile.MaxFileBytes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if found, _ := findSpec(data, key); len(found) == 1 {
			d.path, d.old = b.live, data
			return &found[0], nil
		}
	}
	files, err := b.repo.Changes(ctx, "", base)
	if err != nil {
		return nil, err
	}
	var at *section
	var unclear []string
	for _, f := range files {
		if f.New.Mode != spec.ModeFile {
			continue
		}
		data, err := b.repo.Blob(ctx, f.New.ID, specfile.MaxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", spec.QuotePath(f.Path), err)
		}
		found, broken := findSpec(data, key)
		if broken {
			unclear = append(unclear, spec.QuotePath(f.Path))
		}
		for _, s := range found {
			if at != nil {
				return nil, cli.ErrorHint(fmt.Errorf("%s is declared twice in commit %s: in %s and %s", key, spec.Short(base), spec.QuotePath(d.path), spec.QuotePath(f.Path)),
					"remove one first")
			}
			at, d.path, d.old = &s, f.Path, data
		}
	}
	if at == nil && len(unclear) > 0 {
		return nil, cli.ErrorHint(fmt.Errorf("%s may stand in what is not valid YAML in commit %s: %s", key, spec.Short(base), strings.Join(unclear, ", ")),
			"repair the file first, or revert the commit that broke it with git revert")
	}
	return at, nil
}

// addedBack gives the file of a spec that is not there any more: where it was,
// as a file of its own or behind the documents that are there by now.
func (b *rollback) addedBack(ctx context.Context, w wanted, d *decision) ([][]byte, error) {
	data, err := b.repo.File(ctx, d.base, w.path, specfile.MaxFileBytes)
	if err == nil {
		d.old = data
		return [][]byte{appended(data, w.file, w.doc)}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if w.alone {
		return [][]byte{w.file}, nil
	}
	return [][]byte{bytes.Clone(w.file[w.doc.head:w.doc.tail]), bytes.Clone(w.file[w.doc.start:w.doc.end])}, nil
}

// looked refuses a file that the syncer does not look at.
func (b *rollback) looked(ctx context.Context, d decision) error {
	name := path.Join(b.pav.Source.Path, gitsource.IgnoreName)
	data, err := b.repo.File(ctx, d.base, name, specfile.MaxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ignored, err := gitsource.Ignore(name, data)
	if err != nil {
		return err
	}
	if ignored(d.path, false) {
		return cli.ErrorHint(fmt.Errorf("%s is ignored by %s in commit %s", spec.QuotePath(d.path), spec.QuotePath(name), spec.Short(d.base)),
			"take it out of there first, or bring the spec back elsewhere")
	}
	return nil
}

// othersKept tells whether all other documents of the file are what they were.
func (b *rollback) othersKept(d decision, key spec.Key) bool {
	before, _ := specfile.Decode(d.path, d.old, b.options())
	after, _ := specfile.Decode(d.path, d.data, b.options())
	mine := func(doc specfile.Doc) bool { return doc.Key == key }
	before, after = slices.DeleteFunc(before, mine), slices.DeleteFunc(after, mine)
	same := func(x, y specfile.Doc) bool {
		return x.Key == y.Key && (x.Spec == nil || y.Spec != nil && x.Spec.Equal(y.Spec))
	}
	return slices.EqualFunc(before, after, same)
}

// undoes tells whether a decision takes back exactly what one commit did to the specs.
func (b *rollback) undoes(ctx context.Context, d decision, last spec.Origin) (bool, error) {
	if last.Commit == "" || last.Parent == "" || d.old == nil {
		return false, nil
	}
	c, err := b.repo.Commit(ctx, last.Commit)
	if errors.Is(err, spec.ErrNoCommit) || (err == nil && (c.Merge || c.Parent != last.Parent)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	changed, err := b.repo.Changes(ctx, last.Parent, last.Commit)
	if err != nil || len(changed) != 1 || changed[0].Path != d.path || changed[0].Old.Absent() || changed[0].New.Absent() {
		return false, err
	}
	was, err := b.repo.Blob(ctx, changed[0].Old.ID, specfile.MaxFileBytes)
	if err != nil {
		return false, err
	}
	is, err := b.repo.Blob(ctx, changed[0].New.ID, specfile.MaxFileBytes)
	return err == nil && bytes.Equal(was, d.data) && bytes.Equal(is, d.old), err
}

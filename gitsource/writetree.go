package gitsource

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/pawl-dev/pawl/spec"
)

// modeFile and modeFolder are modes of new entries, as git writes them.
const (
	modeFile   = "100644"
	modeFolder = "40000"
)

// step is what happens to one name in a folder: it is a folder in which
// something happens, or a file that is written or, without data, removed.
type step struct {
	path string
	kids map[string]*step // nil for a file
	data []byte
}

// planned sorts the files of a request by folder.
func (r *Repo) planned(files []FileWrite) (*step, error) {
	if len(files) == 0 || len(files) > maxWrites {
		return nil, fmt.Errorf("%d files to write (1 to %d)", len(files), maxWrites)
	}
	root := &step{kids: map[string]*step{}}
	for _, f := range files {
		if err := r.writable(f.Path); err != nil {
			return nil, fmt.Errorf("path %s: %w", spec.QuotePath(cut(f.Path, maxName)), err)
		}
		if len(f.Data) > maxWritten {
			return nil, &TooLargeError{What: f.Path, Size: int64(len(f.Data)), Limit: maxWritten}
		}
		at, parts := root, strings.Split(f.Path, "/")
		for i, name := range parts {
			next, last := at.kids[name], i == len(parts)-1
			switch {
			case next == nil && last:
				next = &step{path: f.Path, data: f.Data}
			case next == nil:
				next = &step{path: strings.Join(parts[:i+1], "/"), kids: map[string]*step{}}
			case last || next.kids == nil:
				return nil, fmt.Errorf("path %s is there twice, or is a folder too", spec.QuotePath(f.Path))
			}
			at.kids[name] = next
			at = next
		}
	}
	return root, nil
}

// writable refuses what is not below Config.Path, and what git would not check out.
func (r *Repo) writable(path string) error {
	parts := strings.Split(path, "/")
	switch {
	case len(path) > maxPath || len(parts) > len(r.root)+maxDepth:
		return ErrTooLarge
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl):
		return errors.New("a control character, or no UTF-8")
	case len(parts) <= len(r.root) || !slices.Equal(parts[:len(r.root)], r.root):
		return fmt.Errorf("not below the folder %s", spec.QuotePath(strings.Join(r.root, "/")))
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." || strings.ContainsRune(part, '\\') || dotGit(part) {
			return fmt.Errorf("%q is no name for a file or folder", part)
		}
	}
	return nil
}

// dotGit tells whether some system takes a name for .git: without regard to
// case, to characters that are not seen, or to what stands at its end.
func dotGit(name string) bool {
	low, _, _ := strings.Cut(strings.ToLower(name), ":")
	low = strings.TrimRight(strings.Map(func(c rune) rune {
		if c > unicode.MaxASCII {
			return -1
		}
		return c
	}, low), " .")
	return low == ".git" || low == "git~1"
}

// folder makes the tree that a folder becomes, the zero id if nothing is left
// of it. All entries that are not named stay byte for byte as they are.
func (m *making) folder(id plumbing.Hash, plan *step) (plumbing.Hash, error) {
	old, err := m.repo.tree(m.ctx, id)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	raw := slices.Clone(old.raw)
	for _, name := range slices.Sorted(maps.Keys(plan.kids)) {
		if raw, err = m.entry(raw, name, plan.kids[name]); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	if len(raw) == 0 {
		return plumbing.ZeroHash, nil
	}
	if slices.Equal(raw, old.raw) {
		return id, nil
	}
	if _, err := parseTree(raw); err != nil {
		return plumbing.ZeroHash, fmt.Errorf("folder %s: what was made of it is broken: %w", spec.QuotePath(plan.path), err)
	}
	return m.put(plumbing.TreeObject, raw)
}

// entry does one step in a raw tree.
func (m *making) entry(raw []byte, name string, s *step) ([]byte, error) {
	start, was, there := locate(raw, name)
	wanted, mode := kindFile, modeFile
	if s.kids != nil {
		wanted, mode = kindFolder, modeFolder
	}
	switch {
	case there && was.kind != wanted:
		return nil, fmt.Errorf("%s is there as %s", spec.QuotePath(s.path), kindName(was.kind))
	case !there && s.kids == nil && s.data == nil:
		return nil, fmt.Errorf("%s cannot be removed: there is no such file", spec.QuotePath(s.path))
	}
	id, err := m.object(was.id, s)
	switch {
	case err != nil:
		return nil, err
	case there && id.IsZero():
		return slices.Delete(raw, start, was.next), nil
	case there: // its mode stays
		copy(raw[was.next-len(id):], id[:])
		return raw, nil
	case id.IsZero(): // a new folder of which nothing came
		return raw, nil
	}
	made := append(append([]byte(mode+" "+name), 0), id[:]...)
	return slices.Insert(raw, place(raw, entry{kind: wanted, name: []byte(name)}), made...), nil
}

// object makes what an entry names, the zero id if it names nothing any more.
func (m *making) object(was plumbing.Hash, s *step) (plumbing.Hash, error) {
	switch {
	case s.kids != nil:
		return m.folder(was, s)
	case s.data != nil:
		return m.put(plumbing.BlobObject, s.data)
	}
	return plumbing.ZeroHash, nil
}

// locate finds an entry of a checked tree and where it starts.
func locate(raw []byte, name string) (start int, e entry, ok bool) {
	t := &tree{raw: raw}
	for start < len(raw) {
		if e = t.at(start); string(e.name) == name {
			return start, e, true
		}
		start = e.next
	}
	return 0, entry{}, false
}

// place is where a new entry belongs by git's order.
func place(raw []byte, e entry) int {
	t, i := &tree{raw: raw}, 0
	for i < len(raw) {
		next := t.at(i)
		if compare(next, e) > 0 {
			break
		}
		i = next.next
	}
	return i
}

func kindName(kind int) string {
	switch kind {
	case kindFolder:
		return "a folder"
	case kindFile:
		return "a file"
	case kindLink:
		return "a symbolic link"
	case kindGitlink:
		return "a submodule"
	}
	return "an entry of mode " + strconv.FormatInt(int64(kind), 8)
}

package specfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/spec"
)

// FileDoc is a document and the file that it stands in.
type FileDoc struct {
	Path string
	Doc
}

// Tree reads files and folders below fsys and decodes all of them. Roots are
// paths in fsys, "." for all of it. A root that is a file is read whatever its
// name; in a folder, what spec.IsSpecPath says counts, and what opt.Skip names
// is left out. Links are never followed (a warning). What cannot be read, a
// root that is not there, one key in two files and one id in two files are
// findings. Documents are in order of path and line, findings are sorted.
func Tree(fsys fs.FS, roots []string, opt Options) ([]FileDoc, []spec.Finding) {
	t := &tree{fsys: fsys, opt: opt, done: map[string]bool{}}
	for _, root := range roots {
		t.root(root)
	}
	slices.SortStableFunc(t.docs, func(a, b FileDoc) int { return cmp.Compare(a.Path, b.Path) })
	t.twice()
	return t.docs, spec.SortFindings(t.findings)
}

type tree struct {
	fsys     fs.FS
	opt      Options
	done     map[string]bool // files that were read
	docs     []FileDoc
	findings []spec.Finding
}

func (t *tree) fail(path, format string, args ...any) {
	t.findings = append(t.findings, spec.Finding{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (t *tree) warn(path, message string) {
	t.findings = append(t.findings, spec.Finding{Path: path, Message: message, Warning: true})
}

func (t *tree) root(name string) {
	root := path.Clean(name)
	if !fs.ValidPath(root) {
		t.fail(name, "is not below the folder that is read")
		return
	}
	info, err := fs.Lstat(t.fsys, root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.fail(name, "there is no such file or folder")
	case err != nil:
		t.fail(name, "cannot be looked at: %s", reason(err))
	case info.IsDir():
		t.folder(root, root)
	default:
		t.entry(root, info.Mode())
	}
}

// folder reads what is below a folder; names are judged from the root on.
func (t *tree) folder(root, dir string) {
	entries, err := fs.ReadDir(t.fsys, dir)
	if err != nil {
		t.fail(dir, "cannot be listed: %s", reason(err))
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."), t.opt.Skip != nil && t.opt.Skip(name, e.IsDir()):
		case e.IsDir():
			t.folder(root, name)
		case e.Type()&fs.ModeSymlink != 0, spec.IsSpecPath(e.Name()):
			t.entry(name, e.Type())
		}
	}
}

// entry reads one file, or says why not.
func (t *tree) entry(name string, mode fs.FileMode) {
	switch {
	case t.done[name]:
		return
	case mode&fs.ModeSymlink != 0:
		t.warn(name, "a symbolic link is not followed; what it points to counts only where it stands itself")
	case mode&fs.ModeType != 0:
		t.fail(name, "is not a regular file")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, isControl):
		t.fail(name, "control character in the name; rename the file")
	default:
		t.file(name)
	}
	t.done[name] = true
}

func (t *tree) file(name string) {
	data, err := read(t.fsys, name)
	if err != nil {
		t.fail(name, "cannot be read: %s", reason(err))
		return
	}
	docs, findings := Decode(name, data, t.opt)
	t.findings = append(t.findings, findings...)
	for _, d := range docs {
		t.docs = append(t.docs, FileDoc{name, d})
	}
}

// read reads a file up to just beyond the limit, so that Decode can refuse it.
func read(fsys fs.FS, name string) (data []byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
}

// reason is why a file cannot be read, without its path, which stands before it.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}

// twice refuses a key, or an id of a target, that two files declare: at both
// places, each naming the other.
func (t *tree) twice() {
	keys := map[spec.Key]FileDoc{}
	ids := map[string]FileDoc{}
	for _, d := range t.docs {
		other, ok := keys[d.Key]
		if ok && other.Path != d.Path {
			t.both(other, d, "metadata.name", func(o FileDoc) string {
				return fmt.Sprintf("%s %s is declared twice, also in %s: remove one", d.Key.Kind, d.Key.Name, place(o))
			})
			continue // its targets would only say the same again
		}
		keys[d.Key] = d
		for _, id := range d.targetIDs() {
			if other, ok := ids[id]; ok && other.Path != d.Path {
				t.both(other, d, "", func(o FileDoc) string { return idTaken(id, o.Key, place(o)) })
			}
			ids[id] = d
		}
	}
}

func (t *tree) both(a, b FileDoc, field string, message func(other FileDoc) string) {
	t.findings = append(t.findings,
		spec.Finding{Path: a.Path, Line: a.Line, Field: field, Message: message(b)},
		spec.Finding{Path: b.Path, Line: b.Line, Field: field, Message: message(a)})
}

func place(d FileDoc) string { return fmt.Sprintf("%s:%d", spec.QuotePath(d.Path), d.Line) }

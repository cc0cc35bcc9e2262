package gitsource

import (
	"bytes"
	"container/list"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
)

// emptyTree is the tree of a commit without files; git need not store it.
var emptyTree = plumbing.NewHash("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

// Kinds of tree entries, the upper bits of a mode.
const (
	kindMask    = 0o170000
	kindFolder  = 0o040000
	kindFile    = 0o100000
	kindLink    = 0o120000
	kindGitlink = 0o160000
)

// stride is the number of entries between two marks.
const stride = 32

// tree is a tree object as it is stored, checked once: "mode name\0id" for each
// entry, in git's order.
type tree struct {
	raw   []byte
	marks []int32 // where every stride-th entry starts
}

// entry is one entry; name points into the tree.
type entry struct {
	kind int
	name []byte
	id   plumbing.Hash
	next int // where the following entry starts
}

// parseTree checks every entry and their order, so that at need no longer.
func parseTree(raw []byte) (*tree, error) {
	t := &tree{raw: raw}
	var last entry
	for i, n := 0, 0; i < len(raw); n++ {
		e, err := parseEntry(raw, i)
		if err != nil {
			return nil, err
		}
		if n > 0 && compare(last, e) >= 0 {
			return nil, fmt.Errorf("%w: entry %q is out of order", ErrMalformed, cutBytes(e.name))
		}
		if n%stride == 0 {
			t.marks = append(t.marks, int32(i))
		}
		last, i = e, e.next
	}
	return t, nil
}

func parseEntry(raw []byte, at int) (entry, error) {
	rest := raw[at:]
	space := bytes.IndexByte(rest[:min(8, len(rest))], ' ')
	nul := bytes.IndexByte(rest, 0)
	if space < 5 || nul < space+2 || len(rest) < nul+1+len(plumbing.ZeroHash) {
		return entry{}, fmt.Errorf("%w: broken entry at byte %d", ErrMalformed, at)
	}
	mode := 0
	for _, c := range rest[:space] {
		if c < '0' || c > '7' {
			return entry{}, fmt.Errorf("%w: broken mode at byte %d", ErrMalformed, at)
		}
		mode = mode<<3 | int(c-'0')
	}
	e := entry{kind: mode & kindMask, name: rest[space+1 : nul], next: at + nul + 1 + len(plumbing.ZeroHash)}
	switch e.kind {
	case kindFolder, kindFile, kindLink, kindGitlink:
	default:
		return entry{}, fmt.Errorf("%w: unknown mode %o at byte %d", ErrMalformed, mode, at)
	}
	if bytes.IndexByte(e.name, '/') >= 0 {
		return entry{}, fmt.Errorf("%w: the name %q holds a slash", ErrMalformed, cutBytes(e.name))
	}
	copy(e.id[:], rest[nul+1:])
	return e, nil
}

// at decodes the entry that starts at i, which parseTree has checked.
func (t *tree) at(i int) entry {
	rest := t.raw[i:]
	space := bytes.IndexByte(rest, ' ')
	nul := space + bytes.IndexByte(rest[space:], 0)
	mode := 0
	for _, c := range rest[:space] {
		mode = mode<<3 | int(c-'0')
	}
	e := entry{kind: mode & kindMask, name: rest[space+1 : nul], next: i + nul + 1 + len(plumbing.ZeroHash)}
	copy(e.id[:], rest[nul+1:])
	return e
}

// floor is where the last entry starts that begins at or before pos, not before from.
func (t *tree) floor(from, pos int) int {
	mark := sort.Search(len(t.marks), func(i int) bool { return int(t.marks[i]) > pos }) - 1
	if mark >= 0 {
		from = max(from, int(t.marks[mark]))
	}
	for from < len(t.raw) {
		nul := bytes.IndexByte(t.raw[from:], 0)
		next := from + nul + 1 + len(plumbing.ZeroHash)
		if next > pos {
			break
		}
		from = next
	}
	return from
}

// find looks a name up.
func (t *tree) find(name string) (entry, bool) {
	end := entry{kind: kindFolder, name: []byte(name)} // the last place where it could be
	for i := 0; i < len(t.raw); {
		e := t.at(i)
		if string(e.name) == name {
			return e, true
		}
		if compare(e, end) > 0 {
			break
		}
		i = e.next
	}
	return entry{}, false
}

// compare is git's order of entries: by bytes, a folder as if its name ended
// in a slash.
func compare(a, b entry) int {
	n := min(len(a.name), len(b.name))
	if c := bytes.Compare(a.name[:n], b.name[:n]); c != 0 {
		return c
	}
	return a.after(n) - b.after(n)
}

// after is the byte behind the first n of a name.
func (e entry) after(n int) int {
	switch {
	case n < len(e.name):
		return int(e.name[n])
	case e.kind == kindFolder:
		return '/'
	}
	return 0
}

// commonPrefix is the number of bytes that a and b begin with alike.
func commonPrefix(a, b []byte) int {
	const chunk = 4096
	n, i := min(len(a), len(b)), 0
	for i+chunk <= n && bytes.Equal(a[i:i+chunk], b[i:i+chunk]) {
		i += chunk
	}
	for i+8 <= n && binary.NativeEndian.Uint64(a[i:]) == binary.NativeEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func cutBytes(b []byte) []byte { return b[:min(80, len(b))] }

// treeLRU keeps the trees read last, bounded by their bytes.
type treeLRU struct {
	limit, size int
	order       *list.List // of treeItem, the newest first
	items       map[plumbing.Hash]*list.Element
}

type treeItem struct {
	id   plumbing.Hash
	tree *tree
}

func newTreeLRU(limit int) *treeLRU {
	return &treeLRU{limit: limit, order: list.New(), items: map[plumbing.Hash]*list.Element{}}
}

func (c *treeLRU) get(id plumbing.Hash) *tree {
	el, ok := c.items[id]
	if !ok {
		return nil
	}
	c.order.MoveToFront(el)
	return el.Value.(treeItem).tree
}

func (c *treeLRU) put(id plumbing.Hash, t *tree) {
	const overhead = 200 // of one item, so that a million tiny trees are bounded too
	if len(t.raw)+overhead > c.limit {
		return
	}
	c.items[id] = c.order.PushFront(treeItem{id, t})
	c.size += len(t.raw) + overhead
	for c.size > c.limit {
		old := c.order.Remove(c.order.Back()).(treeItem)
		delete(c.items, old.id)
		c.size -= len(old.tree.raw) + overhead
	}
}

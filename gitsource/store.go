package gitsource

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"strconv"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

const (
	// objectCache holds what deltas are resolved against: a chain of fifty trees
	// of a thousand files each, for ten folders. Emptied when nothing changes.
	objectCache = 48 << 20
	// treeCache holds the trees of the last commits, as read: at 100,000 files
	// those of two commits, so that the next one reads only what it changed.
	treeCache = 16 << 20
	// bigObject is from where on go-git streams instead of caching.
	bigObject = 8 << 20

	maxCommit = 1 << 20  // bytes of a commit object
	maxTree   = 64 << 20 // bytes of a tree object, about a million entries
)

// errKind says that an object is there, but is something else than what refers
// to it claims.
var errKind = errors.New("it is an object of another kind")

// store reads the objects of a clone. It is used by one goroutine at a time.
type store struct {
	dir     string
	st      *filesystem.Storage
	objects *cache.ObjectLRU
	trees   *treeLRU
}

func openStore(dir string) (*store, error) {
	s := &store{dir: dir, objects: cache.NewObjectLRU(objectCache), trees: newTreeLRU(treeCache)}
	return s, s.reopen()
}

// reopen makes go-git look at the folder afresh: what it learnt of packs at the
// first read it believes for ever.
func (s *store) reopen() error {
	if s.st != nil {
		if err := s.close(); err != nil {
			return err
		}
	}
	repo, err := git.PlainOpen(s.dir)
	if err != nil {
		return err
	}
	st, ok := repo.Storer.(*filesystem.Storage)
	if !ok {
		return fmt.Errorf("go-git opened it as a %T", repo.Storer)
	}
	s.objects.Clear()
	s.st = filesystem.NewStorageWithOptions(st.Filesystem(), s.objects, filesystem.Options{
		KeepDescriptors:      true, // but not ExclusiveAccess: with it HasEncodedObject finds nothing in packs
		LargeObjectThreshold: bigObject,
	})
	return nil
}

func (s *store) close() error { return s.st.Close() }

// relax gives memory back while nothing changes.
func (s *store) relax() { s.objects.Clear() }

// get reads one object whole. It reads nothing of one that is over limit bytes.
// If the object is not to be had, it looks at the folder afresh and tries once more.
func (s *store) get(kind plumbing.ObjectType, id plumbing.Hash, limit int64) ([]byte, error) {
	data, err := s.once(kind, id, limit)
	var large *TooLargeError
	if err == nil || errors.As(err, &large) || errors.Is(err, errKind) {
		return data, err
	}
	if again := s.reopen(); again != nil {
		return nil, fmt.Errorf("%w; reopen: %w", err, again)
	}
	return s.once(kind, id, limit)
}

// once is get without the second try. A panic of go-git over bytes that it did
// not expect is an error of that object.
func (s *store) once(kind plumbing.ObjectType, id plumbing.Hash, limit int64) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("reading it panicked: %v", p)
		}
	}()
	obj, err := s.st.EncodedObject(plumbing.AnyObject, id)
	if err != nil {
		return nil, err
	}
	if obj.Type() != kind {
		return nil, fmt.Errorf("%w: a %s", errKind, obj.Type())
	}
	if obj.Size() > limit {
		return nil, &TooLargeError{What: kind.String() + " " + id.String(), Size: obj.Size(), Limit: limit}
	}
	r, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	data = make([]byte, obj.Size())
	_, err = io.ReadFull(r, data)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return data, s.verify(obj, id, data)
}

// verify checks that data is what id names. go-git has hashed what it cached.
func (s *store) verify(obj plumbing.EncodedObject, id plumbing.Hash, data []byte) error {
	if mem, ok := obj.(*plumbing.MemoryObject); ok && mem.Hash() == id {
		return nil
	}
	if cached, ok := s.objects.Get(id); ok {
		if mem, ok := cached.(*plumbing.MemoryObject); ok && mem.Hash() == id && mem.Size() == int64(len(data)) {
			return nil
		}
	}
	h := sha1.New()
	for _, part := range [][]byte{obj.Type().Bytes(), {' '}, strconv.AppendInt(nil, int64(len(data)), 10), {0}, data} {
		if _, err := h.Write(part); err != nil {
			return err
		}
	}
	if !bytes.Equal(h.Sum(nil), id[:]) {
		return errors.New("its bytes are not those that its id names")
	}
	return nil
}

// has tells whether an object is in the clone.
func (s *store) has(id plumbing.Hash) bool { return s.st.HasEncodedObject(id) == nil }

// refs lists the references that hold an id; one that a crash left half-written
// holds none.
func (s *store) refs() ([]*plumbing.Reference, error) {
	iter, err := s.st.IterReferences()
	if err != nil {
		return nil, err
	}
	var refs []*plumbing.Reference
	err = iter.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() == plumbing.HashReference && !ref.Hash().IsZero() {
			refs = append(refs, ref)
		}
		return nil
	})
	return refs, err
}

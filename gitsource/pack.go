package gitsource

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

const (
	// maxPacks is how many packs a clone may have before small ones are joined
	// at the next poll that finds no change. Each fetch adds one, each is looked
	// into for each object.
	maxPacks = 24
	// bloatSize and bloatRatio say when small packs waste so much that the server
	// had better pack everything anew: it sends trees whole, not as differences
	// to those that we have.
	bloatSize  = 256 << 20
	bloatRatio = 4
)

// pack is one pack of the clone, without extension.
type pack struct {
	path string
	size int64
}

// packs lists the clone's packs, the greatest first.
func (s *store) packs() ([]pack, error) {
	dir := filepath.Join(s.dir, "objects", "pack")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var packs []pack
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".pack")
		if !ok || !strings.HasPrefix(base, "pack-") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		packs = append(packs, pack{path: filepath.Join(dir, base), size: info.Size()})
	}
	slices.SortFunc(packs, func(a, b pack) int {
		return cmp.Or(cmp.Compare(b.size, a.size), strings.Compare(a.path, b.path))
	})
	return packs, nil
}

// bloated tells whether a new clone would be much smaller, or smaller and the
// limit of its size is near.
func (s *store) bloated(limit int64) (bool, error) {
	packs, err := s.packs()
	if err != nil || len(packs) == 0 {
		return false, err
	}
	small := int64(0)
	for _, p := range packs[1:] {
		small += p.size
	}
	if small > packs[0].size && small+packs[0].size > limit/2 {
		return true, nil
	}
	return small > bloatSize && small > bloatRatio*packs[0].size, nil
}

// size is the sum of the clone's packs.
func (s *store) size() (int64, error) {
	packs, err := s.packs()
	size := int64(0)
	for _, p := range packs {
		size += p.size
	}
	return size, err
}

// consolidate joins small packs if there are more than limit. Those kept are
// each at least twice as big as all smaller ones together, so that every object
// is copied a few times only. The new pack is in its place before an old one is
// removed: a crash leaves some objects twice.
func (s *store) consolidate(limit int) error {
	packs, err := s.packs()
	if err != nil || len(packs) <= limit {
		return err
	}
	rest := int64(0)
	for _, p := range packs {
		rest += p.size
	}
	keep := 0
	for keep < len(packs) && packs[keep].size >= 2*(rest-packs[keep].size) {
		rest -= packs[keep].size
		keep++
	}
	if len(packs)-keep < 2 {
		return nil
	}
	made, err := s.join(packs[keep:])
	if err != nil {
		return fmt.Errorf("join %d packs: %w", len(packs)-keep, errors.Join(err, tidy(s.dir)))
	}
	for _, p := range packs[keep:] {
		if p.path == made {
			continue
		}
		for _, ext := range []string{".pack", ".idx"} { // an index alone is ignored, a pack alone is an error
			if err := os.Remove(p.path + ext); err != nil {
				return err
			}
		}
	}
	return s.reopen()
}

// join writes one pack with the objects of several, each once, and returns its
// path. A pack is copied as it is, since what is in it refers to itself by
// distance; one that repeats an object is taken apart.
func (s *store) join(packs []pack) (path string, err error) {
	dir := filepath.Join(s.dir, "objects", "pack")
	out, err := newPackWriter(dir)
	if err != nil {
		return "", err
	}
	for _, p := range packs {
		entries, err := readIndex(p.path + ".idx")
		if err != nil {
			return "", firstOf(err, out.file.Close())
		}
		if slices.ContainsFunc(entries, func(e *idxfile.Entry) bool { return out.seen[e.Hash] }) {
			err = s.copyObjects(out, entries)
		} else {
			err = out.copyPack(p, entries)
		}
		if err != nil {
			return "", firstOf(fmt.Errorf("%s: %w", filepath.Base(p.path), err), out.file.Close())
		}
	}
	sum, index, err := out.finish()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "pack-"+hex.EncodeToString(sum[:]))
	if err := writeIndex(dir, path+".idx", index); err != nil {
		return "", err
	}
	return path, os.Rename(out.file.Name(), path+".pack")
}

// copyObjects writes those objects of a pack that the new one does not have yet.
func (s *store) copyObjects(out *packWriter, entries []*idxfile.Entry) error {
	for _, e := range entries {
		if out.seen[e.Hash] {
			continue
		}
		obj, err := s.st.EncodedObject(plumbing.AnyObject, e.Hash)
		if err != nil {
			return err
		}
		data, err := s.get(obj.Type(), e.Hash, obj.Size())
		if err != nil {
			return err
		}
		if err := out.object(e.Hash, obj.Type(), data); err != nil {
			return err
		}
	}
	return nil
}

// readIndex lists the entries of a pack.
func readIndex(path string) ([]*idxfile.Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	idx := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(f).Decode(idx); err != nil {
		return nil, firstOf(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	iter, err := idx.EntriesByOffset()
	if err != nil {
		return nil, err
	}
	count, err := idx.Count()
	if err != nil {
		return nil, err
	}
	entries := make([]*idxfile.Entry, 0, count)
	for range count {
		e, err := iter.Next()
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, iter.Close()
}

// writeIndex writes an index beside its place and moves it there.
func writeIndex(dir, path string, index *idxfile.MemoryIndex) error {
	f, err := os.CreateTemp(dir, "tmp_idx_")
	if err != nil {
		return err
	}
	_, err = idxfile.NewEncoder(f).Encode(index)
	if err = firstOf(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

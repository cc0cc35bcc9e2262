package gitsource

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// spoolMemory is how much of a received pack is kept in memory: that of a
// commit or two. What is over goes to a file in the clone.
const spoolMemory = 4 << 20

// spool takes a pack from the network whole before the clone sees any of it: a
// conversation that breaks off, or that is left behind, then touches nothing.
type spool struct {
	dir    string // of the clone
	memory bytes.Buffer
	file   *os.File
}

// fill reads the pack to its end.
func (s *spool) fill(pack io.Reader) error {
	_, err := io.CopyN(&s.memory, pack, spoolMemory)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	s.file, err = os.CreateTemp(filepath.Join(s.dir, "objects", "pack"), "tmp_spool_")
	if err != nil {
		return err
	}
	_, err = io.Copy(s.file, pack)
	return err
}

// reader gives all that was received.
func (s *spool) reader() (io.Reader, error) {
	if s.file == nil {
		return &s.memory, nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.MultiReader(&s.memory, s.file), nil
}

// drop removes the file, if there is one.
func (s *spool) drop() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}

// add puts a received pack into the clone.
func (s *store) add(pack *spool) error {
	r, err := pack.reader()
	if err != nil {
		return err
	}
	return packfile.WritePackfileToObjectStorage(s.st, r)
}

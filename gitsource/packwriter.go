package gitsource

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

const (
	packHead = 12        // "PACK", version 2, number of objects
	packSum  = sha1.Size // at the end
	packMark = "PACK\x00\x00\x00\x02"
)

// packWriter writes one pack and collects its index.
type packWriter struct {
	file    *os.File
	out     *bufio.Writer
	at      int64 // bytes written
	seen    map[plumbing.Hash]bool
	entries []idxfile.Entry
}

func newPackWriter(dir string) (*packWriter, error) {
	f, err := os.CreateTemp(dir, "tmp_pack_")
	if err != nil {
		return nil, err
	}
	w := &packWriter{file: f, out: bufio.NewWriterSize(f, 256<<10), seen: map[plumbing.Hash]bool{}}
	return w, w.write(make([]byte, packHead)) // filled in by finish
}

func (w *packWriter) write(b []byte) error {
	n, err := w.out.Write(b)
	w.at += int64(n)
	return err
}

// copyPack appends all entries of a pack byte by byte.
func (w *packWriter) copyPack(p pack, entries []*idxfile.Entry) error {
	f, err := os.Open(p.path + ".pack")
	if err != nil {
		return err
	}
	head := make([]byte, packHead)
	if _, err := io.ReadFull(f, head); err != nil {
		return firstOf(err, f.Close())
	}
	if !bytes.HasPrefix(head, []byte(packMark)) || int(binary.BigEndian.Uint32(head[8:])) != len(entries) {
		return firstOf(errors.New("the pack and its index differ"), f.Close())
	}
	shift := w.at - packHead
	n, err := io.CopyN(w.out, f, p.size-packHead-packSum)
	w.at += n
	if err = firstOf(err, f.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		w.add(e.Hash, int64(e.Offset)+shift, e.CRC32)
	}
	return nil
}

// object appends one object, whole.
func (w *packWriter) object(id plumbing.Hash, kind plumbing.ObjectType, data []byte) error {
	var b bytes.Buffer
	size, first := uint64(len(data)), byte(kind)<<4
	first |= byte(size & 15)
	for size >>= 4; size > 0; size >>= 7 {
		b.WriteByte(first | 0x80)
		first = byte(size & 0x7f)
	}
	b.WriteByte(first)
	z := zlib.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	w.add(id, w.at, crc32.ChecksumIEEE(b.Bytes()))
	return w.write(b.Bytes())
}

func (w *packWriter) add(id plumbing.Hash, at int64, crc uint32) {
	w.seen[id] = true
	w.entries = append(w.entries, idxfile.Entry{Hash: id, Offset: uint64(at), CRC32: crc})
}

// finish writes head and checksum, and makes the index.
func (w *packWriter) finish() (plumbing.Hash, *idxfile.MemoryIndex, error) {
	sum, err := w.seal()
	if err = firstOf(err, w.file.Close()); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	var index idxfile.Writer
	if err := index.OnHeader(uint32(len(w.entries))); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	for _, e := range w.entries {
		index.Add(e.Hash, e.Offset, e.CRC32)
	}
	if err := index.OnFooter(sum); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	idx, err := index.Index()
	return sum, idx, err
}

func (w *packWriter) seal() (sum plumbing.Hash, err error) {
	if err := w.out.Flush(); err != nil {
		return sum, err
	}
	head := binary.BigEndian.AppendUint32([]byte(packMark), uint32(len(w.entries)))
	if _, err := w.file.WriteAt(head, 0); err != nil {
		return sum, err
	}
	if _, err := w.file.Seek(0, io.SeekStart); err != nil {
		return sum, err
	}
	h := sha1.New()
	if _, err := io.Copy(h, w.file); err != nil {
		return sum, err
	}
	copy(sum[:], h.Sum(nil))
	_, err = w.file.Write(sum[:])
	return sum, err
}

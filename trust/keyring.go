package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/pawl-dev/pawl/spec"
)

const maxKeyring = 4 << 20 // bytes

var (
	armorBegin = []byte("-----BEGIN ")
	armorEnd   = []byte("-----END ")
	publicKeys = []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")
)

// parseKeyring reads all keys of an OpenPGP keyring: armored blocks, any number
// of them and any text between, or the binary form. A key that cannot be read is
// a mistake, not left out: whoever put it there expects it to count.
func parseKeyring(path string, data []byte) (keys []*holder, found []spec.Finding) {
	add := func(line int, format string, args ...any) {
		found = append(found, spec.Finding{Path: path, Line: line, Message: fmt.Sprintf(format, args...)})
	}
	switch {
	case len(data) > maxKeyring:
		add(0, "%d bytes, over the limit of 4 MiB", len(data))
		return nil, found
	case isBinary(data):
		keys, found = readKeys(path, 0, bytes.NewReader(data))
	default:
		for _, b := range armoredBlocks(data) {
			if b.wrong != "" {
				add(b.line, "%s", b.wrong)
				continue
			}
			block, err := armor.Decode(bytes.NewReader(b.text))
			if err != nil {
				add(b.line, "the block of keys cannot be read")
				continue
			}
			more, wrong := readKeys(path, b.line, block.Body)
			keys, found = append(keys, more...), append(found, wrong...)
		}
	}
	if len(keys) == 0 && len(found) == 0 {
		add(0, "there is no OpenPGP key in it, neither armored nor binary")
	}
	return keys, found
}

// isBinary tells the binary form by the bit that each of its packets begins with.
func isBinary(data []byte) bool { return len(data) > 0 && data[0]&0x80 != 0 }

// block is an armored block with the line that it begins at.
type block struct {
	line  int
	text  []byte
	wrong string
}

func armoredBlocks(data []byte) (blocks []block) {
	var open *block
	begin, number, at := 0, 0, 0
	for line := range bytes.Lines(data) {
		number++
		start := at
		at += len(line)
		switch text := bytes.TrimSpace(line); {
		case bytes.HasPrefix(text, armorBegin):
			if open != nil {
				blocks = append(blocks, block{line: open.line, wrong: "the block has no end"})
			}
			begin, open = start, &block{line: number}
			if !bytes.Equal(text, publicKeys) {
				open.wrong = "only blocks of public keys may stand here"
			}
		case bytes.HasPrefix(text, armorEnd) && open != nil:
			open.text = data[begin:at]
			blocks = append(blocks, *open)
			open = nil
		}
	}
	if open != nil {
		blocks = append(blocks, block{line: open.line, wrong: "the block has no end"})
	}
	return blocks
}

// readKeys reads key after key; what cannot be read is told and passed over.
func readKeys(path string, line int, r io.Reader) (keys []*holder, found []spec.Finding) {
	add := func(format string, args ...any) {
		found = append(found, spec.Finding{Path: path, Line: line, Message: fmt.Sprintf(format, args...)})
	}
	defer func() {
		if recover() != nil {
			add("a key cannot be read")
		}
	}()
	packets := packet.NewReader(r)
	for n := 1; ; n++ {
		e, err := openpgp.ReadEntity(packets)
		switch {
		case errors.Is(err, io.EOF):
			return keys, found
		case err == nil && e.PrivateKey != nil:
			add("key %s is a private key: export the public one", fingerprint(e))
		case err == nil:
			if h, wrong := newHolder(e, path); wrong != "" {
				add("%s", wrong)
			} else {
				keys = append(keys, h)
			}
		default:
			add("the key at place %d cannot be read: %v", n, err)
			if !mayGoOn(err) || !nextKey(packets) {
				return keys, found
			}
		}
	}
}

// mayGoOn tells whether behind an error there may be keys that can be read.
func mayGoOn(err error) bool {
	var structural pgperrors.StructuralError
	var unsupported pgperrors.UnsupportedError
	return errors.As(err, &structural) || errors.As(err, &unsupported)
}

// nextKey passes over packets up to the next primary key.
func nextKey(packets *packet.Reader) bool {
	for {
		p, err := packets.Next()
		if err != nil {
			if mayGoOn(err) {
				continue
			}
			return false
		}
		switch k := p.(type) {
		case *packet.PublicKey:
			if !k.IsSubkey {
				packets.Unread(p)
				return true
			}
		case *packet.PrivateKey:
			if !k.IsSubkey {
				packets.Unread(p)
				return true
			}
		}
	}
}

// signingKeys lists the keys of a holder by which it could sign.
func (h *holder) signingKeys() []*signingKey {
	keys := []*signingKey{{holder: h, key: h.entity.PrimaryKey, bound: h.self}}
	for _, s := range h.entity.Subkeys {
		if s.Sig != nil && s.PublicKey.PubKeyAlgo.CanSign() {
			keys = append(keys, &signingKey{h, s.PublicKey, s.Sig, s.Revocations})
		}
	}
	return keys
}

package trust

import "errors"

var errFrame = errors.New("not one plain OpenPGP signature packet")

// checkFrame tells whether body, the binary form of an OpenPGP signature, is
// exactly one signature packet of a known length, with no signature embedded in
// it. The library that reads packets takes over the lengths that they claim, up
// to 4 GiB, and skips what it does not know; a commit gets the chance for neither.
func checkFrame(body []byte) error {
	packet, ok := onePacket(body)
	if !ok || len(packet) < 6 {
		return errFrame
	}
	var width, at int // of the lengths of subpacket areas, and where the first stands
	switch packet[0] {
	case 4:
		width, at = 2, 4
	case 6:
		width, at = 4, 4
	default:
		return errFrame
	}
	for range 2 { // hashed subpackets, then those that are not
		size, ok := bigEndian(packet, at, width)
		if !ok || size > len(packet)-at-width {
			return errFrame
		}
		if !plainSubpackets(packet[at+width : at+width+size]) {
			return errFrame
		}
		at += width + size
	}
	return nil
}

// onePacket gives the content of body's only packet, if that is a signature.
func onePacket(body []byte) ([]byte, bool) {
	const signatureTag = 2
	if len(body) < 2 {
		return nil, false
	}
	tag, width, at := body[0]&0x3f, 0, 1
	if body[0]&0xc0 == 0x80 { // the old form: the tag, then how wide the length is
		tag, width = tag>>2, 1<<(body[0]&3) // 8 = a length that is not told
	} else if body[0]&0xc0 != 0xc0 {
		return nil, false
	}
	var size int
	ok := true
	switch {
	case tag != signatureTag || width == 8:
		return nil, false
	case width > 0:
		size, ok = bigEndian(body, at, width)
		at += width
	default:
		size, at, ok = newLength(body, at, false)
	}
	if !ok || size != len(body)-at {
		return nil, false
	}
	return body[at:], true
}

// newLength reads a length of the new form at b[at:]. Within subpackets lengths
// of two octets reach further, as there are no partial ones.
func newLength(b []byte, at int, subpacket bool) (size, next int, ok bool) {
	if at >= len(b) {
		return 0, 0, false
	}
	first := int(b[at])
	switch {
	case first < 192:
		return first, at + 1, true
	case first == 255:
		size, ok = bigEndian(b, at+1, 4)
		return size, at + 5, ok
	case first < 224 || subpacket:
		if at+1 >= len(b) {
			return 0, 0, false
		}
		return (first-192)<<8 + int(b[at+1]) + 192, at + 2, true
	}
	return 0, 0, false
}

// plainSubpackets walks an area of subpackets and tells whether it is whole and
// has no embedded signature.
func plainSubpackets(area []byte) bool {
	const embedded = 32
	for at := 0; at < len(area); {
		size, next, ok := newLength(area, at, true)
		if !ok || size < 1 || size > len(area)-next || area[next]&0x7f == embedded {
			return false
		}
		at = next + size
	}
	return true
}

// bigEndian reads a number of 1, 2 or 4 octets below 2^31.
func bigEndian(b []byte, at, width int) (int, bool) {
	if at+width > len(b) {
		return 0, false
	}
	n := 0
	for _, c := range b[at : at+width] {
		n = n<<8 | int(c)
	}
	return n, n>>31 == 0
}

package trust

import (
	"bytes"
	"errors"
	"fmt"
)

// Limits, in bytes.
const (
	maxObject    = 1 << 20
	maxSignature = 64 << 10
)

// object is a commit object taken apart, as far as signatures need it.
type object struct {
	payload    []byte // all bytes but the signature headers: what was signed
	signatures []signature
	sha256     bool  // its ids have 64 digits
	committed  int64 // committer's time in seconds; 0 = not usable
}

// signature is one signature header, the continuation's spaces taken out.
type signature struct {
	header string
	text   []byte
}

const (
	headerSHA1   = "gpgsig"
	headerSHA256 = "gpgsig-sha256"
)

// wantHeader is where git puts the signature over an object with such ids. The
// other header signs the object in another repository's form, which nobody here
// has.
func (o object) wantHeader() string {
	if o.sha256 {
		return headerSHA256
	}
	return headerSHA1
}

// split takes a commit object apart. A header reaches over all following lines
// that begin with a space; headers end at the first empty line. Of tree and
// committer the first counts, as elsewhere in Pawl; all of them are signed.
func split(raw []byte) (object, error) {
	if len(raw) > maxObject {
		return object{}, fmt.Errorf("the commit object is %d bytes, over the limit of 1 MiB", len(raw))
	}
	o := object{payload: make([]byte, 0, len(raw))}
	var tree, committer []byte
	inSignature := false
	for rest := raw; len(rest) > 0; {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line = rest[:i+1]
		}
		if line[0] == '\n' {
			o.payload = append(o.payload, rest...)
			break
		}
		rest = rest[len(line):]
		if line[0] == ' ' && inSignature {
			last := &o.signatures[len(o.signatures)-1]
			last.text = append(last.text, line[1:]...)
			continue
		}
		key, value, _ := bytes.Cut(line, []byte(" "))
		switch name := string(bytes.TrimSuffix(key, []byte("\n"))); name {
		case headerSHA1, headerSHA256:
			inSignature = true
			o.signatures = append(o.signatures, signature{name, bytes.Clone(value)})
			continue
		case "tree":
			if tree == nil {
				tree = bytes.TrimSuffix(value, []byte("\n"))
			}
		case "committer":
			if committer == nil {
				committer = value
			}
		}
		inSignature = false
		o.payload = append(o.payload, line...)
	}
	if !isID(tree) {
		return object{}, errors.New("it is no commit object: no tree line with an id")
	}
	o.sha256, o.committed = len(tree) == 64, seconds(committer)
	return o, nil
}

func isID(b []byte) bool {
	return (len(b) == 40 || len(b) == 64) && len(bytes.Trim(b, "0123456789abcdef")) == 0
}

// seconds is the time in "name <mail> seconds zone": 1 to 11 digits, else 0.
func seconds(line []byte) int64 {
	i := bytes.LastIndexByte(line, '>')
	fields := bytes.Fields(line[i+1:])
	if i < 0 || len(fields) == 0 || len(fields[0]) > 11 {
		return 0
	}
	n := int64(0)
	for _, c := range fields[0] {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// kind is a kind of signature, by the opening of its armor.
type kind string

const (
	kindOpenPGP kind = "PGP SIGNATURE"
	kindSSH     kind = "SSH SIGNATURE"
	kindX509    kind = "SIGNED MESSAGE"
	kindOther   kind = ""
)

func kindOf(text []byte) kind {
	for _, k := range []kind{kindOpenPGP, kindSSH, kindX509} {
		if bytes.HasPrefix(text, []byte("-----BEGIN "+k+"-----")) {
			return k
		}
	}
	return kindOther
}

// oneBlock tells whether text is one armored block of kind k and nothing else
// but space around it: readers of armor overlook what stands before and behind.
func oneBlock(text []byte, k kind) bool {
	text = bytes.TrimSpace(text)
	return bytes.HasPrefix(text, []byte("-----BEGIN "+k+"-----")) && bytes.HasSuffix(text, []byte("\n-----END "+k+"-----")) &&
		bytes.Count(text, []byte("-----")) == 4
}

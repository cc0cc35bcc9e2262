// Package gid owns the ids of the platform: the customer id (CID), the local
// ids of a Pavilion and the world-wide GID made of both. It parses, prints and
// refuses them; it never invents one: an empty or half id is an error, with no
// fallback. It does no I/O, so a crash leaves nothing behind.
//
//	CID        X8FD              four of A-Z 0-9
//	Pavilion   NT:1              upper-case letters, ':', lower-case letters or digits
//	local id   NT:1-K0001        Pavilion, '-', K|E|D, four of 0-9 A-Z a-z
//	job        NT:1-orders       Pavilion, '-', DNS label in lower case
//	GID        X8FD-NT:1-K0001   CID, '-', local id or job
//
// Everything is exact, case-sensitive ASCII. Source: CONTRACT section 1.
package gid

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is wrapped by every refusal of this package.
var ErrInvalid = errors.New("invalid id")

// Class says what a local id names.
type Class byte

// The classes of local ids.
const (
	Kollex  Class = 'K'
	Episode Class = 'E'
	Drama   Class = 'D'
	Job     Class = 'j' // a job is named, not numbered
)

// String gives the word for a class, as messages use it.
func (c Class) String() string {
	switch c {
	case Kollex:
		return "Kollex"
	case Episode:
		return "Episode"
	case Drama:
		return "Drama"
	case Job:
		return "job"
	}
	return fmt.Sprintf("class %q", byte(c))
}

// Local is an id within a customer: a Pavilion with one of its parts. The zero
// value is no id and refuses to be printed as one.
type Local struct {
	pavilion string
	class    Class
	tail     string
}

// GID names one resource world-wide. The zero value is no GID; it refuses to marshal.
type GID struct {
	cid   string
	local Local
}

// ParseCID checks a customer id: exactly four of A-Z 0-9.
func ParseCID(s string) (string, error) {
	if len(s) != 4 || !all(s, func(c byte) bool { return upper(c) || digit(c) }) {
		return "", fmt.Errorf("%w: CID %q is not four of A-Z 0-9", ErrInvalid, s)
	}
	return s, nil
}

// ParsePavilion checks a Pavilion id: upper-case letters, ':', lower-case letters or digits.
func ParsePavilion(s string) (string, error) {
	head, tail, ok := strings.Cut(s, ":")
	if !ok || head == "" || tail == "" || len(s) > 63 || !all(head, upper) ||
		!all(tail, func(c byte) bool { return lower(c) || digit(c) }) {
		return "", fmt.Errorf("%w: Pavilion %q is not upper-case letters, ':', lower-case letters or digits (like NT:1)", ErrInvalid, s)
	}
	return s, nil
}

// ParseLocal parses a local id such as NT:1-K0001 or NT:1-orders.
func ParseLocal(s string) (Local, error) {
	pavilion, tail, ok := strings.Cut(s, "-")
	if !ok {
		return Local{}, fmt.Errorf("%w: local id %q is not PAVILION-PART (like NT:1-K0001)", ErrInvalid, s)
	}
	if _, err := ParsePavilion(pavilion); err != nil {
		if _, isCID := ParseCID(pavilion); isCID == nil && strings.Contains(tail, "-") {
			return Local{}, fmt.Errorf("%w: %q is a GID, a local id is wanted: leave out %q", ErrInvalid, s, pavilion+"-")
		}
		return Local{}, fmt.Errorf("local id %q: %w", s, err)
	}
	if class, rest, ok := numbered(tail); ok {
		return Local{pavilion, class, rest}, nil
	}
	if IsLabel(tail) {
		return Local{pavilion, Job, tail}, nil
	}
	return Local{}, fmt.Errorf("%w: local id %q: %q is neither K, E or D with four of 0-9 A-Z a-z, nor a job name", ErrInvalid, s, tail)
}

// numbered splits K0001 into its class and number.
func numbered(tail string) (Class, string, bool) {
	if len(tail) != 5 || !all(tail[1:], func(c byte) bool { return upper(c) || lower(c) || digit(c) }) {
		return 0, "", false
	}
	switch c := Class(tail[0]); c {
	case Kollex, Episode, Drama:
		return c, tail[1:], true
	}
	return 0, "", false
}

// JobID is the local id of a job of a Pavilion.
func JobID(pavilion, job string) (Local, error) { return ParseLocal(pavilion + "-" + job) }

// Parse parses a GID. Parse(s).String() == s for every s that it accepts.
func Parse(s string) (GID, error) {
	cid, local, ok := strings.Cut(s, "-")
	if !ok {
		return GID{}, fmt.Errorf("%w: GID %q is not CID-LOCAL (like X8FD-NT:1-K0001)", ErrInvalid, s)
	}
	if _, err := ParseCID(cid); err != nil {
		return GID{}, fmt.Errorf("GID %q: %w", s, err)
	}
	l, err := ParseLocal(local)
	if err != nil {
		return GID{}, fmt.Errorf("GID %q: %w", s, err)
	}
	return GID{cid, l}, nil
}

// New joins a CID and a local id.
func New(cid string, local Local) (GID, error) {
	if _, err := ParseCID(cid); err != nil {
		return GID{}, err
	}
	if local.IsZero() {
		return GID{}, fmt.Errorf("%w: empty local id", ErrInvalid)
	}
	return GID{cid, local}, nil
}

// IsZero tells whether l is no id at all.
func (l Local) IsZero() bool { return l.pavilion == "" }

// Pavilion gives the Pavilion part, such as NT:1.
func (l Local) Pavilion() string { return l.pavilion }

// Class says what l names.
func (l Local) Class() Class { return l.class }

// String prints l as it is written; the zero value prints as the empty string.
func (l Local) String() string {
	switch {
	case l.IsZero():
		return ""
	case l.class == Job:
		return l.pavilion + "-" + l.tail
	}
	return l.pavilion + "-" + string(l.class) + l.tail
}

// IsZero tells whether g is no id at all.
func (g GID) IsZero() bool { return g.cid == "" }

// CID gives the customer part of g.
func (g GID) CID() string { return g.cid }

// Local gives g without its CID.
func (g GID) Local() Local { return g.local }

// String prints g as it is written; the zero value prints as the empty string.
func (g GID) String() string {
	if g.IsZero() {
		return ""
	}
	return g.cid + "-" + g.local.String()
}

// MarshalText refuses the zero value: no event, key or manifest without an id.
func (g GID) MarshalText() ([]byte, error) {
	if g.IsZero() {
		return nil, fmt.Errorf("%w: empty GID", ErrInvalid)
	}
	return []byte(g.String()), nil
}

// UnmarshalText is Parse.
func (g *GID) UnmarshalText(b []byte) error {
	p, err := Parse(string(b))
	if err == nil {
		*g = p
	}
	return err
}

// IsLabel tells whether s is a DNS label: a-z 0-9 '-', at most 63, neither
// beginning nor ending with '-'. Names of tenants, jobs and subscriptions are.
func IsLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return all(s, func(c byte) bool { return lower(c) || digit(c) || c == '-' })
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }
func lower(c byte) bool { return c >= 'a' && c <= 'z' }
func digit(c byte) bool { return c >= '0' && c <= '9' }

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

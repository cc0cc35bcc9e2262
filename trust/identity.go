package trust

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/pawl-dev/pawl/spec"
)

// holder is an OpenPGP key with its identities, as a keyring gives it.
type holder struct {
	entity *openpgp.Entity
	path   string
	self   *packet.Signature // the self-signature that says how long the primary key lives and what it may do
	ids    []identity        // the preferred first; empty for a version 6 key without any
	forge  bool
}

// identity is a user id of a key, bound to it by a good self-signature.
type identity struct {
	text  string // as it is in the keyring, what is not printable taken out
	mail  string // the address in it; empty = none that is plain
	bound *packet.Signature
	ends  []*packet.Signature // its revocations
}

// newHolder orders what the keyring gives: go-crypto holds identities in a map,
// and which one counts must not depend on its order.
func newHolder(e *openpgp.Entity, path string) (*holder, string) {
	h := &holder{entity: e, path: path, self: e.SelfSignature}
	for text, id := range e.Identities {
		if id == nil || id.SelfSignature == nil {
			continue
		}
		h.ids = append(h.ids, identity{clean(text), mailOf(text), id.SelfSignature, id.Revocations})
	}
	slices.SortFunc(h.ids, func(a, b identity) int {
		return cmp.Or(cmp.Compare(len(a.ends), len(b.ends)), cmp.Compare(primary(b), primary(a)),
			b.bound.CreationTime.Compare(a.bound.CreationTime), cmp.Compare(a.text, b.text))
	})
	if h.self == nil && len(h.ids) > 0 {
		h.self = h.ids[0].bound
	}
	if h.self == nil {
		return nil, "key " + fingerprint(e) + " has no identity that it signed itself"
	}
	return h, ""
}

func primary(id identity) int {
	if p := id.bound.IsPrimaryId; p != nil && *p {
		return 1
	}
	return 0
}

// signer names the holder to whom reads the verdict on a commit of time at: the
// identity with the author's mail, else the preferred one. Identities that were
// revoked do not count; false = none is left.
func (h *holder) signer(at int64, author spec.Person) (string, bool) {
	if len(h.ids) == 0 {
		return fingerprint(h.entity), true
	}
	first := ""
	for _, id := range h.ids {
		if revoked(id.ends, at) || lapsed(id.bound, at) {
			continue
		}
		if spec.SameMail(id.mail, author.Mail) {
			return id.mail, true
		}
		if first == "" {
			first = cmp.Or(id.mail, id.text, fingerprint(h.entity))
		}
	}
	return first, first != ""
}

// called tells whether a forge's name in the configuration means this key: the
// mail, the name or the whole of an identity, or the fingerprint.
func (h *holder) called(name string) bool {
	if strings.EqualFold(strings.ReplaceAll(name, " ", ""), fingerprint(h.entity)) {
		return true
	}
	for _, id := range h.ids {
		label, _, _ := strings.Cut(id.text, "<")
		if spec.SameMail(id.mail, name) || strings.EqualFold(id.text, name) || strings.EqualFold(strings.TrimSpace(label), name) {
			return true
		}
	}
	return false
}

// mailOf is the address in "Name (comment) <address>", or the identity if it is
// nothing but an address. Anything that could be read in two ways has none.
func mailOf(text string) string {
	mail := text
	if before, rest, ok := strings.Cut(text, "<"); ok {
		inner, closed := strings.CutSuffix(rest, ">")
		if !closed || strings.ContainsAny(before+inner, "<>") {
			return ""
		}
		mail = inner
	}
	if strings.Count(mail, "@") != 1 || mail != clean(mail) || strings.ContainsFunc(mail, unicode.IsSpace) || strings.ContainsAny(mail, "<>,;\"") {
		return ""
	}
	return mail
}

// clean takes out of an identity what is not printable, and bounds it.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200])
	}
	return strings.TrimSpace(text)
}

func fingerprint(e *openpgp.Entity) string {
	return strings.ToUpper(hex.EncodeToString(e.PrimaryKey.Fingerprint))
}

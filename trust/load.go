package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/pawl-dev/pawl/spec"
	"golang.org/x/crypto/ssh"
)

// ConfigError is all that is wrong with a Verify and its files.
type ConfigError struct {
	Findings []spec.Finding // sorted, never empty
}

// Error lists the findings, a line each, the first fifty of them.
func (e *ConfigError) Error() string {
	const most = 50
	var lines []string
	for _, f := range e.Findings[:min(most, len(e.Findings))] {
		lines = append(lines, f.String())
	}
	if more := len(e.Findings) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// New reads the files that cfg names through read, once, and makes a Verifier of
// them. Whatever is wrong is told at once, as a *ConfigError: paths with lines
// for what stands in a file, fields for what stands in cfg. A mode that asks for
// signatures without any file to judge by is wrong too: nothing could pass.
//
// An entry of Forges that holds a '/' or ends in .asc, .gpg, .pgp or .pub is a
// file of the forge's keys, an OpenPGP keyring or one in allowed_signers format.
// Any other names the one key of Keyrings and AllowedSigners that is the
// forge's: by a mail, name or identity of it, a principal, or its fingerprint.
func New(cfg spec.Verify, read func(path string) ([]byte, error)) (*Verifier, error) {
	if cfg.Mode == "" {
		cfg.Mode = ModeNone
	}
	l := &loader{read: read}
	for i, p := range cfg.Keyrings {
		l.keyring(p, fmt.Sprintf("verify.keyrings[%d]", i), false)
	}
	if cfg.AllowedSigners != "" {
		l.signers(cfg.AllowedSigners, "verify.allowedSigners", false)
	}
	named := len(cfg.Keyrings) > 0 || cfg.AllowedSigners != ""
	for i, f := range cfg.Forges {
		field := fmt.Sprintf("verify.forges[%d]", i)
		if isPath(f) {
			named = true
			l.forgeFile(f, field)
		} else {
			l.forgeName(f, field)
		}
	}
	switch {
	case cfg.Mode != ModeNone && cfg.Mode != ModeSigned && cfg.Mode != ModeAuthor:
		l.wrong("verify.mode", "%q is none of none, signed and author", cfg.Mode)
	case cfg.Mode != ModeNone && !named:
		l.wrong("verify.mode", "%s, but no keys are given, so no commit could pass: set keyrings, allowedSigners or forges", cfg.Mode)
	}
	if len(l.found) > 0 {
		return nil, &ConfigError{spec.SortFindings(l.found)}
	}
	return l.verifier(cfg), nil
}

// loader gathers keys and mistakes.
type loader struct {
	read    func(path string) ([]byte, error)
	holders []*holder
	lines   []*signerLine
	found   []spec.Finding
}

func (l *loader) wrong(field, format string, args ...any) {
	l.found = append(l.found, spec.Finding{Field: field, Message: fmt.Sprintf(format, args...)})
}

// file reads a file; what is wrong with it is told.
func (l *loader) file(name, field string) ([]byte, bool) {
	data, err := l.read(name)
	if err == nil {
		return data, true
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err // the finding names the path
	}
	l.found = append(l.found, spec.Finding{Path: name, Field: field, Message: err.Error()})
	return nil, false
}

func (l *loader) keyring(name, field string, forge bool) {
	if data, ok := l.file(name, field); ok {
		l.addKeyring(name, data, forge)
	}
}

func (l *loader) addKeyring(name string, data []byte, forge bool) {
	holders, found := parseKeyring(name, data)
	for _, h := range holders {
		h.forge = forge
	}
	l.holders, l.found = append(l.holders, holders...), append(l.found, found...)
}

func (l *loader) signers(name, field string, forge bool) {
	if data, ok := l.file(name, field); ok {
		l.addSigners(name, data, forge)
	}
}

func (l *loader) addSigners(name string, data []byte, forge bool) {
	lines, found := parseSigners(name, data)
	for _, s := range lines {
		s.forge = forge
	}
	l.lines, l.found = append(l.lines, lines...), append(l.found, found...)
}

// isPath tells an entry of Forges that is a file from one that is a name.
func isPath(s string) bool {
	switch path.Ext(s) {
	case ".asc", ".gpg", ".pgp", ".pub":
		return true
	}
	return strings.Contains(s, "/") && !strings.HasPrefix(s, "SHA256:") // of a fingerprint '/' is a digit
}

// forgeFile reads a file of forge keys, of the one form or the other.
func (l *loader) forgeFile(name, field string) {
	data, ok := l.file(name, field)
	switch {
	case !ok:
	case isBinary(data) || len(armoredBlocks(data)) > 0:
		l.addKeyring(name, data, true)
	default:
		l.addSigners(name, data, true)
	}
}

// forgeName marks the one key that has a name as a forge's. A name that two keys
// bear is a mistake: whoever may put a key into a keyring chooses its identities,
// and must not become a forge by that.
func (l *loader) forgeName(name, field string) {
	keys := map[string]bool{}
	for _, h := range l.holders {
		if h.called(name) {
			keys[fingerprint(h.entity)] = true
		}
	}
	for _, s := range l.lines {
		if s.called(name) {
			keys[string(s.key.Marshal())] = true
		}
	}
	switch len(keys) {
	case 0:
		l.wrong(field, "no key of keyrings or allowedSigners is called %s: give a mail, a principal, a fingerprint or the path of a file with the forge's keys", quoted(name))
		return
	case 1:
	default:
		l.wrong(field, "%d keys are called %s: give the fingerprint of the forge's, or the path of a file with its keys", len(keys), quoted(name))
		return
	}
	for _, h := range l.holders {
		h.forge = h.forge || keys[fingerprint(h.entity)]
	}
	for _, s := range l.lines {
		s.forge = s.forge || keys[string(s.key.Marshal())]
	}
}

// called tells whether a forge's name in the configuration means the key of l.
func (l *signerLine) called(name string) bool {
	if ssh.FingerprintSHA256(l.key) == name {
		return true
	}
	for _, p := range l.principals {
		if p == name || spec.SameMail(p, name) {
			return true
		}
	}
	return false
}

// verifier orders the keys by what a signature names them with.
func (l *loader) verifier(cfg spec.Verify) *Verifier {
	v := &Verifier{cfg: cfg, ssh: map[string][]*signerLine{}, pgp: map[uint64][]*signingKey{}}
	for _, s := range l.lines {
		wire := string(s.key.Marshal())
		v.ssh[wire] = append(v.ssh[wire], s)
	}
	for _, h := range l.holders {
		for _, k := range h.signingKeys() {
			v.pgp[k.key.KeyId] = append(v.pgp[k.key.KeyId], k)
		}
	}
	return v
}

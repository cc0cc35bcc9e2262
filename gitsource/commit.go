package gitsource

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/pawl-dev/pawl/spec"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
)

// maxMessage is how much of a message is looked at for notes, in bytes.
const maxMessage = 64 << 10

// Commit reads one commit. Broken author, committer or encoding lines never
// fail it: what cannot be read is left empty, or U+FFFD. A commit object over
// 1 MiB is ErrTooLarge; one without a tree is ErrMalformed. Parent is empty at
// the root and where a shallow source ends.
func (r *Repo) Commit(ctx context.Context, id string) (spec.Commit, error) {
	hash, err := parseID(id)
	if err != nil {
		return spec.Commit{}, err
	}
	raw, err := r.header(ctx, hash, false)
	if err != nil {
		return spec.Commit{}, err
	}
	decode := decoder(raw.encoding)
	message := decode(raw.message[:min(maxMessage, len(raw.message))])
	c := spec.Commit{
		ID:        id,
		Tree:      raw.tree.String(),
		Merge:     len(raw.parents) > 1,
		Author:    parsePerson(raw.author, decode),
		Committer: parsePerson(raw.committer, decode),
		Subject:   subject(message),
		Notes:     notes(message),
	}
	if len(raw.parents) > 0 {
		c.Parent = raw.parents[0].String()
	}
	return c, nil
}

// rawCommit is a commit object taken apart, nothing decoded.
type rawCommit struct {
	tree              plumbing.Hash
	parents           []plumbing.Hash
	author, committer []byte // "name <mail> seconds zone", or anything else
	encoding          string
	message           []byte
}

// parseCommit reads the headers that matter, the first of each kind, and skips
// all others with their continuation lines.
func parseCommit(raw []byte) (rawCommit, error) {
	var c rawCommit
	head, message, _ := bytes.Cut(raw, []byte("\n\n"))
	c.message = message
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		key, value, _ := bytes.Cut(line, []byte(" ")) // a continuation line has an empty key
		switch string(key) {
		case "tree", "parent":
			id := string(value)
			if len(id) != 40 || !plumbing.IsHash(id) {
				return rawCommit{}, fmt.Errorf("%w: broken %s line", ErrMalformed, key)
			}
			if string(key) == "parent" {
				c.parents = append(c.parents, plumbing.NewHash(id))
			} else if c.tree.IsZero() {
				c.tree = plumbing.NewHash(id)
			}
		case "author":
			if c.author == nil {
				c.author = value
			}
		case "committer":
			if c.committer == nil {
				c.committer = value
			}
		case "encoding":
			if c.encoding == "" {
				c.encoding = string(value)
			}
		}
	}
	if c.tree.IsZero() {
		return rawCommit{}, fmt.Errorf("%w: no tree line", ErrMalformed)
	}
	return c, nil
}

// decoder turns the bytes of a commit into valid UTF-8 by its encoding header.
// Without a usable one they are UTF-8, what is not becomes U+FFFD.
func decoder(header string) func([]byte) string {
	plain := func(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
	enc := lookupEncoding(strings.TrimSpace(header))
	if enc == nil {
		return plain
	}
	return func(b []byte) string {
		out, err := enc.NewDecoder().Bytes(b)
		if err != nil {
			return plain(b)
		}
		return plain(out)
	}
}

// lookupEncoding knows the names of IANA, and what the web also calls them; nil
// for UTF-8 and for what nobody knows.
func lookupEncoding(name string) encoding.Encoding {
	if name == "" || strings.EqualFold(name, "utf-8") || strings.EqualFold(name, "utf8") {
		return nil
	}
	if enc, err := ianaindex.IANA.Encoding(name); err == nil && enc != nil {
		return enc
	}
	if enc, err := htmlindex.Get(name); err == nil {
		return enc
	}
	return nil
}

package gitsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/pawl-dev/pawl/spec"
)

// Limits of one commit that we make.
const (
	maxWrites   = 1000    // files
	maxWritten  = 8 << 20 // bytes of a file
	maxAnnotate = 64 << 10
)

// ErrUnchanged says that a commit was asked for that would change nothing.
var ErrUnchanged = errors.New("the files are so already")

// FileWrite is one file of a commit to make.
type FileWrite struct {
	Path string // from the repository's root, below Config.Path
	Data []byte // its whole content; nil removes it
}

// WriteRequest is a commit to make.
type WriteRequest struct {
	Base      string // the commit that it was decided on, which becomes its parent
	Files     []FileWrite
	Author    spec.Person // When 0 is now; the zone is UTC
	Committer spec.Person
	Message   string
}

// Write makes a commit on Base and pushes it to the branch, never forced: the
// server takes it only if the branch still is at Base. All else of the tree, and
// the mode of a file that is replaced, stay as they are; folders come and go
// with their files. The source is written to by nothing else.
//
// *MovedError: the branch is elsewhere by now; fetch, decide anew, try again.
// *PushRefused: the server does not let us. ErrUnchanged: nothing to do.
// Otherwise it returns as Fetch does, at Config.Timeout at the latest for each
// conversation. An answer that was lost is asked for again, so that an error
// means that the branch does not have the commit, unless its text says that
// this is not known. A commit that is returned together with an error is on the
// server, and only the clone does not know yet: the next Fetch tells it.
//
// A crash leaves the commit on the server or not there, and in the clone at most
// objects that nothing refers to.
func (r *Repo) Write(ctx context.Context, req WriteRequest) (commit string, err error) {
	switch {
	case r.closed:
		return "", ErrClosed
	case r.stuck != nil:
		return "", r.failure(ctx, "push", fmt.Errorf("%w; Fetch first", ErrBusy))
	}
	base, err := parseID(req.Base)
	if err != nil {
		return "", fmt.Errorf("base: %w", err)
	}
	made, err := r.make(ctx, base, req)
	if err != nil {
		return "", fmt.Errorf("make a commit on %s: %w", spec.Short(req.Base), err)
	}
	if err := r.push(ctx, base, made); err != nil {
		return "", err
	}
	if err := r.point(made.commit); err != nil {
		return made.commit.String(), fmt.Errorf("commit %s is pushed; take it over into the clone: %w", spec.Short(made.commit.String()), err)
	}
	return made.commit.String(), nil
}

// making are the objects of a commit that is being made, in the order of their making.
type making struct {
	repo    *Repo
	ctx     context.Context
	objects []plumbing.Hash
	commit  plumbing.Hash
}

// make stores the objects of a commit in the clone, where nothing refers to them yet.
func (r *Repo) make(ctx context.Context, base plumbing.Hash, req WriteRequest) (*making, error) {
	root, err := r.treeOf(ctx, base.String())
	if err != nil {
		return nil, err
	}
	plan, err := r.planned(req.Files)
	if err != nil {
		return nil, err
	}
	m := &making{repo: r, ctx: ctx}
	tree, err := m.folder(root, plan)
	if err != nil {
		return nil, err
	}
	if tree.IsZero() { // the last file is gone
		if tree, err = m.put(plumbing.TreeObject, nil); err != nil {
			return nil, err
		}
	}
	if tree == root {
		return nil, ErrUnchanged
	}
	text, err := commitText(tree, base, req)
	if err != nil {
		return nil, err
	}
	m.commit, err = m.put(plumbing.CommitObject, text)
	return m, err
}

// put stores one object.
func (m *making) put(kind plumbing.ObjectType, data []byte) (plumbing.Hash, error) {
	obj := &plumbing.MemoryObject{}
	obj.SetType(kind)
	if _, err := obj.Write(data); err != nil {
		return plumbing.ZeroHash, err
	}
	id, err := m.repo.store.st.SetEncodedObject(obj)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("store a %s: %w", kind, err)
	}
	m.objects = append(m.objects, id)
	return id, nil
}

// commitText is a commit object. What git or a reader of it would take amiss is refused.
func commitText(tree, parent plumbing.Hash, req WriteRequest) ([]byte, error) {
	author, err := ident(req.Author)
	if err != nil {
		return nil, fmt.Errorf("author: %w", err)
	}
	committer, err := ident(req.Committer)
	if err != nil {
		return nil, fmt.Errorf("committer: %w", err)
	}
	message := strings.TrimSpace(req.Message)
	switch {
	case message == "":
		return nil, errors.New("the message is empty")
	case len(message) > maxAnnotate:
		return nil, &TooLargeError{What: "the message", Size: int64(len(message)), Limit: maxAnnotate}
	case !utf8.ValidString(message) || strings.ContainsRune(message, 0):
		return nil, errors.New("the message is no text in UTF-8")
	}
	return fmt.Appendf(nil, "tree %s\nparent %s\nauthor %s\ncommitter %s\n\n%s\n", tree, parent, author, committer, message), nil
}

// ident is "name <mail> seconds zone".
func ident(p spec.Person) (string, error) {
	switch {
	case p.Name == "" || p.Mail == "":
		return "", fmt.Errorf("%q: a name and a mail address are needed, as in Name <mail>", p)
	case p.Name != clean(p.Name) || p.Mail != clean(p.Mail) || strings.ContainsAny(p.Mail, " "):
		return "", fmt.Errorf("%q: a control character, an angle bracket, space at an end, or over %d characters", p, maxName)
	case p.When < 0:
		return "", fmt.Errorf("%q: a time before 1970", p)
	}
	if p.When == 0 {
		p.When = time.Now().Unix()
	}
	return fmt.Sprintf("%s <%s> %d +0000", p.Name, p.Mail, p.When), nil
}

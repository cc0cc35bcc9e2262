package gitsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/pawl-dev/pawl/spec"
)

// maxSaid is how much of what a server says to a push is kept, in bytes.
const maxSaid = 4 << 10

// MovedError says that the branch is not where a commit was decided on.
type MovedError struct {
	Branch string
	Base   string // where it was
	Tip    string // where the server has it now
}

// Error names the branch and both commits.
func (e *MovedError) Error() string {
	if e.Tip == e.Base {
		return fmt.Sprintf("branch %q: somebody else pushes at this moment", e.Branch)
	}
	return fmt.Sprintf("branch %q moved from %s to %s meanwhile", e.Branch, spec.Short(e.Base), spec.Short(e.Tip))
}

// PushRefused says that the server does not take a commit from us: no right to
// push, a hook, a protected branch.
type PushRefused struct {
	URL    string // redacted
	Branch string
	Reason string // in the server's words: one line, without secrets
}

// Error names the source, the branch and the reason.
func (e *PushRefused) Error() string {
	return fmt.Sprintf("push to branch %q of %s was refused: %s", e.Branch, e.URL, e.Reason)
}

// push sends the objects and asks for the branch to go from base to the commit.
func (r *Repo) push(ctx context.Context, base plumbing.Hash, m *making) error {
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, r.store.st, false).Encode(m.objects, 0); err != nil {
		return fmt.Errorf("pack commit %s: %w", spec.Short(m.commit.String()), err)
	}
	limited, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	d := &delivery{branch: plumbing.NewBranchReferenceName(r.cfg.Branch), from: base, to: m.commit}
	err := r.guard(limited, func() error { return d.send(limited, r.remote, &pack) })
	switch {
	case err == nil:
		return nil
	case r.stuck != nil: // d and pack belong to what was left behind
		return r.unknown(limited, err)
	case errors.Is(err, errMoved):
		return r.moved(base, d.tip)
	case (d.refused && !d.raced()) || refusal(err):
		if errors.Is(err, transport.ErrAuthenticationRequired) {
			r.remote.app.forget()
		}
		err = &PushRefused{URL: r.remote.name, Branch: r.cfg.Branch, Reason: r.reason(err, d)}
	default:
		err = r.refused(r.failure(limited, "push", err))
	}
	if !d.sent {
		return err
	}
	return r.readBack(ctx, d, err)
}

// readBack asks the server where the branch is, after a push of which it is not
// known that it went well; err is what is to be said if it is where it was.
func (r *Repo) readBack(ctx context.Context, d *delivery, err error) error {
	limited, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	var refused *PushRefused
	answered := errors.As(err, &refused) || d.refused
	tip, again := r.whereabouts(limited)
	switch {
	case again != nil && !answered:
		return r.unknown(limited, err)
	case again == nil && tip == d.to:
		return nil
	case again == nil && tip != d.from:
		return r.moved(d.from, tip)
	case answered && refused == nil: // somebody else's push is under way
		return r.moved(d.from, d.from)
	}
	return err
}

func (r *Repo) moved(base, tip plumbing.Hash) error {
	return &MovedError{Branch: r.cfg.Branch, Base: base.String(), Tip: tip.String()}
}

// unknown is a failure after which nobody knows whether the server has the commit.
func (r *Repo) unknown(ctx context.Context, err error) error {
	return fmt.Errorf("%w (the answer is lost: the next fetch tells whether the server has the commit)", r.failure(ctx, "push", err))
}

// whereabouts asks where the server has the branch.
func (r *Repo) whereabouts(ctx context.Context) (plumbing.Hash, error) {
	var talk conversation
	if err := r.guard(ctx, func() error { return talk.open(ctx, r.remote) }); err != nil {
		return plumbing.ZeroHash, err
	}
	tip, err := r.wanted(talk.refs)
	return tip, firstOf(err, r.guard(ctx, talk.close))
}

// delivery is one conversation that pushes.
type delivery struct {
	branch   plumbing.ReferenceName
	from, to plumbing.Hash

	tip     plumbing.Hash // where the server has the branch; zero: it did not say
	sent    bool          // the request may have reached the server
	refused bool          // the server answered, and the answer is no
	status  string        // in which words
	said    said          // and what it wrote beside it
	hide    []string      // what must not be repeated of that
}

var (
	errMoved  = errors.New("the branch moved") // so nothing was sent
	errSilent = errors.New("the server did not say what became of it")
)

// send is the conversation, from its beginning to the server's verdict.
func (d *delivery) send(ctx context.Context, to *remote, pack *bytes.Buffer) error {
	way, err := to.link(ctx)
	if err != nil {
		return err
	}
	d.hide = way.hide
	session, err := way.receive()
	if err != nil {
		return err
	}
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return firstOf(err, session.Close())
	}
	var there bool
	if d.tip, there = refs.References[d.branch.String()]; d.tip != d.from {
		err = errMoved
		if !there {
			err = fmt.Errorf("%w any more: %q", ErrNoBranch, d.branch.Short())
		}
		return firstOf(err, session.Close())
	}
	req := packp.NewReferenceUpdateRequestFromCapabilities(refs.Capabilities)
	if refs.Capabilities.Supports(capability.Sideband64k) { // without it a hook's words are lost
		if err := req.Capabilities.Set(capability.Sideband64k); err != nil {
			return firstOf(err, session.Close())
		}
	}
	req.Commands = []*packp.Command{{Name: d.branch, Old: d.from, New: d.to}}
	req.Packfile, req.Progress = io.NopCloser(pack), &d.said
	d.sent = true
	report, err := session.ReceivePack(ctx, req)
	if report != nil {
		d.judge(report)
	}
	// a session that the server has ended may well fail to close, which says nothing more
	closed := session.Close()
	if err == nil && report == nil {
		err = firstOf(closed, errSilent)
	}
	return err
}

// judge reads the server's verdict.
func (d *delivery) judge(report *packp.ReportStatus) {
	if report.Error() == nil {
		return
	}
	d.refused, d.status = true, report.UnpackStatus
	for _, c := range report.CommandStatuses {
		if c.Error() != nil {
			d.status = c.Status
		}
	}
}

// raced tells whether a refusal is that of two pushes at the same time.
func (d *delivery) raced() bool {
	text := d.status + "\n" + d.said.String()
	for _, sign := range []string{"but expected", "File exists", "incorrect old value", "reference already exists", "fetch first", "non-fast-forward"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// refusal tells whether a server that speaks to us does not let us push.
func refusal(err error) bool {
	var line *pktline.ErrorLine
	return errors.Is(err, transport.ErrAuthenticationRequired) || errors.Is(err, transport.ErrAuthorizationFailed) ||
		errors.Is(err, transport.ErrRepositoryNotFound) || errors.As(err, &line) ||
		strings.HasPrefix(err.Error(), "unknown error: ") // the words of a server that ended before it began
}

// reason is what the server said, for people: first its own words.
func (r *Repo) reason(err error, d *delivery) string {
	text := err.Error()
	switch {
	case errors.Is(err, transport.ErrAuthenticationRequired):
		text = "it asks for credentials, or for others than these"
	case errors.Is(err, transport.ErrAuthorizationFailed):
		text = "no right to push"
	}
	if words := strings.Join(strings.Fields(d.said.String()), " "); words != "" {
		text += " (" + words + ")"
	}
	for _, secret := range d.hide {
		text = strings.ReplaceAll(text, secret, "")
	}
	return r.remote.scrub(text)
}

// said keeps the beginning of what a server writes beside its answer.
type said struct{ bytes.Buffer }

func (s *said) Write(b []byte) (int, error) {
	if room := maxSaid - s.Len(); room > 0 {
		if _, err := s.Buffer.Write(b[:min(room, len(b))]); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

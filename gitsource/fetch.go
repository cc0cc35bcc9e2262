package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/pawl-dev/pawl/spec"
)

// relaxAfter is the number of fetches without change after which caches are emptied.
const relaxAfter = 3

// Fetch asks the server where the branch is, takes over what is new, and returns
// the branch's commit id on the server. A poll without change is one short
// conversation. It returns at Config.Timeout at the latest; if the network code
// does not, further fetches are ErrBusy until it has.
//
// ErrEmpty, ErrNoBranch, ErrAuth, ErrNoRepository, ErrWait and every other failure
// leave what was fetched before as it is; RetryAfter says when to come again. A clone that proved to be damaged is set
// aside and cloned anew, at most once in ten minutes.
func (r *Repo) Fetch(ctx context.Context) (tip string, err error) {
	tip, err = r.fetchOnce(ctx)
	return tip, r.settle(err)
}

func (r *Repo) fetchOnce(ctx context.Context) (tip string, err error) {
	if r.closed {
		return "", ErrClosed
	}
	if r.stuck != nil {
		select {
		case <-r.stuck:
			r.stuck = nil
			if err := r.sweep(); err != nil {
				return "", r.failure(ctx, "fetch", err)
			}
		default:
			return "", r.failure(ctx, "fetch", fmt.Errorf("%w; it is given up when the server closes the connection", ErrBusy))
		}
	}
	if r.damaged {
		if err := r.heal(); err != nil {
			return "", err
		}
	}
	id, err := r.fetch(ctx)
	if errors.Is(err, ErrDamaged) && time.Since(r.healed) > healPause {
		if err := r.heal(); err != nil {
			return "", err
		}
		id, err = r.fetch(ctx)
	}
	if err != nil {
		return "", r.failure(ctx, "fetch", err)
	}
	return id.String(), nil
}

// heal sets a damaged clone aside unless that was tried just now.
func (r *Repo) heal() error {
	if time.Since(r.healed) <= healPause {
		r.damaged = false // judged again when next read
		return nil
	}
	r.healed = time.Now()
	return r.Reset()
}

// fetch is one conversation with the server.
func (r *Repo) fetch(ctx context.Context) (plumbing.Hash, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	var talk conversation
	if err := r.guard(ctx, func() error { return talk.open(ctx, r.remote) }); err != nil {
		return plumbing.ZeroHash, r.refused(r.failure(ctx, "fetch", err))
	}
	want, err := r.wanted(talk.refs)
	switch {
	case err != nil:
		err = firstOf(err, r.guard(ctx, talk.close))
	case r.store != nil && sameSet(r.ends, talk.refs.Shallows) && want == r.tip:
		err = firstOf(r.guard(ctx, talk.close), r.rest())
	default:
		r.idle = 0
		err = r.take(ctx, &talk, want)
	}
	if err != nil {
		return plumbing.ZeroHash, r.refused(r.failure(ctx, "fetch", err))
	}
	return want, nil
}

// refused looks at a failure that the server told: it may have asked to be left
// alone, and a token that it does not take is not offered again.
func (r *Repo) refused(err error) error {
	if r.stuck == nil && errors.Is(err, ErrAuth) {
		r.remote.app.forget()
	}
	if p, ok := r.remote.limits.held(r.remote.key); ok && !errors.Is(err, ErrWait) {
		return &WaitError{Source: r.remote.name, Reason: p.reason, Until: p.until}
	}
	return err
}

// rest uses a quiet moment to tidy up.
func (r *Repo) rest() error {
	if r.idle++; r.idle == relaxAfter {
		r.store.relax()
	}
	if r.idle > 1 {
		return nil
	}
	return r.store.consolidate(maxPacks)
}

// sweep removes what a conversation that was left behind has written meanwhile.
func (r *Repo) sweep() error {
	if err := removeStaging(r.cfg.Dir); err != nil || r.store == nil {
		return err
	}
	return tidy(r.cfg.Dir)
}

// wanted is the id that the server has for our branch.
func (r *Repo) wanted(refs *packp.AdvRefs) (plumbing.Hash, error) {
	id, ok := refs.References[plumbing.NewBranchReferenceName(r.cfg.Branch).String()]
	if ok {
		return id, nil
	}
	fallback := "it names no default branch"
	for _, sym := range refs.Capabilities.Get(capability.SymRef) {
		if name, ok := strings.CutPrefix(sym, "HEAD:refs/heads/"); ok {
			fallback = fmt.Sprintf("its default branch is %q", cut(name, 200))
		}
	}
	return plumbing.ZeroHash, fmt.Errorf("%w: %q is missing, %s", ErrNoBranch, r.cfg.Branch, fallback)
}

// take brings the clone to want. The conversation is closed in any case.
func (r *Repo) take(ctx context.Context, talk *conversation, want plumbing.Hash) error {
	if err := r.over.again(want); err != nil {
		return firstOf(err, r.guard(ctx, talk.close))
	}
	fresh, err := r.needsNew(talk.refs.Shallows)
	if err != nil {
		return firstOf(err, r.guard(ctx, talk.close))
	}
	if fresh {
		return r.cloneNew(ctx, talk, want)
	}
	if r.store.has(want) { // the branch went back, or another had it
		if err := r.guard(ctx, talk.close); err != nil {
			return err
		}
		return r.point(want)
	}
	haves, err := r.haves(ctx)
	if err != nil {
		return firstOf(err, r.guard(ctx, talk.close))
	}
	count, err := r.counter()
	if err != nil {
		return firstOf(err, r.guard(ctx, talk.close))
	}
	pack := spool{dir: r.cfg.Dir}
	fill := func(in io.Reader) error { return pack.fill(count.of(in)) }
	if err := r.guard(ctx, func() error { return talk.receive(ctx, want, haves, fill) }); err != nil {
		if r.stuck != nil {
			return err // somebody may yet write to the spool: sweep removes it
		}
		return firstOf(r.judge(want, count, err), pack.drop())
	}
	err = r.store.add(&pack)
	if err = firstOf(err, pack.drop()); err != nil {
		return errors.Join(fmt.Errorf("store the pack: %w", err), tidy(r.cfg.Dir))
	}
	if err := r.point(want); err != nil {
		return err
	}
	return r.store.consolidate(2 * maxPacks)
}

// needsNew tells whether the clone cannot be added to: there is none, it wastes
// space, or the source became shallow, deeper or whole, which needs objects that
// its tips do not tell.
func (r *Repo) needsNew(shallows []plumbing.Hash) (bool, error) {
	if r.store == nil || !sameSet(r.ends, shallows) {
		return true, nil
	}
	return r.store.bloated(r.cfg.MaxBytes)
}

// cloneNew makes a clone beside its place and moves it there when it is whole;
// one that was there before is set aside.
func (r *Repo) cloneNew(ctx context.Context, talk *conversation, want plumbing.Hash) error {
	dir, err := os.MkdirTemp(filepath.Dir(r.cfg.Dir), filepath.Base(r.cfg.Dir)+stagingMark)
	if err == nil {
		err = r.initClone(dir)
	}
	if err != nil {
		return firstOf(err, r.guard(ctx, talk.close))
	}
	count := &counter{limit: r.cfg.MaxBytes}
	if err := r.guard(ctx, func() error { return talk.cloneInto(ctx, dir, want, count) }); err != nil {
		if r.stuck != nil {
			return err // somebody may yet write to the folder: sweep removes it
		}
		return errors.Join(r.judge(want, count, err), os.RemoveAll(dir))
	}
	if err := r.Reset(); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.Rename(dir, r.cfg.Dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if r.store, err = openStore(r.cfg.Dir); err != nil {
		return err
	}
	r.ends = setOf(talk.refs.Shallows)
	return r.point(want)
}

// point moves the clone's ref to a commit that is there, and reads it back.
func (r *Repo) point(to plumbing.Hash) error {
	if _, err := r.store.get(plumbing.CommitObject, to, maxCommit); err != nil {
		if errors.Is(err, errKind) {
			err = fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return fmt.Errorf("the branch's commit %s: %w", spec.Short(to.String()), err)
	}
	if err := r.store.st.SetReference(plumbing.NewHashReference(r.refName(), to)); err != nil {
		return fmt.Errorf("store the branch: %w", err)
	}
	ref, err := r.store.st.Reference(r.refName())
	if err != nil {
		return fmt.Errorf("read the branch back: %w", err)
	}
	if ref.Hash() != to {
		return fmt.Errorf("the clone has the branch at %s, the server at %s", spec.Short(ref.Hash().String()), spec.Short(to.String()))
	}
	r.tip = to
	return nil
}

// haves tells the server where we are: the tips that we know and, in case the
// branch was rewritten, ever fewer of their first parents.
func (r *Repo) haves(ctx context.Context) ([]plumbing.Hash, error) {
	const dense, deep, tips = 16, 1024, 8
	refs, err := r.store.refs()
	if err != nil {
		return nil, err
	}
	var ids []plumbing.Hash
	for _, ref := range refs[:min(tips, len(refs))] {
		n := 0
		if _, err := r.firstParents(ctx, ref.Hash(), func(id plumbing.Hash) bool {
			if n < dense || n&(n-1) == 0 {
				ids = append(ids, id)
			}
			n++
			return n > deep
		}); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func sameSet(set map[plumbing.Hash]bool, ids []plumbing.Hash) bool {
	for _, id := range ids {
		if !set[id] {
			return false
		}
	}
	return len(set) == len(setOf(ids))
}

package syncer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// story makes the commits that most rules are about: a submit, an upgrade, a
// refused commit, its repair, a revert, a removal, a return.
func story(b *bed) {
	r := b.repo
	r.Write("a.yaml", job("a", 1)).Write("b.yaml", job("b", 1)).Write("c.yaml", job("c", 1))
	r.Commit(ada, "first")
	r.Write("a.yaml", job("a", 2))
	r.Commit(grace, "a 2")
	r.Write("b.yaml", "broken: [\n").Write("a.yaml", job("a", 3))
	r.Commit(alan, "broken")
	r.Write("b.yaml", job("b", 2))
	r.Commit(ada, "mended")
	r.Write("a.yaml", job("a", 2))
	r.Commit(grace, "back to 2")
	r.Remove("c.yaml")
	r.Commit(alan, "no c")
	r.Write("c.yaml", job("c", 1))
	r.Commit(ada, "c again")
}

var storyTold = []string{
	"acme a v1 SUBMIT by " + ada, "acme b v1 SUBMIT by " + ada, "acme c v1 SUBMIT by " + ada,
	"acme a v2 UPGRADE by " + grace,
	"acme a v3 UPGRADE by " + alan, "acme b v2 UPGRADE by " + ada,
	"acme a v4 ROLLBACK restores v2 by " + grace,
	"acme c v1 STOP removed by " + alan,
	"acme c v2 ROLLBACK restores v1 by " + ada,
}

func told(lines []string) (out []string) {
	for _, l := range lines {
		who, _, _ := strings.Cut(l, " in ")
		out = append(out, who)
	}
	return out
}

func TestAPassTellsEveryVersionOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	story(b)
	cur, lines := b.pass()
	require.Equal(t, storyTold, told(lines))
	require.Equal(t, spec.Synced, cur.State)
	require.Equal(t, b.repo.Tip(), cur.Applied)
	require.Equal(t, int64(3), cur.Specs)
	again, lines := b.pass()
	require.Empty(t, lines)
	require.Equal(t, cur, again)
}

// Every call that a pass makes, failed once before it is made and once after,
// with a restart in between: the ledger is the same as without the fault.
func TestAFaultAtAnyCallLeavesTheSameLedger(t *testing.T) {
	t.Parallel()
	whole := newBed(t)
	story(whole)
	whole.pass()
	want := whole.dump()
	for _, mode := range []string{"folded", "commit by commit"} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, answer lost %v", mode, after), func(t *testing.T) {
				t.Parallel()
				failed := map[string]int{}
				b := newBed(t)
				story(b)
				ids := strings.Fields(b.repo.Git("rev-list", "--reverse", "main"))
				for n := 1; ; n++ {
					b.redis.FlushAll()
					f := &faults{left: n, after: after}
					if mode != "folded" { // the first commit is a first sync, the others are walked
						b.repo.Git("reset", "-q", "--hard", ids[0])
						b.pass()
						b.repo.Git("reset", "-q", "--hard", ids[len(ids)-1])
					}
					_, err := b.tenant(func(d *syncer.Deps) {
						d.Source, d.Store = badSource{d.Source, f}, badStore{d.Store, f}
					}).Pass(t.Context())
					if f.name == "" {
						require.NoError(t, err)
						require.Greater(t, n, 10, "the faults did not bite: %v", failed)
						require.Contains(t, failed, "apply")
						break
					}
					failed[f.name]++
					require.ErrorIs(t, err, errInjected, f.name)
					cur, _ := b.pass()
					require.Equal(t, spec.Synced, cur.State, "after a fault at %s", f.name)
					require.Equal(t, want, b.dump(), "after fault %d, at %s", n, f.name)
				}
			})
		}
	}
}

func TestARefusedCommitKeepsAllItsAuthors(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r := b.repo
	r.Write("a.yaml", job("a", 1)).Write("b.yaml", job("b", 1))
	r.Commit(ada, "first")
	b.pass()
	r.Write("a.yaml", job("a", 2)).Write("b.yaml", "broken: [\n")
	r.Commit(grace, "held")
	r.Write("README.md", "not a spec\n")
	r.Commit(alan, "no spec")
	r.Write("a.yaml", job("a", 3))
	held := r.Commit(alan, "held as well")
	cur, lines := b.pass()
	require.Empty(t, lines)
	require.Equal(t, spec.StateRefused, cur.State)
	require.Equal(t, held, cur.Refused)
	require.Equal(t, "b.yaml", cur.Findings[0].Path)
	r.Write("b.yaml", job("b", 1))
	fix := r.Commit(ada, "mended")
	_, lines = b.pass()
	require.Equal(t, []string{"acme a v2 UPGRADE by " + alan + " in " + held[:7]}, lines, "b is as it was: no version")
	o, err := b.store.Origin(t.Context(), "acme", spec.Key{Kind: spec.KindJob, Name: "a"}, 2)
	require.NoError(t, err)
	require.Equal(t, []string{grace}, o.Contributors)
	require.Equal(t, []string{fix, held}, []string{o.Commit, o.ChangedIn})
}

func TestARewriteIsHeldWhereThePavilionSaysSo(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.pav.Source.OnRewrite = "hold"
	r := b.repo
	r.Write("a.yaml", job("a", 1))
	r.Commit(ada, "first")
	r.Write("a.yaml", job("a", 2))
	second := r.Commit(ada, "second")
	b.pass()
	r.Git("reset", "-q", "--hard", "HEAD~1")
	r.Write("a.yaml", job("a", 3))
	r.Commit(grace, "other second")
	cur, lines := b.pass()
	require.Empty(t, lines)
	require.Equal(t, spec.StateHeld, cur.State)
	require.Equal(t, second, cur.Applied)
	b.pav.Source.OnRewrite = "follow"
	cur, lines = b.pass()
	require.Equal(t, []string{"acme a v3 UPGRADE by " + grace}, told(lines))
	require.Equal(t, spec.Synced, cur.State)
}

func TestAHistoryCanBeginAtTheTipOrAtACommit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r := b.repo
	r.Write("a.yaml", job("a", 1)).Write("b.yaml", job("b", 1))
	r.Commit(ada, "first")
	r.Write("a.yaml", job("a", 2))
	second := r.Commit(grace, "second")
	r.Write("b.yaml", job("b", 2))
	r.Commit(alan, "third")
	b.pav.Source.History = "head"
	_, lines := b.pass()
	require.Equal(t, []string{"acme a v1 SUBMIT by " + grace, "acme b v1 SUBMIT by " + alan}, told(lines))
	b.redis.FlushAll()
	b.pav.Source.History = second
	_, lines = b.pass()
	require.Equal(t, []string{"acme a v1 SUBMIT by " + grace, "acme b v1 SUBMIT by " + ada, "acme b v2 UPGRADE by " + alan}, told(lines))
}

func TestAMissingFolderOfSpecsIsRefusedNotEmptied(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.pav.Source.Path = "specs"
	r := b.repo
	r.Write("specs/a.yaml", job("a", 1)).Write("other.yaml", job("other", 1))
	r.Commit(ada, "first")
	_, lines := b.pass()
	require.Equal(t, []string{"acme a v1 SUBMIT by " + ada}, told(lines))
	r.Git("mv", "specs", "renamed")
	r.Commit(grace, "move the folder")
	cur, lines := b.pass()
	require.Empty(t, lines)
	require.Equal(t, spec.StateRefused, cur.State)
	require.Contains(t, cur.Findings[0].Message, `the folder "specs" does not exist`)
}

func TestLinksAndModulesWarnAndAHugeFileRefuses(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r := b.repo
	r.Write("a.yaml", job("a", 1)).Link("link.yaml", "/etc/passwd")
	r.Git("update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,vendor")
	r.Git("add", "a.yaml", "link.yaml")
	r.Git("commit", "-q", "-m", "odd things")
	_, lines := b.pass()
	require.Len(t, lines, 1)
	require.Len(t, b.told[0].Reasons, 2, "two warnings")
	r.Write("big.yaml", "# "+strings.Repeat("x", 2<<20))
	r.Commit(grace, "huge")
	cur, _ := b.pass()
	require.Equal(t, spec.StateRefused, cur.State)
	require.Contains(t, cur.Findings[0].String(), "big.yaml: file of")
}

// What plan says is what the next pass does, word for word, and it writes nothing.
func TestPlanSaysWhatThePassThenDoes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r := b.repo
	r.Write("job-0.yaml", job("job-0", 1))
	r.Commit(ada, "first")
	b.pass()
	people := []string{ada, grace, alan}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 3).Draw(rt, "commits") {
			for range rapid.IntRange(1, 2).Draw(rt, "files") {
				n := rapid.IntRange(0, 4).Draw(rt, "file")
				file := fmt.Sprintf("job-%d.yaml", n)
				switch rapid.IntRange(0, 5).Draw(rt, "what") {
				case 0:
					r.Remove(file)
				case 1:
					r.Write(file, "broken: [\n")
				default:
					r.Write(file, job(fmt.Sprintf("job-%d", n), rapid.IntRange(1, 3).Draw(rt, "p")))
				}
			}
			r.Commit(rapid.SampledFrom(people).Draw(rt, "who"), "change")
		}
		before := b.dump()
		f, err := b.tenant(nil).Plan(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		if b.dump() != before {
			rt.Fatal("plan wrote something")
		}
		var planned []string
		for _, e := range f.Events {
			if e.Version != nil {
				planned = append(planned, e.String())
			}
		}
		cur, lines := b.pass()
		if strings.Join(planned, "\n") != strings.Join(lines, "\n") || f.To.State != cur.State || f.To.Applied != cur.Applied {
			rt.Fatalf("planned %v (%s), done %v (%s)", planned, f.To.State, lines, cur.State)
		}
	})
}

func TestAnotherOwnersLeaseIsRespected(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	story(b)
	first := b.tenant(nil)
	_, err := first.Pass(t.Context())
	require.NoError(t, err)
	rival := b.tenant(func(d *syncer.Deps) { d.Owner = "two" })
	_, err = rival.Pass(t.Context())
	require.ErrorIs(t, err, spec.ErrTaken)
	require.NoError(t, first.Close(t.Context()))
	_, err = rival.Pass(t.Context())
	require.NoError(t, err)
}

// A step by difference that is too big for one script, stopped after each of its
// writes: whoever goes on makes the same versions.
func TestAChangeOfFolderInManyStepsIsContinued(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.pav.Guard.MaxRemovePercent = 100
	for i := range 450 {
		if i%3 != 0 {
			b.repo.Write(fmt.Sprintf("a/job-%03d.yaml", i), job(fmt.Sprintf("job-%03d", i), 1))
		}
		if i%3 != 1 {
			b.repo.Write(fmt.Sprintf("b/job-%03d.yaml", i), job(fmt.Sprintf("job-%03d", i), 2))
		}
	}
	b.repo.Commit(ada, "two folders")
	run := func(stopAt int) string {
		b.redis.FlushAll()
		b.facts = facts{}
		b.pav.Source.Path = "a"
		b.pass()
		b.pav.Source.Path = "b"
		for ; stopAt > 0; stopAt-- { // one write more each time, then a restart
			applied := 0
			_, err := b.tenant(func(d *syncer.Deps) { d.Store = stopping{d.Store, &applied} }).Pass(t.Context())
			require.ErrorIs(t, err, errInjected)
		}
		cur, _ := b.pass()
		require.Equal(t, spec.Synced, cur.State)
		require.Equal(t, "b", cur.Path)
		require.EqualValues(t, 300, cur.Specs)
		return b.dump()
	}
	whole := run(0)
	for stops := 1; stops <= 2; stops++ {
		require.Equal(t, whole, run(stops), "stopped %d times", stops)
	}
}

// stopping lets one write through and fails at the next.
type stopping struct {
	syncer.Store
	applied *int
}

func (s stopping) Apply(ctx context.Context, l spec.Lease, step spec.Step) (spec.Cursor, error) {
	if *s.applied++; *s.applied > 1 {
		return spec.Cursor{}, errInjected
	}
	return s.Store.Apply(ctx, l, step)
}

// A commit that takes longer than a lease lasts is applied all the same.
func TestACommitMayTakeLongerThanTheLease(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.repo.Write("a.yaml", job("a", 1)).Write("b.yaml", job("b", 1))
	b.repo.Commit(ada, "two")
	cur, err := b.tenant(func(d *syncer.Deps) {
		d.Lease = 300 * time.Millisecond
		d.Source = slowSource{d.Source, 500 * time.Millisecond}
	}).Pass(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.Synced, cur.State)
	require.EqualValues(t, 2, cur.Specs)
}

// slowSource takes its time for each file.
type slowSource struct {
	syncer.Source
	each time.Duration
}

func (s slowSource) Blob(ctx context.Context, id string, limit int64) ([]byte, error) {
	select {
	case <-time.After(s.each):
		return s.Source.Blob(ctx, id, limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// trusting accepts the commits of one person.
type trusting string

func (who trusting) Judge(_ []byte, author spec.Person) (verified, signer string, accepted bool, why string) {
	if author.String() == string(who) {
		return spec.VerifiedTrue, author.Mail, true, ""
	}
	return spec.VerifiedFalse, "", false, "not signed"
}

// An approval lets in what its commit changed, not what another commit did beside it.
func TestAnApprovalIsForOneCommitsChanges(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	pass := func() (spec.Cursor, []string) {
		b.told = nil
		cur, err := b.tenant(func(d *syncer.Deps) { d.Trust = trusting(ada) }).Pass(t.Context())
		require.NoError(t, err)
		return cur, told(b.lines())
	}
	b.repo.Write("a.yaml", job("a", 1)).Write("b.yaml", job("b", 1)).Write("c.yaml", job("c", 1))
	b.repo.Commit(ada, "first")
	pass()
	b.repo.Write("a.yaml", job("a", 2)).Write("c.yaml", "broken: [\n")
	graces := b.repo.Commit(grace, "not signed, and broken beside it")
	b.repo.Write("b.yaml", job("b", 2)).Write("c.yaml", job("c", 1))
	alans := b.repo.Commit(alan, "not signed, mends what was broken")
	require.NoError(t, b.store.Approve(t.Context(), "acme", "ops", graces))
	cur, lines := pass()
	require.Empty(t, lines)
	require.Equal(t, spec.StateHeld, cur.State)
	require.Len(t, cur.Findings, 1)
	require.Contains(t, cur.Findings[0].Message, alans)
	require.NoError(t, b.store.Approve(t.Context(), "acme", "ops", alans))
	cur, lines = pass()
	require.Equal(t, []string{"acme a v2 UPGRADE by " + grace, "acme b v2 UPGRADE by " + alan}, lines)
	require.Equal(t, spec.Synced, cur.State)
}

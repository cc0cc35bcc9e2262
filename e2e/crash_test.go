package e2e_test

import (
	"math/rand"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// commits makes n commits to a few jobs, by three people, with reverts.
func commits(r *gittest.Repo, rnd *rand.Rand, n int) {
	people := []string{ada, grace, alan}
	names := []string{"orders", "refunds", "billing", "stock", "prices"}
	for i := range n {
		who := people[rnd.Intn(len(people))]
		if i > 0 && rnd.Intn(8) == 0 && r.Git("diff-tree", "-r", "HEAD~1", "HEAD") != "" {
			r.Revert(who, "HEAD")
			continue
		}
		name := names[rnd.Intn(len(names))]
		r.Write("jobs/"+name+".yaml", job(name, 1+rnd.Intn(9), "batch="+string(rune('a'+rnd.Intn(26)))))
		r.Commit(who, "change "+name)
	}
}

func TestAHundredCommitsPushedAtOnceAreAHundredVersionsInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	r.Write("jobs/orders.yaml", job("orders", 1, "count=0"))
	r.Commit(ada, "first")
	w.repo = r.Bare()
	w.must("run", "--once")
	people := []string{ada, grace, alan}
	for i := 1; i <= 100; i++ {
		r.Write("jobs/orders.yaml", job("orders", 1, "count="+strings.Repeat("x", i)))
		r.Commit(people[i%3], "change")
	}
	r.Git("push", "-q", w.repo, "main")
	lines := strings.Split(strings.TrimSpace(w.must("run", "--once")), "\n")
	require.Len(t, lines, 100)
	f := foldOf(t, r.Dir, "acme")
	require.Equal(t, f.lines[1:], lines)
	require.Equal(t, int64(101), f.versions["orders"])
}

// Fifty times: push some commits, kill the syncer at a random moment, start it
// again. In the end the ledger is byte for byte what an undisturbed syncer makes
// of the same repository in one go.
func TestAKilledSyncerLeavesTheLedgerOfOneThatWasNot(t *testing.T) {
	t.Parallel()
	const rounds, pushed = 50, 40
	rnd := rand.New(rand.NewSource(1))
	w := newWorld(t)
	w.extra = []string{"--audit-cap", "1000000"}
	r := gittest.New(t)
	commits(r, rnd, 5)
	w.repo = r.Bare()
	w.must("run", "--once")

	bites := 0
	usual := 100 * time.Millisecond // how long a whole run takes, learnt from the last one
	for round := range rounds {
		before := w.cursor("applied")
		commits(r, rnd, pushed)
		r.Git("push", "-q", w.repo, "main")
		p := w.start("syncer", w.args("run", "--once")...)
		if round%3 == 0 { // at any moment of the process's life
			select {
			case <-time.After(time.Duration(rnd.Int63n(int64(usual)))):
			case <-p.done:
			}
		} else { // after some versions, a random time later
			p.written(1 + rnd.Intn(pushed*2/3))
			pause(t, time.Duration(rnd.Intn(3000))*time.Microsecond)
		}
		p.kill()
		if at := w.cursor("applied"); at != before && at != r.Tip() {
			bites++
		}
		began := time.Now()
		w.must("run", "--once")
		usual = max(20*time.Millisecond, (usual+time.Since(began))/2)
		require.Equal(t, r.Tip(), w.cursor("applied"))
	}
	require.GreaterOrEqual(t, bites, 10, "the kills did not bite: only %d of %d were in the middle of the ledger", bites, rounds)
	disturbed := w.ledger()

	require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
	w.state = filepath.Join(t.TempDir(), "fresh")
	w.equalsFold(w.must("run", "--once"), foldOf(t, r.Dir, "acme"))
	equalLedgers(t, w.ledger(), disturbed)
	t.Logf("%d of %d kills were in the middle of the ledger", bites, rounds)
}

// A first sync is folded and written in batches; killed between two of them it
// goes on where it stopped.
func TestAFirstSyncKilledBetweenBatchesIsContinued(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.extra = []string{"--audit-cap", "1000000"}
	w.repo = generate(t, "-files", "1500", "-commits", "150", "-seed", "5")
	w.must("run", "--once")
	whole := w.ledger()

	rnd := rand.New(rand.NewSource(2))
	bites := 0
	for range 8 {
		require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
		w.state = filepath.Join(t.TempDir(), "state")
		for range 2 { // killed twice on the way
			p := w.start("syncer", w.args("run", "--once")...)
			w.step(p, 1+rnd.Intn(8))
			p.kill()
			if w.cursor("target") != "" {
				bites++
			}
		}
		w.must("run", "--once")
		equalLedgers(t, whole, w.ledger())
	}
	require.GreaterOrEqual(t, bites, 4, "too few kills came between two batches")
	t.Logf("%d of 16 kills came between two batches", bites)
}

// step waits until a syncer has written so many batches of what it is at, or ended.
func (w *world) step(p *process, n int) {
	w.t.Helper()
	for {
		if at, err := strconv.Atoi(w.cursor("step")); err == nil && at >= n {
			return
		}
		select {
		case <-p.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

package syncer_test

import (
	"runtime"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/stretchr/testify/require"
)

// A thousand passes, idle, with commits, refused and failing in turn, leave no
// goroutine and no memory behind.
func TestAThousandPassesLeaveNothingBehind(t *testing.T) {
	b := newBed(t)
	story(b)
	b.pass()
	passes := 1000
	if testing.Short() {
		passes = 200
	}
	var f *faults
	tenant := b.tenant(func(d *syncer.Deps) {
		f = &faults{}
		d.Source = badSource{d.Source, f}
		d.Tell = nil
	})
	measure := func() (goroutines int, heap uint64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	var goroutines int
	var heap uint64
	for i := range passes {
		if i == passes/10 {
			goroutines, heap = measure()
		}
		switch i % 10 {
		case 3:
			b.repo.Write("a.yaml", job("a", 1+i%1000))
			b.repo.Commit(ada, "change")
		case 5:
			f.left, f.name = 1, ""
		case 7:
			b.repo.Write("a.yaml", "broken: [\n")
			b.repo.Commit(grace, "break")
		case 9:
			b.repo.Revert(alan, "HEAD")
		}
		cur, err := tenant.Pass(t.Context())
		if i%10 == 5 {
			require.ErrorIs(t, err, errInjected)
			require.Equal(t, spec.StateError, cur.State)
			continue
		}
		require.NoError(t, err)
	}
	after, grown := measure()
	t.Logf("%d passes: goroutines %d then %d, heap %d KiB then %d KiB", passes, goroutines, after, heap>>10, grown>>10)
	require.LessOrEqual(t, after, goroutines+2)
	require.Less(t, grown, heap+heap/2+(8<<20))
}

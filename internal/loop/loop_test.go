package loop_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/internal/loop"
	"github.com/stretchr/testify/require"
)

var errBoom = errors.New("store is away")

// start runs l until the test ends and gives what Run returned.
func start(t *testing.T, l *loop.Loop) (stop func(), ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return func() { cancel(errors.New("test over")) }, done
}

func quiet() loop.Option { return loop.Log(slog.New(slog.DiscardHandler)) }

func TestTheFirstPassRunsAtOnceAndTheTimerBringsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passes atomic.Int64
		l := loop.New(10*time.Second, func(context.Context) error { passes.Add(1); return nil })
		stop, ended := start(t, l)
		synctest.Wait()
		require.EqualValues(t, 1, passes.Load())
		<-time.After(8 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 1, passes.Load(), "no pass before the interval, jitter included")
		<-time.After(4 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 2, passes.Load())
		stop()
		require.EqualError(t, <-ended, "test over")
	})
}

func TestKicksDuringAPassOweExactlyOneMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passes atomic.Int64
		hold := make(chan struct{})
		l := loop.New(time.Hour, func(context.Context) error { passes.Add(1); <-hold; return nil })
		stop, ended := start(t, l)
		synctest.Wait()
		for range 10 {
			l.Kick()
		}
		close(hold)
		synctest.Wait()
		require.EqualValues(t, 2, passes.Load())
		stop()
		<-ended
	})
}

func TestAnErrorBringsTheNextPassSoonerThenEverLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		l := loop.New(time.Minute, func(context.Context) error {
			at = append(at, time.Since(began))
			return errBoom
		}, quiet(), loop.MaxBackoff(4*time.Second))
		stop, ended := start(t, l)
		<-time.After(5 * time.Minute)
		stop()
		<-ended
		require.Greater(t, len(at), 8)
		var gaps []float64
		for i := 1; i < len(at); i++ {
			gaps = append(gaps, (at[i] - at[i-1]).Seconds())
		}
		for i, want := range []float64{1, 2, 4, 8, 16, 32, 60, 60} { // never more often than the interval asks, once capped
			require.InDelta(t, want, gaps[i], want*0.101, "gap %d of %v", i, gaps)
		}
	})
}

func TestTheBackoffHasACapAndAKickWakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passes atomic.Int64
		l := loop.New(time.Second, func(context.Context) error { passes.Add(1); return errBoom }, quiet(), loop.MaxBackoff(time.Hour))
		stop, ended := start(t, l)
		<-time.After(10 * time.Hour)
		synctest.Wait()
		before := passes.Load()
		require.Less(t, before, int64(30))
		require.Greater(t, before, int64(15), "the cap of an hour holds")
		l.Kick()
		synctest.Wait()
		require.Equal(t, before+1, passes.Load())
		stop()
		<-ended
	})
}

func TestAPanicIsAnErrorOfThatPassAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var passes atomic.Int64
		l := loop.New(time.Second, func(context.Context) error {
			if passes.Add(1) == 1 {
				panic("nil map")
			}
			return nil
		}, loop.Log(slog.New(slog.NewTextHandler(&log, nil))))
		stop, ended := start(t, l)
		<-time.After(3 * time.Second)
		stop()
		<-ended
		require.GreaterOrEqual(t, passes.Load(), int64(2))
		require.Contains(t, log.String(), "pass panicked: nil map")
		require.Contains(t, log.String(), "loop_test.go", "the log has the stack")
		require.Contains(t, log.String(), "recovered")
	})
}

func TestTheSameErrorIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var passes atomic.Int64
		l := loop.New(time.Second, func(context.Context) error {
			if passes.Add(1) > 5 {
				return errors.New("another reason")
			}
			return errBoom
		}, loop.Log(slog.New(slog.NewTextHandler(&log, nil))))
		stop, ended := start(t, l)
		<-time.After(10 * time.Minute)
		stop()
		<-ended
		require.Equal(t, 1, strings.Count(log.String(), errBoom.Error()))
		require.Equal(t, 1, strings.Count(log.String(), "another reason"))
	})
}

func TestAPassThatIsCutOffIsNotAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := loop.New(time.Second, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			loop.Log(slog.New(slog.NewTextHandler(&log, nil))))
		stop, ended := start(t, l)
		synctest.Wait()
		stop()
		require.EqualError(t, <-ended, "test over")
		require.Empty(t, log.String())
	})
}

func TestAnEndedContextRunsNoPass(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var passes atomic.Int64
	l := loop.New(time.Second, func(context.Context) error { passes.Add(1); return nil })
	l.Kick()
	require.ErrorIs(t, l.Run(ctx), context.Canceled)
	require.Zero(t, passes.Load())
}

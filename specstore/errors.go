package specstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// What an error of Redis means for the caller; all are wrapped, for errors.Is.
var (
	// ErrUnavailable: nothing was written, another try later makes sense.
	ErrUnavailable = errors.New("the store is not available")
	// ErrUnknown: the reply was lost and reading back did not tell. Reading the
	// cursor or the version later does; doing it again does it once.
	ErrUnknown = errors.New("outcome unknown")
	// ErrFull: Redis is out of memory; nothing was written. Running jobs go on.
	ErrFull = errors.New("the store is out of memory")
	// ErrUnsafe: Redis may lose or evict what is stored (see Store.Check).
	ErrUnsafe = errors.New("unsafe for keeping versions")
	// ErrSchema: another release wrote records that this one cannot read.
	ErrSchema = errors.New("store is of a newer schema")
)

// settleTime bounds the reading back of a lost reply, also when the caller's
// context is over.
const settleTime = 2 * time.Second

// classify wraps an error of go-redis with what it means. An answer of the
// server means that the script did nothing, for scripts check before they write;
// no answer means that nobody knows.
func classify(err error) error {
	var answer redis.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &answer):
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" || errors.Is(err, redis.ErrClosed) ||
			errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	case redis.HasErrorPrefix(err, "OOM"):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	for _, word := range []string{"READONLY", "LOADING", "MASTERDOWN", "BUSY", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF"} {
		if redis.HasErrorPrefix(err, word) {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return err
}

// readErr wraps the error of a plain read: nothing was to be written.
func readErr(err error) error {
	var answer redis.Error
	if err != nil && !errors.As(err, &answer) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return classify(err)
}

// settle reads back after a lost reply; done says whether the write is there. If
// it is not, the error becomes ErrUnavailable: trying again is right, and does
// once what arrives late all the same.
func (s *Store) settle(ctx context.Context, err error, done func(ctx context.Context) (bool, error)) error {
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	ok, readErr := done(ctx)
	switch {
	case readErr != nil:
		return errors.Join(err, fmt.Errorf("read back: %w", readErr))
	case ok:
		return nil
	}
	return fmt.Errorf("%w: nothing was written: %v", ErrUnavailable, err)
}

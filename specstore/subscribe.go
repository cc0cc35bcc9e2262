package specstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Subscribe calls kick with the name of a tenant whenever something of it changed,
// and with the empty string when anything may have changed unseen: at the start
// and after the connection was lost. It is a hint to look, never the news itself;
// kick must not block. Subscribe blocks until ctx is over (and returns nil) or the
// client is closed.
func (s *Store) Subscribe(ctx context.Context, kick func(tenant string)) error {
	return s.listen(ctx, s.key.channel(), kick)
}

// listen hears one channel.
func (s *Store) listen(ctx context.Context, channel string, kick func(tenant string)) (err error) {
	sub := s.rdb.Subscribe(ctx, channel)
	defer func() { err = errors.Join(err, sub.Close()) }()
	for events := sub.ChannelWithSubscriptions(); ; {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events:
			switch e := event.(type) {
			case *redis.Subscription:
				kick("")
			case *redis.Message:
				kick(e.Payload)
			}
			if !open {
				return fmt.Errorf("subscribe to changes: %w: the client was closed", ErrUnavailable)
			}
		}
	}
}

package specstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-dev/pawl/spec"
)

// SetMailmap keeps the text of a tenant's .mailmap, for display alone: it is no
// part of the ledger and needs no lease. Empty text removes it.
func (s *Store) SetMailmap(ctx context.Context, tenant, text string) error {
	if err := spec.CheckTenant(tenant); err != nil {
		return err
	}
	var err error
	if text == "" {
		err = s.rdb.Del(ctx, s.key.mailmap(tenant)).Err()
	} else {
		err = s.rdb.Set(ctx, s.key.mailmap(tenant), text, 0).Err()
	}
	if err != nil {
		return fmt.Errorf("keep the mailmap of %s: %w", tenant, readErr(err))
	}
	return nil
}

// Mailmap reads how people of a tenant want to be shown.
func (s *Store) Mailmap(ctx context.Context, tenant string) (spec.Mailmap, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return spec.Mailmap{}, err
	}
	text, err := s.rdb.Get(ctx, s.key.mailmap(tenant)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return spec.Mailmap{}, fmt.Errorf("read the mailmap of %s: %w", tenant, readErr(err))
	}
	return spec.ParseMailmap([]byte(text)), nil
}

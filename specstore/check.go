package specstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// The schema of the records here, and the oldest reader that understands them. A
// release reads what the one before and the one after it wrote.
const (
	schemaVersion = 1
	minReader     = 1
)

// Check says whether versions are safe in this Redis: nothing may be evicted
// (maxmemory-policy noeviction) and it must survive a restart (appendonly or
// save). If not, the error is ErrUnsafe; what the server does not tell is a
// warning. A store that needs a newer reader is ErrSchema. Source: CONTRACT section 4.
func (s *Store) Check(ctx context.Context) (warnings []string, err error) {
	if err := s.checkSchema(ctx); err != nil {
		return nil, err
	}
	var (
		mu     sync.Mutex
		unsafe []string
	)
	visit := func(ctx context.Context, node *redis.Client) error {
		bad, unknown, err := s.checkServer(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		unsafe = append(unsafe, bad...)
		warnings = append(warnings, unknown...)
		return err
	}
	switch c := s.rdb.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, visit)
	case *redis.Client:
		err = visit(ctx, c)
	default:
		return []string{"redis: its configuration is unknown to this client"}, nil
	}
	if err != nil {
		return warnings, fmt.Errorf("check redis: %w", readErr(err))
	}
	if len(unsafe) > 0 {
		return warnings, fmt.Errorf("redis is %w: %s (--allow-unsafe-redis goes on all the same)", ErrUnsafe, strings.Join(unsafe, "; "))
	}
	return warnings, nil
}

// checkServer reads the settings of one server: what is wrong, and what it does not tell.
func (s *Store) checkServer(ctx context.Context, node *redis.Client) (bad, unknown []string, err error) {
	if info, err := node.Info(ctx, "cluster").Result(); err == nil && strings.Contains(info, "cluster_enabled:1") && !s.key.perTenant() {
		return nil, nil, errNeedsTag(s.cfg.Prefix)
	}
	settings := map[string]string{}
	for _, name := range []string{"maxmemory-policy", "appendonly", "save"} {
		got, err := node.ConfigGet(ctx, name).Result()
		var answer redis.Error
		switch value, ok := got[name]; {
		case errors.As(err, &answer), err == nil && !ok:
			unknown = append(unknown, "redis does not tell its "+name)
		case err != nil:
			return nil, nil, err
		default:
			settings[name] = value
		}
	}
	if p, ok := settings["maxmemory-policy"]; ok && p != "noeviction" {
		bad = append(bad, "maxmemory-policy is "+p+", so it may drop any key: set noeviction")
	}
	aof, okAOF := settings["appendonly"]
	save, okSave := settings["save"]
	if okAOF && okSave && aof != "yes" && save == "" {
		bad = append(bad, "nothing is kept on disk: set appendonly yes, or save")
	}
	return bad, unknown, nil
}

// checkSchema reads who may read this store, and says so in an empty one.
func (s *Store) checkSchema(ctx context.Context) error {
	key := s.key.schema()
	got, err := s.rdb.HGetAll(ctx, key).Result()
	if err != nil {
		return fmt.Errorf("read %s: %w", key, readErr(err))
	}
	if text := got["minReader"]; text != "" {
		needs, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%w: %s: minReader is no number", ErrSchema, key)
		}
		if needs > schemaVersion {
			return fmt.Errorf("%w: it asks for readers of schema %d, this release reads %d: use a newer release", ErrSchema, needs, schemaVersion)
		}
		return nil
	}
	for field, value := range map[string]int{"schema": schemaVersion, "minReader": minReader} {
		if err := s.rdb.HSetNX(ctx, key, field, value).Err(); err != nil {
			return fmt.Errorf("write %s: %w", key, readErr(err))
		}
	}
	return nil
}

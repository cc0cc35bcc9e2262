package specstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Dial connects to redis://, rediss://, unix:// or plain host:port, and to a
// cluster if the server is part of one (more nodes: redis://a:6379?addr=b:6379).
// The client never retries a command by itself: a script that was applied and
// whose reply was lost would look like a conflict. No error shows a password.
func Dial(ctx context.Context, redisURL string) (redis.UniversalClient, error) {
	opt, seeds, err := parseURL(redisURL)
	if err != nil {
		return nil, err
	}
	logging.Disable() // go-redis would print what is returned here anyway
	client := redis.NewClient(opt)
	clustered, err := probe(ctx, client)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to redis at %s: %w", opt.Addr, readErr(err)), client.Close())
	}
	if !clustered {
		return client, nil
	}
	if err := client.Close(); err != nil {
		return nil, fmt.Errorf("connect to redis at %s: %w", opt.Addr, err)
	}
	cluster := redis.NewClusterClient(clusterOptions(opt, seeds))
	if err := cluster.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to redis cluster at %s: %w", opt.Addr, readErr(err)), cluster.Close())
	}
	return cluster, nil
}

// parseURL never lets the text of a URL into an error, for a password may be in it.
func parseURL(text string) (*redis.Options, []string, error) {
	const want = "want redis://[user:password@]host:port[/db], rediss://…, unix:///path/to.sock or host:port"
	if text == "" {
		return nil, nil, errors.New("redis URL is empty: " + want)
	}
	if !strings.Contains(text, "://") {
		if _, _, err := net.SplitHostPort(text); err != nil {
			return nil, nil, errors.New("redis URL is no URL and no host:port: " + want)
		}
		text = "redis://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, nil, errors.New("redis URL cannot be parsed: " + want + "; special characters of a password must be %-encoded")
	}
	query := u.Query()
	seeds := query["addr"]
	query.Del("addr")
	u.RawQuery = query.Encode()
	opt, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, nil, fmt.Errorf("redis URL with scheme %q, path %q and options %q is not understood: %s", u.Scheme, u.Path, keysOf(query), want)
	}
	opt.MaxRetries = -1
	opt.DialerRetries = 1
	opt.ContextTimeoutEnabled = true
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if opt.TLSConfig != nil {
		opt.TLSConfig.MinVersion = tls.VersionTLS12
	}
	return opt, append([]string{opt.Addr}, seeds...), nil
}

func keysOf(query url.Values) []string {
	keys := make([]string, 0, len(query))
	for k := range query {
		keys = append(keys, k)
	}
	return keys
}

// probe connects and tells whether the server is part of a cluster.
func probe(ctx context.Context, client *redis.Client) (bool, error) {
	if err := client.Ping(ctx).Err(); err != nil {
		return false, err
	}
	info, err := client.Info(ctx, "cluster").Result()
	var answer redis.Error
	if errors.As(err, &answer) {
		return false, nil // a server that does not tell is none
	}
	return strings.Contains(info, "cluster_enabled:1"), err
}

func clusterOptions(opt *redis.Options, seeds []string) *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs: seeds, Username: opt.Username, Password: opt.Password, TLSConfig: opt.TLSConfig,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: opt.DialTimeout, ReadTimeout: opt.ReadTimeout, WriteTimeout: opt.WriteTimeout,
		PoolSize: opt.PoolSize, MaintNotificationsConfig: opt.MaintNotificationsConfig,
	}
}

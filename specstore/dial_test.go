package specstore_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/internal/embedded"
	"github.com/pawl-dev/pawl/internal/redistest"
	"github.com/pawl-dev/pawl/specstore"
)

func TestDialTakesURLsSocketsAndPlainAddresses(t *testing.T) {
	tcp, unix := redistest.StartTCP(t), redistest.Start(t)
	for _, url := range []string{tcp.URL(), tcp.Addr(), tcp.URL() + "/3?read_timeout=2s", unix.URL()} {
		rdb, err := specstore.Dial(t.Context(), url)
		require.NoError(t, err, url)
		require.Equal(t, 0, rdb.(*redis.Client).Options().MaxRetries, "-1 reads as none")
		require.NoError(t, rdb.Close())
	}
}

func TestDialRefusesWhatItDoesNotUnderstandAndShowsNoPassword(t *testing.T) {
	locked := redistest.StartTCP(t, "--requirepass", "open-sesame")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := l.Addr().String()
	require.NoError(t, l.Close())
	for url, why := range map[string]string{
		"":                                     "empty",
		"localhost":                            "no host:port",
		"http://:hunter2@localhost:1":          `scheme "http"`,
		"redis://:hunter2%zz@localhost:1":      "%-encoded",
		"redis://u:hunter2@localhost:1/x?y=z":  `options ["y"]`,
		"redis://:hunter2@" + closed:           "connection refused",
		"redis://:hunter2@" + locked.Addr():    "WRONGPASS",
		"redis://" + locked.Addr():             "NOAUTH",
		"unix://" + t.TempDir() + "/none.sock": "none.sock",
	} {
		_, err := specstore.Dial(t.Context(), url)
		require.ErrorContains(t, err, why, url)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err = specstore.Dial(t.Context(), "redis://"+closed)
	require.ErrorIs(t, err, specstore.ErrUnavailable)
}

func TestAClusterWithoutTenantInThePrefixIsRefused(t *testing.T) {
	srv := redistest.StartCluster(t)
	rdb, err := specstore.Dial(t.Context(), srv.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, rdb.Close()) }()
	_, err = specstore.New(rdb, specstore.Config{})
	require.ErrorContains(t, err, "{tenant}")
	_, err = specstore.New(rdb, specstore.Config{Prefix: "ctl:{tenant}:"})
	require.NoError(t, err)

	opt, err := redis.ParseURL(srv.URL())
	require.NoError(t, err)
	plain := redis.NewClient(opt) // a client that does not know
	defer func() { require.NoError(t, plain.Close()) }()
	s, err := specstore.New(plain, specstore.Config{})
	require.NoError(t, err)
	_, err = s.Check(t.Context())
	require.ErrorContains(t, err, "{tenant}")
}

func TestAPrefixOrCapThatCannotWorkIsRefused(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{})
	defer func() { require.NoError(t, rdb.Close()) }()
	for prefix, why := range map[string]string{"a b:": "spaces", "a\n": "spaces", "{x}:": "braces", "{tenant}{tenant}": "braces", strings.Repeat("p", 201): "limit 200"} {
		_, err := specstore.New(rdb, specstore.Config{Prefix: prefix})
		require.ErrorContains(t, err, why)
	}
	_, err := specstore.New(rdb, specstore.Config{HistoryCap: -1})
	require.ErrorContains(t, err, "at least 1")
	_, err = specstore.New(nil, specstore.Config{})
	require.ErrorContains(t, err, "no Redis client")
}

func TestCheckRefusesARedisThatMayLoseVersions(t *testing.T) {
	for _, c := range []struct {
		settings []string
		why      []string
	}{
		{[]string{"--appendonly", "yes"}, nil},
		{[]string{"--save", "900 1"}, nil},
		{nil, []string{"on disk", "--allow-unsafe-redis"}},
		{[]string{"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"}, []string{"allkeys-lru", "noeviction"}},
		{[]string{"--maxmemory-policy", "volatile-ttl"}, []string{"volatile-ttl", "on disk"}},
	} {
		warnings, err := open(t, redistest.Start(t, c.settings...).URL(), specstore.Config{}).Check(t.Context())
		require.Empty(t, warnings)
		if c.why == nil {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, specstore.ErrUnsafe)
		for _, why := range c.why {
			require.ErrorContains(t, err, why)
		}
	}
}

func TestCheckWarnsWhereTheServerDoesNotTell(t *testing.T) {
	guarded := redistest.Start(t, "--rename-command", "CONFIG", "")
	mini, err := embedded.Start("127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, mini.Close()) }()
	for _, url := range []string{guarded.URL(), mini.URL()} {
		warnings, err := open(t, url, specstore.Config{}).Check(t.Context())
		require.NoError(t, err)
		require.Len(t, warnings, 3)
		require.Contains(t, warnings[0], "maxmemory-policy")
	}
}

// Only keys.go knows how a key is spelled; whoever looks for one opens that file.
func TestNoOtherFileSpellsAKey(t *testing.T) {
	spelled := regexp.MustCompile(`"(pawl:|history:|status:|claim:|origins:|joblease:|streaming:)[^"]*"|\+ ?":[a-z]`)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var errs []error
	for _, f := range files {
		if f == "keys.go" || strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		if m := spelled.FindString(string(b)); m != "" {
			errs = append(errs, errors.New(f+" spells "+m))
		}
	}
	require.NoError(t, errors.Join(errs...))
}

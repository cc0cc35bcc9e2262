package redistest_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/internal/redistest"
)

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(url)
	require.NoError(t, err)
	opt.MaxRetries = -1
	c := redis.NewClient(opt)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestAServerIsPrivateAndEmpty(t *testing.T) {
	a, b := redistest.Start(t), redistest.StartTCP(t)
	require.NoError(t, client(t, a.URL()).Set(t.Context(), "k", "v", 0).Err())
	require.Equal(t, "0", b.Do("DBSIZE"))
	require.Equal(t, "1", a.Do("DBSIZE"))
	a.FlushAll()
	require.Equal(t, "0", a.Do("DBSIZE"))
}

func TestARestartKeepsTheAddressAndOnlyWhatIsPersisted(t *testing.T) {
	volatile, kept := redistest.StartTCP(t), redistest.StartTCP(t, "--appendonly", "yes", "--appendfsync", "always")
	for _, s := range []*redistest.Server{volatile, kept} {
		s.Do("SET", "k", "v")
		addr := s.Addr()
		s.Restart()
		require.Equal(t, addr, s.Addr())
	}
	require.Equal(t, "0", volatile.Do("DBSIZE"))
	require.Equal(t, "v", kept.Do("GET", "k"))
	kept.Kill()
	require.Error(t, client(t, kept.URL()).Ping(t.Context()).Err())
}

func TestAClusterServesAllSlots(t *testing.T) {
	s := redistest.StartCluster(t)
	require.Contains(t, s.Do("CLUSTER", "INFO"), "cluster_slots_ok:16384")
	require.Equal(t, "OK", s.Do("SET", "anything", "goes"))
}

func TestAProxyLosesOneReplyAfterTheServerDidTheWork(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s)
	c := client(t, p.URL())
	require.NoError(t, c.Ping(t.Context()).Err())
	p.LoseReply("incr")
	require.Error(t, c.Incr(t.Context(), "n").Err())
	require.False(t, p.Armed())
	require.Equal(t, "1", s.Do("GET", "n"))
	p.LoseRequest("incr")
	require.Error(t, c.Incr(t.Context(), "n").Err())
	require.Equal(t, "1", s.Do("GET", "n"))
	require.NoError(t, c.Incr(t.Context(), "n").Err())
}

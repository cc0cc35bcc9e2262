package storetest_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/internal/embedded"
	"github.com/pawl-dev/pawl/internal/redistest"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/pawl-dev/pawl/specstore/storetest"
)

// worlds gives each case a prefix of its own on one server.
func worlds(t *testing.T, url, format string) func(*testing.T) storetest.World {
	t.Helper()
	rdb, err := specstore.Dial(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	var n atomic.Int64
	return func(*testing.T) storetest.World {
		return storetest.World{RDB: rdb, Prefix: fmt.Sprintf(format, n.Add(1))}
	}
}

func TestRedis(t *testing.T) {
	storetest.Exercise(t, worlds(t, redistest.Start(t).URL(), "t%d:"))
}

func TestRedisWithAPrefixPerTenant(t *testing.T) {
	storetest.Exercise(t, worlds(t, redistest.Start(t).URL(), "t%d:{tenant}:"))
}

func TestCluster(t *testing.T) {
	open := worlds(t, redistest.StartCluster(t).URL(), "t%d:{tenant}:")
	require.IsType(t, &redis.ClusterClient{}, open(t).RDB)
	storetest.Exercise(t, open)
}

func TestEmbedded(t *testing.T) {
	srv, err := embedded.Start("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	storetest.Exercise(t, worlds(t, srv.URL(), "t%d:"))
}

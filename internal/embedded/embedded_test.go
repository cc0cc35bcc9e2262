package embedded_test

import (
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/internal/embedded"
)

func TestKeysExpireByThemselvesAndTimeIsTheWallClock(t *testing.T) {
	s, err := embedded.Start("127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	opt, err := redis.ParseURL(s.URL())
	require.NoError(t, err)
	c := redis.NewClient(opt)
	defer func() { require.NoError(t, c.Close()) }()

	require.NoError(t, c.Set(t.Context(), "k", "v", 20*time.Millisecond).Err())
	require.Eventually(t, func() bool { return c.Exists(t.Context(), "k").Val() == 0 }, 10*time.Second, time.Millisecond)
	now, err := c.Time(t.Context()).Result()
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), now, 10*time.Second)
}

func TestAnAddressInUseIsNamedAndACloseFreesIt(t *testing.T) {
	s, err := embedded.Start("127.0.0.1:0")
	require.NoError(t, err)
	_, err = embedded.Start(s.Addr())
	require.ErrorContains(t, err, "start embedded store on "+s.Addr())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "closing twice is no error")
	_, err = net.Dial("tcp", s.Addr())
	require.Error(t, err)
}

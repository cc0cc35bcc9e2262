// Package embedded owns the store that runs inside the process when no Redis is
// given: miniredis on an address, for trying out and for tests of wiring. It is
// empty at each start and is filled again from Git; it proves nothing about
// atomicity, persistence or clusters. A crash leaves nothing behind.
package embedded

import (
	"fmt"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// Server is a running store.
type Server struct {
	mini  *miniredis.Miniredis
	addr  string
	close sync.Once
}

// Start listens on addr (host:port; port 0 = any free one) and serves until Close.
// TIME is the wall clock, and keys expire by it: miniredis does neither drive its
// clock nor drop a key by itself unless it is told to.
func Start(addr string) (*Server, error) {
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true)
	if err := mini.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("start embedded store on %s: %w", addr, err)
	}
	return &Server{mini: mini, addr: mini.Addr()}, nil
}

// Addr is where it listens or, after Close, listened, as host:port.
func (s *Server) Addr() string { return s.addr }

// URL is what a client connects to.
func (s *Server) URL() string { return "redis://" + s.addr }

// Close ends the store with all of its connections and waits until they are gone.
// Closing twice is no error.
func (s *Server) Close() error {
	s.close.Do(s.mini.Close)
	return nil
}

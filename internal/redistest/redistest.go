// Package redistest starts private, real redis-server processes for tests: on a
// Unix socket without any port (Start), on a TCP port that can be killed and
// started again, or as a cluster of one node; and proxies that lose replies.
//
// It never uses a server that was there before, and keeps everything in the
// test's own temporary folder. Each process is killed and waited for when its
// test ends.
package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// startTime bounds how long a server may take until it answers.
const startTime = 20 * time.Second

// Server is one redis-server process.
type Server struct {
	t       testing.TB
	network string // unix or tcp
	addr    string // socket or host:port
	args    []string
	log     string
	cmd     *exec.Cmd
}

// Start starts a server on a Unix socket, without persistence. More settings may
// be given as for redis-server, such as "--maxmemory", "1mb".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	socket := filepath.Join(socketDir(t), "redis.sock")
	return start(t, "unix", socket, append([]string{"--port", "0", "--unixsocket", socket}, settings...))
}

// StartTCP is Start on a free port of 127.0.0.1, which a restart keeps.
func StartTCP(t testing.TB, settings ...string) *Server {
	t.Helper()
	port := freePort(t)
	return start(t, "tcp", net.JoinHostPort("127.0.0.1", port), append([]string{"--port", port, "--bind", "127.0.0.1"}, settings...))
}

// StartCluster starts a cluster of one node that serves all slots. It takes two
// seconds, for a node waits that long before it trusts itself.
func StartCluster(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := StartTCP(t, append([]string{"--cluster-enabled", "yes", "--cluster-port", freePort(t), "--cluster-announce-ip", "127.0.0.1"}, settings...)...)
	s.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	s.await("the cluster", func() error {
		info, err := s.try("CLUSTER", "INFO")
		if err == nil && !strings.Contains(info, "cluster_state:ok") {
			return fmt.Errorf("cluster is not ok yet")
		}
		return err
	})
	return s
}

// Addr is the socket's path, or host:port.
func (s *Server) Addr() string { return s.addr }

// URL is what a client connects to.
func (s *Server) URL() string {
	if s.network == "unix" {
		return "unix://" + s.addr
	}
	return "redis://" + s.addr
}

// Kill ends the process at once, as a power cut would. A server that is dead
// already is left so.
func (s *Server) Kill() {
	s.t.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatalf("kill redis-server: %v", err)
	}
	if err := s.cmd.Wait(); err == nil {
		s.t.Log("redis-server had ended by itself")
	}
	s.cmd = nil
}

// Restart kills the process and starts it again at the same address. What it does
// not persist is gone.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.launch()
}

// FlushAll empties the server.
func (s *Server) FlushAll() { s.t.Helper(); s.Do("FLUSHALL") }

// Do runs one command and gives its reply, as text; an error ends the test.
func (s *Server) Do(args ...string) string {
	s.t.Helper()
	reply, err := s.try(args...)
	if err != nil {
		s.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return reply
}

func start(t testing.TB, network, addr string, settings []string) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{t: t, network: network, addr: addr, log: filepath.Join(dir, "redis.log")}
	s.args = append([]string{"--dir", dir, "--logfile", s.log, "--daemonize", "no", "--appendonly", "no", "--save", ""}, settings...)
	t.Cleanup(s.Kill)
	s.launch()
	return s
}

func (s *Server) launch() {
	s.t.Helper()
	cmd := exec.Command("redis-server", s.args...)
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("redis-server: %v (these tests need it in PATH)", err)
	}
	s.cmd = cmd
	s.await("redis-server", func() error {
		_, err := s.try("PING")
		if err != nil && strings.HasPrefix(err.Error(), "NOAUTH") {
			return nil // it is there, and asks for a password
		}
		return err
	})
}

// await polls until ready says nil.
func (s *Server) await(what string, ready func() error) {
	s.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(startTime)
	for {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			text, readErr := os.ReadFile(s.log)
			s.t.Fatalf("%s at %s is not ready after %v: %v\n%s (%v)", what, s.addr, startTime, err, text, readErr)
		}
		<-tick.C
	}
}

// socketDir is a temporary folder whose path is short enough for a socket, which
// holds about 100 bytes.
func socketDir(t testing.TB) string {
	t.Helper()
	if dir := t.TempDir(); len(dir) < 80 {
		return dir
	}
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

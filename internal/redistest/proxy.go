package redistest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy stands between a client and a server and can lose a reply: the command is
// applied, and the client sees its connection end.
type Proxy struct {
	t      testing.TB
	server *Server
	listen net.Listener
	wg     sync.WaitGroup

	mu     sync.Mutex
	word   string // lose the reply of the next request that holds it; empty = none
	before bool   // cut before the server sees it instead
	conns  []net.Conn
	closed bool
}

// NewProxy listens on a free port of 127.0.0.1 and forwards to s.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, server: s, listen: l}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// URL is what a client connects to.
func (p *Proxy) URL() string { return "redis://" + p.listen.Addr().String() }

// LoseReply makes the reply of the next request that holds word get lost, whatever
// its case.
func (p *Proxy) LoseReply(word string) { p.arm(word, false) }

// LoseRequest makes the next request that holds word get lost before the server
// sees it.
func (p *Proxy) LoseRequest(word string) { p.arm(word, true) }

// Armed tells whether nothing was lost yet since the last LoseReply or LoseRequest.
func (p *Proxy) Armed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.word != ""
}

func (p *Proxy) arm(word string, before bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.word, p.before = word, before
}

// trips tells whether a request is the one to lose, and disarms then.
func (p *Proxy) trips(request []byte) (trip, before bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.word == "" || !bytes.Contains(bytes.ToLower(request), bytes.ToLower([]byte(p.word))) {
		return false, false
	}
	p.word = ""
	return true, p.before
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.server.network, p.server.addr)
		if err != nil {
			p.t.Logf("proxy: %v", errors.Join(err, client.Close()))
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		closed := p.closed
		p.mu.Unlock()
		if closed {
			p.t.Logf("proxy: %v", errors.Join(client.Close(), server.Close()))
			return
		}
		lose := make(chan struct{})
		p.wg.Go(func() { p.requests(client, server, lose) })
		p.wg.Go(func() { p.replies(client, server, lose) })
	}
}

// requests forwards what the client says and watches for the request to lose.
func (p *Proxy) requests(client, server net.Conn, lose chan struct{}) {
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if n > 0 {
			if trip, before := p.trips(buf[:n]); trip {
				close(lose)
				if before {
					break
				}
			}
			if _, err := server.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	p.end(client, server, lose)
}

// replies forwards what the server says, until a reply is to be lost.
func (p *Proxy) replies(client, server net.Conn, lose chan struct{}) {
	buf := make([]byte, 1<<20)
	for {
		n, err := server.Read(buf)
		select {
		case <-lose:
			p.cut(client, server)
			return
		default:
		}
		if n > 0 {
			if _, err := client.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	p.cut(client, server)
}

// end cuts a connection whose client is done, but leaves it to the reader of
// replies if one is to be lost: the server must have answered first.
func (p *Proxy) end(client, server net.Conn, lose chan struct{}) {
	select {
	case <-lose:
		if c, ok := server.(interface{ CloseWrite() error }); ok {
			p.note(c.CloseWrite())
			return
		}
	default:
	}
	p.cut(client, server)
}

func (p *Proxy) cut(client, server net.Conn) { p.note(errors.Join(client.Close(), server.Close())) }

// note tells of an error that is more than a connection that is closed already.
func (p *Proxy) note(err error) {
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
		p.t.Logf("proxy: %v", err)
	}
}

func (p *Proxy) close() {
	p.note(p.listen.Close())
	p.mu.Lock()
	p.closed = true
	conns := p.conns
	p.mu.Unlock()
	for _, c := range conns {
		p.note(c.Close())
	}
	p.wg.Wait()
}

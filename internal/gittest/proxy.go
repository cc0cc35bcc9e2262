package gittest

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy is a forward proxy for http and for tunnels.
type Proxy struct {
	URL  *url.URL     // where it listens, without credentials
	Used atomic.Int64 // requests that it let through
}

// ServeProxy runs a proxy until the test ends. If user is not empty, it and
// password are asked for.
func ServeProxy(t testing.TB, user, password string) *Proxy {
	t.Helper()
	p := &Proxy{}
	var tunnels sync.WaitGroup
	forward := &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}
	want := http.Request{Header: http.Header{}}
	want.SetBasicAuth(user, password)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if user != "" && req.Header.Get("Proxy-Authorization") != want.Header.Get("Authorization") {
			http.Error(w, "who are you", http.StatusProxyAuthRequired)
			return
		}
		p.Used.Add(1)
		if req.Method != http.MethodConnect {
			forward.ServeHTTP(w, req)
			return
		}
		tunnels.Add(1)
		defer tunnels.Done()
		if err := tunnel(w, req.Host); err != nil {
			t.Errorf("proxy: %v", err)
		}
	}))
	t.Cleanup(func() { srv.Close(); tunnels.Wait() })
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.URL = u
	return p
}

// tunnel joins a client and an address until one of them ends.
func tunnel(w http.ResponseWriter, addr string) error {
	server, err := net.Dial("tcp", addr)
	if err != nil {
		http.Error(w, "not there", http.StatusBadGateway)
		return nil
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return errors.Join(err, server.Close())
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connected\r\n\r\n"); err != nil {
		return errors.Join(client.Close(), server.Close())
	}
	ended := make(chan struct{}, 2)
	join := func(to, from net.Conn) {
		defer func() { ended <- struct{}{} }()
		if _, err := io.Copy(to, from); err != nil {
			return // who goes without a word is no fault of the proxy
		}
	}
	go join(server, client)
	go join(client, server)
	<-ended
	err = errors.Join(closed(client.Close()), closed(server.Close()))
	<-ended
	return err
}

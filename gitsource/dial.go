package gitsource

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"golang.org/x/net/proxy"
)

// dial connects to addr, through a proxy if there is one. Without one of the
// source's own, ALL_PROXY of the environment counts.
func dial(ctx context.Context, addr string, via *url.URL) (net.Conn, error) {
	switch {
	case via == nil:
		return proxy.Dial(ctx, "tcp", addr)
	case via.Scheme == "socks5":
		return dialSocks(ctx, addr, via)
	}
	return dialConnect(ctx, addr, via)
}

func dialSocks(ctx context.Context, addr string, via *url.URL) (net.Conn, error) {
	var who *proxy.Auth
	if user := via.User; user != nil {
		password, _ := user.Password()
		who = &proxy.Auth{User: user.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", proxyAddr(via), who, nil)
	if err != nil {
		return nil, err
	}
	obedient, ok := d.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("auth.proxy: this kind of proxy knows no deadlines")
	}
	return obedient.DialContext(ctx, "tcp", addr)
}

// dialConnect asks an http proxy for a tunnel.
func dialConnect(ctx context.Context, addr string, via *url.URL) (net.Conn, error) {
	var conn net.Conn
	var err error
	if via.Scheme == "https" {
		conn, err = (&tls.Dialer{}).DialContext(ctx, "tcp", proxyAddr(via))
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", proxyAddr(via))
	}
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { hangUp(conn) })
	defer stop()
	tunnel, err := connect(conn, addr, via.User)
	if err != nil {
		return nil, firstOf(err, conn.Close())
	}
	return tunnel, nil
}

func connect(conn net.Conn, addr string, user *url.Userinfo) (net.Conn, error) {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if user != nil {
		password, _ := user.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	r := bufio.NewReaderSize(conn, 16<<10)
	res, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the proxy %s answered %s", conn.RemoteAddr(), cut(res.Status, 100))
	}
	return &tunnel{Conn: conn, r: r}, nil
}

// tunnel is a connection of which some bytes have been read already.
type tunnel struct {
	net.Conn
	r *bufio.Reader
}

// Read gives those first.
func (t *tunnel) Read(b []byte) (int, error) { return t.r.Read(b) }

func proxyAddr(via *url.URL) string {
	port := via.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[via.Scheme]
	}
	return net.JoinHostPort(via.Hostname(), port)
}

package gitsource

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxErrorBody is how much of an answer that is an error is read.
const maxErrorBody = 4 << 10

// web is the http side of a source: its own connections, certificates and
// proxy. It is used by one operation at a time.
type web struct {
	base *http.Transport
	ca   []byte // the certificates that base trusts beside the system's
}

type proxyKey struct{}

// newWeb starts from Go's defaults.
func newWeb() *web {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	base = base.Clone()
	base.MaxResponseHeaderBytes = 64 << 10
	usual := base.Proxy
	base.Proxy = func(req *http.Request) (*url.URL, error) {
		if own, ok := req.Context().Value(proxyKey{}).(*url.URL); ok {
			return own, nil
		}
		if usual == nil {
			return nil, nil
		}
		return usual(req)
	}
	return &web{base: base}
}

// trip is the way for one operation: it reads the certificates anew. Bodies are
// cut at limit bytes if that is not 0.
func (w *web) trip(r *remote, proxy *url.URL, limit int64) (http.RoundTripper, error) {
	if file := r.auth.CA; file != "" {
		pem, err := readFile("auth.ca", file)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(pem, w.ca) {
			if err := w.trust(file, pem); err != nil {
				return nil, err
			}
		}
	}
	return &trip{base: w.base, proxy: proxy, limit: limit, remote: r}, nil
}

// trust takes over certificates; connections made with others are not used again.
func (w *web) trust(file string, pem []byte) error {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // this system has none
	}
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("auth.ca: there is no certificate in %s", file)
	}
	next := w.base.Clone()
	if next.TLSClientConfig == nil {
		next.TLSClientConfig = &tls.Config{}
	}
	next.TLSClientConfig.RootCAs = pool
	w.base.CloseIdleConnections()
	w.base, w.ca = next, pem
	return nil
}

func (w *web) close() { w.base.CloseIdleConnections() }

// trip is an http.RoundTripper of one operation.
type trip struct {
	base   *http.Transport
	proxy  *url.URL
	limit  int64
	remote *remote
}

// RoundTrip sends a request through the source's proxy, notes when a server
// wants to be left alone, and cuts what it says if that is an error: the next
// one to see it reads it whole into memory.
func (t *trip) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.proxy != nil {
		req = req.WithContext(context.WithValue(req.Context(), proxyKey{}, t.proxy))
	}
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	t.heed(res)
	limit := t.limit
	if res.StatusCode >= 300 {
		limit = maxErrorBody
	}
	if limit > 0 {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, limit), res.Body}
	}
	return res, nil
}

// heed obeys Retry-After.
func (t *trip) heed(res *http.Response) {
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusForbidden, http.StatusServiceUnavailable:
	default:
		return
	}
	if until, ok := retryAfter(res.Header.Get("Retry-After"), time.Now()); ok {
		t.remote.limits.hold(t.remote.key, until, "answered "+strconv.Itoa(res.StatusCode)+" with Retry-After")
	}
}

// retryAfter reads seconds or a date.
func retryAfter(value string, now time.Time) (time.Time, bool) {
	if value = strings.TrimSpace(value); value == "" {
		return time.Time{}, false
	}
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return now.Add(time.Duration(seconds) * time.Second), true
	}
	at, err := http.ParseTime(value)
	return at, err == nil && at.After(now)
}

// redirectError says that a server sent us where credentials and trust must
// not go; nothing was asked there.
type redirectError struct{ host string }

func (e *redirectError) Error() string {
	return "the server redirects to another host, " + e.host + ": not followed; set the source's url to the new address if that is right"
}

// sameHost follows a redirect on one host, from http to https too, and notes it.
func (r *remote) sameHost(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	upgrade := from.Scheme == "http" && req.URL.Scheme == "https" && from.Port() == "" && req.URL.Port() == ""
	same := from.Scheme == req.URL.Scheme && from.Port() == req.URL.Port()
	if !strings.EqualFold(from.Hostname(), req.URL.Hostname()) || !same && !upgrade {
		return &redirectError{host: cut(req.URL.Scheme+"://"+req.URL.Host, 200)}
	}
	moved := *req.URL
	moved.RawQuery, moved.User, moved.Path = "", nil, strings.TrimSuffix(moved.Path, "/info/refs")
	r.moved.Store(&movedTo{Redact(moved.String())})
	return nil
}

type movedTo struct{ url string }

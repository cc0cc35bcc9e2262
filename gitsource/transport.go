package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
)

// errRedirect says that a server sent us to another host: never followed, so
// that no credentials and no trust move with it.
var errRedirect = errors.New("the server redirects to another host; set the source's url to the new address if that is right")

// remote is the source as something to talk to.
type remote struct {
	ep     *transport.Endpoint
	name   string // redacted URL
	hide   []string
	client transport.Transport
	http   *http.Client
	ask    func(context.Context) (user, password string, err error)
}

func newRemote(cfg Config) (*remote, error) {
	ep, err := endpoint(cfg.URL)
	if err != nil {
		return nil, err
	}
	r := &remote{ep: ep, name: Redact(cfg.URL), hide: secretsOf(cfg.URL, ep), ask: cfg.Credentials}
	switch ep.Protocol {
	case "file":
		r.client = file.DefaultClient
	case "ssh":
		r.client = ssh.DefaultClient
	default:
		base, ok := http.DefaultTransport.(*http.Transport)
		if !ok {
			base = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
		}
		base = base.Clone()
		base.MaxResponseHeaderBytes = 64 << 10
		r.http = &http.Client{Transport: shortErrors{base}, CheckRedirect: sameHost}
		r.client = githttp.NewClient(r.http)
	}
	return r, nil
}

// session opens one conversation. The endpoint is copied: go-git moves it along
// with redirects.
func (r *remote) session(ctx context.Context) (transport.UploadPackSession, error) {
	ep := *r.ep
	var auth transport.AuthMethod
	if r.http != nil && r.ask != nil {
		user, password, err := r.ask(ctx)
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		ep.User, ep.Password = "", ""
		if user != "" || password != "" {
			auth = &githttp.BasicAuth{Username: user, Password: password}
		}
	}
	return r.client.NewUploadPackSession(&ep, auth)
}

func (r *remote) close() {
	if r.http != nil {
		r.http.CloseIdleConnections()
	}
}

// sameHost follows a redirect on one host, from http to https too.
func sameHost(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	upgrade := from.Scheme == "http" && req.URL.Scheme == "https" && from.Port() == "" && req.URL.Port() == ""
	if !strings.EqualFold(from.Hostname(), req.URL.Hostname()) || (from.Port() != req.URL.Port() && !upgrade) {
		return errRedirect
	}
	return nil
}

// shortErrors cuts the bodies of answers that are errors: they are read whole
// into memory by what comes next.
type shortErrors struct{ next http.RoundTripper }

func (s shortErrors) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := s.next.RoundTrip(req)
	if err == nil && res.StatusCode >= 300 {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, 4<<10), res.Body}
	}
	return res, err
}

// CloseIdleConnections is found by http.Client.CloseIdleConnections.
func (s shortErrors) CloseIdleConnections() {
	if c, ok := s.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// secretsOf lists what of a URL must not stand in a message, longest first.
func secretsOf(raw string, ep *transport.Endpoint) []string {
	secret := ep.Password
	if secret == "" && ep.Protocol != "ssh" {
		secret = ep.User // a token in the place of the user
	}
	var hide []string
	add := func(s string) {
		if s != "" {
			hide = append(hide, s)
		}
	}
	if _, rest, ok := cutScheme(raw); ok && ep.Protocol != "file" {
		host, _, _ := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(host, '@'); i >= 0 && strings.Contains(host[:i], ":") {
			add(host[:i+1])
		}
	}
	add(secret)
	add(url.QueryEscape(secret))
	add(url.PathEscape(secret))
	return hide
}

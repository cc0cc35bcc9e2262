package gitsource

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/pawl-dev/pawl/spec"
)

// remote is the source as something to talk to. It holds references to
// credentials; what they refer to is read for each operation.
type remote struct {
	ep      *transport.Endpoint
	name    string   // redacted URL
	hide    []string // what of the URL must not stand in a message
	auth    spec.Auth
	secrets resolver
	ask     func(context.Context) (user, password string, err error)
	limits  *Limits
	key     waitKey
	web     *web       // nil but for http(s)
	app     *appTokens // nil if there is no App
	moved   atomic.Pointer[movedTo]
}

func newRemote(cfg Config) (*remote, error) {
	ep, err := endpoint(cfg.URL)
	if err != nil {
		return nil, err
	}
	r := &remote{ep: ep, name: Redact(cfg.URL), hide: secretsOf(cfg.URL, ep), auth: cfg.Auth, ask: cfg.Credentials,
		secrets: resolver{cfg.Getenv}, limits: cfg.Limits}
	if r.secrets.getenv == nil {
		r.secrets.getenv = os.LookupEnv
	}
	if r.limits == nil {
		r.limits = NewLimits(0, 0)
	}
	if err := checkAuth(cfg.Auth); err != nil {
		return nil, fmt.Errorf("source %s: %w", r.name, err)
	}
	who := []string{ep.User, ep.Password}
	for _, f := range authReferences(cfg.Auth) {
		who = append(who, f.ref)
	}
	r.key = r.limits.key(hostPort(ep), who...)
	if ep.Protocol == "http" || ep.Protocol == "https" {
		r.web = newWeb()
	}
	if cfg.Auth.App != nil {
		if r.app, err = newAppTokens(*cfg.Auth.App, &url.URL{Scheme: ep.Protocol, Host: hostPort(ep)}); err != nil {
			return nil, fmt.Errorf("source %s: %w", r.name, err)
		}
	}
	return r, nil
}

// hostPort is where an endpoint is, without the port that goes without saying.
func hostPort(ep *transport.Endpoint) string {
	usual := map[string]int{"http": 80, "https": 443, "ssh": 22}[ep.Protocol]
	if ep.Port == 0 || ep.Port == usual {
		return strings.ToLower(ep.Host)
	}
	return strings.ToLower(net.JoinHostPort(strings.Trim(ep.Host, "[]"), strconv.Itoa(ep.Port)))
}

// local tells whether the source is on this machine.
func (r *remote) local() bool { return r.ep.Protocol == "file" }

// link is one operation's way to the server: it waits for its turn and reads
// the credentials. The endpoint is a copy: go-git moves it along with redirects.
// What is in hide must be taken out of every error of the operation.
type link struct {
	client transport.Transport
	ep     *transport.Endpoint
	auth   transport.AuthMethod
	hide   []string
}

func (r *remote) link(ctx context.Context) (*link, error) {
	ep := *r.ep
	if r.local() {
		return &link{client: file.DefaultClient, ep: &ep}, nil
	}
	if err := r.limits.take(ctx, r.key, r.name); err != nil {
		return nil, err
	}
	r.moved.Store(nil)
	l, err := r.login(ctx)
	if err != nil {
		return nil, err
	}
	ep.User, ep.Password = "", ""
	way := &link{ep: &ep, hide: l.hide}
	if r.web == nil {
		way.client = &sshTransport{ctx: ctx, remote: r, login: l}
		return way, nil
	}
	trip, err := r.web.trip(r, l.proxy, 0)
	if err != nil {
		return nil, err
	}
	way.client = githttp.NewClient(&http.Client{Transport: trip, CheckRedirect: r.sameHost})
	if l.user != "" || l.password != "" {
		way.auth = &githttp.BasicAuth{Username: l.user, Password: l.password}
	}
	return way, nil
}

// upload opens a session to fetch through.
func (l *link) upload() (transport.UploadPackSession, error) {
	s, err := l.client.NewUploadPackSession(l.ep, l.auth)
	if err != nil {
		return nil, cleaned(err, l.hide)
	}
	return &cleanUpload{s, l.hide}, nil
}

// receive opens a session to push through.
func (l *link) receive() (transport.ReceivePackSession, error) {
	s, err := l.client.NewReceivePackSession(l.ep, l.auth)
	if err != nil {
		return nil, cleaned(err, l.hide)
	}
	return &cleanReceive{s, l.hide}, nil
}

func (r *remote) close() {
	if r.web != nil {
		r.web.close()
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

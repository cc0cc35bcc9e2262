package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"golang.org/x/crypto/ssh"
)

// errRefusedKey says that the server does not know us.
var errRefusedKey = fmt.Errorf("%w: it accepts none of the ssh keys and passwords that were offered", ErrAuth)

// sshTransport opens sessions over ssh for one operation. go-git's own cannot be
// told a deadline while it shakes hands, and obeys the ssh_config of whoever runs
// it; here the connection is closed when ctx ends, whatever it is doing.
type sshTransport struct {
	ctx    context.Context // of the operation that this lives for
	remote *remote
	login  *login
}

// NewUploadPackSession starts git-upload-pack on the server.
func (t *sshTransport) NewUploadPackSession(ep *transport.Endpoint, _ transport.AuthMethod) (transport.UploadPackSession, error) {
	return t.start(transport.UploadPackServiceName, ep)
}

// NewReceivePackSession starts git-receive-pack on the server.
func (t *sshTransport) NewReceivePackSession(ep *transport.Endpoint, _ transport.AuthMethod) (transport.ReceivePackSession, error) {
	return t.start(transport.ReceivePackServiceName, ep)
}

// start connects, logs in and starts a command.
func (t *sshTransport) start(service string, ep *transport.Endpoint) (*sshSession, error) {
	port := ep.Port
	if port == 0 {
		port = 22
	}
	addr := net.JoinHostPort(strings.Trim(ep.Host, "[]"), strconv.Itoa(port))
	config, release, err := t.config(addr)
	if err != nil {
		return nil, err
	}
	defer release() // the agent is not asked after the handshake
	conn, err := dial(t.ctx, addr, t.login.proxy)
	if err != nil {
		return nil, err
	}
	s := &sshSession{service: service}
	s.unwatch = context.AfterFunc(t.ctx, func() { hangUp(conn) })
	c, chans, reqs, err := ssh.NewClientConn(conn, addr, config)
	if err != nil {
		s.unwatch()
		return nil, firstOf(handshakeError(err), conn.Close())
	}
	s.client = ssh.NewClient(c, chans, reqs)
	if err := s.run(ep.Path); err != nil {
		return nil, firstOf(err, s.Close())
	}
	return s, nil
}

// handshakeError tells a login that failed from other faults.
func handshakeError(err error) error {
	var key *hostKeyError
	switch {
	case errors.As(err, &key):
		return key
	case strings.Contains(err.Error(), "unable to authenticate"):
		return errRefusedKey
	}
	return err
}

// config says who we are and whom we trust.
func (t *sshTransport) config(addr string) (*ssh.ClientConfig, func(), error) {
	trust, err := t.remote.knownHosts()
	if err != nil {
		return nil, nil, err
	}
	methods, release, err := t.methods()
	if err != nil {
		return nil, nil, err
	}
	user := t.login.user
	if user == "" {
		user = "git"
	}
	return &ssh.ClientConfig{User: user, Auth: methods, HostKeyCallback: trust.check,
		HostKeyAlgorithms: trust.algorithms(addr)}, release, nil
}

// sshSession is a git command on the server.
type sshSession struct {
	service string
	client  *ssh.Client
	unwatch func() bool
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	stderr  said
	talk    gitTalk
	closed  bool
}

// run starts the command; git and its shells want the path quoted.
func (s *sshSession) run(path string) (err error) {
	if s.session, err = s.client.NewSession(); err != nil {
		return err
	}
	if s.in, err = s.session.StdinPipe(); err != nil {
		return err
	}
	if s.out, err = s.session.StdoutPipe(); err != nil {
		return err
	}
	s.session.Stderr = &s.stderr
	quoted := strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path)
	return s.session.Start(s.service + " '" + quoted + "'")
}

// Close ends the command and the connection. One that was not asked for
// anything is told so first.
func (s *sshSession) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.unwatch()
	if s.in != nil && !s.talk.asked {
		s.bye()
	}
	if err := s.client.Close(); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// partingTime is what a server gets to end by itself.
const partingTime = 2 * time.Second

// bye sends the empty request that ends a conversation; a server that has gone,
// or that does not take it, is left.
func (s *sshSession) bye() {
	slow := time.AfterFunc(partingTime, func() { hangUp(s.client) })
	defer slow.Stop()
	if _, err := io.WriteString(s.in, "0000"); err != nil {
		return // it has ended: nobody is there to be told
	}
}

// hangUp closes what is given up; that it was closed already is no news.
func hangUp(c io.Closer) {
	if err := c.Close(); err != nil {
		return
	}
}

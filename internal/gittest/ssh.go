package gittest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/subtle"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSHConfig says what an SSH server serves and whom it lets in.
type SSHConfig struct {
	Root     string                      // folder that paths of repositories are below
	Keys     []ssh.PublicKey             // who may come in, whatever the user's name
	Password string                      // if not empty, it lets in too
	Out      func(w io.Writer) io.Writer // put in front of what git says; nil = nothing
}

// SSH is a server that runs git-upload-pack and git-receive-pack, and nothing else.
type SSH struct {
	Addr string        // host:port
	Host ssh.PublicKey // its host key

	t      testing.TB
	config SSHConfig
	server *ssh.ServerConfig
	work   sync.WaitGroup
	mu     sync.Mutex
	conns  map[net.Conn]bool
	users  []string
}

// ServeSSH serves over SSH until the test ends.
func ServeSSH(t testing.TB, config SSHConfig) *SSH {
	t.Helper()
	_, host := newKey(t)
	s := &SSH{t: t, config: config, Host: host.PublicKey(), conns: map[net.Conn]bool{}}
	s.server = &ssh.ServerConfig{PublicKeyCallback: s.key}
	if config.Password != "" {
		s.server.PasswordCallback = s.password
	}
	s.server.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = l.Addr().String()
	s.work.Go(func() { s.accept(l) })
	t.Cleanup(func() { s.stop(l) })
	return s
}

// URL is the ssh:// address of a repository below the root.
func (s *SSH) URL(path string) string { return "ssh://git@" + s.Addr + "/" + path }

// KnownHosts is a new file that knows this server's host key.
func (s *SSH) KnownHosts() string {
	s.t.Helper()
	return WriteKnownHosts(s.t, s.Addr, s.Host)
}

// Users are the names under which somebody came in, in order.
func (s *SSH) Users() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.users...)
}

// WriteKnownHosts is a new file that gives a key for an address.
func WriteKnownHosts(t testing.TB, addr string, key ssh.PublicKey) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte(knownhosts.Line([]string{knownhosts.Normalize(addr)}, key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// SSHKey makes a key pair; the private key is PEM, locked if there is a passphrase.
func SSHKey(t testing.TB, passphrase string) (private string, public ssh.PublicKey) {
	t.Helper()
	raw, signer := newKey(t)
	var block *pem.Block
	var err error
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(raw, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), signer.PublicKey()
}

// ServeAgent runs an ssh agent with one new key until the test ends, and returns
// its socket.
func ServeAgent(t testing.TB) (socket string, public ssh.PublicKey) {
	t.Helper()
	raw, signer := newKey(t)
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: raw}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "agent") // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				if err := agent.ServeAgent(ring, c); !errors.Is(err, io.EOF) {
					t.Errorf("agent: %v", err)
				}
			})
		}
	})
	t.Cleanup(func() {
		err := l.Close()
		work.Wait()
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), signer.PublicKey()
}

func newKey(t testing.TB) (ed25519.PrivateKey, ssh.Signer) {
	t.Helper()
	_, raw, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return raw, signer
}

var errStranger = errors.New("not known here")

func (s *SSH) key(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	for _, k := range s.config.Keys {
		if string(k.Marshal()) == string(key.Marshal()) {
			return nil, nil
		}
	}
	return nil, errStranger
}

func (s *SSH) password(_ ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) {
	if subtle.ConstantTimeCompare(given, []byte(s.config.Password)) == 1 {
		return nil, nil
	}
	return nil, errStranger
}

func (s *SSH) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.work.Go(func() { s.serve(c) })
	}
}

func (s *SSH) stop(l net.Listener) {
	err := l.Close()
	s.mu.Lock()
	for c := range s.conns {
		err = errors.Join(err, closed(c.Close()))
	}
	s.mu.Unlock()
	s.work.Wait()
	if err != nil {
		s.t.Error(err)
	}
}

func closed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// serve serves one connection. That a client does not like us, or goes, is no
// fault of the test.
func (s *SSH) serve(c net.Conn) {
	conn, chans, reqs, err := ssh.NewServerConn(c, s.server)
	if err != nil {
		if err := closed(c.Close()); err != nil {
			s.t.Error(err)
		}
		return
	}
	s.mu.Lock()
	s.users = append(s.users, conn.User())
	s.mu.Unlock()
	s.work.Go(func() { ssh.DiscardRequests(reqs) })
	for open := range chans {
		if open.ChannelType() != "session" {
			if err := open.Reject(ssh.UnknownChannelType, ""); err != nil {
				return
			}
			continue
		}
		ch, reqs, err := open.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() { s.session(ch, reqs) })
	}
}

// session runs the first command that is asked for.
func (s *SSH) session(ch ssh.Channel, reqs <-chan *ssh.Request) {
	for req := range reqs {
		if req.Type != "exec" {
			if err := req.Reply(false, nil); err != nil {
				return
			}
			continue
		}
		var what struct{ Command string }
		if err := ssh.Unmarshal(req.Payload, &what); err != nil {
			s.t.Errorf("ssh: %v", err)
		}
		if err := req.Reply(true, nil); err != nil {
			return
		}
		code := s.command(ch, what.Command)
		if _, err := ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code})); err != nil {
			return
		}
		if err := ch.Close(); err != nil {
			return
		}
	}
}

// command runs git; a path is that of a repository below the root.
func (s *SSH) command(ch ssh.Channel, line string) uint32 {
	service, path, _ := strings.Cut(line, " ")
	if service != "git-upload-pack" && service != "git-receive-pack" {
		return 127
	}
	path = strings.NewReplacer(`'\''`, "'", `'\!'`, "!").Replace(strings.TrimSuffix(strings.TrimPrefix(path, "'"), "'"))
	cmd := exec.Command("git", strings.TrimPrefix(service, "git-"), filepath.Join(s.config.Root, path))
	cmd.Env, cmd.Stderr = Env(), ch.Stderr()
	cmd.Stdout = io.Writer(ch)
	if s.config.Out != nil {
		cmd.Stdout = s.config.Out(ch)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Error(err)
		return 1
	}
	if err := cmd.Start(); err != nil {
		s.t.Error(err)
		return 1
	}
	s.work.Go(func() {
		if _, err := io.Copy(in, ch); err != nil {
			return // the command has ended, or the client has gone
		}
		if err := in.Close(); err != nil {
			return
		}
	})
	if err := cmd.Wait(); err != nil {
		return 128
	}
	return 0
}

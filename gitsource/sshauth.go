package gitsource

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	gogitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// methods are the ways in which we can prove who we are: the source's own key,
// or else the keys of the agent; and a password if there is one. release must be
// called after the handshake.
func (t *sshTransport) methods() (methods []ssh.AuthMethod, release func(), err error) {
	release = func() {}
	sock, running := t.remote.secrets.getenv("SSH_AUTH_SOCK")
	switch {
	case t.login.key != nil:
		signer, err := parseKey(t.login.key, t.login.passphrase)
		if err != nil {
			return nil, nil, err
		}
		methods = append(methods, ssh.PublicKeys(signer))
	case running && sock != "":
		var keys ssh.AuthMethod
		if keys, release, err = agentKeys(t.ctx, sock); err != nil {
			return nil, nil, err
		}
		methods = append(methods, keys)
	}
	if t.login.password != "" {
		methods = append(methods, ssh.Password(t.login.password))
	}
	if len(methods) == 0 {
		return nil, nil, fmt.Errorf("%w: there is no ssh key: set auth.sshKey, or run an agent (SSH_AUTH_SOCK)", ErrAuth)
	}
	return methods, release, nil
}

// parseKey reads a private key; what is wrong with it is told without it.
func parseKey(pem []byte, passphrase string) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return signer, nil
	case !errors.As(err, &locked):
		return nil, errors.New("auth.sshKey: what it names is no private key that ssh understands")
	case passphrase == "":
		return nil, errors.New("auth.sshKey: the key has a passphrase: set auth.sshKeyPassphrase")
	}
	if signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, []byte(passphrase)); err != nil {
		return nil, errors.New("auth.sshKeyPassphrase: it does not open the key")
	}
	return signer, nil
}

// agentKeys asks a running agent.
func agentKeys(ctx context.Context, sock string) (ssh.AuthMethod, func(), error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", sock)
	if err != nil {
		return nil, nil, fmt.Errorf("ssh agent: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { hangUp(conn) })
	return ssh.PublicKeysCallback(agent.NewClient(conn).Signers), func() { stop(); hangUp(conn) }, nil
}

// hostKeyError says that a server shows a key that we have no reason to trust.
type hostKeyError struct {
	host, fingerprint string
	known             []string // fingerprints of those that we would trust
	file              string
}

func (e *hostKeyError) Error() string {
	if len(e.known) > 0 {
		return fmt.Sprintf("the host key of %s is %s, but %s has %s for it: refused; if the host was set up anew, replace it there",
			e.host, e.fingerprint, e.file, e.known[0])
	}
	return fmt.Sprintf("the host key of %s is not known: %s; compare it with what the host's owner says, then add it to %s",
		e.host, e.fingerprint, e.file)
}

// hosts are the host keys that a source trusts.
type hosts struct {
	file   string // where to add one
	verify ssh.HostKeyCallback
	kinds  func(addr string) []string
}

// knownHosts reads them: those of the source, or else of the user and the machine.
func (r *remote) knownHosts() (*hosts, error) {
	h := &hosts{file: r.auth.KnownHosts}
	files := []string{h.file}
	if h.file == "" {
		h.file = "/etc/ssh/ssh_known_hosts"
		files = existingFiles(h.file)
		if home, _ := r.secrets.getenv("HOME"); filepath.IsAbs(home) {
			h.file = filepath.Join(home, ".ssh", "known_hosts")
			files = existingFiles(h.file, files...)
		}
	} else if _, err := os.Stat(h.file); err != nil {
		return nil, fmt.Errorf("auth.knownHosts: %w", err)
	}
	if len(files) == 0 {
		return h, nil
	}
	db, err := gogitssh.NewKnownHostsDb(files...)
	if err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	h.verify, h.kinds = db.HostKeyCallback(), db.HostKeyAlgorithms
	return h, nil
}

func existingFiles(first string, others ...string) []string {
	var there []string
	for _, name := range append([]string{first}, others...) {
		if _, err := os.Stat(name); err == nil {
			there = append(there, name)
		}
	}
	return there
}

// algorithms are those of the keys that are known for a host, so that it shows
// one of them; nil is any.
func (h *hosts) algorithms(addr string) []string {
	if h.kinds == nil {
		return nil
	}
	return h.kinds(addr)
}

// check is the ssh.HostKeyCallback.
func (h *hosts) check(addr string, remote net.Addr, key ssh.PublicKey) error {
	refused := &hostKeyError{host: knownhosts.Normalize(addr), fingerprint: fingerprint(key), file: h.file}
	if h.verify == nil {
		return refused
	}
	err := h.verify(addr, remote, key)
	var mismatch *knownhosts.KeyError
	if !errors.As(err, &mismatch) {
		return err // nil, or a revoked key
	}
	for _, k := range mismatch.Want {
		refused.known = append(refused.known, fingerprint(k.Key))
	}
	return refused
}

func fingerprint(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

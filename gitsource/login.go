package gitsource

import (
	"context"
	"fmt"
	"net/url"

	"github.com/pawl-dev/pawl/spec"
)

// tokenUser stands for the user where a token is all that counts.
const tokenUser = "x-access-token"

// login is who we are for one operation. It is made anew for each, and dropped
// with it.
type login struct {
	user, password string
	key            []byte // of ssh, PEM
	passphrase     string
	proxy          *url.URL // nil = that of the environment
	hide           []string // what must not stand in an error
}

// login reads every reference that an operation needs.
func (r *remote) login(ctx context.Context) (*login, error) {
	l := &login{user: r.ep.User, password: r.ep.Password}
	steps := []func(context.Context, *login) error{r.loginURL, r.loginProxy, r.loginHTTP}
	if r.ep.Protocol == "ssh" {
		steps[2] = r.loginSSH
	}
	for _, step := range steps {
		if err := step(ctx, l); err != nil {
			return nil, cleaned(err, l.hide)
		}
	}
	return l, nil
}

// loginURL reads what the URL refers to instead of a password.
func (r *remote) loginURL(_ context.Context, l *login) (err error) {
	if scheme, _, _ := spec.SplitReference(l.password); scheme == spec.SchemeEnv || scheme == spec.SchemeFile {
		if l.password, err = r.secrets.secret("password in the url", l.password); err != nil {
			return err
		}
	}
	return nil
}

// loginProxy reads the proxy's password.
func (r *remote) loginProxy(_ context.Context, l *login) error {
	if r.auth.Proxy == "" {
		return nil
	}
	u, err := url.Parse(r.auth.Proxy)
	if err != nil {
		return fmt.Errorf("auth.proxy is not a URL")
	}
	l.proxy = u
	ref, ok := u.User.Password()
	if !ok {
		return nil
	}
	password, err := r.secrets.secret("auth.proxy: its password", ref)
	if err != nil {
		return err
	}
	u.User = url.UserPassword(u.User.Username(), password)
	l.hide = append(l.hide, masks(u.User.Username(), password)...)
	return nil
}

// loginHTTP reads user and password, or makes a token.
func (r *remote) loginHTTP(ctx context.Context, l *login) (err error) {
	defer func() { l.hide = append(l.hide, masks(l.user, l.password)...) }()
	if r.ask != nil {
		if l.user, l.password, err = r.ask(ctx); err != nil {
			return fmt.Errorf("credentials: %w", err)
		}
		return nil
	}
	if err := r.loginUser(l); err != nil {
		return err
	}
	switch a := r.auth; {
	case a.App != nil:
		l.password, err = r.app.token(ctx, r, l.proxy)
	case a.Token != "":
		l.password, err = r.secrets.secret("auth.token", a.Token)
	default:
		return nil
	}
	if l.user == "" {
		l.user = tokenUser
	}
	return err
}

// loginUser reads user and password, which count more than those of the URL.
func (r *remote) loginUser(l *login) (err error) {
	if r.auth.Username != "" {
		if l.user, err = r.secrets.secret("auth.username", r.auth.Username); err != nil {
			return err
		}
	}
	if r.auth.Password != "" {
		l.password, err = r.secrets.secret("auth.password", r.auth.Password)
	}
	return err
}

// loginSSH reads user, key and passphrase.
func (r *remote) loginSSH(_ context.Context, l *login) error {
	if err := r.loginUser(l); err != nil {
		return err
	}
	l.hide = append(l.hide, masks("", l.password)...)
	if r.auth.SSHKey == "" {
		return nil
	}
	key, err := r.secrets.secret("auth.sshKey", r.auth.SSHKey)
	if err != nil {
		return err
	}
	l.key = []byte(key + "\n") // some parsers want the last line to end
	if r.auth.SSHKeyPassphrase != "" {
		l.passphrase, err = r.secrets.secret("auth.sshKeyPassphrase", r.auth.SSHKeyPassphrase)
		l.hide = append(l.hide, masks("", l.passphrase)...)
	}
	return err
}

package gitsource

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// maxSecret is the size of the greatest file that a reference may name, and of
// the files of certificates and known hosts; bundles of a whole system fit.
const maxSecret = 1 << 20

// resolver reads references. It keeps nothing of what it read.
type resolver struct {
	getenv func(string) (string, bool)
}

// secret reads the value behind a reference, without the line end of a file. An
// error names the field and what the reference names, never a value.
func (r resolver) secret(field, ref string) (string, error) {
	scheme, name, _ := spec.SplitReference(ref)
	var value string
	switch scheme {
	case spec.SchemeEnv:
		var ok bool
		if value, ok = r.getenv(name); !ok {
			return "", fmt.Errorf("%s: the environment variable %s is not set", field, name)
		}
	case spec.SchemeFile:
		raw, err := readFile(field, name)
		if err != nil {
			return "", err
		}
		value = string(raw)
	default:
		return "", notReference(field)
	}
	if value = strings.TrimRight(value, "\r\n"); value == "" {
		return "", fmt.Errorf("%s: %s is empty", field, ref)
	}
	return value, nil
}

func notReference(field string) error {
	return fmt.Errorf("%s is not a reference: put the secret elsewhere and write env:NAME or file:PATH", field)
}

// readFile reads a small regular file; one that could block is not opened.
func readFile(field, path string) (data []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %s is not a regular file", field, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err == nil && len(data) > maxSecret {
		err = &TooLargeError{What: field + " " + path, Size: info.Size(), Limit: maxSecret}
	}
	return data, err
}

// checkAuth refuses what no use of it can make right.
func checkAuth(a spec.Auth) error {
	for _, f := range authReferences(a) {
		if scheme, name, _ := spec.SplitReference(f.ref); f.ref != "" && (scheme != spec.SchemeEnv && scheme != spec.SchemeFile || name == "") {
			return notReference(f.field)
		}
	}
	if a.Proxy == "" {
		return nil
	}
	u, err := url.Parse(a.Proxy)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) {
		return errors.New("auth.proxy is not a URL of an http, https or socks5 proxy")
	}
	if password, ok := u.User.Password(); ok {
		if scheme, _, _ := spec.SplitReference(password); scheme != spec.SchemeEnv && scheme != spec.SchemeFile {
			return notReference("auth.proxy: its password")
		}
	}
	return nil
}

type reference struct{ field, ref string }

// authReferences are all references of a, and what they are called.
func authReferences(a spec.Auth) []reference {
	refs := []reference{
		{"auth.username", a.Username}, {"auth.password", a.Password}, {"auth.token", a.Token},
		{"auth.sshKey", a.SSHKey}, {"auth.sshKeyPassphrase", a.SSHKeyPassphrase},
	}
	if a.App != nil {
		refs = append(refs, reference{"auth.app.key", a.App.Key})
	}
	return refs
}

// masks are the forms in which a login could come back in somebody's error. A
// user without a password is a token.
func masks(user, password string) []string {
	if user == "" && password == "" {
		return nil
	}
	secret := password
	if secret == "" {
		secret = user
	}
	return []string{base64.StdEncoding.EncodeToString([]byte(user + ":" + password)), secret, url.QueryEscape(secret), url.PathEscape(secret)}
}

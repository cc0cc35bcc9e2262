package specfile

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// maxAppID is the greatest number that every reader of YAML and JSON keeps exact.
const maxAppID = 1<<53 - 1

// authField is how a source lets us in: references, never what they refer to.
func authField() field {
	id := func(name, doc string) field { return must(wholeField(name, 1, maxAppID, nil, doc)) }
	return objectField("auth", "How the repository lets us in; every secret is a reference: env:NAME or file:PATH.",
		secretField("username", "The user, a reference."),
		secretField("password", "The password, a reference; for ssh too."),
		secretField("token", "A token, a reference; sent as the password, by user x-access-token if there is no other."),
		secretField("sshKey", "A private key, a reference; without one the ssh agent is asked."),
		secretField("sshKeyPassphrase", "The passphrase of that key, a reference."),
		textField("knownHosts", filePath(), "A file of known host keys; those of user and machine if left out."),
		textField("ca", filePath(), "A file of certificates that are trusted beside the system's."),
		field{"proxy", false, shape{kind: text, rule: proxyRule(), hidden: true, doc: "The URL of an http, https or socks5 proxy; its password is a reference."}},
		objectField("app", "An installation of a GitHub App, which gives tokens.",
			id("id", "The id of the App."),
			id("installation", "The id of the installation."),
			must(secretField("key", "The private key of the App, a reference.")),
			textField("api", address(), "The address of the API, on the source's host; left out, it is the usual one.")))
}

// secretField is a field for a reference. What stands there is never shown: it
// may be the secret itself.
func secretField(name, doc string) field {
	return field{name, false, shape{kind: text, rule: referenceRule(), hidden: true, doc: doc}}
}

func referenceRule() rule {
	return rule{max: 4096, pattern: `^(env|file):.*\S`, check: func(s string) error {
		if !isReference(s) || printable(s, false) != nil {
			return errors.New("is not a reference: put the secret elsewhere and write env:NAME or file:PATH")
		}
		return nil
	}}
}

func isReference(s string) bool {
	scheme, name, ok := spec.SplitReference(s)
	return ok && scheme != spec.SchemeSys && strings.TrimSpace(name) != ""
}

// proxyRule takes the URL of a proxy; it may hold a secret, so it is never shown.
func proxyRule() rule {
	return rule{max: 4096, check: func(s string) error {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || printable(s, false) != nil || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) {
			return errors.New("is not the URL of a proxy (http://, https:// or socks5://)")
		}
		if password, ok := u.User.Password(); ok && !isReference(password) {
			return errors.New("a password in the address: write a reference (env:NAME) in its place")
		}
		return nil
	}}
}

// auth refuses credentials that a tenant names for itself, which could be those
// of another, and such as exclude each other, of which one would be ignored
// without a word.
func (c *checker) auth(n *yaml.Node) {
	if n == nil {
		return
	}
	c.push("source")
	c.push("auth")
	defer c.pop()
	defer c.pop()
	if !c.opt.Platform {
		c.fail(n, "is for the platform's configuration alone: remove it")
		return
	}
	var set []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name := n.Content[i].Value; slices.Contains([]string{"password", "token", "app"}, name) && !slices.Contains(set, name) {
			set = append(set, name)
		}
	}
	if len(set) > 1 {
		c.fail(n, "%s stand together: keep one of them", strings.Join(set, ", "))
	}
	if get(n, "sshKeyPassphrase", yaml.ScalarNode) != nil && get(n, "sshKey", yaml.ScalarNode) == nil {
		c.fail(n, "sshKeyPassphrase without sshKey: name the key that it opens")
	}
}

type wireAuth struct {
	Username         string `json:"username"`
	Password         string `json:"password"`
	Token            string `json:"token"`
	SSHKey           string `json:"sshKey"`
	SSHKeyPassphrase string `json:"sshKeyPassphrase"`
	KnownHosts       string `json:"knownHosts"`
	CA               string `json:"ca"`
	Proxy            string `json:"proxy"`
	App              *struct {
		ID           int64  `json:"id"`
		Installation int64  `json:"installation"`
		Key          string `json:"key"`
		API          string `json:"api"`
	} `json:"app"`
}

func (w wireAuth) auth() spec.Auth {
	a := spec.Auth{Username: w.Username, Password: w.Password, Token: w.Token, SSHKey: w.SSHKey, SSHKeyPassphrase: w.SSHKeyPassphrase,
		KnownHosts: w.KnownHosts, CA: w.CA, Proxy: w.Proxy}
	if w.App != nil {
		a.App = &spec.GitHubApp{ID: w.App.ID, Installation: w.App.Installation, Key: w.App.Key, API: w.App.API}
	}
	return a
}

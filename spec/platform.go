package spec

import "time"

// Pavilion is a tenant as the platform's configuration declares it. Source:
// CONTRACT section 2.
type Pavilion struct {
	Name        string // the tenant's name
	ID          string // NT:1
	CID         string // X8FD
	Suspend     bool   // pauses the whole tenant
	Source      Source
	Manifests   Manifests
	Guard       Guard
	Verify      Verify
	Policy      []Policy
	EnforceFrom string   // guard, verify and policy bind commits after it
	Approved    []string // full ids of commits that are let through
	Drift       string   // report | heal
	AllowSelf   bool
}

// Source says where the specs of a tenant are.
type Source struct {
	URL       string
	Branch    string        // default main
	Path      string        // folder below which specs are looked for; default .
	Interval  time.Duration // default 30s
	History   string        // full | head | a full commit id
	OnRewrite string        // follow | hold
	Auth      Auth
}

// Auth says how a repository lets us in. What is secret is a reference (env:NAME
// or file:PATH) that is read at each use; "" is not set.
type Auth struct {
	Username, Password, Token string     // references; for http(s), and a password for ssh too
	SSHKey, SSHKeyPassphrase  string     // references; without a key the ssh agent is asked
	KnownHosts                string     // file of known host keys; "" = those of user and machine
	CA                        string     // file of certificates that are trusted beside the system's
	Proxy                     string     // http, https or socks5 URL; its password is a reference
	App                       *GitHubApp // nil = none
}

// IsZero tells whether nothing is set.
func (a Auth) IsZero() bool { return a == Auth{} }

// GitHubApp is an installation of a GitHub App, which gives tokens for an hour each.
type GitHubApp struct {
	ID, Installation int64
	Key              string // reference to its private key, PEM
	API              string // address of the API; "" = that of the source's host
}

// Manifests says where rendered manifests go.
type Manifests struct {
	URL, Branch, Path, Namespace string
	ExternalGrace                time.Duration // default 10m
}

// Guard bounds what one commit may remove.
type Guard struct {
	MaxRemovePercent int // default 30
}

// Verify says which signatures a tenant asks for.
type Verify struct {
	Mode           string // none | signed | author
	Keyrings       []string
	AllowedSigners string
	Forges         []string
}

// Policy lets one kind of person do some operations on some jobs.
type Policy struct {
	WhoName, WhoMail, WhoSigner string // globs; empty = any
	Ops                         []string
	Jobs                        string
}

// Defaults of a Pavilion. Source: CONTRACT section 2.
const (
	DefaultBranch           = "main"
	DefaultPath             = "."
	DefaultInterval         = 30 * time.Second
	DefaultHistory          = "full"
	DefaultOnRewrite        = "follow"
	DefaultMaxRemovePercent = 30
	DefaultExternalGrace    = 10 * time.Minute
	DefaultDrift            = "report"
)

// Kollex is a built-in Kollex of the platform; its ids have no Pavilion.
type Kollex struct {
	Name              string
	ID                string // K0001
	Builtin           bool
	ImageTag          string
	Episodes          []Episode
	Dramas            []Drama
	ExternalTargetIDs []string
}

// Agent is the configuration of one agent.
type Agent struct {
	Name          string
	Tenants       []string // globs; default *
	Capacity      int      // jobs at most; default 200
	TakeoverAfter time.Duration
	Factories     []Factory
}

// Factory is a pipeline factory that an agent offers: exactly one launcher is set.
type Factory struct {
	Name       string
	Process    *ProcessLauncher
	Stream     *StreamLauncher
	Kubernetes *KubernetesLauncher
}

// ProcessLauncher runs a job as child processes, one for each unit of parallelism.
type ProcessLauncher struct {
	Command []string // argv, never a shell
	Env     map[string]string
	Wire    bool          // speaks the runner wire on stdin and stdout
	Grace   time.Duration // between SIGTERM and SIGKILL; default 10s
}

// StreamLauncher runs a job in the embedded pipeline engine.
type StreamLauncher struct{}

// KubernetesLauncher runs a job as a Deployment.
type KubernetesLauncher struct {
	Namespace string
	Image     string
}

// Defaults of an Agent.
const (
	DefaultCapacity      = 200
	DefaultTakeoverAfter = 6 * time.Minute
	DefaultGrace         = 10 * time.Second
)

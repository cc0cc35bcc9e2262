package specfile

import (
	"github.com/pawl-dev/pawl/spec"
)

type wirePavilion struct {
	ID      string `json:"id"`
	CID     string `json:"cid"`
	Suspend bool   `json:"suspend"`
	Source  struct {
		URL       string   `json:"url"`
		Branch    *string  `json:"branch"`
		Path      *string  `json:"path"`
		Interval  span     `json:"interval"`
		History   *string  `json:"history"`
		OnRewrite *string  `json:"onRewrite"`
		Auth      wireAuth `json:"auth"`
	} `json:"source"`
	Manifests struct {
		URL           string  `json:"url"`
		Branch        *string `json:"branch"`
		Path          *string `json:"path"`
		Namespace     *string `json:"namespace"`
		ExternalGrace span    `json:"externalGrace"`
	} `json:"manifests"`
	Guard struct {
		MaxRemovePercent *int `json:"maxRemovePercent"`
	} `json:"guard"`
	Verify struct {
		Mode           *string  `json:"mode"`
		Keyrings       []string `json:"keyrings"`
		AllowedSigners string   `json:"allowedSigners"`
		Forges         []string `json:"forges"`
	} `json:"verify"`
	Policy      []wirePolicy `json:"policy"`
	EnforceFrom string       `json:"enforceFrom"`
	Approved    []string     `json:"approved"`
	Drift       *string      `json:"drift"`
	AllowSelf   bool         `json:"allowSelf"`
}

type wirePolicy struct {
	Who struct {
		Name   string `json:"name"`
		Mail   string `json:"mail"`
		Signer string `json:"signer"`
	} `json:"who"`
	Ops  []string `json:"ops"`
	Jobs string   `json:"jobs"`
}

type wireAgent struct {
	Tenants       []string      `json:"tenants"`
	Capacity      *int          `json:"capacity"`
	TakeoverAfter span          `json:"takeoverAfter"`
	Factories     []wireFactory `json:"factories"`
}

type wireFactory struct {
	Name    string `json:"name"`
	Process *struct {
		Command []string          `json:"command"`
		Env     map[string]string `json:"env"`
		Wire    bool              `json:"wire"`
		Grace   span              `json:"grace"`
	} `json:"process"`
	Stream     *struct{} `json:"stream"`
	Kubernetes *struct {
		Namespace string `json:"namespace"`
		Image     string `json:"image"`
	} `json:"kubernetes"`
}

func pavilionOf(name string, w wirePavilion) Doc {
	p := &spec.Pavilion{
		Name: name, ID: w.ID, CID: w.CID, Suspend: w.Suspend,
		Source: spec.Source{
			URL: w.Source.URL, Branch: or(w.Source.Branch, spec.DefaultBranch), Path: or(w.Source.Path, spec.DefaultPath),
			Interval: w.Source.Interval.orElse(spec.DefaultInterval), History: or(w.Source.History, spec.DefaultHistory),
			OnRewrite: or(w.Source.OnRewrite, spec.DefaultOnRewrite), Auth: w.Source.Auth.auth(),
		},
		Manifests: spec.Manifests{
			URL: w.Manifests.URL, Branch: or(w.Manifests.Branch, spec.DefaultBranch), Path: or(w.Manifests.Path, spec.DefaultPath),
			Namespace: or(w.Manifests.Namespace, name), ExternalGrace: w.Manifests.ExternalGrace.orElse(spec.DefaultExternalGrace),
		},
		Guard: spec.Guard{MaxRemovePercent: or(w.Guard.MaxRemovePercent, spec.DefaultMaxRemovePercent)},
		Verify: spec.Verify{
			Mode: or(w.Verify.Mode, "none"), Keyrings: w.Verify.Keyrings,
			AllowedSigners: w.Verify.AllowedSigners, Forges: w.Verify.Forges,
		},
		EnforceFrom: w.EnforceFrom, Approved: w.Approved, Drift: or(w.Drift, spec.DefaultDrift), AllowSelf: w.AllowSelf,
	}
	for _, r := range w.Policy {
		p.Policy = append(p.Policy, spec.Policy{WhoName: r.Who.Name, WhoMail: r.Who.Mail, WhoSigner: r.Who.Signer, Ops: r.Ops, Jobs: r.Jobs})
	}
	return Doc{Key: spec.Key{Kind: spec.KindPavilion, Name: name}, Pavilion: p}
}

func agentOf(name string, w wireAgent) Doc {
	a := &spec.Agent{Name: name, Tenants: w.Tenants, Capacity: or(w.Capacity, spec.DefaultCapacity),
		TakeoverAfter: w.TakeoverAfter.orElse(spec.DefaultTakeoverAfter)}
	if len(a.Tenants) == 0 {
		a.Tenants = []string{"*"}
	}
	for _, f := range w.Factories {
		a.Factories = append(a.Factories, factoryOf(f))
	}
	return Doc{Key: spec.Key{Kind: spec.KindAgent, Name: name}, Agent: a}
}

func factoryOf(w wireFactory) spec.Factory {
	f := spec.Factory{Name: w.Name}
	if p := w.Process; p != nil {
		f.Process = &spec.ProcessLauncher{Command: p.Command, Env: p.Env, Wire: p.Wire, Grace: p.Grace.orElse(spec.DefaultGrace)}
		if f.Process.Env == nil {
			f.Process.Env = map[string]string{}
		}
	}
	if w.Stream != nil {
		f.Stream = &spec.StreamLauncher{}
	}
	if k := w.Kubernetes; k != nil {
		f.Kubernetes = &spec.KubernetesLauncher{Namespace: k.Namespace, Image: k.Image}
	}
	return f
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

// jobDocument writes a job as a document of a spec repository. A secret literal
// never leaves the store: a reference stands in its place, and a line says so.
func jobDocument(s spec.Spec) (doc *yaml.Node, masked []string) {
	j, ok := s.(spec.Job)
	if !ok {
		return nil, nil
	}
	body := mapping("pipelineFactory", text(j.Factory), "parallelism", plain(fmt.Sprint(j.Parallelism)))
	if j.Suspend {
		put(body, "suspend", plain("true"))
	}
	if j.Description != "" {
		put(body, "description", text(j.Description))
	}
	if len(j.Config) > 0 {
		config := mapping()
		for _, k := range j.ConfigKeys() {
			v := j.Config[k]
			if spec.IsSecretLiteral(k, v) {
				v = spec.SchemeEnv + envName(j.Name, k)
				masked = append(masked, fmt.Sprintf("%s: config.%s was a literal; it is exported as %s: put the value there", j.Name, k, v))
			}
			put(config, k, text(v))
		}
		put(body, "config", config)
	}
	return document(spec.KindJob, j.Name, body), masked
}

func envName(job, key string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, job+"_"+strings.TrimPrefix(key, spec.SecretPrefix)))
}

func subscriptionDocument(s spec.Spec) *yaml.Node {
	sub, ok := s.(spec.Subscription)
	if !ok {
		return nil
	}
	kollex := mapping("id", text(sub.Kollex.ID))
	if sub.Kollex.Name != "" {
		put(kollex, "name", text(sub.Kollex.Name))
	}
	put(kollex, "builtin", plain(fmt.Sprint(sub.Kollex.Builtin)))
	if sub.Kollex.ImageTag != "" {
		put(kollex, "imageTag", text(sub.Kollex.ImageTag))
	}
	body := mapping("kollex", kollex)
	episodes, dramas, external := list(), list(), list()
	for _, e := range sub.Episodes {
		m := mapping("id", text(e.ID), "name", text(e.Name))
		if e.Port != 0 {
			put(m, "port", plain(fmt.Sprint(e.Port)))
		}
		put(m, "image", text(e.Image))
		episodes.Content = append(episodes.Content, m)
	}
	for _, d := range sub.Dramas {
		m := mapping("id", text(d.ID), "service", text(d.Service), "port", plain(fmt.Sprint(d.Port)), "roleId", text(d.RoleID), "image", text(d.Image))
		if d.Self {
			put(m, "self", plain("true"))
		}
		dramas.Content = append(dramas.Content, m)
	}
	for _, id := range sub.ExternalTargetIDs {
		external.Content = append(external.Content, text(id))
	}
	put(body, "episodes", episodes)
	put(body, "dramas", dramas)
	put(body, "externalTargetIds", external)
	return document(spec.KindSubscription, sub.Name, body)
}

func document(kind spec.Kind, name string, body *yaml.Node) *yaml.Node {
	return mapping("apiVersion", plain(spec.APIVersion), "kind", plain(string(kind)), "metadata", mapping("name", text(name)), "spec", body)
}

// writeDocument writes one document of a stream.
func writeDocument(w io.Writer, doc *yaml.Node) error {
	if doc == nil {
		return nil
	}
	if _, err := io.WriteString(w, "---\n"); err != nil {
		return err
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return err
	}
	return enc.Close()
}

// text is a string, in quotes, so that no reader takes it for anything else.
func text(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
}

func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

func list() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode} }

// mapping makes a mapping of names and nodes in turn.
func mapping(pairs ...any) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, okName := pairs[i].(string)
		node, okNode := pairs[i+1].(*yaml.Node)
		if okName && okNode {
			put(m, name, node)
		}
	}
	return m
}

// put adds a field; a key that is no plain word is quoted.
func put(m *yaml.Node, name string, v *yaml.Node) {
	key := plain(name)
	if !isWord(name) {
		key = text(name)
	}
	m.Content = append(m.Content, key, v)
}

func isWord(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '.' {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return s[0] != '.'
}

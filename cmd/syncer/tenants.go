package main

import (
	"strings"

	"github.com/pawl-dev/pawl/gid"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
)

// pavilions gives the tenants that the flags name, by name.
func (a *app) pavilions() ([]spec.Pavilion, error) {
	switch {
	case a.config != "" && a.repo != "":
		return nil, cli.Usagef("--config and --repo exclude each other")
	case a.repo != "":
		return a.single()
	case a.config == "":
		return nil, cli.ErrorHint(cli.Usagef("no repository"), "give --repo PATH|URL --tenant T --cid X8FD --pavilion NT:1, or --config FILE|DIR|GIT-URL with Pavilion documents")
	}
	return a.configured()
}

// single is the one tenant of --repo.
func (a *app) single() ([]spec.Pavilion, error) {
	p := spec.Pavilion{Name: a.one(), ID: a.pavilion, CID: a.cid,
		Source: spec.Source{URL: a.repo, Branch: a.branch, Path: a.path, Interval: a.interval,
			History: spec.DefaultHistory, OnRewrite: spec.DefaultOnRewrite},
		Guard: spec.Guard{MaxRemovePercent: spec.DefaultMaxRemovePercent}, Drift: spec.DefaultDrift}
	if err := spec.CheckTenant(p.Name); err != nil {
		return nil, cli.ErrorHint(cli.Usage{Err: err}, "choose another --tenant")
	}
	if _, err := gid.ParseCID(p.CID); err != nil {
		return nil, cli.ErrorHint(cli.Usage{Err: err}, "give --cid, the customer's id, such as X8FD")
	}
	if _, err := gid.ParsePavilion(p.ID); err != nil {
		return nil, cli.ErrorHint(cli.Usage{Err: err}, "give --pavilion, such as NT:1")
	}
	return []spec.Pavilion{p}, nil
}

func lines(fs []spec.Finding) string {
	s := make([]string, len(fs))
	for i, f := range fs {
		s[i] = f.String()
	}
	return strings.Join(s, "\n")
}

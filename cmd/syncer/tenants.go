package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/gid"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
)

// pavilions gives the tenants that the flags name, by name.
func (a *app) pavilions() ([]spec.Pavilion, error) {
	switch {
	case a.config != "" && a.repo != "":
		return nil, cli.Usagef("--config and --repo exclude each other")
	case a.repo != "":
		return a.single()
	case a.config == "":
		return nil, cli.ErrorHint(cli.Usagef("no repository"), "give --repo PATH|URL --tenant T --cid X8FD --pavilion NT:1, or --config FILE|DIR with Pavilion documents")
	}
	pavs, err := a.configured()
	if err != nil {
		return nil, err
	}
	if a.tenant != "" {
		pavs = slices.DeleteFunc(pavs, func(p spec.Pavilion) bool { return p.Name != a.tenant })
		if len(pavs) == 0 {
			return nil, cli.Usagef("tenant %q is not in %s", a.tenant, a.config)
		}
	}
	return pavs, nil
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

// configured reads the Pavilions of --config. All mistakes are told at once.
func (a *app) configured() ([]spec.Pavilion, error) {
	dir, root := a.config, "."
	info, err := os.Stat(a.config)
	if err != nil {
		return nil, cli.ErrorHint(cli.Usage{Err: fmt.Errorf("configuration: %w", err)}, "--config names a file or a folder")
	}
	if !info.IsDir() {
		dir, root = filepath.Split(filepath.Clean(a.config))
		if dir == "" {
			dir = "."
		}
	}
	docs, findings := specfile.Tree(os.DirFS(dir), []string{root}, specfile.Options{Platform: true})
	bad, _ := spec.Split(findings)
	var pavs []spec.Pavilion
	for _, d := range docs {
		if d.Pavilion != nil {
			pavs = append(pavs, *d.Pavilion)
		}
	}
	bad = append(bad, sameIDs(docs)...)
	if len(bad) > 0 {
		return nil, cli.Usagef("configuration %s:\n%s", a.config, lines(spec.SortFindings(bad)))
	}
	if len(pavs) == 0 {
		return nil, cli.ErrorHint(cli.Usagef("configuration %s has no Pavilion", a.config), "a tenant is a document of kind Pavilion; `syncer schema Pavilion` describes it")
	}
	slices.SortFunc(pavs, func(x, y spec.Pavilion) int { return strings.Compare(x.Name, y.Name) })
	return pavs, nil
}

// sameIDs finds Pavilions that share one CID and id: both are refused, since
// their resources would share GIDs.
func sameIDs(docs []specfile.FileDoc) (bad []spec.Finding) {
	byID := map[string][]specfile.FileDoc{}
	for _, d := range docs {
		if p := d.Pavilion; p != nil {
			byID[p.CID+"-"+p.ID] = append(byID[p.CID+"-"+p.ID], d)
		}
	}
	for id, ds := range byID {
		for _, d := range ds {
			if len(ds) > 1 {
				bad = append(bad, spec.Finding{Path: d.Path, Line: d.Line, Field: "spec.id",
					Message: fmt.Sprintf("Pavilion %s: %d Pavilions have the id %s; each needs its own", d.Pavilion.Name, len(ds), id)})
			}
		}
	}
	return bad
}

func lines(fs []spec.Finding) string {
	s := make([]string, len(fs))
	for i, f := range fs {
		s[i] = f.String()
	}
	return strings.Join(s, "\n")
}

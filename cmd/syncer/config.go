package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
)

// inGit tells whether --config names a repository instead of a file or folder.
func inGit(config string) bool {
	return strings.Contains(config, "://") || strings.HasSuffix(strings.TrimRight(config, "/"), ".git")
}

// configuration gives the function that reads the tenants as they are configured
// now, and the repository to watch if they are in one.
func (a *app) configuration(state *stateDir) (read func(context.Context) ([]spec.Pavilion, error), watched string, closeIt func() error, err error) {
	none := func() error { return nil }
	if !inGit(a.config) {
		return func(context.Context) ([]spec.Pavilion, error) { return a.pavilions() }, "", none, nil
	}
	repo, err := gitsource.Open(gitsource.Config{URL: a.config, Branch: a.branch, Path: a.path, Dir: filepath.Join(state.path, "config"), Limits: a.limits})
	if err != nil {
		return nil, "", none, fmt.Errorf("configuration: %w", err)
	}
	read = func(ctx context.Context) ([]spec.Pavilion, error) { return a.fromGit(ctx, repo) }
	return read, a.config, repo.Close, nil
}

// fromGit reads the Pavilions at the tip of a configuration repository.
func (a *app) fromGit(ctx context.Context, repo *gitsource.Repo) ([]spec.Pavilion, error) {
	tip, err := repo.Fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	files, err := repo.Changes(ctx, "", tip)
	if err != nil {
		return nil, fmt.Errorf("configuration at %s: %w", spec.Short(tip), err)
	}
	var docs []specfile.FileDoc
	var findings []spec.Finding
	for _, f := range files {
		if f.New.Mode != spec.ModeFile {
			continue
		}
		data, err := repo.Blob(ctx, f.New.ID, specfile.MaxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("configuration at %s: %s: %w", spec.Short(tip), spec.QuotePath(f.Path), err)
		}
		ds, fs := specfile.Decode(f.Path, data, specfile.Options{Platform: true})
		for _, d := range ds {
			docs = append(docs, specfile.FileDoc{Path: f.Path, Doc: d})
		}
		findings = append(findings, fs...)
	}
	return a.chosen(docs, append(findings, sameNames(docs)...))
}

// configured reads the Pavilions of a file or folder.
func (a *app) configured() ([]spec.Pavilion, error) {
	dir, root := a.config, "."
	info, err := os.Stat(a.config)
	if err != nil {
		return nil, cli.ErrorHint(cli.Usage{Err: fmt.Errorf("configuration: %w", err)}, "--config names a file, a folder or a Git URL")
	}
	if !info.IsDir() {
		if dir, root = filepath.Split(filepath.Clean(a.config)); dir == "" {
			dir = "."
		}
	}
	docs, findings := specfile.Tree(os.DirFS(dir), []string{root}, specfile.Options{Platform: true})
	return a.chosen(docs, findings)
}

// chosen gives the Pavilions of a configuration, by name, or all that is wrong
// with it at once.
func (a *app) chosen(docs []specfile.FileDoc, findings []spec.Finding) ([]spec.Pavilion, error) {
	bad, _ := spec.Split(findings)
	bad = append(bad, sameIDs(docs)...)
	if len(bad) > 0 {
		return nil, cli.Usagef("configuration %s:\n%s", gitsource.Redact(a.config), lines(spec.SortFindings(bad)))
	}
	var pavs []spec.Pavilion
	for _, d := range docs {
		if d.Pavilion != nil {
			pavs = append(pavs, *d.Pavilion)
		}
	}
	if len(pavs) == 0 {
		return nil, cli.ErrorHint(cli.Usagef("configuration %s has no Pavilion", gitsource.Redact(a.config)), "a tenant is a document of kind Pavilion; `syncer schema Pavilion` describes it")
	}
	if a.tenant != "" {
		pavs = slices.DeleteFunc(pavs, func(p spec.Pavilion) bool { return p.Name != a.tenant })
		if len(pavs) == 0 {
			return nil, cli.Usagef("tenant %q is not in %s", a.tenant, gitsource.Redact(a.config))
		}
	}
	slices.SortFunc(pavs, func(x, y spec.Pavilion) int { return strings.Compare(x.Name, y.Name) })
	return pavs, nil
}

// sameIDs finds Pavilions that share one CID and id: both are refused, since
// their resources would share GIDs.
func sameIDs(docs []specfile.FileDoc) []spec.Finding {
	return shared(docs, func(d specfile.FileDoc) (id, field, why string) {
		return d.Pavilion.CID + "-" + d.Pavilion.ID, "spec.id", "%d Pavilions have the id %s; each needs its own"
	})
}

// sameNames finds Pavilions that share a name in different files.
func sameNames(docs []specfile.FileDoc) []spec.Finding {
	return shared(docs, func(d specfile.FileDoc) (id, field, why string) {
		return d.Pavilion.Name, "metadata.name", "%d Pavilions have the name %s; a name is one tenant"
	})
}

func shared(docs []specfile.FileDoc, by func(specfile.FileDoc) (id, field, why string)) (bad []spec.Finding) {
	groups := map[string][]specfile.FileDoc{}
	for _, d := range docs {
		if d.Pavilion != nil {
			id, _, _ := by(d)
			groups[id] = append(groups[id], d)
		}
	}
	for id, ds := range groups {
		for _, d := range ds {
			if len(ds) > 1 {
				_, field, why := by(d)
				bad = append(bad, spec.Finding{Path: d.Path, Line: d.Line, Field: field,
					Message: "Pavilion " + d.Pavilion.Name + ": " + fmt.Sprintf(why, len(ds), id)})
			}
		}
	}
	return bad
}

// tenantsNow reads the tenants once, for commands that do not stay.
func (a *app) tenantsNow(ctx context.Context, state *stateDir) (pavs []spec.Pavilion, err error) {
	read, _, closeIt, err := a.configuration(state)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeIt()) }()
	return read(ctx)
}

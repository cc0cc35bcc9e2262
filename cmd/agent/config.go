package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
)

// readConfig reads the Agent document of a file; if there are several, the one
// called name. Warnings are given back for the log.
func readConfig(path, name string) (spec.Agent, []spec.Finding, error) {
	data, err := readFile(path)
	if err != nil {
		return spec.Agent{}, nil, cli.Usage{Err: fmt.Errorf("--config: %w", err)}
	}
	docs, findings := specfile.Decode(path, data, specfile.Options{Platform: true})
	wrong, warnings := spec.Split(findings)
	if len(wrong) > 0 {
		var errs []error
		for _, f := range wrong {
			errs = append(errs, errors.New(f.String()))
		}
		return spec.Agent{}, nil, cli.Usage{Err: errors.Join(errs...)}
	}
	var all []spec.Agent
	var names []string
	for _, d := range docs {
		if d.Agent != nil {
			all, names = append(all, *d.Agent), append(names, d.Agent.Name)
		}
	}
	switch {
	case len(all) == 0:
		return spec.Agent{}, nil, cli.ErrorHint(cli.Usagef("%s: no Agent document in it", path), "see examples/platform/agent.yaml")
	case len(all) == 1:
		if name != "" {
			all[0].Name = name
		}
		return all[0], warnings, nil
	}
	for _, ag := range all {
		if ag.Name == name {
			return ag, warnings, nil
		}
	}
	return spec.Agent{}, nil, cli.ErrorHint(cli.Usagef("%s: %d Agent documents, and --name %q is none of them", path, len(all), name),
		"choose one of "+strings.Join(names, ", "))
}

// readFile reads a file of at most specfile.MaxFileBytes; a larger one is for
// Decode to refuse.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, specfile.MaxFileBytes+1))
	return data, errors.Join(err, f.Close())
}

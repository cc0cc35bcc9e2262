package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
	"github.com/spf13/cobra"
)

func (a *app) validateCmd() *cobra.Command {
	var opt specfile.Options
	c := &cobra.Command{
		Use:   "validate PATH…",
		Short: "Check files and folders of specs; findings on stderr, exit 1 if any is an error",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			opt.Pavilion, opt.CID = a.pavilion, a.cid
			return a.validate(args, opt)
		},
	}
	c.Flags().BoolVar(&opt.Platform, "platform", false, "platform configuration (Pavilion, Kollex, Agent) instead of a tenant's specs")
	c.Flags().BoolVar(&opt.AllowSelf, "allow-self", false, "accept builtin: true and self: true, as a Pavilion with allowSelf does")
	return c
}

// validity is what `validate -o json` says.
type validity struct {
	Valid    bool           `json:"valid"`
	Specs    int            `json:"specs"`
	Findings []spec.Finding `json:"findings"`
}

func (a *app) validate(paths []string, opt specfile.Options) error {
	v := validity{Valid: true, Findings: []spec.Finding{}}
	for _, p := range paths {
		docs, findings, err := readTree(p, opt)
		if err != nil {
			return err
		}
		v.Specs += len(docs)
		v.Findings = append(v.Findings, findings...)
	}
	bad, _ := spec.Split(v.Findings)
	v.Valid = len(bad) == 0
	for _, f := range v.Findings {
		if _, err := fmt.Fprintln(a.stderr, f); err != nil {
			return err
		}
	}
	if a.output != "text" {
		if err := a.print(v, nil); err != nil {
			return err
		}
	} else if v.Valid {
		if _, err := fmt.Fprintf(a.stdout, "%d specs are valid\n", v.Specs); err != nil {
			return err
		}
	}
	if !v.Valid {
		return cli.Quiet(cli.ExitFailed)
	}
	return nil
}

// readTree reads one file or folder, and names findings as the caller would.
func readTree(path string, opt specfile.Options) ([]specfile.FileDoc, []spec.Finding, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, cli.Usage{Err: err}
	}
	dir, root := path, "."
	if !info.IsDir() {
		dir, root = filepath.Split(path)
	}
	if dir == "" {
		dir = "."
	}
	if info.IsDir() {
		if opt.Skip, err = gitsource.IgnoreFile(os.DirFS(dir), "."); err != nil {
			return nil, nil, cli.Usage{Err: err}
		}
	}
	docs, findings := specfile.Tree(os.DirFS(dir), []string{root}, opt)
	for i := range findings {
		findings[i].Path = named(dir, findings[i].Path)
	}
	return docs, findings, nil
}

func named(dir, path string) string {
	if dir == "." {
		return path
	}
	return strings.TrimSuffix(dir, "/") + "/" + path
}

func (a *app) schemaCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of a kind, or the kinds there are",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, k := range specfile.Kinds() {
					if _, err := fmt.Fprintln(a.stdout, k); err != nil {
						return err
					}
				}
				return nil
			}
			b, err := specfile.Schema(spec.Kind(args[0]))
			if err != nil {
				return cli.ErrorHint(cli.Usage{Err: err}, "`syncer schema` lists the kinds")
			}
			_, err = a.stdout.Write(b)
			return err
		},
	}
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print what this program was built from",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := cli.Version()
			return a.print(v, textLine(v.String()))
		},
	}
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/spec"
)

// rolledBack is what `rollback` says.
type rolledBack struct {
	Tenant   string   `json:"tenant"`
	Job      string   `json:"job"`
	Restores int64    `json:"restores"`
	Changed  bool     `json:"changed"` // false: the branch has that content already
	DryRun   bool     `json:"dryRun,omitempty"`
	Branch   string   `json:"branch"`
	Base     string   `json:"base"`             // the commit that it was decided on
	Commit   string   `json:"commit,omitempty"` // that was pushed
	Path     string   `json:"path"`
	Author   string   `json:"author,omitempty"`
	Message  string   `json:"message,omitempty"`
	Diff     string   `json:"diff,omitempty"`     // secrets masked
	Commands []string `json:"commands,omitempty"` // what to type where the push was refused
}

func (r rolledBack) text(w io.Writer) error {
	var b strings.Builder
	switch {
	case !r.Changed:
		fmt.Fprintf(&b, "%s %s: branch %s has the content of v%d already, in %s: nothing to write\n", r.Tenant, r.Job, r.Branch, r.Restores, spec.QuotePath(r.Path))
	case len(r.Commands) > 0:
		fmt.Fprintf(&b, "# in a clone of the repository, to make the commit yourself:\n%s\n", strings.Join(r.Commands, "\n"))
	case r.DryRun:
		fmt.Fprintf(&b, "%s %s would be back at v%d by %s, on %s of branch %s\n\n", r.Tenant, r.Job, r.Restores, r.Author, spec.Short(r.Base), r.Branch)
		for line := range strings.Lines(r.Message) {
			b.WriteString("    " + line)
		}
		b.WriteString("\n\n" + r.Diff)
	default:
		fmt.Fprintf(&b, "%s %s is back at v%d in %s by %s: %s on branch %s; the next look at the repository makes it a version\n",
			r.Tenant, r.Job, r.Restores, spec.Short(r.Commit), r.Author, spec.QuotePath(r.Path), r.Branch)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// byHand are the commands that make the same commit in a clone of the person's own.
func (d decision) byHand(branch, topic, patch, message string, author spec.Person) []string {
	return []string{
		"git fetch origin " + shellWord(branch),
		"git checkout -b " + shellWord(topic) + " " + d.base,
		"git apply --index " + shellWord(patch) + " # " + spec.QuotePath(d.path),
		"git commit --author=" + shellWord(author.String()) + " -m " + shellWord(message),
		"git push origin " + shellWord(topic),
	}
}

// shellWord is a word for a shell.
func shellWord(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./:@+", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// diff shows the change, the values of secrets masked.
func (d decision) diff() string {
	return gitsource.Patch(d.path, shownText(d.old), shownText(d.data))
}

// patch is the change itself, for git.
func (d decision) patch() string {
	return gitsource.Patch(d.path, gitsource.Text{Data: d.old}, gitsource.Text{Data: d.data})
}

func shownText(data []byte) gitsource.Text {
	if data == nil {
		return gitsource.Text{}
	}
	return gitsource.Text{Data: data, Shown: maskSecrets(data)}
}

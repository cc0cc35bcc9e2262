package cli

import (
	"runtime/debug"
	"strings"
)

// release is set by the linker: -X github.com/pawl-dev/pawl/internal/cli.release=1.2.3
var release string

// Build is what this program was built from.
type Build struct {
	Version string `json:"version"` // the release, a module version, or devel
	Commit  string `json:"commit,omitempty"`
	Time    string `json:"time,omitempty"` // of the commit
	Dirty   bool   `json:"dirty,omitempty"`
	Go      string `json:"go"`
}

// Version says what this program was built from: the linker's word first, then
// what the Go tool recorded.
func Version() Build {
	b := Build{Version: release}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b.orDevel()
	}
	b.Go = info.GoVersion
	if b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	return b.orDevel()
}

func (b Build) orDevel() Build {
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}

// String is the version on one line, such as "1.2.3 (1a2b3c4, go1.26)".
func (b Build) String() string {
	var more []string
	if b.Commit != "" {
		commit := b.Commit[:min(7, len(b.Commit))]
		if b.Dirty {
			commit += " with local changes"
		}
		more = append(more, commit)
	}
	if b.Go != "" {
		more = append(more, b.Go)
	}
	if len(more) == 0 {
		return b.Version
	}
	return b.Version + " (" + strings.Join(more, ", ") + ")"
}

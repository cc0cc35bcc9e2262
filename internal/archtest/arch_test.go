package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/pawl-dev/pawl/"

// rule says what a package may import: packages of ours, modules from outside
// (by prefix), and which of the standard library it must not.
type rule struct {
	ours    []string
	outside []string
	noIO    bool // no files, processes, network, clocks or logs
}

const (
	goGit    = "github.com/go-git/go-git/v5"
	goBilly  = "github.com/go-git/go-billy/v5"
	fsnotify = "github.com/fsnotify/fsnotify"
	goRedis  = "github.com/redis/go-redis/v9"
	cobra    = "github.com/spf13/cobra"
)

// rules is the import table. A package without a row fails the test.
var rules = map[string]rule{
	"gid":      {noIO: true},
	"spec":     {ours: []string{"gid"}, noIO: true},
	"specfile": {ours: []string{"spec", "gid"}, outside: []string{"go.yaml.in/yaml/v3", "sigs.k8s.io/yaml"}},
	"diff":     {ours: []string{"spec", "gid"}, noIO: true},
	"gitsource": {ours: []string{"spec"},
		outside: []string{goGit, goBilly, fsnotify, "golang.org/x/text", "golang.org/x/crypto/ssh", "golang.org/x/net/proxy", "golang.org/x/time/rate",
			"github.com/bradleyfalzon/ghinstallation/v2"}},
	"specstore": {ours: []string{"spec", "gid"}, outside: []string{goRedis}},
	"trust":     {ours: []string{"spec"}, outside: []string{"github.com/ProtonMail/go-crypto", "github.com/hiddeco/sshsig", "golang.org/x/crypto/ssh"}},
	"authz":     {ours: []string{"spec"}, noIO: true},
	"syncer": {ours: []string{"spec", "specfile", "diff", "authz", "internal/loop"},
		outside: []string{"golang.org/x/sync", "github.com/hashicorp/golang-lru/v2"}},
	"agent":               {ours: []string{"spec", "diff", "runner", "internal/loop"}, outside: []string{"golang.org/x/sync"}},
	"runner":              {ours: []string{"spec"}},
	"runner/process":      {ours: []string{"spec", "runner"}, outside: []string{"golang.org/x/sys"}},
	"internal/loop":       {},
	"internal/cli":        {outside: []string{cobra, "github.com/spf13/pflag"}},
	"internal/embedded":   {outside: []string{"github.com/alicebob/miniredis/v2"}},
	"internal/archtest":   {},
	"internal/gittest":    {outside: []string{"github.com/stretchr/testify", "golang.org/x/crypto/ssh"}},
	"internal/redistest":  {outside: []string{"github.com/stretchr/testify", goRedis}},
	"specstore/storetest": {ours: []string{"spec", "gid", "specstore", "internal/redistest", "internal/embedded"}, outside: []string{"github.com/stretchr/testify", goRedis}},
	"examples/specs":      {},
	"e2e":                 {},
	"bench":               {ours: []string{"gitsource"}, outside: []string{goRedis}},
	"bench/genspecs":      {},
	"cmd/syncer": {ours: []string{"spec", "specfile", "diff", "gid", "gitsource", "specstore", "syncer", "agent", "runner", "runner/process",
		"trust", "authz", "internal/cli", "internal/loop", "internal/embedded", "examples/specs"},
		outside: []string{cobra, "golang.org/x/sync", "golang.org/x/term", "github.com/gofrs/flock", "github.com/schollz/progressbar/v3", "sigs.k8s.io/yaml", "go.yaml.in/yaml/v3"}},
	"cmd/agent": {ours: []string{"spec", "specfile", "gid", "specstore", "agent", "runner", "runner/process", "internal/cli", "internal/loop"},
		outside: []string{cobra, "golang.org/x/sync"}},
}

// testOnly are packages that only tests may import.
var testOnly = []string{"internal/gittest", "internal/redistest", "specstore/storetest", "internal/archtest"}

// impure are packages of the standard library that pure packages stay away from.
var impure = []string{"os", "os/exec", "net", "net/http", "log", "log/slog", "time", "context", "io/fs", "path/filepath", "syscall", "math/rand", "math/rand/v2", "crypto/rand"}

type pkg struct {
	ImportPath string
	Dir        string
	Imports    []string
	Standard   bool
	GoFiles    []string
	Module     *struct{ GoVersion string }
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var ps []pkg
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		ps = append(ps, p)
	}
	require.Greater(t, len(ps), 10, "go list found the packages")
	return ps
}

func TestWhoMayImportWhom(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		r, ok := rules[name]
		if !ok {
			t.Errorf("%s has no row in the import table", name)
			continue
		}
		for _, imp := range p.Imports {
			switch ours, own := strings.CutPrefix(imp, module); {
			case own:
				if !slices.Contains(r.ours, ours) {
					t.Errorf("%s may not import %s", name, ours)
				}
				if slices.Contains(testOnly, ours) && !slices.Contains(testOnly, name) {
					t.Errorf("%s is for tests, %s is not", ours, name)
				}
			case strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
				if !slices.ContainsFunc(r.outside, func(prefix string) bool { return imp == prefix || strings.HasPrefix(imp, prefix+"/") }) {
					t.Errorf("%s may not import %s", name, imp)
				}
			case r.noIO && slices.Contains(impure, imp):
				if name == "spec" && imp == "time" {
					continue // durations of the configuration, never a clock: see TestPureCodeAsksNoClock
				}
				t.Errorf("%s is pure and may not import %s", name, imp)
			}
		}
	}
}

func TestPureCodeAsksNoClock(t *testing.T) {
	clock := regexp.MustCompile(`time\.(Now|Since|Until|After|Tick|Sleep|NewTimer)\b`)
	eachFile(t, func(name, file string, text []byte) {
		if rules[name].noIO && !strings.HasSuffix(file, "_test.go") && clock.Match(text) {
			t.Errorf("%s asks for the time", file)
		}
	})
}

func TestFilesStayShort(t *testing.T) {
	eachFile(t, func(_, file string, text []byte) {
		if n := bytes.Count(text, []byte("\n")); n > 500 {
			t.Errorf("%s has %d lines (limit 500)", file, n)
		}
	})
}

func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	opening := regexp.MustCompile(`(?m)^// (Package|Command) \w+ `)
	said := map[string]bool{}
	eachFile(t, func(name, file string, text []byte) {
		said[name] = said[name] || !strings.HasSuffix(file, "_test.go") && opening.Match(text)
	})
	for name, ok := range said {
		if !ok {
			t.Errorf("%s has no package comment", name)
		}
	}
}

func TestNothingIsLeftForLater(t *testing.T) {
	words := regexp.MustCompile(`\b(TODO|FIXME|XXX)\b|panic\("not implemented|\bt\.Skip\(|\bassert\.`)
	eachFile(t, func(_, file string, text []byte) {
		if strings.HasSuffix(file, "arch_test.go") {
			return
		}
		if m := words.Find(text); m != nil {
			t.Errorf("%s: %s", file, m)
		}
	})
}

func eachFile(t *testing.T, visit func(pkg, file string, text []byte)) {
	t.Helper()
	for _, p := range packages(t) {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			visit(strings.TrimPrefix(p.ImportPath, module), f, text)
		}
	}
}

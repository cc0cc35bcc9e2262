package e2e_test

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// fold is the ledger that a repository must give, worked out in the plainest
// way from the git command alone: at each commit of the first-parent line, read
// every file, and compare what is declared with what was declared before.
type fold struct {
	lines    []string         // one a version, as `run` prints them
	versions map[string]int64 // last version of each spec
	refused  []string         // commits
}

type plainSpec struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		PipelineFactory string            `json:"pipelineFactory"`
		Parallelism     int               `json:"parallelism"`
		Suspend         bool              `json:"suspend"`
		Description     string            `json:"description"`
		Config          map[string]string `json:"config"`
	} `json:"spec"`
}

// text is the content without suspend, in a form that compares.
func (p plainSpec) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %d %q", p.Spec.PipelineFactory, p.Spec.Parallelism, p.Spec.Description)
	for _, k := range slices.Sorted(maps.Keys(p.Spec.Config)) {
		fmt.Fprintf(&b, " %q=%q", k, p.Spec.Config[k])
	}
	return b.String()
}

type past struct {
	text    string
	suspend bool
}

// foldOf folds a repository whose specs are jobs, one a file.
func foldOf(t *testing.T, repo, tenant string) fold {
	t.Helper()
	f := fold{versions: map[string]int64{}}
	now := map[string]plainSpec{}    // declared by the last good commit
	seen := map[string]string{}      // content of each spec at the commit before, whatever became of it
	changer := map[string]string{}   // who last changed it, and in which commit
	history := map[string][]past{}   // every content, by version - 1
	cache := map[string]*plainSpec{} // parsed blobs; nil = broken
	for commit := range strings.FieldsSeq(gitOut(t, repo, "rev-list", "--first-parent", "--reverse", "main")) {
		author := gitOut(t, repo, "show", "-s", "--format=%an <%ae>", commit)
		tree, good := readTree(t, repo, commit, cache)
		at := map[string]string{}
		for name, s := range tree {
			at[name] = fmt.Sprint(s.text(), s.Spec.Suspend)
			if at[name] != seen[name] {
				changer[name] = " by " + author + " in " + short(commit)
			}
		}
		for name := range seen {
			if _, ok := at[name]; !ok {
				changer[name] = " by " + author + " in " + short(commit)
			}
		}
		seen = at
		if !good {
			f.refused = append(f.refused, commit)
			continue
		}
		names := maps.Clone(tree)
		maps.Copy(names, now)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			was, had := now[name]
			want, has := tree[name]
			line := ""
			switch {
			case had && !has:
				f.lines = append(f.lines, fmt.Sprintf("%s %s v%d STOP removed%s", tenant, name, f.versions[name], changer[name]))
				continue
			case had && was.text() == want.text() && was.Spec.Suspend == want.Spec.Suspend:
				continue
			case had && was.text() == want.text() && want.Spec.Suspend:
				line = "STOP"
			case had && was.text() == want.text():
				line = "RESUME"
			default:
				line = "UPGRADE"
				if !had {
					line = "SUBMIT"
				}
				for i, p := range slices.Backward(history[name]) {
					if p == (past{want.text(), want.Spec.Suspend}) {
						line = fmt.Sprintf("ROLLBACK restores v%d", i+1)
						break
					}
				}
			}
			history[name] = append(history[name], past{want.text(), want.Spec.Suspend})
			f.versions[name]++
			f.lines = append(f.lines, fmt.Sprintf("%s %s v%d %s%s", tenant, name, f.versions[name], line, changer[name]))
		}
		now = tree
	}
	return f
}

// readTree parses every spec of a commit; good is false if one is broken.
func readTree(t *testing.T, repo, commit string, cache map[string]*plainSpec) (map[string]plainSpec, bool) {
	t.Helper()
	out, good := map[string]plainSpec{}, true
	for line := range strings.Lines(gitOut(t, repo, "ls-tree", "-r", commit)) {
		meta, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !strings.HasSuffix(path, ".yaml") {
			continue
		}
		blob := strings.Fields(meta)[2]
		s, ok := cache[blob]
		if !ok {
			s = &plainSpec{}
			if err := yaml.Unmarshal([]byte(gitOut(t, repo, "cat-file", "blob", blob)), s); err != nil {
				s = nil
			}
			cache[blob] = s
		}
		if s == nil {
			good = false
			continue
		}
		out[s.Metadata.Name] = *s
	}
	return out, good
}

func gitOut(t *testing.T, repo string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = repo, env()
	out, err := cmd.Output()
	require.NoError(t, err, "git %v", args)
	return strings.TrimSuffix(string(out), "\n")
}

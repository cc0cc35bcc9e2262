package syncer_test

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// plainFold works out, from the git command alone and in the plainest way, what
// a repository's line must give.
type plainFold struct {
	h        *history
	tip      string // last commit that was looked at
	applied  string // last good one
	bound    bool   // the guard binds: everything after the first tip
	versions map[string]int64
	history  map[string][]string // every content by version - 1
	now      map[string]plainJob // declared by the last good commit
	blobs    map[string]*plainJob
}

type plainJob struct {
	Metadata struct{ Name string }
	Spec     struct {
		Parallelism int
		Suspend     bool
	}
}

func (p plainJob) text() string { return fmt.Sprint(p.Spec.Parallelism) }
func (p plainJob) full() string { return fmt.Sprint(p.Spec.Parallelism, p.Spec.Suspend) }

// tree lists a commit's spec files.
func (f *plainFold) tree(commit string) map[string]string {
	files := map[string]string{}
	if commit == "" {
		return files
	}
	for line := range strings.Lines(f.git("ls-tree", "-r", commit)) {
		meta, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.HasSuffix(path, ".yaml") {
			files[path] = strings.Fields(meta)[2]
		}
	}
	return files
}

// declared reads files in the order of their paths; good is false if one is broken
// or a name stands twice. What can be told of each spec is told all the same.
func (f *plainFold) declared(files map[string]string) (names map[string]plainJob, good bool) {
	names, good = map[string]plainJob{}, true
	for _, path := range slices.Sorted(maps.Keys(files)) {
		blob := files[path]
		j, ok := f.blobs[blob]
		if !ok {
			j = &plainJob{}
			if err := yaml.Unmarshal([]byte(f.git("cat-file", "blob", blob)), j); err != nil {
				j = nil
			}
			f.blobs[blob] = j
		}
		if j == nil {
			good = false
			continue
		}
		if _, twice := names[j.Metadata.Name]; twice {
			good = false
			continue
		}
		names[j.Metadata.Name] = *j
	}
	return names, good
}

// changed notes who changed a spec: the files that the commit changed declare it
// otherwise before and after.
func (f *plainFold) changed(changer map[string]string, before, after map[string]string, id string) {
	was, is := map[string]string{}, map[string]string{}
	for path := range mergedFiles(before, after) {
		if before[path] != after[path] {
			put(was, path, before[path])
			put(is, path, after[path])
		}
	}
	old, _ := f.declared(was)
	now, _ := f.declared(is)
	for name := range merged(old, now) {
		a, had := old[name]
		b, has := now[name]
		if had != has || a.full() != b.full() {
			changer[name] = f.who(id)
		}
	}
}

func put(files map[string]string, path, blob string) {
	if blob != "" {
		files[path] = blob
	}
}

func mergedFiles(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// advance gives the lines of a pass to tip.
func (f *plainFold) advance(tip string) (lines []string) {
	if tip == f.tip && tip == f.applied {
		return nil
	}
	ids := strings.Fields(f.git("rev-list", "--first-parent", "--reverse", tip))
	from := slices.Index(ids, f.applied)
	if f.applied != "" && from < 0 {
		lines = f.leap(ids, tip)
	} else {
		lines = f.walk(ids[from+1:])
	}
	f.tip, f.bound = tip, true
	return lines
}

// walk goes commit by commit from the last good one.
func (f *plainFold) walk(ids []string) (lines []string) {
	changer := map[string]string{} // since the last good commit
	before := f.tree(f.applied)
	for _, id := range ids {
		files := f.tree(id)
		f.changed(changer, before, files, id)
		before = files
		tree, good := f.declared(files)
		if !good || f.held(tree) {
			continue
		}
		lines = append(lines, f.step(tree, changer)...)
		f.applied = id
		changer = map[string]string{}
	}
	return lines
}

// leap takes a rewritten line in one step.
func (f *plainFold) leap(ids []string, tip string) []string {
	base := strings.TrimSpace(f.git("merge-base", f.applied, tip))
	tree, good := f.declared(f.tree(tip))
	if !good || f.held(tree) {
		return nil
	}
	changer := map[string]string{}
	before := f.tree(base)
	for _, id := range ids[slices.Index(ids, base)+1:] {
		files := f.tree(id)
		f.changed(changer, before, files, id)
		before = files
	}
	for name := range merged(f.now, tree) {
		if changer[name] == "" {
			changer[name] = fmt.Sprintf(" by (unknown: branch rewound to %s) in %s", tip[:7], tip[:7])
		}
	}
	lines := f.step(tree, changer)
	f.applied = tip
	return lines
}

// held is the guard for tenants as small as these.
func (f *plainFold) held(tree map[string]plainJob) bool {
	if !f.bound || len(f.now) < 2 {
		return false
	}
	for name := range f.now {
		if _, stays := tree[name]; stays {
			return false
		}
	}
	return true
}

// step applies a good tree.
func (f *plainFold) step(tree map[string]plainJob, changer map[string]string) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(merged(f.now, tree))) {
		was, had := f.now[name]
		want, has := tree[name]
		op := ""
		switch {
		case had && !has:
			lines = append(lines, fmt.Sprintf("acme %s v%d STOP removed%s", name, f.versions[name], changer[name]))
			continue
		case had && was.full() == want.full():
			continue
		case had && was.text() == want.text() && want.Spec.Suspend:
			op = "STOP"
		case had && was.text() == want.text():
			op = "RESUME"
		default:
			op = "UPGRADE"
			if !had {
				op = "SUBMIT"
			}
			for i, old := range slices.Backward(f.history[name]) {
				if old == want.full() {
					op = fmt.Sprintf("ROLLBACK restores v%d", i+1)
					break
				}
			}
		}
		f.history[name] = append(f.history[name], want.full())
		f.versions[name]++
		lines = append(lines, fmt.Sprintf("acme %s v%d %s%s", name, f.versions[name], op, changer[name]))
	}
	f.now = tree
	return lines
}

func merged(a, b map[string]plainJob) map[string]plainJob {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func (f *plainFold) who(id string) string {
	return " by " + f.git("show", "-s", "--format=%an <%ae>", id) + " in " + id[:7]
}

func (f *plainFold) git(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = f.h.dir, gittest.Env()
	out, err := cmd.Output()
	require.NoError(f.h.t, err, "git %v", args)
	return strings.TrimSuffix(string(out), "\n")
}

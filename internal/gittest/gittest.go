// Package gittest makes real Git repositories for tests, with the real git
// binary, a fixed configuration and fixed dates: the same calls give the same
// commit ids.
//
// It owns the folders it makes below t.TempDir and nothing else, never reads the
// configuration of the person who runs the test, and is imported by tests only.
// A killed test leaves nothing but its temporary folder.
package gittest

import (
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// start is the time of the first commit; each further one is an hour later.
const start = 1767225600 // 2026-01-01T00:00:00Z

// Repo is a repository with a work tree. It is used by one goroutine at a time.
type Repo struct {
	Dir string // the work tree, also a valid path to fetch from

	t     testing.TB
	ticks int
}

// New makes an empty repository on branch main.
func New(t testing.TB) *Repo {
	t.Helper()
	r := &Repo{Dir: filepath.Join(t.TempDir(), "repo"), t: t}
	r.init()
	return r
}

// At makes an empty repository in dir, which must not exist, as New does.
func At(t testing.TB, dir string) *Repo {
	t.Helper()
	r := &Repo{Dir: dir, t: t}
	r.init()
	return r
}

func (r *Repo) init() {
	r.t.Helper()
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	r.Git("init", "-q", "-b", "main")
}

// Write puts a file into the work tree, with its folders.
func (r *Repo) Write(path, content string) *Repo {
	r.t.Helper()
	full := filepath.Join(r.Dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// Link puts a symbolic link into the work tree, with its folders.
func (r *Repo) Link(path, target string) *Repo {
	r.t.Helper()
	full := filepath.Join(r.Dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, full); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// Remove takes a file, link or folder out of the work tree.
func (r *Repo) Remove(path string) *Repo {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.Dir, path)); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// Commit commits everything in the work tree, an empty change included, as
// author ("Name <mail>") and returns the commit's id.
func (r *Repo) Commit(author, message string) string {
	r.t.Helper()
	r.Git("add", "-A", ".")
	r.as(author, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)
	return r.Tip()
}

// Revert reverts a commit as author, with git's own message, and returns the
// new commit's id. Further arguments go to git, such as "-m", "1".
func (r *Repo) Revert(author, id string, args ...string) string {
	r.t.Helper()
	r.as(author, append(append([]string{"revert", "--no-edit"}, args...), id)...)
	return r.Tip()
}

// Branch makes a branch at the present commit and switches to it.
func (r *Repo) Branch(name string) *Repo {
	r.t.Helper()
	r.Git("checkout", "-q", "-b", name)
	return r
}

// Switch goes to a branch that exists.
func (r *Repo) Switch(name string) *Repo {
	r.t.Helper()
	r.Git("checkout", "-q", name)
	return r
}

// Merge merges branches into the present one with a merge commit by author and
// returns its id.
func (r *Repo) Merge(author, message string, branches ...string) string {
	r.t.Helper()
	r.as(author, append([]string{"merge", "-q", "--no-ff", "-m", message}, branches...)...)
	return r.Tip()
}

// Tip is the id of the commit that is checked out.
func (r *Repo) Tip() string {
	r.t.Helper()
	return r.Git("rev-parse", "HEAD")
}

// Git runs git in the repository and returns what it wrote, without the last
// line end. A failure ends the test.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return run(r.t, r.Dir, nil, nil, args...)
}

// Pipe runs git with in as its standard input, otherwise as Git does.
func (r *Repo) Pipe(in io.Reader, args ...string) string {
	r.t.Helper()
	return run(r.t, r.Dir, in, nil, args...)
}

// FastImport feeds a stream to git fast-import, for histories of any size, and
// resets the work tree to the branch if that is checked out.
func (r *Repo) FastImport(stream io.Reader) {
	r.t.Helper()
	run(r.t, r.Dir, stream, nil, "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--force")
	r.Git("reset", "-q", "--hard")
}

// Bare makes a bare copy beside the work tree that shares no objects with it,
// and returns its path. It is a server to push to.
func (r *Repo) Bare() string {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "bare.git")
	r.Git("clone", "-q", "--bare", "--no-local", r.Dir, dir)
	return dir
}

// as runs git as author, who is the committer too, one hour after the last time.
func (r *Repo) as(author string, args ...string) {
	r.t.Helper()
	name, mail, _ := strings.Cut(strings.TrimSuffix(author, ">"), "<")
	name = strings.TrimSpace(name)
	r.ticks++
	when := "@" + strconv.Itoa(start+3600*r.ticks) + " +0000"
	run(r.t, r.Dir, nil, []string{
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_AUTHOR_DATE=" + when,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail, "GIT_COMMITTER_DATE=" + when,
	}, args...)
}

// Run runs git in dir with the fixed configuration, for folders that no Repo
// owns, and returns what it wrote. A failure ends the test.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return run(t, dir, nil, nil, args...)
}

func run(t testing.TB, dir string, in io.Reader, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin, cmd.Env = dir, in, append(Env(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// Env is the environment that git runs in: that of the test without any GIT_
// variable, and a configuration that depends on no machine.
func Env() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			env = append(env, kv)
		}
	}
	env = append(env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_EDITOR=true", "TZ=UTC", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Nobody", "GIT_AUTHOR_EMAIL=nobody@example.com", "GIT_AUTHOR_DATE=@1767225600 +0000",
		"GIT_COMMITTER_NAME=Nobody", "GIT_COMMITTER_EMAIL=nobody@example.com", "GIT_COMMITTER_DATE=@1767225600 +0000")
	settings := [][2]string{
		{"commit.gpgsign", "false"}, {"gc.auto", "0"}, {"maintenance.auto", "false"}, {"core.autocrlf", "false"},
		{"core.ignorecase", "false"}, {"core.precomposeunicode", "false"}, {"core.filemode", "true"},
		{"protocol.file.allow", "always"}, {"advice.detachedHead", "false"}, {"safe.directory", "*"},
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, kv := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return env
}

// Noise is n bytes of text that hardly packs, always the same for a seed.
func Noise(n int, seed uint64) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	random := rand.New(rand.NewPCG(1, seed))
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[random.IntN(len(letters))]
	}
	return string(b)
}

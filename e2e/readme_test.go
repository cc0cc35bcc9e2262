package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// blocks are the shell blocks of README.md, in order.
func blocks(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	var out []string
	for _, m := range regexp.MustCompile("(?s)```bash\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	return out
}

func TestTheReadmeBeginsWithTwoCommands(t *testing.T) {
	require.Equal(t, "make demo\nmake test\n", blocks(t)[0])
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	for _, target := range []string{"help", "build", "demo", "test", "race", "fuzz", "lint", "e2e", "bench", "docs"} {
		require.Regexp(t, `(?m)^`+target+`:.*## `, string(makefile))
	}
}

// The five minutes of the README, as they stand there, in a folder of their own
// and on a machine that does nothing else: they wait by the clock, as a reader does.
func TestTheFiveMinutesOfTheReadmeWork(t *testing.T) {
	dir := t.TempDir()
	script := strings.Join(blocks(t)[1:], "\n")
	script = strings.Replace(script, "make build\n", "", 1)
	script = strings.Replace(script, `export PATH="$PWD/bin:$PATH"`, `export PATH="`+bin+`:$PATH"`, 1)
	require.Contains(t, script, bin)
	script = "set -euo pipefail\ntrap 'kill $(jobs -p)' EXIT\n" + script
	file := filepath.Join(dir, "readme.sh")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o644))
	cmd := exec.Command("bash", file)
	cmd.Dir = dir
	cmd.Env = append(env(), "HOME="+dir)
	out := newOutput()
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		require.NoError(t, err, out.String())
	case <-time.After(time.Minute):
		require.NoError(t, cmd.Process.Kill())
		t.Fatal(out.String())
	}
	text := out.String()
	require.Contains(t, text, "1 specs are valid")
	require.Regexp(t, `orders +v2 +RUNNING +v2 since`, text)
	require.Contains(t, text, "acme orders v3 ROLLBACK restores v1 by ")
}

// The demo ends by itself and tells the main job.
func TestTheDemoTellsTheMainJob(t *testing.T) {
	t.Parallel()
	r := command(t, "syncer", "demo", "--embedded-addr", "127.0.0.1:0") // the default port is the README's
	require.Zero(t, r.code, r.stderr)
	for _, line := range []string{
		`acme orders v1 SUBMIT by Ada Lovelace <ada@example\.com> in [0-9a-f]{7} +\d+ ms after the commit`,
		`acme orders v1 RUNNING on \S+ +\d+ ms after the commit`,
		`acme orders v2 UPGRADE by Grace Hopper`,
		`acme orders v2 RUNNING`,
		`acme orders v3 ROLLBACK restores v1 by Alan Turing`,
		`acme orders v3 RUNNING`,
		`config\.batch\.size +"100" +v3 `,
	} {
		require.Regexp(t, line, r.stdout)
	}
}

// With --keep it stays up and answers the user's own commits.
func TestTheDemoAnswersTheUsersOwnCommits(t *testing.T) {
	t.Parallel()
	w := &world{t: t}
	p := w.start("syncer", "demo", "--keep", "--embedded-addr", "127.0.0.1:0")
	eventually(t, 30*time.Second, p.out.String, func() bool { return strings.Contains(p.out.String(), "It stays up.") })
	m := regexp.MustCompile(`The repository is (\S+): edit`).FindStringSubmatch(p.out.String())
	require.NotNil(t, m, p.out.String())
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Dir(m[1]))) })
	file := filepath.Join(m[1], "jobs", "orders.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "parallelism: 2", "parallelism: 3", 1)), 0o644))
	gitOut(t, m[1], "commit", "-q", "-a", "-m", "three")
	eventually(t, 30*time.Second, p.out.String, func() bool {
		return strings.Contains(p.out.String(), "acme orders v4 UPGRADE by Nobody <nobody@example.com>")
	})
	require.Zero(t, p.stop(t), p.out.String())
}

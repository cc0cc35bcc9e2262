package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

const canary = "canary-7f3a"

func secrets() runner.Secrets {
	env := map[string]string{"DB": canary, "EMPTY": "", "PAWL_REDIS": canary}
	return runner.Secrets{
		Env: func(n string) (string, bool) { v, ok := env[n]; return v, ok },
		Sys: map[string]string{"db.pass": canary + "-sys"},
	}
}

func resolve(config map[string]string) (map[string]string, error) {
	return secrets().Resolve(spec.Job{Name: "orders", Config: config})
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestReferencesAreResolvedAndAllElsePasses(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(write(t, "through a link"), link))
	config := map[string]string{
		"secret.env": "env:DB", "secret.empty": "env:EMPTY", "secret.sys": "sys:db.pass",
		"secret.file": "file:" + write(t, "two\nlines\r\n"), "secret.link": "file:" + link,
		"secret.literal": "hunter2", "plain": "env:DB", "secret.unknown": "vault:x",
	}
	got, err := resolve(config)
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"secret.env": canary, "secret.empty": "", "secret.sys": canary + "-sys", "secret.file": "two\nlines",
		"secret.link": "through a link", "secret.literal": "hunter2", "plain": "env:DB", "secret.unknown": "vault:x",
	}, got)
	require.Equal(t, "env:DB", config["secret.env"], "the spec itself is left alone")
}

func TestAJobWithoutConfigResolvesToAnEmptyMap(t *testing.T) {
	got, err := resolve(nil)
	require.NoError(t, err)
	require.NotNil(t, got)
	require.Empty(t, got)
}

func TestEverythingMissingIsNamedByKeyAndSource(t *testing.T) {
	_, err := resolve(map[string]string{
		"secret.b": "sys:none", "secret.a": "env:NONE", "secret.c": "file:/nowhere/at/all", "secret.ok": "env:DB", "secret.lit": canary,
	})
	require.EqualError(t, err, strings.Join([]string{
		"config secret.a: env:NONE is not set where the agent runs: set it and restart the agent",
		"config secret.b: sys:none is not known to the agent: start it with -D none=…",
		"config secret.c: file:/nowhere/at/all: no such file or directory",
	}, "\n"))
	require.NotContains(t, err.Error(), canary)
}

func TestAJobCannotAskForTheAgentsOwnSettings(t *testing.T) {
	_, err := resolve(map[string]string{"secret.x": "env:PAWL_REDIS"})
	require.ErrorContains(t, err, "a setting of the agent itself")
	_, err = resolve(map[string]string{"secret.x": "file:/proc/self/environ"})
	require.ErrorContains(t, err, "there are no secrets")
	sneaky := filepath.Join(t.TempDir(), "sneaky")
	require.NoError(t, os.Symlink("/proc/self/environ", sneaky))
	_, err = resolve(map[string]string{"secret.x": "file:" + sneaky})
	require.ErrorContains(t, err, "there are no secrets")
}

func TestOnlySmallRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	_, err := resolve(map[string]string{"secret.x": "file:" + dir})
	require.ErrorContains(t, err, "not a regular file")
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = resolve(map[string]string{"secret.x": "file:" + pipe})
	require.ErrorContains(t, err, "not a regular file")
	_, err = resolve(map[string]string{"secret.x": "file:" + write(t, strings.Repeat("x", spec.MaxValueBytes+1))})
	require.ErrorContains(t, err, "more than 65536 bytes")
	_, err = resolve(map[string]string{"secret.x": "file:" + write(t, strings.Repeat("x", spec.MaxValueBytes))})
	require.NoError(t, err)
}

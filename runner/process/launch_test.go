package process_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/runner/process"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

const canary = "canary-51d0"

// dump tells what a child sees, in files that appear whole.
const dump = `env > "$OUT/tmp.$JOB_INDEX" && mv "$OUT/tmp.$JOB_INDEX" "$OUT/$JOB_INDEX.env"; exec sleep 600`

func environment(t *testing.T, b bench, index string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for line := range strings.Lines(b.file(t, index+".env")) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		env[name] = value
	}
	for _, shell := range []string{"PWD", "SHLVL", "_", "OLDPWD"} { // the shell's own
		delete(env, shell)
	}
	return env
}

func agentEnv(env map[string]string) func(*process.Config) {
	return func(c *process.Config) {
		c.Env = func(n string) (string, bool) { v, ok := env[n]; return v, ok }
		c.Secrets = runner.Secrets{Env: c.Env, Sys: map[string]string{"k": canary + "-sys"}}
	}
}

func TestAChildSeesItsJobAndNothingOfTheAgent(t *testing.T) {
	t.Setenv("AGENT_TOKEN", canary)
	b := launcher(t, dump, agentEnv(map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": "/home/x", "LANG": "C", "TZ": "UTC", "DB": canary, "PAWL_REDIS": canary,
	}))
	tk := task(2)
	tk.Job.Config = map[string]string{"input.topic": "orders", "secret.db.password": "env:DB", "secret.k": "sys:k", "Ünï-x": "1"}
	r := b.launch(t, tk)
	env := environment(t, b, "1")
	file := env["JOB_CONFIG_FILE"]
	require.Equal(t, map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": "/home/x", "LANG": "C", "TZ": "UTC", "OUT": b.out,
		"JOB_NAME": "orders", "JOB_TENANT": "acme", "JOB_GID": "X8FD-NT:1-orders", "JOB_VERSION": "7", "JOB_PARALLELISM": "2",
		"JOB_INDEX": "1", "JOB_GENERATION": "3", "JOB_CONFIG_FILE": file,
		"JOB_CONFIG_INPUT_TOPIC": "orders", "JOB_CONFIG_SECRET_DB_PASSWORD": canary, "JOB_CONFIG_SECRET_K": canary + "-sys", "JOB_CONFIG__N__X": "1",
	}, env)
	require.Equal(t, "0", environment(t, b, "0")["JOB_INDEX"])

	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var config map[string]string
	require.NoError(t, json.Unmarshal(content, &config))
	require.Equal(t, map[string]string{"input.topic": "orders", "secret.db.password": canary, "secret.k": canary + "-sys", "Ünï-x": "1"}, config)
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700 | os.ModeDir, filepath.Dir(filepath.Dir(file)): 0o700 | os.ModeDir} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), path)
	}

	require.NoError(t, r.Stop(ended()))
	require.NoFileExists(t, file)
	require.NoDirExists(t, filepath.Dir(file))
	require.NotContains(t, b.log.String(), canary)
}

func TestAnUnknownGIDIsNotSet(t *testing.T) {
	b := launcher(t, dump)
	tk := task(1)
	tk.GID = ""
	b.launch(t, tk)
	require.NotContains(t, environment(t, b, "0"), "JOB_GID")
}

func TestKeysThatCannotBeVariablesAreLeftOutWithAWarning(t *testing.T) {
	b := launcher(t, dump)
	tk := task(1)
	tk.Job.Config = map[string]string{
		"a.b": canary, "a_b": canary, "A-B": canary, "file": canary, "nul": "x\x00" + canary, "big": strings.Repeat("x", 64<<10+1), "fine": "yes",
	}
	b.launch(t, tk)
	env := environment(t, b, "0")
	var config []string
	for name := range env {
		if strings.HasPrefix(name, "JOB_CONFIG_") {
			config = append(config, name)
		}
	}
	slices.Sort(config)
	require.Equal(t, []string{"JOB_CONFIG_FILE", "JOB_CONFIG_FINE"}, config)
	require.True(t, strings.HasSuffix(env["JOB_CONFIG_FILE"], "config.json"))
	require.Contains(t, b.log.String(), `msg="config keys are in the config file only" tenant=acme job=orders keys="[A-B a.b a_b big file nul]"`)
	require.NotContains(t, b.log.String(), canary)
	var all map[string]string
	content, err := os.ReadFile(env["JOB_CONFIG_FILE"])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &all))
	require.Equal(t, tk.Job.Config, all)
}

func TestTheLargestConfigStillStarts(t *testing.T) {
	b := launcher(t, dump)
	tk := task(1)
	for i := range spec.MaxConfigKeys {
		tk.Job.Config["key."+string(rune('a'+i%26))+strings.Repeat("k", i/26)] = strings.Repeat("x", 8<<10)
	}
	b.launch(t, tk)
	require.Equal(t, "orders", environment(t, b, "0")["JOB_NAME"])
}

func TestALaunchThatFailsLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*process.Config)
		task   func(*runner.Task)
		want   string
	}{
		"missing secret":  {nil, func(tk *runner.Task) { tk.Job.Config["secret.x"] = "env:NOWHERE_SET" }, "config secret.x: env:NOWHERE_SET is not set"},
		"missing program": {func(c *process.Config) { c.Factory.Command = []string{"/nowhere/prog"} }, nil, "start process 0: fork/exec /nowhere/prog: no such file"},
		"parallelism 0":   {nil, func(tk *runner.Task) { tk.Job.Parallelism = 0 }, "parallelism 0 is not within 1 and 1024"},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(*process.Config)
			if c.change != nil {
				changes = append(changes, c.change)
			}
			b := launcher(t, `touch "$OUT/ran"`, changes...)
			tk := task(2)
			if c.task != nil {
				c.task(&tk)
			}
			_, err := b.Launch(t.Context(), tk, func() {})
			require.ErrorContains(t, err, c.want)
			require.NoFileExists(t, filepath.Join(b.out, "ran"))
			left, err := filepath.Glob(filepath.Join(b.dir, "*", "acme.*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

func TestALaunchIsCutOffByItsContext(t *testing.T) {
	b := launcher(t, `exec sleep 600`)
	_, err := b.Launch(ended(), task(3), func() {})
	require.ErrorContains(t, err, "start process 0: context canceled")
}

func TestWrongFactoriesAreRefused(t *testing.T) {
	for want, f := range map[string]spec.ProcessLauncher{
		"process.command is empty":        {},
		"JOB_NAME is set by the launcher": {Command: []string{"x"}, Env: map[string]string{"JOB_NAME": "x"}},
		`process.env: "A=B" is no name`:   {Command: []string{"x"}, Env: map[string]string{"A=B": "x"}},
		"private folder: stat /nowhere":   {Command: []string{"x"}},
	} {
		dir := t.TempDir()
		if strings.HasPrefix(want, "private") {
			dir = "/nowhere"
		}
		_, err := process.New(process.Config{Factory: f, Dir: dir})
		require.ErrorContains(t, err, want)
	}
}

func TestAClosedLauncherStartsNothing(t *testing.T) {
	l, err := process.New(process.Config{Factory: spec.ProcessLauncher{Command: []string{"/bin/true"}}, Dir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = l.Launch(t.Context(), task(1), func() {})
	require.Error(t, err)
}

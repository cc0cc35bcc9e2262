package process

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/runner"
)

const (
	// maxEnvBytes bounds all JOB_CONFIG_ variables together: kernels refuse to
	// start a program whose environment is too large, and the file has all.
	maxEnvBytes = 512 << 10
	// maxEnvValue bounds one of them; Linux refuses one of 128 KiB.
	maxEnvValue     = 64 << 10
	configEnvPrefix = "JOB_CONFIG_"
	configFileVar   = "JOB_CONFIG_FILE"
)

// inherited is all that a child sees of the agent's environment; anything else
// may be a secret of the agent.
func inherited() []string { return []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"} }

// baseEnv is what all children of a launcher share, as NAME=value, sorted.
func baseEnv(lookup func(string) (string, bool), own map[string]string) []string {
	env := make(map[string]string)
	for _, name := range inherited() {
		if v, ok := lookup(name); ok {
			env[name] = v
		}
	}
	maps.Copy(env, own)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// jobEnv is what tells one process of a job who it is.
func jobEnv(t runner.Task, index int, file string) []string {
	env := []string{
		"JOB_NAME=" + t.Job.Name,
		"JOB_TENANT=" + t.Tenant,
		"JOB_VERSION=" + strconv.FormatInt(t.Version, 10),
		"JOB_PARALLELISM=" + strconv.Itoa(t.Job.Parallelism),
		"JOB_INDEX=" + strconv.Itoa(index),
		"JOB_GENERATION=" + strconv.FormatInt(t.Generation, 10),
		configFileVar + "=" + file,
	}
	if t.GID != "" {
		env = append(env, "JOB_GID="+t.GID)
	}
	return env
}

// configEnv gives the JOB_CONFIG_ variables of a config, and the keys, sorted,
// that have none: because another key has the same name in upper case, because
// a variable cannot hold the value, or because there are too many.
func configEnv(config map[string]string) (env, left []string) {
	names := map[string]int{configFileVar: 1}
	for key := range config {
		names[envName(key)]++
	}
	room := maxEnvBytes
	for _, key := range slices.Sorted(maps.Keys(config)) {
		name, value := envName(key), config[key]
		size := len(name) + len(value) + 2
		if names[name] > 1 || len(value) > maxEnvValue || size > room || strings.ContainsRune(value, 0) {
			left = append(left, key)
			continue
		}
		room -= size
		env = append(env, name+"="+value)
	}
	return env, left
}

// envName is JOB_CONFIG_ and the key in upper case, other characters as _.
func envName(key string) string {
	return configEnvPrefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, key)
}

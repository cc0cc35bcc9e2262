package runner

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// ownPrefix marks the agent's own settings, the store's password among them: no
// job may ask for one.
const ownPrefix = "PAWL_"

// Secrets resolves references at a launch. Source: R-A10.
type Secrets struct {
	Env func(name string) (string, bool) // env:NAME; os.LookupEnv
	Sys map[string]string                // sys:NAME; what the agent got as -D name=value
}

// Resolve gives config with every reference replaced by what it names; literals
// and keys that are not secret pass as they are. All that is missing is named
// at once by key and source, never by value, in key order; then nothing is
// returned.
func (s Secrets) Resolve(job spec.Job) (map[string]string, error) {
	out := maps.Clone(job.Config)
	if out == nil {
		out = map[string]string{}
	}
	var errs []error
	for _, key := range job.ConfigKeys() {
		scheme, name, ok := spec.SplitReference(job.Config[key])
		if !ok || !spec.IsSecret(key) {
			continue
		}
		value, err := s.lookup(scheme, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("config %s: %w", key, err))
			continue
		}
		out[key] = value
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

func (s Secrets) lookup(scheme, name string) (string, error) {
	switch scheme {
	case spec.SchemeEnv:
		if strings.HasPrefix(name, ownPrefix) {
			return "", fmt.Errorf("env:%s is a setting of the agent itself and not given to jobs: use another name", name)
		}
		if s.Env != nil {
			if v, ok := s.Env(name); ok {
				return v, nil
			}
		}
		return "", fmt.Errorf("env:%s is not set where the agent runs: set it and restart the agent", name)
	case spec.SchemeSys:
		if v, ok := s.Sys[name]; ok {
			return v, nil
		}
		return "", fmt.Errorf("sys:%s is not known to the agent: start it with -D %s=…", name, name)
	default:
		return readSecret(name)
	}
}

// readSecret reads a small regular file without its last line break. What the
// kernel shows of processes and devices is no place for secrets.
func readSecret(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return "", fmt.Errorf("file:%s: %w", name, bare(err))
	}
	for _, dir := range []string{"/proc/", "/sys/", "/dev/"} {
		if strings.HasPrefix(real, dir) {
			return "", fmt.Errorf("file:%s: below %s there are no secrets: name a regular file", name, dir)
		}
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", fmt.Errorf("file:%s: %w", name, bare(err))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("file:%s: not a regular file", name)
	}
	f, err := os.Open(real)
	if err != nil {
		return "", fmt.Errorf("file:%s: %w", name, bare(err))
	}
	b, err := io.ReadAll(io.LimitReader(f, spec.MaxValueBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("file:%s: %w", name, bare(err))
	}
	if len(b) > spec.MaxValueBytes {
		return "", fmt.Errorf("file:%s: more than %d bytes", name, spec.MaxValueBytes)
	}
	value := strings.TrimSuffix(string(b), "\n")
	return strings.TrimSuffix(value, "\r"), nil
}

// bare drops the path that is named already.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

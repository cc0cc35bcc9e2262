package specstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// checkContent refuses a job that no document could declare. Source: CONTRACT section 2.
func checkContent(j spec.Job) error {
	switch {
	case j.Factory == "":
		return errors.New("pipelineFactory is required")
	case j.Parallelism < 1 || j.Parallelism > spec.MaxParallelism:
		return fmt.Errorf("parallelism %d (1 to %d)", j.Parallelism, spec.MaxParallelism)
	case len(j.Config) > spec.MaxConfigKeys:
		return fmt.Errorf("config of %d keys (limit %d)", len(j.Config), spec.MaxConfigKeys)
	case max(len(j.Factory), len(j.Description)) > spec.MaxValueBytes:
		return fmt.Errorf("pipelineFactory or description over %d bytes", spec.MaxValueBytes)
	}
	for k, v := range j.Config {
		if k == "" || len(k) > spec.MaxValueBytes || len(v) > spec.MaxValueBytes {
			return fmt.Errorf("config.%s: key or value empty or over %d bytes", clean(k, 100), spec.MaxValueBytes)
		}
	}
	return nil
}

// literals names the config keys that hold a secret itself, sorted.
func literals(j spec.Job) string {
	var names []string
	for _, k := range j.ConfigKeys() {
		if spec.IsSecretLiteral(k, j.Config[k]) {
			names = append(names, k)
		}
	}
	return strings.Join(names, ", ")
}

// differing names the fields whose values differ, sorted.
func differing(a, b map[string]string) []string {
	var names []string
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			names = append(names, k)
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return names
}

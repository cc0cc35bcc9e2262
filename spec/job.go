package spec

import (
	"maps"
	"slices"
)

// Limits of a job. Source: CONTRACT section 2.
const (
	MaxParallelism = 1024
	MaxConfigKeys  = 1000
	MaxValueBytes  = 64 << 10
)

// Job is a stream job as declared: a pipeline factory's name and a string map,
// never code.
type Job struct {
	Name        string
	Factory     string            // the pipeline factory that an agent launches it through
	Config      map[string]string // never nil after decoding; keys that start with "secret." hold references
	Parallelism int               // 1..MaxParallelism
	Suspend     bool              // desired stopped
	Description string
}

// Spec is what a document declares: a Job or a Subscription.
type Spec interface {
	// Key is the identity of the spec within its tenant.
	Key() Key
	// Equal compares content, not identity of values: no default written out,
	// key order or layout makes a difference.
	Equal(Spec) bool
	// Suspended tells whether the desired state is stopped.
	Suspended() bool
	// Digest is the hex SHA-256 over canonical JSON, secret literals masked.
	Digest() string
	// Fields lists the content as field -> value, for comparing; secret
	// literals are given as they are and must not leave the process.
	Fields() map[string]string
	// HasLiteral tells whether a secret value stands in the content itself.
	HasLiteral() bool
}

// Key is the identity of j.
func (j Job) Key() Key { return Key{KindJob, j.Name} }

// Suspended tells whether j is desired stopped.
func (j Job) Suspended() bool { return j.Suspend }

// Equal compares the content of two jobs.
func (j Job) Equal(other Spec) bool {
	o, ok := other.(Job)
	return ok && j.Name == o.Name && j.Factory == o.Factory && j.Parallelism == o.Parallelism &&
		j.Suspend == o.Suspend && j.Description == o.Description && maps.Equal(j.Config, o.Config)
}

// HasLiteral tells whether a secret value stands in j's config itself.
func (j Job) HasLiteral() bool {
	for k, v := range j.Config {
		if IsSecretLiteral(k, v) {
			return true
		}
	}
	return false
}

// ConfigKeys gives the config keys in UTF-16 code unit order, the order of
// every hash and record.
func (j Job) ConfigKeys() []string {
	keys := slices.Collect(maps.Keys(j.Config))
	slices.SortFunc(keys, compareUTF16)
	return keys
}

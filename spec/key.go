package spec

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/gid"
)

// APIVersion is the only apiVersion that Pawl reads.
const APIVersion = "pawl.dev/v1"

// Kind is the kind of a document.
type Kind string

// The kinds of documents. JobSpec and KollexSubscription stand in a tenant's
// repository, the others in the platform's configuration.
const (
	KindJob          Kind = "JobSpec"
	KindSubscription Kind = "KollexSubscription"
	KindPavilion     Kind = "Pavilion"
	KindKollex       Kind = "Kollex"
	KindAgent        Kind = "Agent"
)

// Key names a spec within its tenant: kind and metadata.name.
type Key struct {
	Kind Kind
	Name string
}

const subscriptionPrefix = "subscription/"

// String is the name that audit rows, output and keys use: "orders" for a job,
// "subscription/billing" for a subscription.
func (k Key) String() string {
	if k.Kind == KindSubscription {
		return subscriptionPrefix + k.Name
	}
	return k.Name
}

// ParseKey is the inverse of Key.String.
func ParseKey(s string) Key {
	if name, ok := strings.CutPrefix(s, subscriptionPrefix); ok {
		return Key{KindSubscription, name}
	}
	return Key{KindJob, s}
}

// Compare orders keys by kind (jobs first), then by name.
func (k Key) Compare(o Key) int {
	if k.Kind != o.Kind {
		return strings.Compare(string(k.Kind), string(o.Kind))
	}
	return strings.Compare(k.Name, o.Name)
}

// CheckName refuses a name that is no DNS label of at most 63 characters.
func CheckName(s string) error {
	if gid.IsLabel(s) {
		return nil
	}
	if len(s) > 63 {
		return fmt.Errorf("name of %d characters (limit 63)", len(s))
	}
	return fmt.Errorf("name %q: lower-case letters, digits and - only, beginning and ending with a letter or digit", s)
}

// CheckTenant refuses a tenant's name that is no label or that would collide
// with a part of the key layout.
func CheckTenant(s string) error {
	switch s {
	case "history", "status", "claim", "pawl":
		return fmt.Errorf("tenant name %q is reserved", s)
	}
	if err := CheckName(s); err != nil {
		return fmt.Errorf("tenant %w", err)
	}
	return nil
}

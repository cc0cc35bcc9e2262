package syncer

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// Event is one thing that a pass did, told after it was stored.
type Event struct {
	Tenant  string
	Version *spec.Version // a new version or a removal; nil for a refusal, or for warnings alone
	Refused *spec.Commit  // a commit that is refused or held
	State   spec.TenantState
	Reasons []spec.Finding // of a refusal, or warnings of a version's commit
	Again   bool           // told before: the store knew of it already
}

// String is the line that `run` prints for a version: CONTRACT section 6.
func (e Event) String() string {
	if v := e.Version; v != nil {
		return Line(e.Tenant, *v)
	}
	if e.Refused == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %s: %d findings", e.Tenant, spec.Short(e.Refused.ID), e.State, len(e.Reasons))
}

// Line is one version as one line: tenant, spec, version, op, what it restores,
// who, and the commit that changed the content.
func Line(tenant string, v spec.Version) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s v%d %s", tenant, v.Key, v.Number, v.Op)
	switch {
	case v.Result == spec.Removed:
		b.WriteString(" removed")
	case v.Origin.Restores > 0:
		fmt.Fprintf(&b, " restores v%d", v.Origin.Restores)
	}
	commit := v.Origin.ChangedIn
	if commit == "" {
		commit = v.Origin.Commit
	}
	fmt.Fprintf(&b, " by %s in %s", v.Origin.Actor, spec.Short(commit))
	return b.String()
}

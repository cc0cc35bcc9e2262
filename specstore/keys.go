package specstore

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// DefaultPrefix is where the Java runtime looks. Source: CONTRACT section 4.
const DefaultPrefix = "streaming:runtime:control:"

// tenantTag is replaced by the tenant's name in braces, so that on a cluster all
// keys of a tenant share one slot.
const tenantTag = "{tenant}"

// noTenant stands in the place of a tenant in keys that belong to none.
const noTenant = "pawl"

// keyring spells every key; no other file does.
type keyring struct{ prefix string }

// newKeyring checks a prefix. Braces other than one {tenant} would put keys into
// slots that nobody thinks of.
func newKeyring(prefix string) (keyring, error) {
	rest := strings.Replace(prefix, tenantTag, "", 1)
	switch {
	case len(prefix) > 200:
		return keyring{}, fmt.Errorf("prefix of %d bytes (limit 200)", len(prefix))
	case strings.ContainsAny(rest, "{}"):
		return keyring{}, fmt.Errorf("prefix %q: no braces but one %s", prefix, tenantTag)
	case strings.ContainsFunc(prefix, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return keyring{}, fmt.Errorf("prefix %q: no spaces or control characters", prefix)
	}
	return keyring{prefix}, nil
}

// perTenant tells whether each tenant has a slot, and so an audit stream, of its own.
func (k keyring) perTenant() bool { return strings.Contains(k.prefix, tenantTag) }

// at is the prefix P of a tenant's keys.
func (k keyring) at(tenant string) string {
	return strings.Replace(k.prefix, tenantTag, "{"+tenant+"}", 1)
}

// part is T: empty for the tenant default, else the name and a colon.
func part(tenant string) string {
	if tenant == defaultTenant {
		return ""
	}
	return tenant + ":"
}

const defaultTenant = "default"

// The block of the Java contract.
func (k keyring) jobs(tenant string) string     { return k.at(tenant) + part(tenant) + "jobs" }
func (k keyring) versions(tenant string) string { return k.at(tenant) + part(tenant) + "versions" }
func (k keyring) jobHistory(tenant, job string) string {
	return k.at(tenant) + "history:" + part(tenant) + job
}
func (k keyring) status(tenant, job string) string {
	return k.at(tenant) + "status:" + part(tenant) + job
}
func (k keyring) claim(tenant, job string) string {
	return k.at(tenant) + "claim:" + part(tenant) + job
}
func (k keyring) audit(tenant string) string { return k.at(tenant) + "audit" }
func (k keyring) tenants() string            { return k.at(noTenant) + "tenants" }

// Our own block; the tenant is always written.
func (k keyring) own(tenant, name string) string {
	return k.at(tenant) + "pawl:" + tenant + ":" + name
}
func (k keyring) cursor(tenant string) string      { return k.own(tenant, "cursor") }
func (k keyring) lease(tenant string) string       { return k.own(tenant, "lease") }
func (k keyring) subs(tenant string) string        { return k.own(tenant, "subs") }
func (k keyring) subVersions(tenant string) string { return k.own(tenant, "subversions") }
func (k keyring) tombstones(tenant string) string  { return k.own(tenant, "tombstones") }
func (k keyring) restarts(tenant string) string    { return k.own(tenant, "restarts") }
func (k keyring) overrides(tenant string) string   { return k.own(tenant, "overrides") }
func (k keyring) approvals(tenant string) string   { return k.own(tenant, "approvals") }
func (k keyring) mailmap(tenant string) string     { return k.own(tenant, "mailmap") }
func (k keyring) admin(tenant string) string       { return k.own(tenant, "admin") }
func (k keyring) refusals(tenant string) string    { return k.own(tenant, "refusals") }
func (k keyring) rev(tenant string) string         { return k.own(tenant, "rev") }
func (k keyring) span(tenant string) string        { return k.own(tenant, "range") }
func (k keyring) jobLease(tenant, job string) string {
	return k.own(tenant, "joblease:"+job)
}
func (k keyring) origins(tenant string, key spec.Key) string {
	return k.own(tenant, "origins:"+key.String())
}
func (k keyring) applied(tenant string, key spec.Key) string {
	return k.own(tenant, "applied:"+key.String())
}

// Of no tenant.
func (k keyring) schema() string  { return k.at(noTenant) + "pawl:schema" }
func (k keyring) channel() string { return k.at(noTenant) + "pawl:changed" }

// lookChannel carries requests to look at a repository now.
func (k keyring) lookChannel() string { return k.at(noTenant) + "pawl:look" }

// live, numbers and history are where the specs of a kind stand.
func (k keyring) live(tenant string, kind spec.Kind) string {
	if kind == spec.KindSubscription {
		return k.subs(tenant)
	}
	return k.jobs(tenant)
}

func (k keyring) numbers(tenant string, kind spec.Kind) string {
	if kind == spec.KindSubscription {
		return k.subVersions(tenant)
	}
	return k.versions(tenant)
}

func (k keyring) history(tenant string, key spec.Key) string {
	if key.Kind == spec.KindSubscription {
		return k.own(tenant, "subhistory:"+key.Name)
	}
	return k.jobHistory(tenant, key.Name)
}

// Fields of the origins hash beside the versions themselves.
const (
	fieldOwner    = "owner"   // git or api
	fieldAdopted  = "adopted" // the version that was taken over, until a commit touches it
	fieldSuspend  = "suspend" // 1 if the current content says so
	fieldPath     = "path"    // of the current version
	digestPrefix  = "digest:"
	removedPrefix = "removed:" // origin of the removal of that version
	wasPrefix     = "was:"     // in the range hash
	ownerGit      = "git"
)

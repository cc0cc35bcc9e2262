package specstore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// scriptCall collects the keys and arguments of lua/apply.lua, in its order.
type scriptCall struct {
	keys []string
	args []any
}

func (c *scriptCall) put(args ...any) { c.args = append(c.args, args...) }

func (s *Store) encodeStep(lease spec.Lease, step spec.Step) (*scriptCall, error) {
	t := step.Tenant
	if err := spec.CheckTenant(t); err != nil {
		return nil, err
	}
	if len(step.Items) > MaxStepItems {
		return nil, fmt.Errorf("step of %d items (limit %d): split it", len(step.Items), MaxStepItems)
	}
	findings, err := encodeFindings(step.To.Findings)
	if err != nil {
		return nil, err
	}
	drift, err := encodeFindings(step.To.Drift)
	if err != nil {
		return nil, err
	}
	epoch := step.To.Epoch
	if epoch == "" {
		epoch = randomID()
	}
	c := &scriptCall{keys: []string{
		s.key.cursor(t), s.key.lease(t), s.key.audit(t), s.key.jobs(t), s.key.versions(t), s.key.subs(t),
		s.key.subVersions(t), s.key.tombstones(t), s.key.refusals(t), s.key.overrides(t), s.key.rev(t), s.key.span(t),
	}}
	c.put(t, s.key.channel(), s.cfg.AuditCap, s.cfg.HistoryCap, lease.Owner, lease.Generation)
	c.put(step.From.Applied, step.From.Target, step.From.Step, step.To.Applied, step.To.Target, step.To.Step)
	c.put(step.To.Seen, string(step.To.State), step.To.Refused, findings, clean(step.To.Error, maxDetail), step.To.Errors, step.To.Specs, epoch)
	c.put(step.To.EnforceFrom, step.To.Pavilion, step.To.CID, step.To.Branch, step.To.Path, drift)
	c.put(len(step.Items))
	for _, it := range step.Items {
		switch {
		case it.Version != nil && it.Refusal == nil:
			err = s.encodeVersion(c, t, it)
		case it.Refusal != nil && it.Version == nil:
			err = encodeRefusal(c, *it.Refusal)
		default:
			err = errors.New("an item is either a version or a refusal")
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// encodeVersion adds one version: its keys and its 24 arguments.
func (s *Store) encodeVersion(c *scriptCall, t string, it spec.Item) error {
	v := *it.Version
	removal := v.Spec == nil
	if err := checkVersion(v); err != nil {
		return fmt.Errorf("%s: %w", v.Key, err)
	}
	origin, err := oneLine(v.Origin)
	if err != nil {
		return err
	}
	var record, replaced string
	if !removal {
		if record, err = encodeRecord(spec.Record{Tenant: t, Key: v.Key, Spec: v.Spec, Version: v.Number,
			UpdatedBy: v.Origin.Actor, UpdatedAt: v.UpdatedAt}); err != nil {
			return err
		}
	}
	if old := it.Replaced; old != nil {
		if replaced = old.Raw; replaced == "" {
			was := *old
			was.Tenant = t
			if replaced, err = encodeRecord(was); err != nil {
				return err
			}
		}
	}
	kind, status := "j", s.key.status(t, v.Key.Name)
	if v.Key.Kind == spec.KindSubscription {
		kind, status = "s", s.key.subs(t)
	}
	digest := v.Origin.Digest
	if removal {
		digest = ""
	}
	from, to := auditNumbers(v)
	c.keys = append(c.keys, status, s.key.history(t, v.Key), s.key.origins(t, v.Key), s.key.applied(t, v.Key))
	c.put("v", kind, v.Key.Name, v.Key.String(), v.From, v.Number, flag(it.Newest), flag(removal))
	c.put(record, replaced, string(v.Desired), flag(!removal && v.Spec.Suspended()))
	c.put(origin, v.Origin.Operation, digest, v.Origin.Path)
	c.put(clean(v.Origin.Actor, maxActor), string(v.Op), string(v.Result), detailOf(v), v.Origin.Commit, from, to)
	c.put(v.Number - int64(s.cfg.OriginCap))
	return nil
}

// checkVersion refuses what would corrupt the ledger whoever decided it.
func checkVersion(v spec.Version) error {
	if err := spec.CheckName(v.Key.Name); err != nil {
		return err
	}
	number := v.From + 1
	if v.Spec == nil {
		number = v.From
	} else if v.Spec.Key() != v.Key {
		return fmt.Errorf("its spec is of %s", v.Spec.Key())
	}
	if v.From < 0 || v.Number != number || v.Number < 1 {
		return fmt.Errorf("version %d cannot replace version %d", v.Number, v.From)
	}
	if v.Origin.Operation == "" || strings.ContainsAny(v.Origin.Operation, "\"\\\n") {
		return fmt.Errorf("version %d has no usable operation id", v.Number)
	}
	return nil
}

// auditNumbers are the versions that a row shows: a SUBMIT comes from nothing, a
// removal goes nowhere.
func auditNumbers(v spec.Version) (from, to string) {
	from, to = strconv.FormatInt(v.From, 10), strconv.FormatInt(v.Number, 10)
	switch {
	case v.Spec == nil:
		to = ""
	case v.Op == spec.OpSubmit:
		from = ""
	}
	return from, to
}

// detailOf words a version for its row: names of fields, never values.
func detailOf(v spec.Version) string {
	text := strings.Join(v.Fields, ", ")
	if v.Spec == nil {
		text = "removed"
	}
	if v.RescaleOnly {
		text += " (rescale only)"
	}
	if v.Origin.Restores > 0 {
		text += " restores v" + strconv.FormatInt(v.Origin.Restores, 10)
	}
	switch v.Origin.Verified { // unknown is what most rows would say
	case spec.VerifiedTrue:
		text += " (verified: " + v.Origin.Signer + ")"
	case spec.VerifiedFalse:
		text += " (not verified)"
	}
	return clean(strings.TrimSpace(text), maxDetail)
}

func encodeRefusal(c *scriptCall, r spec.AuditRow) error {
	if r.Commit == "" || (r.Result != spec.Refused && r.Result != spec.Held && r.Result != spec.Applied) {
		return fmt.Errorf("row %q of commit %q: a whole commit is refused, held, or noted as applied", r.Result, r.Commit)
	}
	c.put("r", clean(r.Actor, maxActor), string(r.Result), clean(r.Detail, maxDetail), r.Commit)
	return nil
}

// randomID names a filling of the store or an operation of a person.
func randomID() string { return strings.ToLower(rand.Text()) }

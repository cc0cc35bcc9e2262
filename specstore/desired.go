package specstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// Override is spec.Override.
type Override = spec.Override

// Stop makes stopped the desired state of a job until Resume, whatever Git says
// meanwhile; the version stays. spec.ErrNotFound: no such job (audited).
func (s *Store) Stop(ctx context.Context, tenant, actor, name string) error {
	head, tail := overrideHalves(spec.WantStopped, clean(actor, maxActor))
	keys := []string{s.key.jobs(tenant), s.key.versions(tenant), s.key.status(tenant, name), s.key.overrides(tenant), s.key.audit(tenant), s.key.rev(tenant)}
	return s.act(ctx, attempt{tenant: tenant, actor: actor, op: spec.OpStop, job: name}, "stop", keys, head, tail)
}

// Resume ends a stop. Where Git says suspend: true the first Resume lifts the
// person's stop, and one more runs the job over what Git says. A job that is not
// stopped is left alone.
func (s *Store) Resume(ctx context.Context, tenant, actor, name string) error {
	head, tail := overrideHalves(spec.WantRunning, clean(actor, maxActor))
	keys := []string{s.key.jobs(tenant), s.key.versions(tenant), s.key.status(tenant, name), s.key.overrides(tenant),
		s.key.origins(tenant, spec.Key{Kind: spec.KindJob, Name: name}), s.key.audit(tenant), s.key.rev(tenant)}
	return s.act(ctx, attempt{tenant: tenant, actor: actor, op: spec.OpResume, job: name}, "resume", keys, head, tail)
}

// Restart asks for a relaunch of the version that runs, with secrets resolved
// anew. It is permitted and audited as RESUME, for readers know six operations.
func (s *Store) Restart(ctx context.Context, tenant, actor, name string) error {
	keys := []string{s.key.jobs(tenant), s.key.versions(tenant), s.key.restarts(tenant), s.key.audit(tenant), s.key.rev(tenant)}
	return s.act(ctx, attempt{tenant: tenant, actor: actor, op: spec.OpResume, job: name}, "restart", keys)
}

// Adopt gives a job that was made by hand or by the Java plane to Git, which may
// change it from then on. It is permitted and audited as SUBMIT.
func (s *Store) Adopt(ctx context.Context, tenant, actor, name string) error {
	keys := []string{s.key.jobs(tenant), s.key.versions(tenant), s.key.origins(tenant, spec.Key{Kind: spec.KindJob, Name: name}),
		s.key.audit(tenant), s.key.rev(tenant)}
	return s.act(ctx, attempt{tenant: tenant, actor: actor, op: spec.OpSubmit, job: name}, "adopt", keys)
}

// act runs a script that changes what is desired of one job.
func (s *Store) act(ctx context.Context, a attempt, script string, keys []string, more ...any) error {
	if err := s.permit(ctx, a); err != nil {
		return err
	}
	args := append([]any{a.tenant, s.key.channel(), s.cfg.AuditCap, clean(a.actor, maxActor), a.job}, more...)
	reply, err := s.run(ctx, script, keys, args...)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s/%s: %w", script, a.tenant, a.job, err)
	case reply[0] == "absent":
		return fmt.Errorf("%s %s/%s: %w", script, a.tenant, a.job, spec.ErrNotFound)
	case reply[0] != "ok":
		return strange(script, reply)
	}
	return nil
}

// Overrides lists what people stopped or started over Git, by job.
func (s *Store) Overrides(ctx context.Context, tenant string) ([]Override, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return nil, err
	}
	h, err := s.rdb.HGetAll(ctx, s.key.overrides(tenant)).Result()
	if err != nil {
		return nil, fmt.Errorf("read overrides of %s: %w", tenant, readErr(err))
	}
	var list []Override
	for job, raw := range h {
		var w wireOverride
		if err := json.Unmarshal([]byte(raw), &w); err != nil {
			return nil, unreadable(tenant, job+" (override)", err)
		}
		list = append(list, Override{Job: job, Desired: w.Desired, Since: w.Since, Actor: w.Actor})
	}
	slices.SortFunc(list, func(a, b Override) int { return cmp.Or(strings.Compare(a.Job, b.Job)) })
	return list, nil
}

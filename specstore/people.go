package specstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// submitTries bounds how often a submit reads the last version anew because
// somebody else moved it.
const submitTries = 10

// Submit stores a new job of a person: version 1, or one more than the last if the
// name was there before. spec.ErrExists: the name is taken (audited). Source: R-A3.
func (s *Store) Submit(ctx context.Context, tenant, actor string, job spec.Job) (spec.Record, error) {
	a := attempt{tenant: tenant, actor: actor, op: spec.OpSubmit, job: job.Name}
	if err := s.permit(ctx, a); err != nil {
		return spec.Record{}, err
	}
	if err := checkContent(job); err != nil {
		return spec.Record{}, s.refuse(ctx, a, fmt.Errorf("submit %s/%s: %w", tenant, job.Name, err), "invalid spec", true)
	}
	if err := s.enrol(ctx, tenant); err != nil {
		return spec.Record{}, fmt.Errorf("submit %s/%s: %w", tenant, job.Name, err)
	}
	operation := "api:" + randomID()
	for range submitTries {
		rec, have, err := s.submitOnce(ctx, a, job, operation)
		if err != nil {
			return spec.Record{}, fmt.Errorf("submit %s/%s: %w", tenant, job.Name, err)
		}
		if have == "" {
			return rec, nil
		}
	}
	return spec.Record{}, fmt.Errorf("submit %s/%s: %w: others kept writing it", tenant, job.Name, ErrUnavailable)
}

// submitOnce gives the version that somebody moved to meanwhile, if so.
func (s *Store) submitOnce(ctx context.Context, a attempt, job spec.Job, operation string) (rec spec.Record, have string, err error) {
	known, err := s.knownBatch(ctx, a.tenant, []spec.Key{job.Key()}, false)
	if err != nil {
		return rec, "", err
	}
	from := known[0].Last
	w, err := s.prepare(a, job, from, operation, 0)
	if err != nil {
		return rec, "", err
	}
	detail := "new job"
	if job.HasLiteral() {
		detail = "new job; warning: a secret stands in the config itself: " + literals(job)
	}
	t, key := a.tenant, job.Key()
	keys := []string{s.key.jobs(t), s.key.versions(t), s.key.status(t, job.Name), s.key.origins(t, key), s.key.applied(t, key),
		s.key.audit(t), s.key.tombstones(t), s.key.overrides(t), s.key.rev(t)}
	reply, err := s.run(ctx, "submit", keys, t, s.key.channel(), s.cfg.AuditCap, clean(a.actor, maxActor), job.Name, from, w.rec.Version,
		w.rec.Raw, operation, w.origin, job.Digest(), flag(job.Suspend), clean(detail, maxDetail), w.oldest)
	if err != nil {
		return w.rec, "", s.settle(ctx, err, s.wrote(t, key, w.rec.Version, operation))
	}
	switch reply[0] {
	case "ok":
		return w.rec, "", nil
	case "exists":
		return rec, "", fmt.Errorf("%w at version %s: upgrade it instead", spec.ErrExists, reply[1])
	case "moved":
		return rec, reply[1], nil
	}
	return rec, "", strange("submit", reply)
}

// Upgrade replaces a job's content if it is still at version ifVersion. Two people
// at once: one wins, the other gets *spec.ConflictError (audited). A job that
// belongs to Git is spec.ErrForeign: change it there. Source: R-A3.
func (s *Store) Upgrade(ctx context.Context, tenant, actor string, job spec.Job, ifVersion int64) (spec.Record, error) {
	a := attempt{tenant: tenant, actor: actor, op: spec.OpUpgrade, job: job.Name, from: ifVersion, to: ifVersion + 1}
	if err := s.permit(ctx, a); err != nil {
		return spec.Record{}, err
	}
	if err := checkContent(job); err != nil {
		return spec.Record{}, s.refuse(ctx, a, fmt.Errorf("upgrade %s/%s: %w", tenant, job.Name, err), "invalid spec", true)
	}
	return s.replace(ctx, a, job, 0)
}

// Rollback gives a job the content of an earlier version, to, or of the one before
// the current if to is 0: the same compare-and-set, and the version still grows.
// spec.ErrNotFound: that version is not in the history any more (audited).
func (s *Store) Rollback(ctx context.Context, tenant, actor, name string, to, ifVersion int64) (spec.Record, error) {
	a := attempt{tenant: tenant, actor: actor, op: spec.OpRollback, job: name, from: ifVersion, to: ifVersion + 1}
	if err := s.permit(ctx, a); err != nil {
		return spec.Record{}, err
	}
	past, err := s.History(ctx, tenant, spec.Key{Kind: spec.KindJob, Name: name})
	if err != nil {
		return spec.Record{}, fmt.Errorf("rollback %s/%s: %w", tenant, name, err)
	}
	for i := len(past) - 1; i >= 0; i-- {
		if job, ok := past[i].Spec.(spec.Job); ok && (to == 0 || past[i].Version == to) {
			return s.replace(ctx, a, job, past[i].Version)
		}
	}
	what := "version " + strconv.FormatInt(to, 10)
	if to == 0 {
		what = "an earlier version"
	}
	why := fmt.Errorf("rollback %s/%s: %s is not in its history of %d: %w", tenant, name, what, len(past), spec.ErrNotFound)
	return spec.Record{}, s.refuse(ctx, a, why, what+" is not in the history", true)
}

// replace is the compare-and-set of a person; restores names the version whose
// content it is again, 0 if none, and then the desired state stays what it is.
func (s *Store) replace(ctx context.Context, a attempt, job spec.Job, restores int64) (spec.Record, error) {
	where := strings.ToLower(string(a.op)) + " " + a.tenant + "/" + job.Name
	key := job.Key()
	known, err := s.knownBatch(ctx, a.tenant, []spec.Key{key}, false)
	if err != nil {
		return spec.Record{}, fmt.Errorf("%s: %w", where, err)
	}
	desired, detail := s.compare(known[0], &job, restores)
	operation := "api:" + randomID()
	w, err := s.prepare(a, job, a.from, operation, restores)
	if err != nil {
		return spec.Record{}, fmt.Errorf("%s: %w", where, err)
	}
	t := a.tenant
	keys := []string{s.key.jobs(t), s.key.versions(t), s.key.status(t, job.Name), s.key.history(t, key), s.key.origins(t, key),
		s.key.applied(t, key), s.key.audit(t), s.key.rev(t)}
	reply, err := s.run(ctx, "upgrade", keys, t, s.key.channel(), s.cfg.AuditCap, clean(a.actor, maxActor), job.Name, a.from, w.rec.Version,
		w.rec.Raw, operation, w.origin, job.Digest(), flag(job.Suspend), detail, w.oldest, s.cfg.HistoryCap, string(a.op), string(desired))
	if err != nil {
		if err = s.settle(ctx, err, s.wrote(t, key, w.rec.Version, operation)); err != nil {
			return spec.Record{}, fmt.Errorf("%s: %w", where, err)
		}
		return w.rec, nil
	}
	switch reply[0] {
	case "ok":
		return w.rec, nil
	case "absent":
		return spec.Record{}, fmt.Errorf("%s: %w", where, spec.ErrNotFound)
	case "foreign":
		return spec.Record{}, fmt.Errorf("%s: %w: its owner is Git; change it there (a rollback is a revert commit)", where, spec.ErrForeign)
	case "conflict":
		return spec.Record{}, &spec.ConflictError{What: t + "/" + job.Name, Want: "version " + strconv.FormatInt(a.from, 10), Have: "version " + reply[1]}
	}
	return spec.Record{}, strange("upgrade", reply)
}

// compare tells what a replacement does to the desired state, and which fields
// differ, by name. A restored content keeps the suspend of now.
func (s *Store) compare(k spec.Known, job *spec.Job, restores int64) (spec.Desired, string) {
	desired, detail := spec.LeaveStatus, ""
	if k.Current != nil {
		now := k.Current.Spec
		if restores > 0 {
			job.Suspend = now.Suspended()
		}
		switch {
		case job.Suspend && !now.Suspended():
			desired = spec.WantStopped
		case !job.Suspend && now.Suspended():
			desired = spec.WantRunning
		}
		detail = strings.Join(differing(now.Fields(), job.Fields()), ", ")
	}
	if restores > 0 {
		detail += " restores v" + strconv.FormatInt(restores, 10)
	}
	return desired, clean(strings.TrimSpace(detail), maxDetail)
}

// written is a version of a person, ready to be stored.
type written struct {
	rec    spec.Record
	origin string
	oldest int64 // origin to drop
}

func (s *Store) prepare(a attempt, job spec.Job, from int64, operation string, restores int64) (written, error) {
	rec := spec.Record{Tenant: a.tenant, Key: job.Key(), Spec: job, Version: from + 1, UpdatedBy: clean(a.actor, maxActor),
		UpdatedAt: time.Now().UnixMilli(), SpecHash: job.SpecHash(a.tenant)}
	var err error
	if rec.Raw, err = encodeRecord(rec); err != nil {
		return written{}, err
	}
	origin, err := oneLine(spec.Origin{Version: rec.Version, Op: a.op, Result: spec.Applied, Operation: operation, Actor: rec.UpdatedBy,
		Verified: spec.VerifiedUnknown, Restores: restores, Digest: job.Digest(), SpecHash: rec.SpecHash, Suspend: job.Suspend})
	return written{rec, origin, rec.Version - int64(s.cfg.OriginCap)}, err
}

// wrote asks the store whether a version is the one of an operation.
func (s *Store) wrote(tenant string, key spec.Key, version int64, operation string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		o, err := s.originAt(ctx, tenant, key, strconv.FormatInt(version, 10))
		if errors.Is(err, spec.ErrNotFound) {
			return false, nil
		}
		return o.Operation == operation, err
	}
}

package specstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-dev/pawl/spec"
)

// adminCap bounds the stream of administrative acts of a tenant, about.
const adminCap = 1000

// wireApproval is a person's word that a held commit may pass.
type wireApproval struct {
	Actor string `json:"actor"`
	At    int64  `json:"at"`
}

// Approve lets a held commit of a tenant through, and asks its syncer to look.
// commit is a full id. Approving twice is once. Source: CONTRACT section 3 (guard).
func (s *Store) Approve(ctx context.Context, tenant, actor, commit string) error {
	if err := spec.CheckTenant(tenant); err != nil {
		return err
	}
	if !isCommit(commit) {
		return fmt.Errorf("approve %q: a full commit id has 40 hex digits", commit)
	}
	who := clean(actor, maxActor)
	head := string(appendText([]byte(`{"actor":`), who)) + `,"at":`
	reply, err := s.run(ctx, "approve", []string{s.key.approvals(tenant), s.key.admin(tenant)},
		tenant, s.key.lookChannel(), adminCap, who, commit, head, "}")
	if err != nil {
		return fmt.Errorf("approve %s of %s: %w", spec.Short(commit), tenant, err)
	}
	if reply[0] != "ok" && reply[0] != "already" {
		return strange("approve", reply)
	}
	return nil
}

func isCommit(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}

// Approvals lists the approved commits of a tenant, by id.
func (s *Store) Approvals(ctx context.Context, tenant string) ([]spec.Approval, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return nil, err
	}
	h, err := s.rdb.HGetAll(ctx, s.key.approvals(tenant)).Result()
	if err != nil {
		return nil, fmt.Errorf("read approvals of %s: %w", tenant, readErr(err))
	}
	var list []spec.Approval
	for commit, raw := range h {
		var w wireApproval
		if err := json.Unmarshal([]byte(raw), &w); err != nil {
			return nil, unreadable(tenant, commit+" (approval)", err)
		}
		list = append(list, spec.Approval{Commit: commit, Actor: w.Actor, At: w.At})
	}
	slices.SortFunc(list, func(a, b spec.Approval) int { return strings.Compare(a.Commit, b.Commit) })
	return list, nil
}

// Restore puts facts that Git does not have back into a store that lost them; what
// is there stays. It comes before a rebuild, so that a stopped job is not started
// by it.
func (s *Store) Restore(ctx context.Context, tenant string, facts spec.Facts) error {
	if err := spec.CheckTenant(tenant); err != nil {
		return err
	}
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, a := range facts.Approvals {
			text, err := oneLine(wireApproval{Actor: a.Actor, At: a.At})
			if err != nil {
				return err
			}
			p.HSetNX(ctx, s.key.approvals(tenant), a.Commit, text)
		}
		for _, o := range facts.Overrides {
			text, err := oneLine(wireOverride{Desired: o.Desired, Since: o.Since, Actor: o.Actor})
			if err != nil {
				return err
			}
			p.HSetNX(ctx, s.key.overrides(tenant), o.Job, text)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore facts of %s: %w", tenant, readErr(err))
	}
	return nil
}

// Look asks whoever works a tenant to look at its repository now; it is noted with
// who asked. Nothing is awaited.
func (s *Store) Look(ctx context.Context, tenant, actor string) error {
	if err := spec.CheckTenant(tenant); err != nil {
		return err
	}
	if _, err := s.run(ctx, "look", []string{s.key.admin(tenant)}, tenant, s.key.lookChannel(), adminCap, clean(actor, maxActor)); err != nil {
		return fmt.Errorf("ask the syncer of %s to look: %w", tenant, err)
	}
	return nil
}

// Looks calls kick for every request to look, as Subscribe does for changes.
func (s *Store) Looks(ctx context.Context, kick func(tenant string)) error {
	return s.listen(ctx, s.key.lookChannel(), kick)
}

// Acts reads the newest administrative acts of a tenant, oldest first.
func (s *Store) Acts(ctx context.Context, tenant string, limit int64) ([]spec.Act, error) {
	if err := spec.CheckTenant(tenant); err != nil {
		return nil, err
	}
	rows, err := s.rdb.XRevRangeN(ctx, s.key.admin(tenant), "+", "-", limit).Result()
	if err != nil {
		return nil, fmt.Errorf("read administrative acts of %s: %w", tenant, readErr(err))
	}
	acts := make([]spec.Act, 0, len(rows))
	for _, r := range slices.Backward(rows) {
		a := spec.Act{Tenant: tenant, Actor: value(r, "actor"), Act: value(r, "act"), Target: value(r, "target"), Detail: value(r, "detail")}
		if a.TS, err = strconv.ParseInt(value(r, "ts"), 10, 64); err != nil {
			return nil, fmt.Errorf("administrative act %s of %s: ts is no number", r.ID, tenant)
		}
		acts = append(acts, a)
	}
	return acts, nil
}

// value is a field of a stream's entry as text.
func value(m redis.XMessage, field string) string {
	s, ok := m.Values[field].(string)
	if !ok {
		return ""
	}
	return s
}

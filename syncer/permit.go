package syncer

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/authz"
	"github.com/pawl-dev/pawl/diff"
	"github.com/pawl-dev/pawl/spec"
)

// Trust judges who stands behind a commit, from its object as Git stores it.
type Trust interface {
	// Judge tells whether the author is verified (true, false or unknown), by
	// whose signature, and whether the Pavilion accepts that; why if it does not.
	Judge(raw []byte, author spec.Person) (verified, signer string, accepted bool, why string)
}

// believed is what is known of who made a commit.
type believed struct {
	verified, signer string
	accepted         bool
	why              string
}

// judge judges one commit; the zero commit (nobody made it) is judged as at.
func (t *Tenant) judge(ctx context.Context, by, at spec.Commit) (believed, error) {
	if by.ID == "" {
		by = at
	}
	if t.Trust == nil {
		return believed{verified: spec.VerifiedUnknown, accepted: true}, nil
	}
	raw, err := t.Source.Raw(ctx, by.ID)
	if err != nil {
		return believed{}, err
	}
	var b believed
	b.verified, b.signer, b.accepted, b.why = t.Trust.Judge(raw, by.Author)
	return b, nil
}

// permit holds a commit whose changes are not all by people that the Pavilion
// trusts and lets do them. What counts is who made each change: a later commit
// of somebody else does not let held changes in. who are the attributions of
// v.changes, in their order; the judgements of the commits behind them are given back.
func (t *Tenant) permit(ctx context.Context, v verdict, who []attribution, guarded bool) (verdict, map[string]believed, error) {
	judged := map[string]believed{}
	var why []spec.Finding
	for i, c := range v.changes {
		by := who[i].by
		b, ok := judged[by.ID]
		if !ok {
			var err error
			if b, err = t.judge(ctx, by, v.commit); err != nil {
				return v, nil, err
			}
			judged[by.ID] = b
		}
		if !guarded {
			continue
		}
		f, forbidden := t.forbids(c, v, by, b)
		if !forbidden {
			continue
		}
		pass, err := t.approved(ctx, by.ID) // for what that commit changed, and nothing else
		if err != nil {
			return v, nil, err
		}
		if !pass {
			why = append(why, f)
		}
	}
	if len(why) == 0 {
		return v, judged, nil
	}
	pass, err := t.approved(ctx, v.commit.ID) // the whole of it, as it stands there
	if err != nil || pass {
		return v, judged, err
	}
	return v.refuse(spec.StateHeld, spec.SortFindings(why)...), judged, nil
}

// forbids says why one change may not be made by who made it.
func (t *Tenant) forbids(c diff.Change, v verdict, by spec.Commit, b believed) (spec.Finding, bool) {
	at := v.declared[c.Key]
	id := by.ID
	if id == "" {
		id = v.commit.ID
	}
	f := spec.Finding{Path: at.path, Line: at.line, Field: c.Key.String()}
	way := fmt.Sprintf("let it through with `syncer approve %s --tenant %s`, or undo it", id, t.name)
	if !b.accepted {
		f.Message = fmt.Sprintf("commit %s by %s is not trusted: %s; %s", spec.Short(id), by.Author, b.why, way)
		return f, true
	}
	if len(t.pav.Policy) == 0 {
		return f, false
	}
	d := authz.Decide(t.pav.Policy, authz.Who{Name: by.Author.Name, Mail: by.Author.Mail, Signer: b.signer, Verified: b.verified}, c.Op, c.Key)
	if d.Allowed {
		return f, false
	}
	f.Message = fmt.Sprintf("%s by %s in commit %s is not allowed: %s; %s", c.Op, by.Author, spec.Short(id), d.Why, way)
	return f, true
}

// settled makes the versions of a commit whose changes are permitted, or holds it;
// one that is refused already stays so.
func (w *walk) settled(ctx context.Context, v verdict, who []attribution, guarded bool) (verdict, []spec.Version, error) {
	if v.state != spec.Synced {
		return v, nil, nil
	}
	v, judged, err := w.t.permit(ctx, v, who, guarded)
	if err != nil || v.state != spec.Synced {
		return v, nil, err
	}
	versions := make([]spec.Version, len(v.changes))
	for i, ch := range v.changes {
		versions[i] = w.t.version(v, ch, who[i])
		b := judged[who[i].by.ID]
		versions[i].Origin.Verified, versions[i].Origin.Signer = b.verified, b.signer
	}
	return v, versions, nil
}

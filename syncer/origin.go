package syncer

import (
	"github.com/pawl-dev/pawl/diff"
	"github.com/pawl-dev/pawl/spec"
)

// version is a change made ready to be stored: who made it, where, and what is
// known of it for ever.
func (t *Tenant) version(v verdict, c diff.Change, who attribution) spec.Version {
	by := who.by
	actor, when := by.Author.String(), by.Committer.When
	if by.ID == "" { // a rewind: no author, only a reason
		actor, when = by.Subject, v.commit.Committer.When
	}
	at := v.declared[c.Key]
	o := spec.Origin{
		Version: c.Version, Op: c.Op, Result: spec.Applied,
		Operation: spec.OperationID(v.commit.ID, c.Key, c.IfVersion),
		Commit:    v.commit.ID, Parent: v.commit.Parent, Path: at.path, Line: at.line,
		Actor: actor, Verified: spec.VerifiedUnknown, Subject: by.Subject, Contributors: who.earlier,
		Restores: c.Restores, Fields: c.Fields, Notes: by.Notes,
	}
	if by.ID != "" {
		o.Author, o.Committer = &by.Author, &by.Committer
		if by.ID != v.commit.ID {
			o.ChangedIn = by.ID
		}
	} else {
		o.Subject = ""
	}
	out := spec.Version{
		Key: c.Key, Op: c.Op, Result: spec.Applied, From: c.IfVersion, Number: c.Version, Spec: c.Want,
		UpdatedAt: when * 1000, Desired: c.Desired, Fields: c.Fields, RescaleOnly: c.Class == diff.Rescale, Class: string(c.Class), Why: c.Why,
	}
	if c.Removed {
		out.Result, o.Result = spec.Removed, spec.Removed
	} else {
		o.Digest, o.Suspend = c.Want.Digest(), c.Want.Suspended()
		o.SameDigest = v.likeness[c.Key].digest
		if job, ok := c.Want.(spec.Job); ok {
			o.SpecHash = job.SpecHash(t.name)
		} else {
			o.SpecHash = o.Digest
		}
	}
	out.Origin = o
	return out
}

package syncer

import (
	"context"
	"errors"
	"slices"

	"github.com/pawl-dev/pawl/spec"
)

// authorship remembers who last changed the content of specs in commits that
// were not applied, so that held content arrives under the name of who made it
// (CONTRACT section 3, R7).
type authorship map[spec.Key]*attribution

type attribution struct {
	by      spec.Commit
	earlier []string // actors of earlier held changes, oldest first
}

// note enters the specs whose content a commit changed against its parent.
func (a authorship) note(c spec.Commit, keys []spec.Key) {
	for _, k := range keys {
		held := a[k]
		if held == nil {
			a[k] = &attribution{by: c}
			continue
		}
		if who := held.by.Author.String(); !slices.Contains(held.earlier, who) {
			held.earlier = append(held.earlier, who)
		}
		held.by = c
	}
}

// of says who changed a spec's content, as of commit c. touched are the specs
// that c itself changed against its parent; nil means all.
func (a authorship) of(k spec.Key, c spec.Commit, touched map[spec.Key]bool) attribution {
	held := a[k]
	switch {
	case held == nil:
		return attribution{by: c}
	case touched == nil || touched[k]:
		earlier := held.earlier
		if who := held.by.Author.String(); who != c.Author.String() && !slices.Contains(earlier, who) {
			earlier = append(slices.Clone(earlier), who)
		}
		return attribution{by: c, earlier: earlier}
	}
	return *held
}

// touchedBy lists the specs whose content commit c changed against its first
// parent. A file that cannot be decoded counts for none of its broken documents.
func (t *Tenant) touchedBy(ctx context.Context, c spec.Commit) (keys []spec.Key, any bool, err error) {
	changes, err := t.Source.Changes(ctx, c.Parent, c.ID)
	var unusable *spec.FindingError
	if errors.Is(err, spec.ErrNoPath) || errors.As(err, &unusable) {
		return nil, true, nil // the folder is gone or cannot be told: everything is held, nobody changed a content
	}
	if err != nil || len(changes) == 0 {
		return nil, false, err
	}
	r, err := t.read(ctx, changes)
	if err != nil {
		return nil, false, err
	}
	return touchedKeys(r), true, nil
}

package syncer

import (
	"context"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
)

// likeness is what earlier versions say of a content: the latest with exactly
// it, and the latest with its digest (the same, but for masked secret literals).
type likeness struct{ same, digest int64 }

// wanted is a content to look up among the versions up to last.
type wanted struct {
	spec spec.Spec
	last int64
}

// ledger is a tenant's specs as of the last commit that was applied.
type ledger interface {
	known(ctx context.Context, keys []spec.Key) (map[spec.Key]spec.Known, error)
	// alike looks contents up among the earlier versions of their specs.
	alike(ctx context.Context, wanted []wanted) (map[spec.Key]likeness, error)
}

// live is the ledger in the store.
type live struct{ t *Tenant }

// knownBatch is how many specs are asked for in one round trip.
const knownBatch = 1000

func (l live) known(ctx context.Context, keys []spec.Key) (map[spec.Key]spec.Known, error) {
	out := make(map[spec.Key]spec.Known, len(keys))
	for batch := range slices.Chunk(keys, knownBatch) {
		if err := l.t.keep(ctx); err != nil {
			return nil, err
		}
		ks, err := l.t.Store.Known(ctx, l.t.name, batch)
		if err != nil {
			return nil, err
		}
		for _, k := range ks {
			out[k.Key] = k
		}
	}
	return out, nil
}

func (l live) alike(ctx context.Context, all []wanted) (map[spec.Key]likeness, error) {
	out := make(map[spec.Key]likeness, len(all))
	for batch := range slices.Chunk(all, knownBatch) {
		asks := make([]spec.Lookup, len(batch))
		for i, w := range batch {
			asks[i] = spec.Lookup{Key: w.spec.Key(), Digest: w.spec.Digest(), Upto: w.last}
		}
		origins, err := l.t.Store.Lookalikes(ctx, l.t.name, asks)
		if err != nil {
			return nil, err
		}
		for i, o := range origins {
			if o.Version == 0 {
				continue
			}
			like := likeness{same: o.Version, digest: o.Version}
			if batch[i].spec.HasLiteral() {
				if like.same, err = l.confirm(ctx, batch[i].spec, o); err != nil {
					return nil, err
				}
			}
			out[batch[i].spec.Key()] = like
		}
	}
	return out, nil
}

// maxConfirm bounds how many versions with one digest are read again from Git.
const maxConfirm = 100

// confirm finds the latest version whose content, secret literals included, is
// want's. The ledger holds literals masked, so Git itself is asked.
func (l live) confirm(ctx context.Context, want spec.Spec, o spec.Origin) (int64, error) {
	for range maxConfirm {
		if o.Commit != "" && o.Path != "" {
			data, err := l.t.Source.File(ctx, o.Commit, o.Path, specfile.MaxFileBytes)
			if err != nil {
				return 0, fmt.Errorf("compare %s with version %d: %w", want.Key(), o.Version, err)
			}
			docs, _ := specfile.Decode(o.Path, data, l.t.opt) // it was applied: its findings do not count any more
			for _, d := range docs {
				if d.Key == want.Key() && d.Spec != nil && d.Spec.Equal(want) {
					return o.Version, nil
				}
			}
		}
		if o.SameDigest == 0 {
			return 0, nil
		}
		next, err := l.t.Store.Origin(ctx, l.t.name, want.Key(), o.SameDigest)
		if err != nil {
			return 0, err
		}
		o = next
	}
	return 0, nil
}

// folded is a ledger in memory on top of the one in the store: what a fold has
// decided so far.
type folded struct {
	below live
	specs map[spec.Key]*foldedSpec
}

type foldedSpec struct {
	now      spec.Known
	began    int64 // last version in the store when the fold began
	versions map[string][]foldedVersion
}

type foldedVersion struct {
	number int64
	spec   spec.Spec
}

func newFolded(t *Tenant) *folded { return &folded{live{t}, map[spec.Key]*foldedSpec{}} }

func (f *folded) known(ctx context.Context, keys []spec.Key) (map[spec.Key]spec.Known, error) {
	missing := slices.DeleteFunc(slices.Clone(keys), func(k spec.Key) bool { return f.specs[k] != nil })
	if len(missing) > 0 {
		fresh, err := f.below.known(ctx, missing)
		if err != nil {
			return nil, err
		}
		for k, known := range fresh {
			f.specs[k] = &foldedSpec{now: known, began: known.Last, versions: map[string][]foldedVersion{}}
		}
	}
	out := make(map[spec.Key]spec.Known, len(keys))
	for _, k := range keys {
		out[k] = f.specs[k].now
	}
	return out, nil
}

func (f *folded) alike(ctx context.Context, all []wanted) (map[spec.Key]likeness, error) {
	out := make(map[spec.Key]likeness, len(all))
	var below []wanted
	for _, w := range all {
		s := f.specs[w.spec.Key()]
		like := s.alike(w.spec)
		out[w.spec.Key()] = like
		if s.began > 0 && like.same == 0 {
			below = append(below, wanted{w.spec, s.began})
		}
	}
	if len(below) == 0 {
		return out, nil
	}
	older, err := f.below.alike(ctx, below)
	if err != nil {
		return nil, err
	}
	for k, o := range older {
		out[k] = likeness{same: o.same, digest: max(out[k].digest, o.digest)}
	}
	return out, nil
}

func (s *foldedSpec) alike(w spec.Spec) (like likeness) {
	for _, v := range slices.Backward(s.versions[w.Digest()]) {
		like.digest = max(like.digest, v.number)
		if v.spec.Equal(w) {
			like.same = v.number
			return like
		}
	}
	return like
}

// enter makes a decided version part of the ledger.
func (f *folded) enter(tenant string, v spec.Version) {
	s := f.specs[v.Key]
	s.now.Last, s.now.Foreign, s.now.Adopted = v.Number, false, false
	if v.Result == spec.Removed {
		s.now.Current = nil
		return
	}
	s.now.Path = v.Origin.Path
	s.now.Current = &spec.Record{Tenant: tenant, Key: v.Key, Spec: v.Spec, Version: v.Number,
		UpdatedBy: v.Origin.Actor, UpdatedAt: v.UpdatedAt, SpecHash: v.Origin.SpecHash}
	s.versions[v.Origin.Digest] = append(s.versions[v.Origin.Digest], foldedVersion{v.Number, v.Spec})
}

// Package diff decides what a commit means for each spec: what becomes of it,
// under which precondition, and why. It is pure: values in, values out, sorted;
// it knows neither stores nor clocks, so a crash leaves nothing behind. It never
// prints a secret: Why and Fields hold names, and values only of what is no secret.
package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/spec"
)

// Class is what an agent has to do for a change.
type Class string

// The classes, from nothing to most.
const (
	Nothing Class = "nothing" // only what is not seen by the running job, such as the description
	Rescale Class = "rescale" // only parallelism differs: in place, no restart
	Restart Class = "restart"
	Start   Class = "start"
	Stop    Class = "stop"
)

// Change is what one commit means for one spec.
type Change struct {
	Key       spec.Key
	Op        spec.Op
	Removed   bool
	IfVersion int64 // the version it was decided against; 0 = there was none
	Version   int64 // the version that it makes; equal to IfVersion for a removal
	Want      spec.Spec
	Restores  int64 // the version whose content this is again; 0 = new content
	Desired   spec.Desired
	Class     Class
	Fields    []string // names of the fields that differ, sorted
	Why       []string // "config.batch: 100 -> 500", for people; secret literals masked
}

// Decide says what turns have into want; want nil means that it is no longer
// declared. same is the latest earlier version with exactly want's content, 0 if
// there is none. ok is false if nothing has to change. The rules, in their order:
// CONTRACT section 3, R5 and R6.
func Decide(have spec.Known, want spec.Spec, same int64) (c Change, ok bool) {
	c = Change{Key: have.Key, IfVersion: have.Last, Version: have.Last + 1, Want: want}
	switch {
	case have.Current == nil && want == nil:
		return Change{}, false
	case want == nil:
		c.Op, c.Removed, c.Version, c.Desired, c.Class = spec.OpStop, true, have.Last, spec.WantStopped, Stop
		c.Why = []string{"removed from Git"}
		return c, true
	case have.Current == nil:
		c.Op, c.Restores = known(same, spec.OpSubmit), same
		c.Desired, c.Class = desired(want.Suspended())
		c.describe(nil, want)
		return c, true
	case have.Current.Spec.Equal(want):
		return Change{}, false
	}
	was := have.Current.Spec
	c.describe(was, want)
	c.Class = classOf(c.Fields)
	c.Op, c.Restores = known(same, spec.OpUpgrade), same
	if was.Suspended() != want.Suspended() {
		c.Desired, c.Class = desired(want.Suspended())
		if len(c.Fields) == 1 {
			c.Op, c.Restores = spec.OpResume, 0
			if want.Suspended() {
				c.Op = spec.OpStop
			}
		}
	}
	return c, true
}

func known(same int64, otherwise spec.Op) spec.Op {
	if same != 0 {
		return spec.OpRollback
	}
	return otherwise
}

func desired(suspended bool) (spec.Desired, Class) {
	if suspended {
		return spec.WantStopped, Stop
	}
	return spec.WantRunning, Start
}

func classOf(fields []string) Class {
	class := Nothing
	for _, f := range fields {
		switch f {
		case "description":
		case "parallelism":
			class = Rescale
		default:
			return Restart
		}
	}
	return class
}

// describe fills Fields and Why with what differs between two contents.
func (c *Change) describe(was, want spec.Spec) {
	before := map[string]string{}
	if was != nil {
		before = was.Fields()
	}
	after := want.Fields()
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		old, had := before[name]
		now, has := after[name]
		if had == has && old == now {
			continue
		}
		c.Fields = append(c.Fields, name)
		switch {
		case !had:
			c.Why = append(c.Why, fmt.Sprintf("%s: %s", name, shown(name, now)))
		case !has:
			c.Why = append(c.Why, fmt.Sprintf("%s: %s -> (none)", name, shown(name, old)))
		default:
			c.Why = append(c.Why, fmt.Sprintf("%s: %s -> %s", name, shown(name, old), shown(name, now)))
		}
	}
}

const maxShown = 80

// shown is a field's value for people: one line, short, secrets masked.
func shown(field, value string) string {
	value = spec.Shown(strings.TrimPrefix(field, "config."), value)
	if value == "" {
		return `""`
	}
	if r := []rune(value); len(r) > maxShown {
		value = string(r[:maxShown]) + "…"
	}
	if q := fmt.Sprintf("%+q", value); strings.ContainsAny(value, "\n\r\t\x1b") {
		return q
	}
	return value
}

// Fields compares two contents and gives the lines of Why; for `diff JOB V1 V2`.
func Fields(was, want spec.Spec) (names, why []string) {
	var c Change
	c.describe(was, want)
	return c.Fields, c.Why
}

// Sort orders changes as every output and every write has them: by key.
func Sort(cs []Change) {
	slices.SortFunc(cs, func(a, b Change) int { return a.Key.Compare(b.Key) })
}

// Guard says why a commit that removes so many of the specs there are is held,
// or "" if it may pass: all of two or more, or more than maxPercent of ten or
// more. Source: CONTRACT section 3.
func Guard(have, removed, maxPercent int64) string {
	switch {
	case removed >= 2 && removed == have:
		return fmt.Sprintf("would remove all %d specs", have)
	case have >= 10 && removed*100 > have*maxPercent:
		return fmt.Sprintf("would remove %d of %d specs (limit %d %%)", removed, have, maxPercent)
	}
	return ""
}

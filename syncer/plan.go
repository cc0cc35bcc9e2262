package syncer

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/spec"
)

// Forecast is what a pass would do now.
type Forecast struct {
	Tip    string
	From   spec.Cursor // where the tenant stands
	To     spec.Cursor // where a pass would leave it
	Events []Event
}

// Plan tells what a pass would do and writes nothing: not even a lease is taken.
func (t *Tenant) Plan(ctx context.Context) (Forecast, error) {
	tip, err := t.Source.Fetch(ctx)
	if err != nil {
		return Forecast{}, err
	}
	cur, err := t.Store.Cursor(ctx, t.name)
	if err != nil {
		return Forecast{}, err
	}
	dry := *t
	sink := &nowhere{Store: t.Store}
	dry.Store, dry.Facts = sink, asked{t.Facts}
	f := Forecast{Tip: tip, From: cur, To: cur}
	dry.Tell = func(e Event) { f.Events = append(f.Events, e) }
	dry.Watch = nil
	dry.foldAll = true
	if f.To, err = dry.catchUp(ctx, cur, tip); err != nil {
		return f, fmt.Errorf("plan tenant %s: %w", t.name, err)
	}
	return f, nil
}

// nowhere is a store that is read only: a step that is applied to it is
// answered as done.
type nowhere struct{ Store }

func (nowhere) Apply(_ context.Context, _ spec.Lease, s spec.Step) (spec.Cursor, error) {
	return s.To, nil
}
func (nowhere) Restore(context.Context, string, spec.Facts) error { return nil }
func (nowhere) Acquire(context.Context, string, string, time.Duration) (spec.Lease, error) {
	return spec.Lease{}, nil
}

// asked keeps facts as they are.
type asked struct{ Facts }

func (asked) Keep(string, spec.Facts) error { return nil }

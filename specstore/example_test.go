package specstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/pawl-dev/pawl/internal/embedded"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

// tryOut is a store to try things on: it lives in this process.
func tryOut(ctx context.Context) (*specstore.Store, func()) {
	srv, err := embedded.Start("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	rdb, err := specstore.Dial(ctx, srv.URL())
	if err != nil {
		log.Fatal(err)
	}
	store, err := specstore.New(rdb, specstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	return store, func() {
		if err := errors.Join(rdb.Close(), srv.Close()); err != nil {
			log.Fatal(err)
		}
	}
}

func enrich(batch string) spec.Job {
	return spec.Job{Name: "orders", Factory: "enrich", Parallelism: 4, Config: map[string]string{"batch": batch}}
}

func ExampleStore_Submit() {
	ctx := context.Background()
	store, done := tryOut(ctx)
	defer done()

	rec, err := store.Submit(ctx, "acme", "alice", enrich("100"))
	fmt.Println(rec.Version, err)
	_, err = store.Submit(ctx, "acme", "bob", enrich("200"))
	fmt.Println(errors.Is(err, spec.ErrExists), err)
	// Output:
	// 1 <nil>
	// true submit acme/orders: exists already at version 1: upgrade it instead
}

func ExampleStore_Upgrade() {
	ctx := context.Background()
	store, done := tryOut(ctx)
	defer done()

	first, err := store.Submit(ctx, "acme", "alice", enrich("100"))
	if err != nil {
		log.Fatal(err)
	}
	rec, err := store.Upgrade(ctx, "acme", "alice", enrich("200"), first.Version)
	fmt.Println(rec.Version, err)
	_, err = store.Upgrade(ctx, "acme", "bob", enrich("300"), first.Version) // read before alice's upgrade
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// acme/orders is at version 2, not version 1
}

func ExampleStore_Rollback() {
	ctx := context.Background()
	store, done := tryOut(ctx)
	defer done()

	for version, batch := range []string{"100", "200"} {
		var err error
		if version == 0 {
			_, err = store.Submit(ctx, "acme", "alice", enrich(batch))
		} else {
			_, err = store.Upgrade(ctx, "acme", "alice", enrich(batch), int64(version))
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	rec, err := store.Rollback(ctx, "acme", "alice", "orders", 1, 2)
	fmt.Println(rec.Version, rec.Spec.Fields()["config.batch"], err)
	// Output: 3 100 <nil>
}

func ExampleStore_Stop() {
	ctx := context.Background()
	store, done := tryOut(ctx)
	defer done()

	if _, err := store.Submit(ctx, "acme", "alice", enrich("100")); err != nil {
		log.Fatal(err)
	}
	for _, act := range []func(context.Context, string, string, string) error{store.Stop, store.Resume} {
		if err := act(ctx, "acme", "alice", "orders"); err != nil {
			log.Fatal(err)
		}
		status, err := store.Status(ctx, "acme", "orders")
		fmt.Println(status.State, err)
	}
	// Output:
	// DESIRED_STOPPED <nil>
	// PENDING_DEPLOY <nil>
}

func ExampleStore_Audit() {
	ctx := context.Background()
	store, done := tryOut(ctx)
	defer done()

	if _, err := store.Submit(ctx, "acme", "alice", enrich("100")); err != nil {
		log.Fatal(err)
	}
	if _, err := store.Upgrade(ctx, "acme", "bob", enrich("200"), 7); err == nil {
		log.Fatal("a conflict was to be expected")
	}
	if err := store.Stop(ctx, "acme", "alice", "orders"); err != nil {
		log.Fatal(err)
	}
	rows, err := store.Audit(ctx, specstore.AuditQuery{Tenant: "acme"})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range rows {
		fmt.Println(r.Actor, r.Op, r.Job, r.Result, "-", r.Detail)
	}
	// Output:
	// alice SUBMIT orders applied - new job
	// bob UPGRADE orders conflict - at version 1, not 7
	// alice STOP orders applied - stopped until resumed
}

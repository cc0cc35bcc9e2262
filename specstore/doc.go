// Package specstore owns everything that Pawl keeps in Redis: the versions of
// specs, written by compare-and-set; their history, origins and status; the
// audit stream; cursors; and the leases that say who may write a tenant's
// ledger or run a job. It is the sole user of go-redis.
//
// The first block of its keys is the contract of a Java runtime that reads and
// writes exactly the same bytes (CONTRACT section 4): a Java agent runs what is
// stored here. All else stands beside it, below pawl:<tenant>: in the prefix.
//
// Every change is one Lua script (lua/*.lua) that checks types, fence and
// versions first and writes after: the effect and its audit row are there both
// or not at all. Time is the store's own, in milliseconds. Scripts never run in
// pipelines and never loop over a tenant; the client never retries by itself,
// and an unknown outcome is read back by operation id.
//
// It never decides what a commit means, never resolves a secret, never logs. A
// secret literal stands in the jobs hash and in histories, and nowhere else.
//
// A crash leaves behind at most a lease that runs out, and a cursor whose Target
// says which commit was being written in batches; applying the same step again
// does once what is done twice.
//
// Open first: Store.Apply and lua/apply.lua (the syncer's heart), keys.go (every
// key), wire.go (every stored byte of a job).
package specstore

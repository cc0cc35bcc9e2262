// Package spec is the vocabulary that every other package speaks: what a job, a
// subscription and a Pavilion are, who made a change, what a stored version, its
// origin and a status hold, and how two contents are compared.
//
// It owns the meaning of content: SpecHash (the hash of the Java contract) and
// Digest (ours), which values are secrets, and what an operation is called. It
// never reads, writes, logs or asks for the time; a crash leaves nothing behind.
//
// Open first: Job, Commit, Version (what the syncer decides), Origin (what is
// known of a version for ever), Cursor (where a tenant stands).
package spec

// Package gitsource reads one branch of one Git repository as data: its
// first-parent line as commits, the differences between two of their trees, and
// the bytes of a blob. It is the sole user of go-git and fsnotify.
//
// It owns a bare clone of its own per source (Config.Dir): single branch, whole
// history, no tags, no work tree, no borrowed objects. The source itself is only
// ever fetched from, over a transport; a path on this machine is no exception.
// What it hands out is keyed by object id, so it cannot mix two commits.
//
// Credentials are references (spec.Auth) that are read for each network operation
// and go to the source's host alone; certificates, proxy and connections belong
// to one source and are shared with no other. What sources do share is Limits:
// how often a host is talked to, and until when it asked to be left alone.
//
// It never decides what a commit means, never reads "I cannot read this" as "this
// is not there", never writes to the source but what it is asked to commit, and
// never puts credentials into an error, the clone or a log.
//
// A clone is a cache. A crash leaves at most a clone that Open tidies (tmp_* and
// *.lock files, a half-made first clone beside it) or sets aside and makes anew;
// nothing in it is the only copy of anything. One process at a time may use a
// clone: its owner holds a lock on the folder above.
//
// Open first: repo.go (Config, Open), fetch.go (Fetch), line.go (Line), changes.go
// (Changes), ignore.go (.pawlignore), transport.go (how a server is reached).
package gitsource

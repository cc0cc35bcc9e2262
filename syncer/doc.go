// Package syncer turns the commits of one tenant's repository into versions:
// one pass walks from the last applied commit to the tip, decodes what each
// commit changed, decides what that means, and applies it.
//
//	Fetch -> Line -> for each commit: Changes -> decode -> decide -> Apply -> tell
//
// It owns the rules of CONTRACT section 3 that need more than one spec or one
// commit: all or nothing per commit, who the actor of held content is, folding
// in memory, batches. What a change means for one spec is package diff's.
//
// It never reads a file or opens a connection itself (Source and Store do), and
// never takes an error for an absence: when something cannot be read, nothing
// is written and the pass ends with the error.
//
// A crash leaves what the last Apply wrote. Everything else (the clone, what is
// known of held commits) is made again by the next pass from the cursor: the
// items of a range are a pure function of the repository and of what is stored
// at its beginning, so a half-written range is continued where it stopped.
package syncer

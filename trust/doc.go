// Package trust judges signatures of commits: is a commit signed, by whom, and
// may that be believed.
//
// It owns the taking apart of raw commit objects, the reading of OpenPGP
// keyrings and of allowed_signers files, and the words for every way in which a
// signature can be wrong. It reads files once, in New, through a function it is
// given; after that it reads nothing, asks for no time and keeps no state, so
// the same commit and files always give the same verdict, on every machine and
// in every replay. A crash leaves nothing behind. A Verifier is safe for
// parallel use.
//
// What a verdict rests on:
//
//   - The signature must be the object's only one, over all its other bytes.
//     OpenPGP and SSH (namespace "git") are judged; X.509 is not supported.
//   - The signer's name comes from the platform's files, never from the commit:
//     the mail of the key's identity (or the identity whole, if it holds no
//     mail), or the principal in allowed_signers, which may be a pattern.
//   - Times are judged as of the commit: valid-after and valid-before by the
//     committer's time, the life of an OpenPGP key by the later of that and the
//     signature's own time. Both are the signer's claims: whoever stole a key
//     that ran out can still date a commit back. So a lost key has to be taken
//     out of the files, or revoked.
//   - A revocation of an OpenPGP key as superseded or retired binds what was
//     signed after it; any other revocation binds everything.
//
// A forge signs what is done on its pages (merges, edits) with a key of its own.
// Its signature says that the author was logged in there, no more. Keys named by
// Verify.Forges are taken as such: Verdict.Forge is set, and in mode "author"
// such a commit is accepted whatever author it names, merge or not, since a
// squashed merge has one parent. A key that merely stands in a keyring is a
// person's, and the rule of the author's mail binds it.
//
// Open first: Verifier.Commit. Source: CONTRACT section 2.
package trust

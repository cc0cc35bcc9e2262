// Package authz decides who may do what: the policy of a Pavilion for commits
// and for the API alike, and the roles of the API.
//
// It owns the meaning of policy entries, the order READER < OPERATOR < ADMIN and
// which role an administrative act asks for. It reads, writes and asks nothing:
// the same question has the same answer everywhere, and a crash leaves nothing
// behind.
//
// What is claimed and what is proven: the name and mail of a commit's author are
// claims that anybody can write into a commit; an entry that names them keeps
// honest people apart, no more. A signer is proven: an entry with a signer
// matches only if Who.Verified is "true", that is, if package trust found the
// signature to fit a key that the platform trusts. For the API, who presents a
// token is proven: the caller gives the token's name as Name and as Signer, with
// Verified "true", after it compared the token's role by Role.Covers.
//
// Open first: Decide. Source: CONTRACT sections 2 and 7.
package authz

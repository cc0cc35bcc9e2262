package e2e_test

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// peopleCases are about who a commit says it is by.
func peopleCases() []gitCase {
	return []gitCase{
		{dir: "G60-latin1-author", what: "an author in Latin-1 with an encoding header", also: []check{
			{"2", "the subject is decoded too", func(r *caseRun) { require.Equal(r.t, "Erhöhung", r.origin("orders", 2).Subject) }},
			{"2", "everything that is stored is UTF-8", func(r *caseRun) { require.True(r.t, utf8.ValidString(r.everything())) }},
		}},
		{dir: "G61-signed-unverifiable", what: "a signature that cannot be checked", also: []check{
			{"2", "its presence verifies nothing", func(r *caseRun) { require.Equal(r.t, "false", r.origin("orders", 2).Verified) }},
			{"", "where signatures are asked for, it is held and the last good content stays", func(r *caseRun) {
				signers := filepath.Join(r.t.TempDir(), "allowed_signers")
				key := string(ssh.MarshalAuthorizedKey(newSigner(r.t).PublicKey()))
				require.NoError(r.t, writeAll(signers, "dev2@example.com "+key))
				r.heldWith("  verify: {mode: signed, allowedSigners: \""+signers+"\"}\n", "by Dev Two <dev2@example.com> is not trusted")
			}},
		}},
		{dir: "G62-bots-and-trailers", what: "a bot, trailers, a hostile message", also: []check{
			{"2", "who the trailers name is nobody but a co-author", func(r *caseRun) {
				require.Equal(r.t, []person{{Name: "Admin", Mail: "admin@example.com"}}, r.origin("orders", 2).CoAuthors)
				require.NotContains(r.t, r.rows[0]["actor"]+r.out.stdout, "Admin")
			}},
			{"3", "the message forges no row and no terminal sequence", func(r *caseRun) {
				require.Len(r.t, r.rows, 1)
				require.Equal(r.t, "line one", r.origin("orders", 3).Subject)
				require.NotContains(r.t, r.everything(), "\x1b")
				require.NotContains(r.t, r.everything(), "actor=root")
			}},
			{"", "who a policy allows is no help to those who name them in a trailer", func(r *caseRun) {
				r.heldWith("  policy: [{who: {mail: admin@example.com}, ops: [], jobs: \"*\"}]\n", "UPGRADE by bump-bot[bot] <bot@example.com>")
			}},
		}},
	}
}

// heldWith goes from step 1 to step 2 once more in an empty world, with further
// fields in the Pavilion, and wants the commit of step 2 held.
func (r *caseRun) heldWith(more, why string) {
	r.t.Helper()
	r.fresh()
	r.configure(more)
	for _, step := range []string{"1", "2"} {
		r.advance(step)
		r.pass()
		r.whole()
	}
	require.Equal(r.t, "held", r.stands["t1"].State, r.trace())
	require.Contains(r.t, r.out.stderr, why)
	r.refused("t1")
	r.version("orders", "1")
	require.Equal(r.t, r.before, r.after)
}

// tenantCases are about subscriptions, ids and tenants.
func tenantCases() []gitCase {
	const noEvents = "events and manifests: subscriptions are stored, versioned and audited like jobs"
	return []gitCase{
		{dir: "G70-external-target", what: "external targets of a subscription", also: []check{
			{"1", "external ids are stored with their targets", func(r *caseRun) { r.external("NT:1-D000c") }},
			{"2", "none", func(r *caseRun) { r.external() }},
			{"3", "both, and both dramas stay in the subscription", func(r *caseRun) {
				r.external("NT:1-D000b", "NT:1-D000c")
				for _, id := range []string{"NT:1-D000b", "NT:1-D000c"} {
					require.Equal(r.t, 2, strings.Count(r.after["t1"].specs["subscription/shop"], id), "as a target and as an external id")
				}
			}},
		}, later: noEvents},
		{dir: "G71-self-upgrade", what: "an upgrade of itself and its revert", more: "  allowSelf: true\n", also: []check{
			{"2", "the expected tag is stored", func(r *caseRun) { require.Contains(r.t, r.after["t1"].specs["subscription/self"], `"2.1.0"`) }},
			{"3", "the former tag again, version 3 restores 1", func(r *caseRun) {
				require.Contains(r.t, r.after["t1"].specs["subscription/self"], `"2.0.0"`)
				r.restores("subscription/self", 3, 1, r.tip("2"))
			}},
			{"", "without allowSelf the same is refused", selfRefused},
		}, later: noEvents + "; the states of a self-upgrade and its lifecycle"},
		{dir: "G72-two-tenants", what: "the same ids in two tenants, one of them broken", path: "t1", second: "t2", also: []check{
			{"1", "contents are kept apart", func(r *caseRun) {
				require.Contains(r.t, r.after["t1"].specs["orders"], `"tenant":"t1","pipelineFactory":"windowCount","config":{},"parallelism":1,`)
				require.Contains(r.t, r.after["t2"].specs["orders"], `"tenant":"t2","pipelineFactory":"windowCount","config":{},"parallelism":5,`)
			}},
			{"2", "the other tenant is in sync", func(r *caseRun) {
				require.Equal(r.t, "synced", r.stands["t2"].State)
				require.Equal(r.t, r.tip("2"), r.stands["t2"].Applied)
			}},
			{"", "two Pavilions with one CID and id are refused at the start", sameIDsRefused},
		}},
		{dir: "G73-empty-cid", what: "a Pavilion without a CID", also: []check{
			{"1", "nothing is stored, and the field is named", func(r *caseRun) {
				require.Empty(r.t, r.after["t1"].versions)
				require.Contains(r.t, r.out.stderr, "pavilion.yaml:6")
				require.Contains(r.t, r.out.stderr, "spec.cid")
			}},
		}},
	}
}

// external holds the external ids of the stored subscription.
func (r *caseRun) external(ids ...string) {
	r.t.Helper()
	_, list, ok := strings.Cut(r.after["t1"].specs["subscription/shop"], `"externalTargetIds":[`)
	require.True(r.t, ok, r.after["t1"].specs)
	list, _, _ = strings.Cut(list, "]")
	var have []string
	for id := range strings.SplitSeq(list, ",") {
		if id != "" {
			have = append(have, strings.Trim(id, `"`))
		}
	}
	require.ElementsMatch(r.t, ids, have)
}

func selfRefused(r *caseRun) {
	r.t.Helper()
	r.fresh()
	r.c.more = ""
	r.configure("")
	r.pass()
	require.Equal(r.t, "refused", r.stands["t1"].State, r.trace())
	require.Contains(r.t, r.out.stderr, "builtin")
	require.NotContains(r.t, r.after["t1"].specs, "subscription/self")
}

func sameIDsRefused(r *caseRun) {
	r.t.Helper()
	config := tenantDoc("t1", "X8FD", r.url, "t1", "") + "---\n" + tenantDoc("t2", "X8FD", r.url, "t2", "")
	require.NoError(r.t, writeAll(r.config, config))
	out := r.syncer("run", "--once")
	require.Equal(r.t, 2, out.code, out.stderr)
	require.Equal(r.t, 2, strings.Count(out.stderr, "2 Pavilions have the id X8FD-NT:1"), out.stderr)
	r.configure("")
}

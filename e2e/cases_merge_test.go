package e2e_test

import "github.com/stretchr/testify/require"

// mergeCases are about commits with several parents, and what forges make of them.
func mergeCases() []gitCase {
	return []gitCase{
		{dir: "G40-merge-commit", what: "a merge commit", also: []check{
			{"2", "the mainline change comes before the merge", func(r *caseRun) {
				require.Equal(r.t, []string{"refunds", "orders"}, []string{r.lines[0].spec, r.lines[1].spec})
			}},
			{"2", "the merge is the commit of its version", func(r *caseRun) { require.Equal(r.t, r.tip("2"), r.origin("orders", 2).Commit) }},
		}},
		{dir: "G41-octopus", what: "a merge of three branches", also: []check{
			{"2", "all three jobs come in that one commit", func(r *caseRun) {
				require.Len(r.t, r.lines, 3)
				for _, l := range r.lines {
					require.Equal(r.t, short(r.tip("2")), l.commit)
				}
			}},
		}},
		{dir: "G42-squash-and-rebase-merge", what: "squash and rebase merges by a web page", also: []check{
			{"2", "committer, co-author and pull request are data", func(r *caseRun) {
				o := r.origin("orders", 2)
				require.Equal(r.t, "Forge Web", o.Committer.Name)
				require.Equal(r.t, []person{{Name: "Dev Three", Mail: "dev3@example.com"}}, o.CoAuthors)
				require.Equal(r.t, 12, o.PullRequest)
			}},
			{"3", "old author dates change no order", func(r *caseRun) {
				require.Equal(r.t, []string{"orders", "refunds"}, []string{r.lines[0].spec, r.lines[1].spec})
				require.Less(r.t, r.origin("orders", 3).Author.When, r.origin("orders", 2).Author.When)
			}},
		}},
	}
}

// revertCases are about content that comes back, by whatever way.
func revertCases() []gitCase {
	return []gitCase{
		{dir: "G50-revert", what: "git revert", also: []check{
			{"3", "the ledger has the restored version and the reverted commit", func(r *caseRun) { r.restores("orders", 3, 1, r.tip("2")) }},
			{"3", "the audit row says from 2 to 3", func(r *caseRun) {
				require.Equal(r.t, []string{"2", "3"}, []string{r.rows[0]["fromVersion"], r.rows[0]["toVersion"]})
			}},
		}},
		{dir: "G51-revert-of-merge", what: "git revert -m 1 of a merge", also: []check{
			{"3", "content of version 1, revertOf the merge", func(r *caseRun) { r.restores("orders", 3, 1, r.tip("2")) }},
			{"3", "the history of the removed job is kept", func(r *caseRun) {
				require.Len(r.t, r.list("history:t1:new"), 1)
				r.version("new", "1")
			}},
		}},
		{dir: "G52-revert-of-revert", what: "a revert of a revert, in both wordings", also: []check{
			{"3", "version 3 restores 1", func(r *caseRun) { r.restores("orders", 3, 1, r.tip("2")) }},
			{"4", "version 4 restores 2", func(r *caseRun) { r.restores("orders", 4, 2, r.tip("3")) }},
			{"5", "version 5 restores 3, whose content is that of 1", func(r *caseRun) {
				r.restores("orders", 5, 3, r.tip("4"))
				require.EqualValues(r.t, 2, r.field("orders", "parallelism"))
			}},
		}, ours: "a rollback is linked to the latest version with its content: the last step restores 3, not 1"},
		{dir: "G53-revert-older-after-edits", what: "a revert of an older commit after later edits", also: []check{
			{"4", "nothing is restored, revertOf is a note", func(r *caseRun) { r.restores("orders", 4, 0, r.tip("2")) }},
			{"4", "the later edit is not lost", func(r *caseRun) {
				require.EqualValues(r.t, 2, r.field("orders", "parallelism"))
				require.Equal(r.t, map[string]any{"topic": "orders", "retries": "5"}, r.field("orders", "config"))
			}},
		}},
		{dir: "G54-forge-button-revert", what: "a revert by the button of a forge, squash-merged", also: []check{
			{"3", "found by content, revertOf #12", func(r *caseRun) {
				r.restores("orders", 3, 1, "#12")
				require.Equal(r.t, 13, r.origin("orders", 3).PullRequest)
			}},
		}},
		{dir: "G55-cherry-pick", what: "cherry-pick -x by somebody else", also: []check{
			{"2", "the picker is the committer, the source a note", func(r *caseRun) {
				o := r.origin("orders", 2)
				require.Equal(r.t, "Dev Three", o.Committer.Name)
				require.Len(r.t, o.CherryPickOf, 40)
				require.NotEqual(r.t, r.tip("2"), o.CherryPickOf)
			}},
		}},
		{dir: "G56-back-and-forth-by-hand", what: "A B A B by hand in one push, then an empty commit", also: []check{
			{"2", "each comes back to what it equals", func(r *caseRun) {
				r.restores("orders", 3, 1, "")
				r.restores("orders", 4, 2, "")
			}},
			{"2", "the empty commit moves the cursor only", func(r *caseRun) {
				require.Equal(r.t, r.tip("2"), r.stands["t1"].Applied)
				require.NotEqual(r.t, r.tip("2"), r.origin("orders", 4).Commit)
			}},
		}},
		{dir: "G57-suspend-in-git", what: "suspend in Git, alone", also: []check{
			{"2", "desired stopped, and still in jobs", func(r *caseRun) {
				require.Equal(r.t, "DESIRED_STOPPED", r.desired("orders"))
				require.Contains(r.t, r.after["t1"].specs, "orders")
				require.NotContains(r.t, r.after["t1"].specs["orders"], "suspend", "the Java reader knows no such field")
				require.Equal(r.t, []string{"1", "2"}, []string{r.rows[0]["fromVersion"], r.rows[0]["toVersion"]})
			}},
			{"3", "desired to run again", func(r *caseRun) { require.Equal(r.t, "PENDING_DEPLOY", r.desired("orders")) }},
			{"4", "a default that is written out is no content", noRow},
		}},
	}
}

// restores holds what the ledger says of a version's past.
func (r *caseRun) restores(job string, version, restored int64, revertOf string) {
	r.t.Helper()
	o := r.origin(job, version)
	require.Equal(r.t, restored, o.Restores, "restores")
	require.Equal(r.t, revertOf, o.RevertOf, "revertOf")
}

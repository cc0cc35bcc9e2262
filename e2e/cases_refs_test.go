package e2e_test

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// refCases are about branches and the order of commits.
func refCases() []gitCase {
	return []gitCase{
		{dir: "G01-force-push-amend", what: "a force push replaces the tip", also: []check{
			{"3", "a row of the audit names the old and the new tip", func(r *caseRun) {
				require.Equal(r.t, "history rewritten: "+r.tip("2")+" -> "+r.tip("3"), r.rows[0]["detail"])
				require.Equal(r.t, []string{"REPORT_STATUS", "applied"}, []string{r.rows[0]["op"], r.rows[0]["result"]})
				require.Len(r.t, r.rows, 2)
			}},
			{"3", "the other job is untouched", func(r *caseRun) { r.version("refunds", "1") }},
		}},
		{dir: "G02-branch-deleted", what: "the followed branch is deleted and comes back", running: true, also: []check{
			{"2", "the message names the branch and the default one", func(r *caseRun) { r.missing(`"other"`) }},
			{"2", "nothing in the store but the state changes", nothingElse},
		}},
		{dir: "G03-default-renamed", what: "the default branch gets another name", also: []check{
			{"2", "the message names the new default branch, which is not followed", func(r *caseRun) { r.missing(`"trunk"`) }},
			{"2", "nothing in the store but the state changes", nothingElse},
		}},
		{dir: "G04-empty-then-first", what: "an empty repository gets its first commit", running: true, also: []check{
			{"1", "no error is counted and nothing is stored", func(r *caseRun) {
				require.Zero(r.t, r.stands["t1"].Errors)
				require.Empty(r.t, r.rows)
				require.Empty(r.t, r.after["t1"].versions)
			}},
		}},
		{dir: "G05-all-removed", what: "every spec disappears in one commit", also: []check{
			{"2", "the message says how to confirm it", func(r *caseRun) {
				require.Contains(r.t, r.out.stderr, "would remove all 2 specs")
				require.Contains(r.t, r.out.stderr, "syncer approve "+r.tip("2")+" --tenant t1")
			}},
			{"2", "both jobs stay", func(r *caseRun) { require.Len(r.t, r.after["t1"].specs, 2) }},
			{"", "a folder that is not there is refused, and removes nothing", missingFolder},
			{"", "once approved by command, both are stopped by who removed them", approve},
		}},
		{dir: "G06-three-commits-one-push", what: "three commits arrive in one push", also: []check{
			{"2", "the history has what was replaced", func(r *caseRun) {
				require.Len(r.t, r.list("history:t1:orders"), 3)
				require.EqualValues(r.t, 5, r.field("orders", "parallelism"))
			}},
		}},
		{dir: "G07-same-timestamp-skew", what: "commits with equal and contradicting times",
			unlisted: map[string]int{"2 job/orders": 2}, also: []check{
				{"2", "the newest content is the tip's", func(r *caseRun) { require.EqualValues(r.t, 6, r.field("orders", "parallelism")) }},
				{"2", "times of a commit are data", func(r *caseRun) {
					o := r.origin("orders", 5)
					require.EqualValues(r.t, 4102444800, o.Author.When)
					require.EqualValues(r.t, 1767225600-900001, o.Committer.When)
					require.EqualValues(r.t, o.Committer.When*1000, r.field("orders", "updatedAt"))
				}},
				{"2", "audit rows have the time of Redis", func(r *caseRun) {
					now, err := r.rdb.Time(r.t.Context()).Result()
					require.NoError(r.t, err)
					for _, row := range r.rows {
						require.WithinDuration(r.t, now, time.UnixMilli(number(r.t, row["ts"])), 5*time.Minute)
					}
				}},
			}},
		{dir: "G63-tag-push", what: "a push of tags and of another branch", also: []check{
			{"2", "neither tags nor other branches are fetched", func(r *caseRun) {
				refs := gittest.Run(r.t, filepath.Join(r.state, "clones", "t1"), "for-each-ref", "--format=%(refname)")
				require.Equal(r.t, "refs/remotes/origin/main", refs)
			}},
		}},
	}
}

// version holds the version of a job of t1.
func (r *caseRun) version(job, want string) {
	r.t.Helper()
	require.Equal(r.t, want, r.after["t1"].versions[job], r.trace())
}

func (r *caseRun) list(key string) []string {
	r.t.Helper()
	l, err := r.rdb.LRange(r.t.Context(), prefix+key, 0, -1).Result()
	require.NoError(r.t, err)
	return l
}

// missing holds the message about a branch that is not there.
func (r *caseRun) missing(instead string) {
	r.t.Helper()
	for _, text := range []string{r.out.stderr, r.stands["t1"].Error} {
		require.Contains(r.t, strings.ReplaceAll(text, `\"`, `"`), `"main" is missing, its default branch is `+instead)
	}
	require.Equal(r.t, 1, r.stands["t1"].Errors)
}

func nothingElse(r *caseRun) {
	r.t.Helper()
	require.Empty(r.t, r.rows)
	require.Equal(r.t, r.before, r.after)
	require.Equal(r.t, "PENDING_DEPLOY", r.desired("orders"))
}

func missingFolder(r *caseRun) {
	r.t.Helper()
	r.c.path = "nowhere"
	r.configure("")
	r.pass()
	require.Equal(r.t, 1, r.out.code)
	require.Contains(r.t, r.out.stderr, `the folder "nowhere" does not exist`)
	require.Equal(r.t, "refused", r.stands["t1"].State)
	require.Equal(r.t, r.before, r.after)
	r.c.path = ""
	r.configure("")
	r.pass()
	require.Equal(r.t, "held", r.stands["t1"].State, "the folder is back")
}

func approve(r *caseRun) {
	r.t.Helper()
	r.must("approve", short(r.tip("2")), "--tenant", "t1", "--actor", "ops@example.com")
	r.pass()
	require.Equal(r.t, []told{
		{tenant: "t1", spec: "orders", version: 1, op: "STOP", removed: true, actor: "Dev Two <dev2@example.com>", commit: short(r.tip("2"))},
		{tenant: "t1", spec: "refunds", version: 1, op: "STOP", removed: true, actor: "Dev Two <dev2@example.com>", commit: short(r.tip("2"))},
	}, r.lines, r.trace())
	r.whole()
}

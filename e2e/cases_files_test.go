package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// fileCases are about names, kinds and bytes of files, and about what they declare.
func fileCases() []gitCase {
	return []gitCase{
		{dir: "G20-stale-submodule", what: "submodules with and without entries", also: []check{
			{"", "the gitlink warns once", func(r *caseRun) { r.warns(linkWarning("vendor", "submodule")) }},
			{"", "the other files are in sync", inSync},
		}},
		{dir: "G21-lfs-pointer", what: "a large-file pointer in place of a spec", also: []check{
			{"", "it is recognised as such", func(r *caseRun) {
				require.Contains(r.t, r.out.stderr, "jobs/orders.yaml")
				require.Contains(r.t, r.out.stderr, "pointer")
				require.NotContains(r.t, r.out.stderr, "unknown kind")
			}},
		}},
		{dir: "G22-symlink-inside", what: "a link to a spec in the same repository", also: []check{
			{"", "the target counts once, where it stands", func(r *caseRun) { require.Len(r.t, r.after["t1"].specs, 2) }},
			{"", "the link warns once", func(r *caseRun) { r.warns(linkWarning("jobs/orders.yaml", "symbolic link")) }},
		}},
		{dir: "G23-symlink-escape", what: "links that leave the repository, loop or dangle", also: []check{
			{"", "no content of /etc is seen anywhere", noEtc},
			{"", "the other files are in sync", inSync},
			{"", "each link warns once", func(r *caseRun) {
				for _, name := range []string{"abs.yaml", "up.yaml", "loop-a.yaml", "loop-b.yaml", "dangling.yaml", "self"} {
					r.warns(linkWarning("jobs/"+name, "symbolic link"))
				}
			}},
		}},
		{dir: "G24-unicode-names", what: "a composed and a decomposed file name", also: []check{
			{"", "the paths are kept as bytes", func(r *caseRun) {
				require.Equal(r.t, "jobs/caf\u00e9.yaml", r.origin("cafe-one", 1).Path)
				require.Equal(r.t, "jobs/cafe\u0301.yaml", r.origin("cafe-two", 1).Path)
			}},
		}},
		{dir: "G25-odd-names", what: "unusual file names", also: []check{
			{"", "odd-1 to odd-11 are all there, odd-12 and odd-13 are not", oddNames},
			{"", "names are quoted where they could confuse", func(r *caseRun) {
				require.Contains(r.t, r.must("get", "odd-3", "--tenant", "t1"), `"jobs/\"quoted\".yaml"`)
				require.Contains(r.t, r.must("get", "odd-2", "--tenant", "t1"), `"jobs/back\\slash.yaml"`)
			}},
		}},
		{dir: "G26-case-only-rename", what: "a rename in case only", also: []check{{"2", "nothing is audited", noRow}}},
		{dir: "G27-move-between-dirs", what: "moves, a move with an edit, a swap", also: []check{
			{"2", "a pure move is no row", noRow},
			{"3", "the origin has the new path", func(r *caseRun) { require.Equal(r.t, "jobs/o2.yaml", r.origin("orders", 2).Path) }},
			{"4", "a swap is no row", noRow},
			{"4", "the other job keeps its version", func(r *caseRun) { r.version("refunds", "1") }},
		}},
		{dir: "G28-exec-bit", what: "a change of mode only", also: []check{{"2", "nothing is audited", noRow}}},
		{dir: "G29-dir-file-swap", what: "a folder becomes a file, then a link", also: []check{
			{"2", "the removed job is in the history with its version", func(r *caseRun) {
				require.Len(r.t, r.list("history:t1:night"), 1)
				r.version("night", "1")
			}},
			{"3", "nothing is audited", noRow},
		}},
		{dir: "G30-crlf-bom", what: "CRLF, a byte order mark, .gitattributes", also: []check{
			{"2", "line ends are no content", noRow},
			{"3", "neither is a byte order mark", noRow},
		}},
		{dir: "G31-duplicate-job", what: "one job in two files", also: []check{
			{"2", "both places are named", func(r *caseRun) {
				require.Contains(r.t, r.out.stderr, `jobs/zz-orders.yaml:1: metadata.name: JobSpec "orders" is declared twice, also in jobs/orders.yaml:1`)
				require.Contains(r.t, r.out.stderr, `jobs/orders.yaml:1: metadata.name: JobSpec "orders" is declared twice, also in jobs/zz-orders.yaml:1`)
			}},
			{"2", "the other job of the commit waits too", func(r *caseRun) { r.version("refunds", "1") }},
			{"3", "the held change names the commit that made it", func(r *caseRun) {
				o := r.origin("refunds", 2)
				require.Equal(r.t, []string{r.tip("3"), r.tip("2")}, []string{o.Commit, o.ChangedIn})
			}},
		}},
		{dir: "G32-valid-and-invalid", what: "a good and a broken file in one commit", also: []check{
			{"2", "file and line are named, in the state too", func(r *caseRun) {
				f := r.stands["t1"].Refused.Findings
				require.Len(r.t, f, 1)
				require.Equal(r.t, "jobs/refunds.yaml", f[0].Path)
				require.Contains(r.t, []int{6, 7}, f[0].Line)
				require.Contains(r.t, r.out.stderr, "jobs/refunds.yaml:")
			}},
			{"2", "the last good content keeps running", func(r *caseRun) {
				require.Len(r.t, r.after["t1"].specs, 2)
				require.Equal(r.t, "PENDING_DEPLOY", r.desired("orders"))
			}},
		}},
		{dir: "G33-five-thousand", what: "one commit with 5,000 files", first: watchScripts, middle: killedHalfWay, also: []check{
			{"1", "all are there at version 1", func(r *caseRun) { r.allAt(5000, "1") }},
			{"2", "all are at version 2, although the syncer was killed half-way", func(r *caseRun) { r.allAt(5000, "2") }},
			{"2", "no script blocks Redis for more than 50 ms, 200 versions at most in each", shortScripts},
		}},
		{dir: "G34-control-char-name", what: "file names with control characters", also: []check{
			{"", "the names are quoted", func(r *caseRun) {
				require.Contains(r.t, r.out.stderr, `"jobs/new\nline.yaml": control character in the name`)
				require.Contains(r.t, r.out.stderr, `"jobs/tab\there.yaml": control character in the name`)
				require.NotContains(r.t, r.out.stderr, "jobs/new\nline")
			}},
			{"", "nothing is taken as removed", func(r *caseRun) { require.Len(r.t, r.after["t1"].specs, 2) }},
		}},
	}
}

func linkWarning(path, kind string) string { return path + ": warning: a " + kind }

// warns holds that a warning was told once.
func (r *caseRun) warns(text string) {
	r.t.Helper()
	require.Equal(r.t, 1, strings.Count(r.out.stderr, text), "warning %q\n%s", text, r.trace())
}

func inSync(r *caseRun) {
	r.t.Helper()
	require.Equal(r.t, "synced", r.stands["t1"].State)
	require.Equal(r.t, r.tip(""), r.stands["t1"].Applied)
	require.Len(r.t, r.after["t1"].specs, 2)
}

func noRow(r *caseRun) {
	r.t.Helper()
	require.Empty(r.t, r.rows)
	require.Equal(r.t, "synced", r.stands["t1"].State)
	require.Equal(r.t, r.tip(r.step), r.stands["t1"].Applied, "the commit counts as applied")
}

func noEtc(r *caseRun) {
	r.t.Helper()
	all := r.everything()
	require.Contains(r.t, all, "jobs/orders.yaml", "there is something to look at")
	passwd, err := os.ReadFile("/etc/passwd")
	require.NoError(r.t, err)
	first, _, _ := strings.Cut(string(passwd), "\n")
	require.NotEmpty(r.t, first)
	require.NotContains(r.t, all, first)
}

func oddNames(r *caseRun) {
	r.t.Helper()
	specs := r.after["t1"].specs
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
		require.Contains(r.t, specs, "odd-"+n)
	}
	require.Len(r.t, specs, 2+11)
}

// flatMemory follows the case once more in an empty world, and looks at the most
// that the process ever held: its own, other than what a parent is told of a child.
func flatMemory(r *caseRun) {
	r.t.Helper()
	r.fresh()
	p := r.start("syncer", r.args("run")...)
	eventually(r.t, time.Minute, p.out.String, func() bool { return r.cursor("state") == "refused" })
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(r.t, err)
	_, peak, ok := strings.Cut(string(status), "VmHWM:")
	require.True(r.t, ok, string(status))
	require.Less(r.t, number(r.t, strings.Fields(peak)[0]), int64(128<<10), "KiB of memory at most: a pack is received object by object, and no blob is read")
	require.Zero(r.t, p.stop(r.t), p.out.String())
	r.pass() // what is stored is looked at again
}

// allAt holds that so many jobs are there, each at one version.
func (r *caseRun) allAt(jobs int, version string) {
	r.t.Helper()
	require.Len(r.t, r.after["t1"].specs, jobs)
	for name, v := range r.after["t1"].versions {
		require.Equal(r.t, version, v, name)
	}
	require.Len(r.t, r.lines, jobs)
	require.Equal(r.t, "synced", r.stands["t1"].State)
}

// watchScripts makes Redis note every command that takes more than 50 ms.
func watchScripts(r *caseRun) {
	r.t.Helper()
	require.NoError(r.t, r.rdb.ConfigSet(r.t.Context(), "slowlog-log-slower-than", "50000").Err())
}

// killedHalfWay kills a syncer while the commit is written in batches; the pass
// after it goes on.
func killedHalfWay(r *caseRun) {
	r.t.Helper()
	cursor := prefix + "pawl:t1:cursor"
	p := r.start("syncer", r.args("run", "--once")...)
	eventually(r.t, time.Minute, p.out.String, func() bool {
		select {
		case <-p.done:
			r.t.Fatalf("it ended before it could be killed\n%s", p.out)
		default:
		}
		step, err := r.rdb.HGet(r.t.Context(), cursor, "step").Int()
		return err == nil && step > 0
	})
	p.kill()
	target, err := r.rdb.HGet(r.t.Context(), cursor, "target").Result()
	require.NoError(r.t, err)
	require.Equal(r.t, r.tip("2"), target, "it was killed while it wrote")
}

// shortScripts holds what one script may take. A busy machine stops a server now
// and then for longer than any script, so a few may be over.
func shortScripts(r *caseRun) {
	r.t.Helper()
	stats, err := r.rdb.Info(r.t.Context(), "commandstats").Result()
	require.NoError(r.t, err)
	_, calls, ok := strings.Cut(stats, "cmdstat_evalsha:calls=")
	require.True(r.t, ok, stats)
	calls, _, _ = strings.Cut(calls, ",")
	scripts := int(number(r.t, calls))
	require.GreaterOrEqual(r.t, scripts, 2*25, "two commits of 5,000 versions, 200 in a script")
	all, err := r.rdb.SlowLogGet(r.t.Context(), -1).Result()
	require.NoError(r.t, err)
	var long []string
	for _, e := range all {
		if strings.HasPrefix(strings.ToUpper(e.Args[0]), "EVAL") {
			long = append(long, e.Duration.String())
		}
	}
	require.LessOrEqual(r.t, len(long), scripts/10, "over 50 ms, of %d scripts: %v", scripts, long)
}

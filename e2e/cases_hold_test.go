package e2e_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/stretchr/testify/require"
)

// ops are the words of expect.tsv for what makes a version or removes one.
var ops = map[string]struct {
	op      string
	removed bool
}{
	"submit": {op: "SUBMIT"}, "upgrade": {op: "UPGRADE"}, "rollback": {op: "ROLLBACK"},
	"suspend": {op: "STOP"}, "resume": {op: "RESUME"}, "stop": {op: "STOP", removed: true},
}

// hold holds every line of expect.tsv for the step that was just passed, and
// what must be so after any pass.
func (r *caseRun) hold() {
	r.t.Helper()
	var wants []expectation
	for _, e := range r.wants {
		if e.step == r.step {
			wants = append(wants, e)
		}
	}
	r.whole()
	objects := map[string][]expectation{}
	for _, e := range wants {
		if e.object == "tenant" {
			require.Equal(r.t, e.op, r.stands["t1"].State, r.trace())
			continue
		}
		objects[e.object] = append(objects[e.object], e)
	}
	for _, es := range objects {
		r.object(es)
	}
}

// whole is what holds after every pass: the exit code says how the tenants
// stand, and each version that was told is one row of the audit and the other
// way round.
func (r *caseRun) whole() {
	r.t.Helper()
	bad := 0
	for _, s := range r.stands {
		if slices.Contains([]string{"refused", "held", "error"}, s.State) {
			bad = 1
		}
	}
	require.Equal(r.t, bad, r.out.code, r.trace())
	var audited []told
	for _, row := range r.rows {
		if row["op"] == "REPORT_STATUS" {
			told := strconv.FormatBool(row["result"] == "applied") // a rewrite that was followed; else refused or held
			require.Equal(r.t, []string{"*", told}, []string{row["jobName"], row["allowed"]}, "%v", row)
			continue
		}
		require.Equal(r.t, []string{"true", "git"}, []string{row["allowed"], row["kind"]}, "%v", row)
		v := row["toVersion"]
		if row["result"] == "removed" {
			v = row["fromVersion"]
		}
		audited = append(audited, told{tenant: row["tenant"], spec: row["jobName"], version: number(r.t, v), op: row["op"],
			removed: row["result"] == "removed", actor: row["actor"]})
	}
	said := slices.Clone(r.lines)
	for i := range said {
		said[i].commit, said[i].restores = "", 0
	}
	byVersion := func(a, b told) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(said, byVersion)
	slices.SortFunc(audited, byVersion)
	require.True(r.t, slices.Equal(said, audited), "stdout and audit differ\n%s%v", r.trace(), clip(fmt.Sprint(audited)))
}

// object holds the expectations of one object in one step, in their order.
func (r *caseRun) object(es []expectation) {
	r.t.Helper()
	tenant, name := es[0].subject()
	var lines []told
	for _, l := range r.lines {
		if l.tenant == tenant && l.spec == name {
			lines = append(lines, l)
		}
	}
	before, after := r.before[tenant], r.after[tenant]
	last := es[len(es)-1]
	want, extra := 0, r.c.unlisted[r.step+" "+last.object]
	rest := lines
	for _, e := range es {
		if !e.makesVersion() {
			if r.cold() {
				want = int(e.version) // what came before the commit that changed nothing
			}
			r.unchanged(e, tenant, name, before, after)
			continue
		}
		want++
		i := slices.IndexFunc(rest, func(l told) bool {
			return l.version == e.version && l.op == ops[e.op].op && l.removed == ops[e.op].removed && l.actor == e.actor && (l.restores > 0) == (e.op == "rollback")
		})
		require.GreaterOrEqual(r.t, i, 0, "step %s: no line of %+v\n%s", r.step, e, r.trace())
		rest = rest[i+1:] // the next one comes after it
	}
	require.Len(r.t, lines, want+extra, "step %s: versions of %s\n%s", r.step, last.object, r.trace())
	if !last.makesVersion() {
		return
	}
	stored := strconv.FormatInt(lines[len(lines)-1].version, 10)
	require.Equal(r.t, stored, after.versions[name], "step %s: version of %s", r.step, last.object)
	if last.op == "stop" {
		require.NotContains(r.t, after.specs, name, "it is gone from the specs")
		require.Equal(r.t, "DESIRED_STOPPED", r.desired(name))
		return
	}
	require.Contains(r.t, after.specs[name], `"version":`+stored+`,`)
	if extra == 0 {
		require.Contains(r.t, after.specs[name], `"updatedBy":"`+last.actor+`"`)
	}
}

// unchanged holds none and refuse: the version and the content stay, or there is none.
func (r *caseRun) unchanged(e expectation, tenant, name string, before, after stored) {
	r.t.Helper()
	have := after.versions[name]
	if have == "" {
		have = "0"
	}
	require.Equal(r.t, strconv.FormatInt(e.version, 10), have, "step %s: version of %s\n%s", r.step, e.object, r.trace())
	if !r.cold() {
		require.Equal(r.t, before.specs[name], after.specs[name], "step %s: content of %s", r.step, e.object)
	}
	if e.op == "refuse" && !r.c.unreadable {
		r.refused(tenant)
	}
}

// refused holds what a refused or held commit leaves: the state names it, and it
// is one row of the audit.
func (r *caseRun) refused(tenant string) {
	r.t.Helper()
	s := r.stands[tenant]
	require.Contains(r.t, []string{"refused", "held"}, s.State, r.trace())
	require.Equal(r.t, []string{r.tip(r.step), r.tip(r.step)}, []string{s.Seen, s.Refused.Commit}, r.trace())
	require.NotEmpty(r.t, s.Refused.Findings)
	var rows []map[string]string
	for _, row := range r.rows {
		if row["op"] == "REPORT_STATUS" && row["tenant"] == tenant && row["allowed"] == "false" {
			rows = append(rows, row)
		}
	}
	require.Len(r.t, rows, 1)
	require.Equal(r.t, []string{s.State, r.tip(r.step)}, []string{rows[0]["result"], rows[0]["commit"]})
}

// again holds that a further pass has nothing to do.
func (r *caseRun) again() {
	r.t.Helper()
	stood, code := r.stands, r.out.code
	r.pass()
	require.Equal(r.t, code, r.out.code, r.trace())
	require.Empty(r.t, r.lines, "a second pass has nothing to do")
	require.Empty(r.t, r.rows, "and audits nothing")
	require.Equal(r.t, r.before, r.after)
	for name, s := range stood {
		require.Equal(r.t, s.State, r.stands[name].State)
	}
}

// trace is what the last pass said, for messages of failures.
func (r *caseRun) trace() string {
	return r.c.dir + " step " + r.step + "\nstdout:\n" + clip(r.out.stdout) + "stderr:\n" + clip(r.out.stderr)
}

func clip(s string) string { return s[:min(len(s), 4000)] }

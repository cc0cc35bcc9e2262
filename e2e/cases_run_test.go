package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// built makes all fixtures once and gives their folder. They stay until the
// programs of TestMain are removed, since subtests share them.
var built = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(bin, "cases")
	out, err := exec.Command("bash", "testdata/cases/make-cases.sh", dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make-cases.sh: %w\n%s", err, out)
	}
	return dir, nil
})

func builtCases(t *testing.T) string {
	t.Helper()
	dir, err := built()
	require.NoError(t, err)
	return dir
}

// expectation is one line of a case's expect.tsv.
type expectation struct {
	step, object, op string
	version          int64
	actor            string
}

// tab reads a file of tab-separated lines after its headline.
func tab(t *testing.T, file string) (rows [][]string) {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")[1:] {
		rows = append(rows, strings.Split(line, "\t"))
	}
	return rows
}

func expectationsOf(t *testing.T, dir string) (all []expectation) {
	t.Helper()
	for _, r := range tab(t, filepath.Join(dir, "expect.tsv")) {
		require.GreaterOrEqual(t, len(r), 5, "%s: %q", dir, r)
		v, err := strconv.ParseInt(r[3], 10, 64)
		require.NoError(t, err, dir)
		all = append(all, expectation{r[0], r[1], r[2], v, r[4]})
	}
	require.NotEmpty(t, all, dir)
	return all
}

// subject gives the tenant and the name that the syncer prints for an object.
func (e expectation) subject() (tenant, name string) {
	tenant, name = "t1", e.object
	if t, rest, ok := strings.Cut(name, "/"); ok && (t == "t1" || t == "t2") {
		tenant, name = t, rest
	}
	if s, ok := strings.CutPrefix(name, "sub/"); ok {
		return tenant, "subscription/" + s
	}
	return tenant, strings.TrimPrefix(name, "job/")
}

// makesVersion tells whether the syncer prints a line for it.
func (e expectation) makesVersion() bool {
	return e.object != "tenant" && !slices.Contains([]string{"none", "refuse"}, e.op)
}

// told is a version as the syncer prints it.
type told struct {
	tenant, spec      string
	version, restores int64
	op                string
	removed           bool
	actor, commit     string
}

var toldLine = regexp.MustCompile(`^(\S+) (\S+) v(\d+) ([A-Z_]+)( removed| restores v(\d+))? by (.*) in ([0-9a-f]{7})$`)

func parseTold(t *testing.T, stdout string) (all []told) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		m := toldLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		require.NotNil(t, m, "not the line of a version: %q", line)
		all = append(all, told{m[1], m[2], number(t, m[3]), number(t, "0"+m[6]), m[4], m[5] == " removed", m[7], m[8]})
	}
	return all
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n
}

// standing is a tenant as `status -o json` says.
type standing struct {
	tenant
	Error string
}

// origin is a version as `history -o json` says, as far as the cases ask.
type origin struct {
	Version, Restores                   int64
	Op, Result, Actor, Verified, Commit string
	ChangedIn, Parent, Path, Subject    string
	RevertOf, CherryPickOf              string
	PullRequest                         int
	Author, Committer                   person
	CoAuthors                           []person
	Removal                             bool
	Contributors                        []string
}

type person struct {
	Name, Mail string
	When       int64
}

// stored is what a tenant has in Redis: spec -> JSON, spec -> version.
type stored struct{ specs, versions map[string]string }

// caseRun is one case on its way through its steps.
type caseRun struct {
	*world
	c      gitCase
	dir    string // of the fixture
	url    string // what the tenants follow
	config string // file of Pavilions

	wants  []expectation
	step   string // the one that was passed last; cold without steps
	out    result
	lines  []told
	rows   []map[string]string // audit rows of this pass
	seen   int                 // audit rows before it
	before map[string]stored
	after  map[string]stored
	stands map[string]standing
}

func startCase(t *testing.T, c gitCase) *caseRun {
	t.Helper()
	r := &caseRun{world: newWorld(t), c: c, dir: filepath.Join(builtCases(t), c.dir), config: filepath.Join(t.TempDir(), "platform.yaml")}
	r.wants = expectationsOf(t, r.dir)
	r.url = filepath.Join(r.dir, "live.git")
	if r.cold() {
		r.url = filepath.Join(r.dir, "repo.git")
	}
	if c.source != "" {
		r.url = filepath.Join(r.dir, c.source)
	}
	r.configure("")
	r.after = r.read()
	return r
}

// configure writes the configuration; more are further fields of a Pavilion's spec.
func (r *caseRun) configure(more string) {
	r.t.Helper()
	docs := []string{tenantDoc("t1", "X8FD", r.url, r.c.path, r.c.more+more)}
	if r.c.second != "" {
		docs = append(docs, tenantDoc("t2", "Y2KQ", r.url, r.c.second, more))
	}
	require.NoError(r.t, writeAll(r.config, strings.Join(docs, "---\n")))
}

// tenantDoc is a tenant of the platform's configuration.
func tenantDoc(name, cid, url, path, more string) string {
	if path == "" {
		path = "."
	}
	return fmt.Sprintf("apiVersion: pawl.dev/v1\nkind: Pavilion\nmetadata: {name: %s}\nspec:\n  id: \"NT:1\"\n  cid: %s\n"+
		"  source: {url: %q, branch: main, path: %q, interval: 1s}\n%s", name, cid, url, path, more)
}

func (r *caseRun) tenants() []string {
	if r.c.second != "" {
		return []string{"t1", "t2"}
	}
	return []string{"t1"}
}

// cold tells whether the case is one state of a repository, without steps.
func (r *caseRun) cold() bool { return r.wants[0].step == "cold" }

// args connect a syncer with the case; only run and plan take the configuration.
func (r *caseRun) args(args ...string) []string {
	args = append(args, "--redis", r.redis.URL(), "--allow-unsafe-redis", "--state-dir", r.state, "--audit-cap", "20000")
	if args[0] == "run" || args[0] == "plan" {
		return append(args, "--config", r.config)
	}
	return args
}

func (r *caseRun) syncer(args ...string) result {
	r.t.Helper()
	return command(r.t, "syncer", r.args(args...)...)
}

func (r *caseRun) must(args ...string) string {
	r.t.Helper()
	out := r.syncer(args...)
	require.Zero(r.t, out.code, "syncer %v\n%s%s", args, out.stdout, out.stderr)
	return out.stdout
}

// history gives the ledger of one spec.
func (r *caseRun) history(spec string) (all []origin) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal([]byte(r.must("history", spec, "--tenant", "t1", "-o", "json")), &all))
	return all
}

// origin gives the ledger's entry of one version.
func (r *caseRun) origin(spec string, version int64) origin {
	r.t.Helper()
	for _, o := range r.history(spec) {
		if o.Version == version && !o.Removal {
			return o
		}
	}
	r.t.Fatalf("no origin of %s v%d", spec, version)
	return origin{}
}

// tip is the commit of main at a step of the fixture, or of a cold one.
func (r *caseRun) tip(step string) string {
	r.t.Helper()
	if r.cold() {
		return gittest.Run(r.t, filepath.Join(r.dir, "repo.git"), "rev-parse", "main")
	}
	return gittest.Run(r.t, filepath.Join(r.dir, "all.git"), "rev-parse", "refs/steps/"+step+"/heads/main")
}

// advance brings the server to a step.
func (r *caseRun) advance(step string) {
	r.t.Helper()
	r.step = step
	if r.cold() {
		return
	}
	out, err := exec.Command(filepath.Join(builtCases(r.t), "advance.sh"), r.dir, step).CombinedOutput()
	require.NoError(r.t, err, "%s", out)
}

// pass is one `run --once`, with what it left behind.
func (r *caseRun) pass() {
	r.t.Helper()
	r.before = r.after
	r.out = r.syncer("run", "--once")
	r.look()
}

// look reads what there is after a pass.
func (r *caseRun) look() {
	r.t.Helper()
	r.lines = parseTold(r.t, r.out.stdout)
	r.after = r.read()
	r.stands = map[string]standing{}
	for _, name := range r.tenants() {
		var s standing
		require.NoError(r.t, json.Unmarshal([]byte(r.must("status", "--tenant", name, "-o", "json")), &s))
		r.stands[name] = s
	}
	all, err := r.rdb.XRange(r.t.Context(), prefix+"audit", "-", "+").Result()
	require.NoError(r.t, err)
	r.rows = nil
	for _, m := range all[r.seen:] {
		row := map[string]string{}
		for k, v := range m.Values {
			row[k] = fmt.Sprint(v)
		}
		r.rows = append(r.rows, row)
	}
	r.seen = len(all)
}

func (r *caseRun) read() map[string]stored {
	r.t.Helper()
	out := map[string]stored{}
	for _, name := range r.tenants() {
		s := stored{map[string]string{}, map[string]string{}}
		for key, into := range map[string]map[string]string{name + ":jobs": s.specs, name + ":versions": s.versions} {
			h, err := r.rdb.HGetAll(r.t.Context(), prefix+key).Result()
			require.NoError(r.t, err)
			maps.Copy(into, h)
		}
		for key, into := range map[string]map[string]string{"subs": s.specs, "subversions": s.versions} {
			h, err := r.rdb.HGetAll(r.t.Context(), prefix+"pawl:"+name+":"+key).Result()
			require.NoError(r.t, err)
			for k, v := range h {
				into["subscription/"+k] = v
			}
		}
		out[name] = s
	}
	return out
}

// cursor reads one field of t1's cursor.
func (r *caseRun) cursor(field string) string {
	r.t.Helper()
	v, err := r.rdb.HGet(r.t.Context(), prefix+"pawl:t1:cursor", field).Result()
	if err == redis.Nil {
		return ""
	}
	require.NoError(r.t, err)
	return v
}

// field reads one field of a stored job of t1.
func (r *caseRun) field(job, name string) any {
	r.t.Helper()
	var m map[string]any
	require.NoError(r.t, json.Unmarshal([]byte(r.after["t1"].specs[job]), &m), job)
	return m[name]
}

// desired reads a field of a job's status.
func (r *caseRun) desired(job string) string {
	r.t.Helper()
	s, err := r.rdb.HGet(r.t.Context(), prefix+"status:t1:"+job, "state").Result()
	require.NoError(r.t, err)
	return s
}

// everything is all that a case has written anywhere, as text: output of this
// pass and every value in Redis.
func (r *caseRun) everything() string {
	r.t.Helper()
	var b strings.Builder
	b.WriteString(r.out.stdout + r.out.stderr)
	keys, err := r.rdb.Keys(r.t.Context(), "*").Result()
	require.NoError(r.t, err)
	for _, k := range keys {
		kind, err := r.rdb.Type(r.t.Context(), k).Result()
		require.NoError(r.t, err)
		var value any
		switch kind {
		case "string":
			value, err = r.rdb.Get(r.t.Context(), k).Result()
		case "hash":
			value, err = r.rdb.HGetAll(r.t.Context(), k).Result()
		case "list":
			value, err = r.rdb.LRange(r.t.Context(), k, 0, -1).Result()
		case "set":
			value, err = r.rdb.SMembers(r.t.Context(), k).Result()
		case "stream":
			value, err = r.rdb.XRange(r.t.Context(), k, "-", "+").Result()
		default:
			r.t.Fatalf("key %s is a %s", k, kind)
		}
		require.NoError(r.t, err, k)
		fmt.Fprintf(&b, "%s %v\n", k, value)
	}
	return b.String()
}

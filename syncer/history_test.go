package syncer_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/internal/redistest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/stretchr/testify/require"
)

// Random first-parent histories (adds, edits, moves, merges, reverts, cherry-picks,
// broken commits, names twice, everything removed, rewrites), pushed in random
// pieces, against a fold on the git command alone.
func TestRandomHistoriesAgainstAnIndependentFold(t *testing.T) {
	t.Parallel()
	histories := 300
	switch {
	case os.Getenv("PAWL_E2E_SOAK") != "":
		histories = 5000
	case testing.Short():
		histories = 40
	}
	srv := redistest.Start(t)
	rdb, err := specstore.Dial(t.Context(), srv.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	store, err := specstore.New(rdb, specstore.Config{AuditCap: 100000})
	require.NoError(t, err)
	ops := map[string]int{}
	for seed := range histories { // the same histories each time
		srv.FlushAll()
		h := newHistory(t, int64(seed))
		for _, line := range h.check(store) {
			op := strings.Fields(line)[3]
			ops[op]++
		}
	}
	t.Logf("%d histories: %v", histories, ops)
	for _, op := range []string{"SUBMIT", "UPGRADE", "ROLLBACK", "STOP", "RESUME"} {
		require.NotZero(t, ops[op], op)
	}
}

// history is one random repository.
type history struct {
	t     *testing.T
	seed  int64
	rnd   *rand.Rand
	dir   string
	line  []string            // marks of the first-parent line, as commit ids after import
	files []map[string]string // contents of each commit of the line
}

var historyPeople = []string{ada, grace, alan, "Sam <sam@example.com>"}

func newHistory(t *testing.T, seed int64) *history {
	t.Helper()
	h := &history{t: t, seed: seed, rnd: rand.New(rand.NewSource(seed)), dir: filepath.Join(t.TempDir(), "r.git")}
	gittest.Run(t, t.TempDir(), "init", "-q", "--bare", "-b", "main", h.dir)
	h.extend(-1, 4+h.rnd.Intn(14))
	return h
}

// extend adds n commits after the line's commit at (-1: from nothing), cutting
// the line there: a rewrite where commits are dropped.
func (h *history) extend(at, n int) {
	h.t.Helper()
	h.line, h.files = slices.Clone(h.line[:at+1]), slices.Clone(h.files[:at+1])
	var in bytes.Buffer
	for i := range n {
		files := map[string]string{}
		if len(h.files) > 0 {
			files = maps.Clone(h.files[len(h.files)-1])
		}
		merge := ""
		switch h.rnd.Intn(10) {
		case 0, 1: // revert of the commit before
			if len(h.files) > 1 {
				files = maps.Clone(h.files[len(h.files)-2])
			}
		case 2: // cherry-pick of one file of some earlier commit
			if len(h.files) > 0 {
				old := h.files[h.rnd.Intn(len(h.files))]
				for _, p := range slices.Sorted(maps.Keys(old)) {
					files[p] = old[p]
					break
				}
			}
		case 3: // a merge of a side branch that did the same
			h.change(files)
			merge = h.commit(&in, fmt.Sprintf("refs/heads/side%d-%d", len(h.line), h.rnd.Int31()), i, files, "")
		default:
			for range 1 + h.rnd.Intn(3) {
				h.change(files)
			}
		}
		h.line = append(h.line, h.commit(&in, "refs/heads/main", i, files, merge))
		h.files = append(h.files, files)
	}
	marks := filepath.Join(h.t.TempDir(), "marks")
	cmd := exec.Command("git", "-c", "fastimport.unpackLimit=1000", "fast-import", "--quiet", "--force", "--export-marks="+marks)
	cmd.Dir, cmd.Env, cmd.Stdin = h.dir, gittest.Env(), &in
	out, err := cmd.CombinedOutput()
	require.NoError(h.t, err, "%s", out)
	text, err := os.ReadFile(marks)
	require.NoError(h.t, err)
	ids := map[string]string{}
	for l := range strings.Lines(string(text)) {
		mark, id, _ := strings.Cut(strings.TrimSpace(l), " ")
		ids[mark] = id
	}
	for i, m := range h.line {
		if id := ids[m]; id != "" {
			h.line[i] = id
		}
	}
}

// commit writes one commit of a stream and gives its mark.
func (h *history) commit(in *bytes.Buffer, ref string, i int, files map[string]string, merge string) string {
	mark := ":" + strconv.Itoa(1+h.rnd.Intn(1<<30))
	who := historyPeople[h.rnd.Intn(len(historyPeople))]
	fmt.Fprintf(in, "commit %s\nmark %s\nauthor %s %d +0000\ncommitter Pawl Test <t@example.com> %d +0000\ndata 1\nx\n", ref, mark, who, 1767225600+i, 1767225600+i)
	if len(h.line) > 0 {
		fmt.Fprintf(in, "from %s\n", h.line[len(h.line)-1])
	}
	if merge != "" {
		fmt.Fprintf(in, "merge %s\n", merge)
	}
	in.WriteString("deleteall\n")
	for _, p := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(in, "M 100644 inline %s\ndata %d\n%s\n", p, len(files[p]), files[p])
	}
	return mark
}

// change does one thing to the files.
func (h *history) change(files map[string]string) {
	name := fmt.Sprintf("j%d", h.rnd.Intn(5))
	path := name + ".yaml"
	for _, p := range slices.Sorted(maps.Keys(files)) { // where it is now, if it was moved
		if strings.Contains(files[p], "name: "+name+"\n") {
			path = p
		}
	}
	switch h.rnd.Intn(14) {
	case 0:
		delete(files, path)
	case 1:
		if text, ok := files[path]; ok {
			delete(files, path)
			files[fmt.Sprintf("moved/%s-%d.yaml", name, h.rnd.Intn(3))] = text
		}
	case 2:
		files[path] = "broken: [\n"
	case 3:
		files["twice/"+name+".yaml"] = h.text(name)
	case 4:
		if h.rnd.Intn(4) == 0 {
			clear(files)
		}
	case 5:
		files["README.md"] = fmt.Sprint(h.rnd.Int31())
	default:
		files[path] = h.text(name)
	}
}

func (h *history) text(name string) string {
	s := job(name, 1+h.rnd.Intn(2))
	if h.rnd.Intn(4) == 0 {
		s += "  suspend: true\n"
	}
	return s
}

// check pushes the line in pieces, now and then rewritten, and holds each pass
// against the fold. It gives all lines.
func (h *history) check(store *specstore.Store) (all []string) {
	h.t.Helper()
	f := &plainFold{h: h, versions: map[string]int64{}, history: map[string][]string{}, now: map[string]plainJob{}, blobs: map[string]*plainJob{}}
	repo, err := gitsource.Open(gitsource.Config{URL: h.dir, Branch: "main", Path: ".", Dir: filepath.Join(h.t.TempDir(), "clone")})
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, repo.Close()) }()
	known := facts{}
	pav := spec.Pavilion{Name: "acme", ID: "NT:1", CID: "X8FD", Guard: spec.Guard{MaxRemovePercent: 30},
		Source: spec.Source{URL: h.dir, Branch: "main", Path: ".", History: "full", OnRewrite: "follow"}}
	at := -1
	for piece := 0; ; piece++ {
		if piece == 2 && h.rnd.Intn(3) == 0 && at > 1 { // push something else instead
			at = h.rnd.Intn(at)
			h.extend(at, 1+h.rnd.Intn(4))
		}
		if piece > 0 && at >= len(h.line)-1 && f.tip == h.line[len(h.line)-1] {
			return all
		}
		at = min(len(h.line)-1, max(at, 0)+h.rnd.Intn(len(h.line)))
		gittest.Run(h.t, h.dir, "update-ref", "refs/heads/main", h.line[at])
		var lines []string
		tenant, err := syncer.New(pav, syncer.Deps{Source: repo, Store: store, Facts: known, Owner: "one",
			Tell: func(e syncer.Event) {
				if e.Version != nil {
					lines = append(lines, e.String())
				}
			}})
		require.NoError(h.t, err)
		_, err = tenant.Pass(h.t.Context())
		require.NoError(h.t, err)
		want := f.advance(h.line[at])
		if !slices.Equal(want, lines) {
			h.t.Log(gittest.Run(h.t, h.dir, "log", "--first-parent", "--reverse", "--format=%h %an", "-p", "-m", "-U1", h.line[at]))
		}
		require.Equal(h.t, want, lines, "seed %d at %s", h.seed, h.line[at])
		all = append(all, lines...)
	}
}

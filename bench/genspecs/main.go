// Command genspecs makes a Git repository of JobSpec YAML files with a history
// of small commits, for tests and benchmarks. Standard library and git only.
//
//	go run ./bench/genspecs -out r10k.git -files 10000 -commits 1000 -seed 1
//
// The same arguments always give the same HEAD commit id (contents, authors and
// dates come from -seed alone). The stream goes to `git fast-import`, so 100,000
// files take seconds. It writes nothing outside -out, refuses an -out that
// exists, and leaves a half-made folder there if it is killed.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var (
	out      = flag.String("out", "", "path of the new repository (must not exist)")
	files    = flag.Int("files", 1000, "job spec files in the first commit")
	commits  = flag.Int("commits", 1000, "further commits after the first")
	seed     = flag.Int64("seed", 1, "seed; same arguments, same HEAD")
	tenants  = flag.Int("tenants", 10, "tenant directories (use 1 for a repo per tenant)")
	teams    = flag.Int("teams", 10, "team directories per tenant")
	minTouch = flag.Int("min-touch", 1, "fewest files a commit changes")
	maxTouch = flag.Int("max-touch", 5, "most files a commit changes")
	authors  = flag.Int("authors", 25, "distinct commit authors")
	pad      = flag.Int("pad", 0, "extra bytes in each description (0 gives files of about 400 bytes)")
	addPct   = flag.Int("add-pct", 2, "percent of changes that add a file")
	delPct   = flag.Int("del-pct", 2, "percent of changes that delete a file")
	movePct  = flag.Int("move-pct", 1, "percent of changes that move a file to another team, contents unchanged")
	badPct   = flag.Int("bad-pct", 0, "percent of changes that write a file that is not valid YAML")
	revPct   = flag.Int("revert-pct", 2, "percent of commits that are a git-revert of the commit before")
	mergePct = flag.Int("merge-pct", 0, "percent of commits that are merges of a one-commit side branch")
	pack     = flag.String("pack", "packed", "packed: one pack, refs packed; loose: every object loose; raw: as fast-import leaves it")
	bare     = flag.Bool("bare", true, "make a bare repository; false also checks the files out")
	branch   = flag.String("branch", "main", "branch name")
	start    = flag.Int64("start", 1767225600, "unix time of the first commit; each one after is a minute later")
	verify   = flag.Bool("fsck", false, "run git fsck at the end")
)

type spec struct {
	path string
	id   int
	rev  int // content revision; the file's bytes follow from (seed, id, rev)
	bad  bool
}

var factories = []string{"cdc-to-redis", "window-agg", "dedup-enrich", "kafka-bridge", "sessionize"}

func content(s spec) []byte {
	r := rand.New(rand.NewSource(*seed*1_000_003 + int64(s.id)*7919 + int64(s.rev)*104729))
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata:\n  name: job-%06d\n", s.id)
	if s.bad {
		fmt.Fprintf(&b, "spec:\n\tpipelineFactory: [unclosed\n  rev: %d\n", s.rev)
		return b.Bytes()
	}
	fmt.Fprintf(&b, "spec:\n  pipelineFactory: %s\n  parallelism: %d\n  suspend: %t\n  description: \"rev %d of job %d%s\"\n  config:\n",
		factories[s.id%len(factories)], 1+r.Intn(16), r.Intn(4) == 3, s.rev, s.id, strings.Repeat("x", *pad))
	fmt.Fprintf(&b, "    source.topic: orders-%d\n    source.group: g-%d\n    sink.table: agg_%d\n    checkpoint.intervalMs: \"%d\"\n    window.sizeMs: \"%d\"\n    secret.db: env:DB_PASSWORD_%d\n",
		r.Intn(500), s.id, s.id, 1000*(1+r.Intn(120)), 1000*(1+r.Intn(600)), s.id%97)
	return b.Bytes()
}

func pathOf(r *rand.Rand, id int, spread bool) string {
	n := id
	if spread {
		n = r.Intn(*tenants * *teams)
	}
	return fmt.Sprintf("tenants/t-%02d/team-%02d/job-%06d.yaml", n%*tenants, (n / *tenants)%*teams, id)
}

func run(dir string, in io.Reader, args ...string) string {
	c := exec.Command("git", args...)
	c.Dir, c.Stdin, c.Stderr = dir, in, os.Stderr
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	o, err := c.Output()
	if err != nil {
		fail(fmt.Errorf("git %s: %w", strings.Join(args, " "), err))
	}
	return strings.TrimSpace(string(o))
}

func fail(err error) { fmt.Fprintln(os.Stderr, "gen-specs:", err); os.Exit(1) }

func main() {
	flag.Parse()
	if *out == "" || *files < 1 || *minTouch < 1 || *maxTouch < *minTouch {
		flag.Usage()
		os.Exit(2)
	}
	if _, err := os.Stat(*out); err == nil {
		fail(fmt.Errorf("%s exists already", *out))
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		fail(err)
	}
	abs, _ := filepath.Abs(*out)
	init := []string{"init", "-q", "-b", *branch}
	if *bare {
		init = append(init, "--bare")
	}
	run(abs, nil, init...)

	pr, pw := io.Pipe()
	go func() {
		w := bufio.NewWriterSize(pw, 1<<20)
		stream(w)
		w.Flush()
		pw.Close()
	}()
	args := []string{"fast-import", "--quiet", "--done"}
	if *pack == "loose" {
		args = append([]string{"-c", "fastimport.unpackLimit=1000000000"}, args...)
	} else {
		args = append([]string{"-c", "fastimport.unpackLimit=1"}, args...)
	}
	run(abs, pr, args...)
	if *pack == "packed" {
		run(abs, nil, "repack", "-a", "-d", "-q")
		run(abs, nil, "pack-refs", "--all")
	}
	if !*bare {
		run(abs, nil, "reset", "-q", "--hard", *branch)
	}
	if *verify {
		run(abs, nil, "fsck", "--strict")
	}
	fmt.Printf("%s files=%s commits=%s\n", run(abs, nil, "rev-parse", *branch),
		fmt.Sprint(strings.Count(run(abs, nil, "ls-tree", "-r", "--name-only", *branch)+"\n", "\n")),
		run(abs, nil, "rev-list", "--count", *branch))
}

// change is one file's old and new state; a zero path means absent.
type change struct{ old, new spec }

func stream(w *bufio.Writer) {
	r := rand.New(rand.NewSource(*seed))
	when := *start
	live := make([]spec, 0, *files) // the files there are, any order
	at := map[string]int{}          // path to its place in live
	apply := func(c change) {
		if c.old.path != "" && c.old.path != c.new.path {
			i := at[c.old.path]
			last := len(live) - 1
			live[i] = live[last]
			at[live[i].path] = i
			live = live[:last]
			delete(at, c.old.path)
		}
		if c.new.path != "" {
			if i, ok := at[c.new.path]; ok {
				live[i] = c.new
			} else {
				at[c.new.path] = len(live)
				live = append(live, c.new)
			}
		}
	}
	emit := func(cs []change) {
		for _, c := range cs {
			if c.old.path != "" && c.old.path != c.new.path {
				fmt.Fprintf(w, "D %s\n", c.old.path)
			}
			if c.new.path != "" {
				d := content(c.new)
				fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", c.new.path, len(d), d)
			}
		}
	}
	mark := 0
	head := func(ref, msg string, from ...int) {
		mark++
		a := r.Intn(*authors)
		fmt.Fprintf(w, "commit %s\nmark :%d\nauthor User %02d <user%02d@tenant.test> %d +0000\ncommitter Merge Bot <bot@tenant.test> %d +0000\ndata %d\n%s\n",
			ref, mark, a, a, when, when, len(msg), msg)
		if len(from) > 0 {
			fmt.Fprintf(w, "from :%d\n", from[0])
			for _, m := range from[1:] {
				fmt.Fprintf(w, "merge :%d\n", m)
			}
		}
		when += 60
	}
	ref := "refs/heads/" + *branch
	nextID := *files
	var all []change
	for i := 0; i < *files; i++ {
		all = append(all, change{new: spec{path: pathOf(r, i, false), id: i}})
	}
	head(ref, fmt.Sprintf("import %d job specs", *files))
	emit(all)
	for _, c := range all {
		apply(c)
	}
	rev := 0
	pick := func() []change {
		n := *minTouch + r.Intn(*maxTouch-*minTouch+1)
		seen := map[string]bool{}
		var cs []change
		for len(cs) < n {
			rev++
			k := r.Intn(100)
			if k < *addPct || len(live) < *maxTouch+1 {
				s := spec{path: pathOf(r, nextID, true), id: nextID, rev: rev}
				nextID++
				seen[s.path] = true
				cs = append(cs, change{new: s})
				continue
			}
			o := live[r.Intn(len(live))]
			if seen[o.path] {
				continue
			}
			seen[o.path] = true
			k -= *addPct
			switch {
			case k < *delPct:
				cs = append(cs, change{old: o})
			case k < *delPct+*movePct:
				s := o
				s.path = pathOf(r, o.id, true)
				if _, taken := at[s.path]; taken || seen[s.path] {
					continue
				}
				seen[s.path] = true
				cs = append(cs, change{old: o, new: s})
			default:
				s := o
				s.rev = rev
				s.bad = k < *delPct+*movePct+*badPct
				cs = append(cs, change{old: o, new: s})
			}
		}
		return cs
	}
	var prev []change
	for i := 0; i < *commits; i++ {
		k := r.Intn(100)
		switch {
		case k < *revPct && prev != nil:
			back := make([]change, 0, len(prev))
			for j := len(prev) - 1; j >= 0; j-- {
				back = append(back, change{old: prev[j].new, new: prev[j].old})
			}
			head(ref, fmt.Sprintf("Revert \"change %d\"\n\nThis reverts the commit before.", i-1))
			emit(back)
			for _, c := range back {
				apply(c)
			}
			prev = nil
		case k < *revPct+*mergePct:
			base := mark
			cs := pick()
			head("refs/heads/side", fmt.Sprintf("side change %d", i), base)
			emit(cs)
			side := mark
			head(ref, fmt.Sprintf("Merge branch 'side' (%d)", i), base, side)
			emit(cs)
			for _, c := range cs {
				apply(c)
			}
			prev = nil
		default:
			cs := pick()
			head(ref, fmt.Sprintf("change %d", i))
			emit(cs)
			for _, c := range cs {
				apply(c)
			}
			prev = cs
		}
		w.WriteByte('\n')
	}
	if *mergePct > 0 {
		fmt.Fprint(w, "reset refs/heads/side\nfrom 0000000000000000000000000000000000000000\n\n")
	}
	fmt.Fprint(w, "done\n")
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/redis/go-redis/v9"
)

// syncerBin is what is measured.
const syncerBin = "bin/syncer"

// replay compares the diffs of a whole history with git's own log, in turn, and
// then tells what the whole replay costs.
func (b *bench) replay(ctx context.Context, s sizes) error {
	repo, err := b.repository(ctx, s.replayFiles, s.replayCommits)
	if err != nil {
		return err
	}
	src, err := gitsource.Open(gitsource.Config{URL: repo, Branch: "main", Path: ".", Dir: filepath.Join(b.dir, "walk")})
	if err != nil {
		return err
	}
	var ours, gits spread
	changed := 0
	for range 5 {
		f, err := b.command(ctx, "git", "-C", repo, "log", "--first-parent", "--raw", "--format=%H", "main")
		if err != nil {
			return errors.Join(err, src.Close())
		}
		gits = append(gits, f.wall)
		var took time.Duration
		if took, changed, err = walk(ctx, src); err != nil {
			return errors.Join(err, src.Close())
		}
		ours = append(ours, took)
	}
	if err := src.Close(); err != nil {
		return err
	}
	var whole spread
	var memory int64
	for range 3 {
		if err := b.empty(ctx, "replay"); err != nil {
			return err
		}
		f, err := b.command(ctx, syncerBin, b.syncer("replay", repo, "run", "--once")...)
		if err != nil {
			return err
		}
		whole, memory = append(whole, f.wall), max(memory, f.memory)
	}
	b.say("\n## Replay of %d commits over %d specs", s.replayCommits, s.replayFiles)
	b.table("what|median (range)|against git",
		[]string{"`git log --first-parent --raw`", gits.String(), "1.0"},
		[]string{fmt.Sprintf("our diffs of the same line, %d changed paths", changed), ours.String(), ratio(ours.at(0.5), gits.at(0.5)) + " (aim: at most 8)"},
		[]string{"the whole: clone, walk, decode, decide, store; peak memory " + megabytes(memory), whole.String(), ratio(whole.at(0.5), gits.at(0.5))})
	return nil
}

// walk lists the changed paths of every commit of the line but the first.
func walk(ctx context.Context, src *gitsource.Repo) (took time.Duration, changed int, err error) {
	tip, err := src.Fetch(ctx)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	ids, _, err := src.Line(ctx, "", tip)
	if err != nil {
		return 0, 0, err
	}
	for i, id := range ids[1:] {
		cs, err := src.Changes(ctx, ids[i], id)
		if err != nil {
			return 0, 0, err
		}
		changed += len(cs)
	}
	return time.Since(began), changed, nil
}

// firstSync measures an empty store filled from a repository with one commit.
func (b *bench) firstSync(ctx context.Context, s sizes) error {
	repo, err := b.repository(ctx, s.replayFiles, 0)
	if err != nil {
		return err
	}
	var whole, again, floor spread
	var memory int64
	for range 3 {
		if err := b.empty(ctx, "first"); err != nil {
			return err
		}
		f, err := b.command(ctx, syncerBin, b.syncer("first", repo, "run", "--once")...)
		if err != nil {
			return err
		}
		whole, memory = append(whole, f.wall), max(memory, f.memory)
		if f, err = b.command(ctx, syncerBin, b.syncer("first", repo, "run", "--once")...); err != nil {
			return err
		}
		again = append(again, f.wall)
		began := time.Now()
		if err := catAll(ctx, repo); err != nil {
			return err
		}
		floor = append(floor, time.Since(began))
	}
	b.say("\n## First sync of %d specs", s.replayFiles)
	b.table("what|median (range)|against git",
		[]string{"git reads all blobs of the tip (`ls-tree` and `cat-file --batch`)", floor.String(), "1.0"},
		[]string{"first sync, clone included; peak memory " + megabytes(memory), whole.String(), ratio(whole.at(0.5), floor.at(0.5))},
		[]string{"again, without a change", again.String(), ratio(again.at(0.5), floor.at(0.5))})
	return nil
}

func catAll(ctx context.Context, repo string) error {
	list, err := exec.CommandContext(ctx, "git", "-C", repo, "ls-tree", "-r", "--object-only", "main").Output()
	if err != nil {
		return fmt.Errorf("git ls-tree: %w", err)
	}
	cat := exec.CommandContext(ctx, "git", "-C", repo, "cat-file", "--batch")
	cat.Stdin = bytes.NewReader(list)
	return cat.Run()
}

// oneCommit measures, at each size, a commit that is made while a syncer follows:
// from the moment the branch has moved until the version is in Redis.
func (b *bench) oneCommit(ctx context.Context, s sizes) error {
	var rows [][]string
	var medians, costs []time.Duration
	for _, files := range s.growth {
		repo, err := b.repository(ctx, files, 0)
		if err != nil {
			return err
		}
		late, cpu, memory, err := b.latency(ctx, repo, s.rounds)
		if err != nil {
			return fmt.Errorf("%d specs: %w", files, err)
		}
		medians, costs = append(medians, late.at(0.5)), append(costs, cpu)
		rows = append(rows, []string{fmt.Sprint(files), late.String(), show(late.at(0.99)), show(cpu), megabytes(memory),
			ratio(late.at(0.5), medians[0]) + " / " + ratio(cpu, costs[0])})
	}
	b.say("\n## One commit of one file, %d times: branch moved to version in Redis", s.rounds)
	b.table("specs|median (range)|p99|CPU of the syncer a commit|peak memory|median / CPU against the first row (aim: at most 3)", rows...)
	b.say("\nAim: median under 30 ms.")
	return nil
}

// latency follows a repository and times commits to it.
func (b *bench) latency(ctx context.Context, repo string, rounds int) (late spread, cpu time.Duration, memory int64, err error) {
	if err = b.empty(ctx, "latency"); err != nil {
		return
	}
	rdb := redis.NewClient(&redis.Options{Addr: b.redis})
	defer func() { err = errors.Join(err, rdb.Close()) }()
	cmd := exec.CommandContext(ctx, syncerBin, b.syncer("latency", repo, "run")...)
	if err = cmd.Start(); err != nil {
		return
	}
	defer func() {
		err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			memory = u.Maxrss << 10
		}
	}()
	const key, job = "streaming:runtime:control:acme:versions", "job-000000"
	version := func() string { return rdb.HGet(ctx, key, job).Val() }
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if v := rdb.HGet(ctx, "streaming:runtime:control:pawl:acme:cursor", "state").Val(); v == "synced" {
			break
		}
		if time.Now().After(deadline) {
			return late, 0, 0, errors.New("the first sync did not end in two minutes")
		}
		if err = wait(ctx, 50*time.Millisecond); err != nil {
			return
		}
	}
	before := cpuTime(cmd.Process.Pid)
	for i := range rounds {
		was := version()
		if err = commitOne(ctx, repo, i); err != nil {
			return
		}
		began := time.Now()
		for version() == was {
			if time.Since(began) > 10*time.Second {
				return late, 0, 0, errors.New("a commit was not seen within 10 s")
			}
		}
		late = append(late, time.Since(began))
	}
	return late, (cpuTime(cmd.Process.Pid) - before) / time.Duration(rounds), 0, nil
}

// commitOne changes one file by plumbing, so that git itself costs the same at any size.
func commitOne(ctx context.Context, repo string, i int) error {
	out, err := exec.CommandContext(ctx, "git", "-C", repo, "ls-tree", "-r", "--name-only", "main").Output()
	if err != nil {
		return err
	}
	path, _, _ := strings.Cut(string(out), "\n")
	text := fmt.Sprintf("apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata:\n  name: job-000000\nspec:\n  pipelineFactory: f\n  config:\n    run: \"%d-%d\"\n", os.Getpid(), i)
	var in bytes.Buffer
	w := bufio.NewWriter(&in)
	fmt.Fprintf(w, "commit refs/heads/main\ncommitter Bench <bench@example.com> now\ndata 5\nbench\nfrom refs/heads/main^0\nM 100644 inline %s\ndata %d\n%s\ndone\n", path, len(text), text)
	if err := w.Flush(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "git", "-C", repo, "-c", "fastimport.unpackLimit=100", "fast-import", "--quiet", "--done", "--date-format=now")
	cmd.Stdin = &in
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git fast-import: %w: %s", err, msg)
	}
	return nil
}

// cpuTime is what a process has used so far, user and system.
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	var ticks int64
	for _, s := range f[11:13] {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on Linux
}

// script compares a commit's script with a plain one, both from outside.
func (b *bench) script(ctx context.Context, _ sizes) error {
	_, port, err := net.SplitHostPort(b.redis)
	if err != nil {
		return err
	}
	f, err := b.command(ctx, "redis-benchmark", "-p", port, "-n", "20000", "-c", "1", "-q", "eval",
		"if redis.call('HGET',KEYS[1],'a')==ARGV[1] then return 0 end redis.call('HSET',KEYS[1],'a',ARGV[2]) return 1", "1", "bench:cas", "x", "y")
	if err != nil {
		return err
	}
	lines := strings.FieldsFunc(f.stdout, func(r rune) bool { return r == '\n' || r == '\r' })
	figures := lines[len(lines)-1]
	if i := strings.LastIndex(figures, ": "); i >= 0 { // the script itself stands before
		figures = figures[i+2:]
	}
	b.say("\n## Redis on this machine\n\n`redis-benchmark -c 1` of a compare-and-set script: %s", figures)
	return nil
}

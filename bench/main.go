// Command bench measures Pawl against the floor, git and redis themselves, in
// one run on one machine: what counts are the ratios. It builds its repositories
// with bench/genspecs, starts a redis-server of its own, uses bin/syncer, and
// prints a page of Markdown. It writes below a temporary folder only and leaves
// that behind if it is killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	quick := flag.Bool("quick", false, "small sizes, to try the benchmark itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, *quick)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
}

// sizes of the repositories that are measured.
type sizes struct {
	replayFiles, replayCommits int
	growth                     []int
	rounds                     int
}

func run(ctx context.Context, out io.Writer, quick bool) (err error) {
	s := sizes{replayFiles: 10000, replayCommits: 1000, growth: []int{1000, 10000, 100000}, rounds: 60}
	if quick {
		s = sizes{replayFiles: 500, replayCommits: 100, growth: []int{100, 1000}, rounds: 10}
	}
	b, err := newBench(ctx, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	b.say("# Performance\n\nMeasured by `make bench` on %d cores, %s, %s. Absolute figures hold for this machine; the ratios count.\n",
		runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format("2006-01-02"))
	for _, part := range []func(context.Context, sizes) error{b.replay, b.firstSync, b.oneCommit, b.script} {
		if err := part(ctx, s); err != nil {
			return err
		}
	}
	return b.err
}

// bench is one run: a folder, a Redis, an output.
type bench struct {
	dir, redis string
	out        io.Writer
	err        error // of writing
	stopRedis  func() error
}

func (b *bench) say(format string, args ...any) {
	if _, err := fmt.Fprintf(b.out, format+"\n", args...); err != nil && b.err == nil {
		b.err = err
	}
}

// repository makes a generated repository once and gives its path.
func (b *bench) repository(ctx context.Context, files, commits int) (string, error) {
	path := filepath.Join(b.dir, fmt.Sprintf("specs-%d-%d.git", files, commits))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	_, err := b.command(ctx, "go", "run", "./bench/genspecs", "-out", path, "-tenants", "1", "-teams", "100",
		"-files", fmt.Sprint(files), "-commits", fmt.Sprint(commits))
	return path, err
}

// spread is a sample, as its quantiles.
type spread []time.Duration

func (s spread) at(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func (s spread) String() string {
	return fmt.Sprintf("%s (%s to %s)", show(s.at(0.5)), show(s.at(0)), show(s.at(1)))
}

func show(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + show(-d)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.1f", float64(a)/float64(b)) }

// table prints rows of cells.
func (b *bench) table(head string, rows ...[]string) {
	cols := strings.Split(head, "|")
	b.say("\n| %s |\n|%s", strings.Join(cols, " | "), strings.Repeat("---|", len(cols)))
	for _, r := range rows {
		b.say("| %s |", strings.Join(r, " | "))
	}
}

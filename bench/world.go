package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func newBench(ctx context.Context, out io.Writer) (*bench, error) {
	dir, err := os.MkdirTemp("", "pawl-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, out: out}
	if err := b.startRedis(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

// startRedis starts a redis-server on a free port, without persistence.
func (b *bench) startRedis(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", b.dir, "--loglevel", "warning")
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("redis-server: %w", err)
	}
	b.redis = addr
	b.stopRedis = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return cmd.Wait()
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			return errors.Join(err, b.stopRedis())
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func (b *bench) close() error {
	return errors.Join(b.stopRedis(), os.RemoveAll(b.dir))
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// finished is what a command took.
type finished struct {
	wall   time.Duration
	memory int64 // bytes, the most that it had at once
	stdout string
}

// command runs a program to its end; a failure is an error with what it said.
func (b *bench) command(ctx context.Context, name string, args ...string) (finished, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	f := finished{wall: time.Since(began), stdout: stdout.String()}
	if err != nil {
		return f, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		f.memory = u.Maxrss << 10
	}
	return f, nil
}

// syncer are the arguments of a syncer on a repository with a state folder of a name.
func (b *bench) syncer(state, repo string, args ...string) []string {
	return append(args, "--repo", repo, "--tenant", "acme", "--cid", "X8FD", "--pavilion", "NT:1", "--redis", "redis://"+b.redis,
		"--allow-unsafe-redis", "--state-dir", filepath.Join(b.dir, state), "--interval", "1h", "--drift-every", "0")
}

// empty makes the store and a state folder as new.
func (b *bench) empty(ctx context.Context, state string) error {
	if err := os.RemoveAll(filepath.Join(b.dir, state)); err != nil {
		return err
	}
	_, err := b.redisCLI(ctx, "FLUSHALL")
	return err
}

func (b *bench) redisCLI(ctx context.Context, args ...string) (string, error) {
	_, port, err := net.SplitHostPort(b.redis)
	if err != nil {
		return "", err
	}
	f, err := b.command(ctx, "redis-cli", append([]string{"-p", port}, args...)...)
	return strings.TrimSpace(f.stdout), err
}

func megabytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

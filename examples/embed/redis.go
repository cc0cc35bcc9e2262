package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// startupTime bounds the wait for a Redis of our own.
const startupTime = 10 * time.Second

// privateRedis starts a redis-server that listens on nothing but a socket in a
// folder of its own; stop ends it and removes the folder.
func privateRedis(ctx context.Context) (url string, stop func() error, err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, fmt.Errorf("%w: install redis-server, or name a Redis in %s", err, redisVariable)
	}
	dir, err := os.MkdirTemp("", "pawl-embed-")
	if err != nil {
		return "", nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	server := exec.Command(program, "--port", "0", "--unixsocket", socket, "--dir", dir,
		"--save", "3600 1", "--appendonly", "no", "--maxmemory-policy", "noeviction")
	if err := server.Start(); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	ended := make(chan error, 1)
	alive, end := context.WithCancelCause(ctx)
	go func() {
		err := server.Wait()
		end(fmt.Errorf("redis-server ended: %w", err))
		ended <- err
	}()
	stop = func() error {
		err := server.Process.Kill()
		if errors.Is(err, os.ErrProcessDone) {
			err = nil
		}
		<-ended // how it ended is what we asked for
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := listening(alive, socket); err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return "unix://" + socket, stop, nil
}

// listening waits until somebody answers at a socket.
func listening(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, startupTime)
	defer cancel()
	return eventually(ctx, func() error {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// eventually tries until try succeeds; when ctx is over it tells what the last
// try before that found.
func eventually(ctx context.Context, try func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var found error
	for {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || found == nil {
			found = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), found)
		}
	}
}

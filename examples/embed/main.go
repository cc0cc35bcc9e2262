// Program embed uses Pawl as a library: a store of versions with an authoriser
// of our own, and an agent with a launcher of our own, in one process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// redisVariable names the Redis to use; without it a private one is started.
const redisVariable = "PAWL_EXAMPLE_REDIS"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	_, err := run(ctx, os.Getenv(redisVariable), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed: error:", err)
		os.Exit(1)
	}
}

// run tells the story to out, on the Redis at url or on a private one.
func run(ctx context.Context, url string, out io.Writer) (o outcome, err error) {
	if url == "" {
		private, stop, err := privateRedis(ctx)
		if err != nil {
			return o, fmt.Errorf("private redis: %w", err)
		}
		o, err = tell(ctx, private, out)
		return o, errors.Join(err, stop())
	}
	return tell(ctx, url, out)
}

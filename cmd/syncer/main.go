// Command syncer is the control side of Pawl: it turns the commits of spec
// repositories into versions in Redis, and shows and operates what is there.
//
// This package owns flags, wiring, output and exit codes, and nothing else. It
// is killed at any moment without harm: what is half-written is continued by the
// next start from the store's cursor.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/pawl-dev/pawl/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: stderr, environ: environ}
	return cli.Main(ctx, a.root(), cli.World{Args: args, Environ: environ, Prefix: "PAWL_",
		Stdout: stdout, Stderr: stderr})
}

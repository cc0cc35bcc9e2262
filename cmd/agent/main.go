// Command agent is the executing side of Pawl: it claims jobs, runs them and
// reports what it sees.
//
// This package owns flags, wiring, output and exit codes, and nothing else. A
// killed agent leaves claims that lapse, and no process of its jobs on Linux.
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
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: stderr, environ: environ}
	return cli.Main(ctx, a.root(), cli.World{Args: args, Environ: environ, Prefix: "PAWL_", Stdout: stdout, Stderr: stderr})
}

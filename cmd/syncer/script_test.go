package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/rogpeppe/go-internal/testscript"
)

// The commands' behaviour is a folder of scripts, run by the real program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"syncer": func() {
		os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
	}})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for _, kv := range gittest.Env() {
				if strings.HasPrefix(kv, "GIT_") || strings.HasPrefix(kv, "TZ=") {
					e.Vars = append(e.Vars, kv)
				}
			}
			e.Vars = append(e.Vars, "HOME="+e.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a program and holds its exit code: exits 2 syncer run.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit %s, not %s\n%s%s", code, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

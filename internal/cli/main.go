package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// World is what a program takes from outside, so that a test can give it.
type World struct {
	Args    []string // without the program's name
	Environ []string // NAME=value
	Prefix  string   // of environment twins, PAWL_
	Known   []string // environment settings that are no flags
	Stdout  io.Writer
	Stderr  io.Writer
}

// Main runs the command that w.Args names and gives the exit code. Flags are
// read from the environment first; whatever goes wrong before a command's own
// RunE is wrong usage. root must not have been run before.
func Main(ctx context.Context, root *cobra.Command, w World) int {
	root.SetArgs(append([]string{}, w.Args...)) // never nil: cobra would read the process's own
	root.SetOut(w.Stdout)
	root.SetErr(w.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	started := false
	prepare(root, &started)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return BindEnv(cmd, w.Prefix, w.Environ, w.Known...)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = wrongUse(cmd, err)
	}
	if werr := Print(w.Stderr, root.Name(), err); werr != nil && err == nil {
		return ExitFailed
	}
	return Exit(err)
}

// prepare notes when a command's own code begins, and makes a command that only
// groups others refuse what it does not know.
func prepare(c *cobra.Command, started *bool) {
	if !c.Runnable() && c.HasSubCommands() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = group
	}
	if inner := c.RunE; inner != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			*started = true
			return inner(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		prepare(sub, started)
	}
}

func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return helpHint(cmd, Usagef("%s: a command is missing", cmd.CommandPath()))
	}
	err := Usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return ErrorHint(err, "did you mean "+strings.Join(near, " or ")+"?")
	}
	return helpHint(cmd, err)
}

// wrongUse turns cobra's own errors into Usage with a hint.
func wrongUse(cmd *cobra.Command, err error) error {
	var usage Usage
	if errors.As(err, &usage) {
		return err // it has its own hints
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return helpHint(cmd, Usage{errors.New(text)})
}

func helpHint(cmd *cobra.Command, err error) error {
	return ErrorHint(err, fmt.Sprintf("run '%s --help'", cmd.CommandPath()))
}

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

type seen struct {
	every   time.Duration
	redis   string
	defines []string
}

// program is a command tree like ours; what `tool run` was given lands in *seen.
func program(got *seen, fail error) *cobra.Command {
	root := &cobra.Command{Use: "tool"}
	root.PersistentFlags().StringVar(&got.redis, "redis", "", "")
	run := &cobra.Command{Use: "run", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return fail }}
	run.Flags().DurationVar(&got.every, "poll-every", time.Second, "")
	run.Flags().StringArrayVarP(&got.defines, "define", "D", nil, "")
	other := &cobra.Command{Use: "other", RunE: func(*cobra.Command, []string) error { return nil }}
	other.Flags().Bool("only-here", false, "")
	nested := &cobra.Command{Use: "nested"}
	nested.AddCommand(&cobra.Command{Use: "leaf", RunE: func(*cobra.Command, []string) error { return nil }})
	root.AddCommand(run, other, nested)
	return root
}

type result struct {
	seen
	code           int
	stdout, stderr string
}

func call(t *testing.T, fail error, environ []string, args ...string) result {
	t.Helper()
	var r result
	var out, errs bytes.Buffer
	r.code = cli.Main(t.Context(), program(&r.seen, fail), cli.World{
		Args: args, Environ: environ, Prefix: "PAWL_", Known: []string{"PAWL_IMAGE_TAG"}, Stdout: &out, Stderr: &errs,
	})
	r.stdout, r.stderr = out.String(), errs.String()
	return r
}

func TestEveryFlagHasATwinAndTheCommandLineWins(t *testing.T) {
	env := []string{"PAWL_POLL_EVERY=3s", "PAWL_REDIS=redis://:canary@h:1", "PAWL_DEFINE=a=1,2\n\nb=x y\r\n", "HOME=/", "PAWL_ONLY_HERE=true", "PAWL_IMAGE_TAG=1"}
	r := call(t, nil, env, "run")
	require.Equal(t, 0, r.code, r.stderr)
	require.Equal(t, seen{3 * time.Second, "redis://:canary@h:1", []string{"a=1,2", "b=x y"}}, r.seen)

	r = call(t, nil, env, "run", "--poll-every", "9s", "-D", "c=3")
	require.Equal(t, 9*time.Second, r.every)
	require.Equal(t, []string{"c=3"}, r.defines)
}

func TestAnEmptyVariableIsAsGoodAsNone(t *testing.T) {
	r := call(t, nil, []string{"PAWL_POLL_EVERY="}, "run")
	require.Equal(t, 0, r.code, r.stderr)
	require.Equal(t, time.Second, r.every)
}

func TestUnknownVariablesAreWrongUsageButThoseOfKubernetes(t *testing.T) {
	r := call(t, nil, []string{"PAWL_POLL_EVRY=3s", "PAWL_ZZZZZZZZ=1"}, "run")
	require.Equal(t, 2, r.code)
	require.Equal(t, "tool: error: unknown environment variable PAWL_POLL_EVRY\n"+
		"tool: error: unknown environment variable PAWL_ZZZZZZZZ\n"+
		"tool: hint: did you mean PAWL_POLL_EVERY?\n"+
		"tool: hint: unset PAWL_ZZZZZZZZ; --help lists the flags, each has a variable of its own\n", r.stderr)

	r = call(t, nil, []string{"PAWL_SYNCER_SERVICE_HOST=10.0.0.1", "PAWL_SYNCER_PORT_8090_TCP=tcp://10.0.0.1"}, "run")
	require.Equal(t, 0, r.code, r.stderr)
}

func TestABadValueIsNamedButNotShown(t *testing.T) {
	r := call(t, nil, []string{"PAWL_POLL_EVERY=canary"}, "run")
	require.Equal(t, 2, r.code)
	require.Equal(t, "tool: error: environment variable PAWL_POLL_EVERY: not a valid duration for --poll-every\n", r.stderr)
}

func TestWrongUseExitsWithTwoAndAHint(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"run --nope", "tool: error: unknown flag: --nope\ntool: hint: run 'tool run --help'\n"},
		{"run extra", "tool: error: unknown command \"extra\" for \"tool run\"\ntool: hint: run 'tool run --help'\n"},
		{"rnu", "tool: error: unknown command \"rnu\" for \"tool\"\ntool: hint: did you mean run?\n"},
		{"zzzzzz", "tool: error: unknown command \"zzzzzz\" for \"tool\"\ntool: hint: run 'tool --help'\n"},
		{"nested twig", "tool: error: unknown command \"twig\" for \"tool nested\"\ntool: hint: run 'tool nested --help'\n"},
		{"", "tool: error: tool: a command is missing\ntool: hint: run 'tool --help'\n"},
		{"run --poll-every soon", "tool: error: invalid argument \"soon\" for \"--poll-every\" flag: time: invalid duration \"soon\"\ntool: hint: run 'tool run --help'\n"},
	} {
		r := call(t, nil, nil, strings.Fields(c.args)...)
		require.Equal(t, 2, r.code, c.args)
		require.Equal(t, c.want, r.stderr, c.args)
		require.Empty(t, r.stdout)
	}
}

func TestExitCodesFollowTheError(t *testing.T) {
	plain := errors.New("store is away")
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{plain, 1, "tool: error: store is away\n"},
		{cli.Quiet(1), 1, ""},
		{fmt.Errorf("config: %w", cli.Usagef("no file %q", "x")), 2, "tool: error: config: no file \"x\"\n"},
		{cli.ErrorHint(fmt.Errorf("dial: %w", cli.ErrorHint(plain, "start it")), "see docs"), 1,
			"tool: error: dial: store is away\ntool: hint: see docs\ntool: hint: start it\n"},
		{errors.Join(plain, cli.ErrorHint(cli.Usagef("second"), "h")), 2, "tool: error: store is away\ntool: error: second\ntool: hint: h\n"},
	} {
		r := call(t, c.err, nil, "run")
		require.Equal(t, c.code, r.code, "%v", c.err)
		require.Equal(t, c.text, r.stderr, "%v", c.err)
	}
	require.NoError(t, cli.ErrorHint(nil, "nothing to try"))
}

func TestHelpIsNoError(t *testing.T) {
	r := call(t, nil, nil, "run", "--help")
	require.Equal(t, 0, r.code)
	require.Contains(t, r.stdout, "--poll-every")
	require.Equal(t, 0, call(t, nil, nil, "completion", "bash").code)
}

func TestLoggerKnowsTwoFormats(t *testing.T) {
	var b bytes.Buffer
	log, err := cli.Logger(&b, "json")
	require.NoError(t, err)
	log.Info("applied", slog.Int("version", 3))
	require.Contains(t, b.String(), `"msg":"applied","version":3`)
	b.Reset()
	log, err = cli.Logger(&b, "text")
	require.NoError(t, err)
	log.Info("applied")
	require.Contains(t, b.String(), "msg=applied")
	_, err = cli.Logger(&b, "xml")
	require.Equal(t, 2, cli.Exit(err))
	require.ErrorContains(t, err, `--log-format "xml" is unknown`)
}

func TestVersionIsNeverEmpty(t *testing.T) {
	b := cli.Version()
	require.NotEmpty(t, b.Version)
	require.Contains(t, b.String(), b.Version)
	require.Contains(t, b.String(), b.Go)
	require.Equal(t, "1.2.3 (1a2b3c4 with local changes, go1.26)",
		cli.Build{Version: "1.2.3", Commit: "1a2b3c4d5e", Dirty: true, Go: "go1.26"}.String())
	require.Equal(t, "devel", cli.Build{Version: "devel"}.String())
}

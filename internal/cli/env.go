package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// EnvName is the environment twin of a flag: prefix PAWL_ and log-format give PAWL_LOG_FORMAT.
func EnvName(prefix, flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// BindEnv sets the flags of cmd that the command line left alone from their
// environment twins. An empty variable is as good as none; a list takes one
// value a line. Flags of other commands of the same program may have variables
// too; known names settings that are no flags. Any further variable with the
// prefix is an error, but for those that Kubernetes makes for services
// (…SERVICE…, …PORT…). All mistakes are reported at once, as Usage; no value is
// ever part of a message.
func BindEnv(cmd *cobra.Command, prefix string, environ []string, known ...string) error {
	twins := make(map[string]bool)
	eachFlag(cmd.Root(), func(f *pflag.Flag) { twins[EnvName(prefix, f.Name)] = true })
	for _, k := range known {
		twins[k] = true
	}
	values := make(map[string]string)
	var errs []error
	for _, e := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case !strings.HasPrefix(name, prefix):
		case twins[name]:
			values[name] = value
		case strings.Contains(name[len(prefix):], "SERVICE"), strings.Contains(name[len(prefix):], "PORT"):
		default:
			errs = append(errs, unknown(name, twins))
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := EnvName(prefix, f.Name)
		if value := values[name]; value != "" && !f.Changed {
			if err := set(cmd.Flags(), f, value); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s: not a valid %s for --%s", name, f.Value.Type(), f.Name))
			}
		}
	})
	if len(errs) > 0 {
		return Usage{errors.Join(errs...)}
	}
	return nil
}

// set goes through the flag set, which notes that the flag was given.
func set(flags *pflag.FlagSet, f *pflag.Flag, value string) error {
	if _, list := f.Value.(pflag.SliceValue); !list {
		return flags.Set(f.Name, value)
	}
	for line := range strings.Lines(value) {
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			continue
		}
		if err := flags.Set(f.Name, line); err != nil {
			return err
		}
	}
	return nil
}

func unknown(name string, twins map[string]bool) error {
	err := fmt.Errorf("unknown environment variable %s", name)
	best, near := "", 4 // more than three letters off is no slip of the hand
	for t := range twins {
		if d := distance(name, t); d < near || d == near && best != "" && t < best {
			best, near = t, d
		}
	}
	if best != "" {
		return ErrorHint(err, "did you mean "+best+"?")
	}
	return ErrorHint(err, "unset "+name+"; --help lists the flags, each has a variable of its own")
}

// distance is the number of letters to add, drop or change between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// eachFlag visits the flags of c and of all commands below it, but for help,
// which cobra adds by itself.
func eachFlag(c *cobra.Command, visit func(*pflag.Flag)) {
	each := func(f *pflag.Flag) {
		if f.Name != "help" {
			visit(f)
		}
	}
	c.LocalFlags().VisitAll(each)
	c.PersistentFlags().VisitAll(each)
	for _, sub := range c.Commands() {
		eachFlag(sub, visit)
	}
}

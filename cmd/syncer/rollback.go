package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
	"github.com/spf13/cobra"
)

// maxTries is how often a rollback is decided anew because the branch moved.
const maxTries = 5

// rollbackFlags are what is asked of one rollback.
type rollbackFlags struct {
	to, message, author, committer string
	dryRun                         bool
}

func (a *app) rollbackCmd() *cobra.Command {
	var f rollbackFlags
	c := &cobra.Command{
		Use:   "rollback JOB",
		Short: "Bring back the content of an earlier version, as a commit on the branch",
		Long: "rollback makes the commit that a person would make: the document of the job gets the text that it had in that\n" +
			"version, all else stays, and the commit is pushed, never forced. It writes to Git only; the next look at the\n" +
			"repository makes it a new version. The author is --author, else whom git knows by user.name and user.email.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rollback(cmd.Context(), spec.ParseKey(args[0]), f)
		},
	}
	c.Flags().StringVar(&f.to, "to", "", "version to bring back (default: the one before the current)")
	c.Flags().StringVar(&f.message, "message", "", "message of the commit (default \"Roll back JOB to vV\")")
	c.Flags().StringVar(&f.author, "author", "", "author of the commit, \"Name <mail>\"")
	c.Flags().StringVar(&f.committer, "committer", pawlCommitter, "committer of the commit, \"Name <mail>\"")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the commit and push nothing")
	return c
}

// order is a rollback that is asked for, with all that it takes.
type order struct {
	rollbackFlags
	author, by spec.Person
	key        spec.Key
	current    *spec.Record // nil: the spec is removed
	last       spec.Origin  // of the newest version
	wanted     wanted
	explicit   bool // the person named the version
}

func (a *app) rollback(ctx context.Context, key spec.Key, f rollbackFlags) (err error) {
	log, err := cli.Logger(a.stderr, a.logFormat)
	if err != nil {
		return err
	}
	if a.repo == "" && a.config == "" {
		_, err := a.pavilions() // which says what is missing
		return err
	}
	o := order{rollbackFlags: f, key: key, explicit: f.to != ""}
	if o.by, err = parsePerson("--committer", f.committer); err != nil {
		return err
	}
	if o.author, err = a.person(ctx, f.author); err != nil {
		return err
	}
	path, err := a.statePath()
	if err != nil {
		return err
	}
	own := *a // with a folder of its own: a running syncer holds the lock of the state folder
	own.stateDir = filepath.Join(path, "rollback")
	state, err := own.openState(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	pav, err := own.onePavilion(ctx, state)
	if err != nil {
		return err
	}
	origin, err := a.choose(ctx, pav.Name, &o)
	if err != nil {
		return err
	}
	repo, err := gitsource.Open(gitsource.Config{URL: pav.Source.URL, Branch: pav.Source.Branch, Path: pav.Source.Path, Limits: a.limits,
		Auth: pav.Source.Auth, Dir: state.clone(pav.Name)})
	if err != nil {
		return fmt.Errorf("tenant %s: %w", pav.Name, err)
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	b := &rollback{pav: pav, repo: repo}
	if o.current != nil {
		b.live = o.last.Path
	}
	return a.carryOut(ctx, b, o, origin, state)
}

// onePavilion is the tenant whose repository a command writes to.
func (a *app) onePavilion(ctx context.Context, state *stateDir) (spec.Pavilion, error) {
	pavs, err := a.tenantsNow(ctx, state)
	if err != nil {
		return spec.Pavilion{}, err
	}
	if len(pavs) != 1 {
		return spec.Pavilion{}, cli.ErrorHint(cli.Usagef("%s has %d tenants", a.config, len(pavs)), "name one with --tenant")
	}
	return pavs[0], nil
}

// choose finds the version that is to come back.
func (a *app) choose(ctx context.Context, tenant string, o *order) (spec.Origin, error) {
	store, closeStore, err := a.connect(ctx)
	if err != nil {
		return spec.Origin{}, err
	}
	defer closeStore()
	r, err := store.Current(ctx, tenant, o.key)
	switch {
	case err == nil:
		o.current = &r
	case !errors.Is(err, spec.ErrNotFound):
		return spec.Origin{}, err
	}
	entries, err := store.Origins(ctx, tenant, o.key)
	if err != nil {
		return spec.Origin{}, err
	}
	entries = slices.DeleteFunc(entries, func(e specstore.Entry) bool { return e.Removal })
	if len(entries) == 0 {
		return spec.Origin{}, cli.ErrorHint(fmt.Errorf("%s/%s has no version from Git: %w", tenant, o.key, spec.ErrNotFound),
			"`syncer status` lists what there is; --tenant chooses another tenant")
	}
	o.last = entries[len(entries)-1].Origin
	at, err := o.target(entries)
	if err != nil {
		return spec.Origin{}, err
	}
	return entries[at].Origin, nil
}

// target is the index of the version that is asked for: by default the one
// before the current, or the last one of a spec that is removed.
func (o *order) target(entries []specstore.Entry) (int, error) {
	list := "`syncer history " + o.key.String() + "` lists the versions"
	if !o.explicit {
		at := len(entries) - 1
		if o.current != nil {
			at--
		}
		if at < 0 {
			return 0, cli.ErrorHint(fmt.Errorf("%s has no version before v%d", o.key, o.last.Version), list)
		}
		return at, nil
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(o.to, "v"), 10, 64)
	if err != nil || n < 1 {
		return 0, cli.ErrorHint(cli.Usagef("--to %q is no version", o.to), list)
	}
	at := slices.IndexFunc(entries, func(e specstore.Entry) bool { return e.Version == n })
	if at < 0 {
		return 0, cli.ErrorHint(fmt.Errorf("%s has no v%d", o.key, n), list)
	}
	return at, nil
}

// carryOut decides on the tip of the branch and writes, anew whenever the branch moved.
func (a *app) carryOut(ctx context.Context, b *rollback, o order, origin spec.Origin, state *stateDir) error {
	for try := 1; ; try++ {
		tip, err := b.repo.Fetch(ctx)
		if err != nil {
			return err
		}
		if try == 1 {
			if o.wanted, err = b.content(ctx, o.key, origin); err != nil {
				return err
			}
		}
		err = a.attempt(ctx, b, o, tip, state)
		var moved *gitsource.MovedError
		switch {
		case !errors.As(err, &moved):
			return err
		case try == maxTries:
			return cli.ErrorHint(fmt.Errorf("%w, %d times in a row", err, maxTries), "others push to it all the time: try again")
		}
	}
}

// attempt is one decision on one commit, carried out.
func (a *app) attempt(ctx context.Context, b *rollback, o order, tip string, state *stateDir) error {
	d, err := b.decide(ctx, tip, o.wanted)
	if err != nil {
		return err
	}
	out := rolledBack{Tenant: b.pav.Name, Job: o.key.String(), Restores: o.wanted.version, Branch: b.pav.Source.Branch, Base: tip, Path: d.path}
	if d.done {
		return a.print(out, out.text)
	}
	if err := o.stillMeant(d); err != nil {
		return err
	}
	if exact, err := b.undoes(ctx, d, o.last); err != nil {
		return err
	} else if exact {
		d.reverts = o.last.Commit
	}
	out.Changed, out.Author, out.Message = true, o.author.String(), o.text(d)
	if o.dryRun {
		out.DryRun, out.Diff = true, d.diff()
		return a.print(out, out.text)
	}
	out.Commit, err = b.repo.Write(ctx, gitsource.WriteRequest{Base: tip, Files: []gitsource.FileWrite{{Path: d.path, Data: d.data}},
		Author: o.author, Committer: o.by, Message: out.Message})
	var refused *gitsource.PushRefused
	switch {
	case errors.As(err, &refused):
		return a.leaveToPerson(o, d, out, state, err)
	case out.Commit == "":
		return err
	}
	return errors.Join(a.print(out, out.text), err)
}

// stillMeant refuses to guess: "the version before" means the one that the
// person sees, and the branch has something else by now.
func (o order) stillMeant(d decision) error {
	switch {
	case o.explicit, o.current == nil && !d.present, o.current != nil && d.there != nil && o.current.Spec.Equal(d.there):
		return nil
	case o.current != nil && !d.present:
		return cli.ErrorHint(fmt.Errorf("commit %s removes %s, and the syncer has not got there yet", spec.Short(d.base), o.key),
			fmt.Sprintf("name what is to come back, such as --to v%d, or wait for the syncer", o.last.Version))
	}
	return cli.ErrorHint(fmt.Errorf("commit %s has a content of %s that is no version yet", spec.Short(d.base), o.key),
		fmt.Sprintf("name what is to come back, such as --to v%d, or wait for the syncer", o.last.Version))
}

// text is the message of the commit.
func (o order) text(d decision) string {
	text := strings.TrimSpace(o.message)
	if text == "" {
		text = fmt.Sprintf("Roll back %s to v%d", o.key, o.wanted.version)
	}
	if d.reverts != "" {
		text += "\n\nThis reverts commit " + d.reverts + "."
	}
	return text + fmt.Sprintf("\n\nPawl-Restores: v%d\nPawl-Job: %s", o.wanted.version, o.key)
}

// leaveToPerson writes the change as a patch and tells what to type, where the
// server does not let us push.
func (a *app) leaveToPerson(o order, d decision, out rolledBack, state *stateDir, refused error) error {
	name := fmt.Sprintf("roll-back-%s-to-v%d", strings.ReplaceAll(o.key.String(), "/", "-"), o.wanted.version)
	dir := filepath.Join(state.path, "patches", out.Tenant)
	file := filepath.Join(dir, name+".patch")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Join(refused, fmt.Errorf("write the patch: %w", err))
	}
	if err := writeFile(file, []byte(d.patch())); err != nil { // its mode is 0600
		return errors.Join(refused, fmt.Errorf("write the patch: %w", err))
	}
	out.Commands = d.byHand(out.Branch, name, file, out.Message, o.author)
	if err := a.print(out, out.text); err != nil {
		return errors.Join(refused, err)
	}
	return cli.ErrorHint(refused, "type the commands above in a clone of your own, and open a pull request if the branch is protected")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
)

// pawlCommitter makes the commits that a person has us make.
const pawlCommitter = "pawl <pawl@localhost>"

// parsePerson reads "Name <mail>"; both are needed.
func parsePerson(flag, s string) (spec.Person, error) {
	name, rest, ok := strings.Cut(s, "<")
	mail, after, closed := strings.Cut(rest, ">")
	p := spec.Person{Name: strings.TrimSpace(name), Mail: strings.TrimSpace(mail)}
	if !ok || !closed || strings.TrimSpace(after) != "" || p.Name == "" || !strings.Contains(p.Mail, "@") {
		return spec.Person{}, cli.ErrorHint(cli.Usagef("%s %q is no person", flag, s), `write it as git does: "Name <mail>"`)
	}
	return p, nil
}

// person is the author of a commit that is made at a shell: given, else whom git
// knows here, else --actor. A person without a mail address is not guessed at.
func (a *app) person(ctx context.Context, given string) (spec.Person, error) {
	if given != "" {
		return parsePerson("--author", given)
	}
	p := spec.Person{Name: a.getenv("GIT_AUTHOR_NAME"), Mail: a.getenv("GIT_AUTHOR_EMAIL")}
	if p.Name == "" {
		p.Name = a.gitSetting(ctx, "user.name")
	}
	if p.Mail == "" {
		p.Mail = a.gitSetting(ctx, "user.email")
	}
	if p.Name != "" && p.Mail != "" {
		return p, nil
	}
	if strings.Contains(a.actor, "<") {
		return parsePerson("--actor", a.actor)
	}
	who, err := a.who()
	if err != nil {
		return spec.Person{}, err
	}
	return spec.Person{}, cli.ErrorHint(cli.Usage{Err: fmt.Errorf("the author of the commit: %s has no mail address", who)},
		`give --author "Name <mail>", or set user.name and user.email with git config`)
}

// getenv reads the environment of this call.
func (a *app) getenv(name string) (value string) {
	for _, e := range a.environ {
		if k, v, _ := strings.Cut(e, "="); k == name {
			value = v
		}
	}
	return value
}

// gitSetting asks git for one of its settings; empty if it has none, or if there
// is no git here.
func (a *app) gitSetting(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "config", "--get", name)
	cmd.Env = a.environ
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "" // not installed: whoever runs us is asked instead
	}
	return strings.TrimSpace(string(out))
}

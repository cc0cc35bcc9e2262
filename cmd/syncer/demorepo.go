package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// demoRepo is the repository of the demo, worked with git itself.
type demoRepo struct{ dir string }

func (r demoRepo) init(ctx context.Context) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q"}, {"symbolic-ref", "HEAD", "refs/heads/main"},
		{"config", "user.name", "Demo User"}, {"config", "user.email", "demo@example.com"}, {"config", "commit.gpgsign", "false"}} {
		if err := r.git(ctx, "", args...); err != nil {
			return err
		}
	}
	return nil
}

func (r demoRepo) first(ctx context.Context) error {
	if err := copyExamples(r.dir); err != nil {
		return err
	}
	if err := r.git(ctx, "", "add", "-A"); err != nil {
		return err
	}
	return r.git(ctx, "Ada Lovelace", "commit", "-q", "-m", "Add orders, refunds and billing")
}

func (r demoRepo) change(ctx context.Context) error {
	file := filepath.Join(r.dir, "jobs", "orders.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), `batch.size: "100"`, `batch.size: "500"`, 1)
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		return err
	}
	return r.git(ctx, "Grace Hopper", "commit", "-q", "-a", "-m", "Bigger batches for orders")
}

func (r demoRepo) revert(ctx context.Context) error {
	return r.git(ctx, "Alan Turing", "revert", "--no-edit", "HEAD")
}

// git runs git as a person; the name is empty where nobody is asked for.
func (r demoRepo) git(ctx context.Context, person string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	if person != "" {
		mail := strings.ToLower(strings.Fields(person)[0]) + "@example.com"
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME="+person, "GIT_AUTHOR_EMAIL="+mail,
			"GIT_COMMITTER_NAME="+person, "GIT_COMMITTER_EMAIL="+mail)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

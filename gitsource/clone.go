package gitsource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
)

// prepare looks at what a former process left and opens the clone if there is a
// whole one.
func (r *Repo) prepare() error {
	if err := os.MkdirAll(filepath.Dir(r.cfg.Dir), 0o755); err != nil {
		return err
	}
	if err := removeStaging(r.cfg.Dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(r.cfg.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && len(entries) == 0:
		return os.Remove(r.cfg.Dir) // the first clone is renamed to here
	case err == nil:
		if err = r.adopt(); err == nil {
			return nil
		}
	}
	// whatever is wrong with it, it can be cloned again
	if err := r.dropStore(); err != nil {
		return err
	}
	return setAside(r.cfg.Dir)
}

// adopt opens the folder as our clone; an error says why it is none.
func (r *Repo) adopt() error {
	s, err := openStore(r.cfg.Dir)
	if err != nil {
		return err
	}
	r.store = s
	cfg, err := s.st.Config()
	if err != nil {
		return err
	}
	origin := cfg.Remotes["origin"]
	if !cfg.Core.IsBare || origin == nil || len(origin.URLs) != 1 || origin.URLs[0] != r.remote.name {
		return errors.New("not a clone of this source")
	}
	if _, err := os.Stat(filepath.Join(r.cfg.Dir, "objects", "info", "alternates")); !errors.Is(err, fs.ErrNotExist) {
		return errors.New("it borrows objects from another repository")
	}
	if err := tidy(r.cfg.Dir); err != nil { // not before it is known to be ours
		return err
	}
	if err := r.loadEnds(); err != nil {
		return err
	}
	if err := r.loadTip(); err != nil {
		return err
	}
	if r.tip.IsZero() {
		return nil
	}
	_, err = s.get(plumbing.CommitObject, r.tip, maxCommit)
	return err
}

// loadTip reads the branch as fetched last. Tips of other branches (the branch
// was changed in the configuration) are kept under refs/keep, so that what they
// reach is not fetched again.
func (r *Repo) loadTip() error {
	refs, err := r.store.refs()
	if err != nil {
		return err
	}
	others := false
	for _, ref := range refs {
		switch {
		case ref.Name() == r.refName():
			r.tip = ref.Hash()
		case ref.Name().IsRemote():
			others = true
			keep := plumbing.ReferenceName("refs/keep/" + ref.Hash().String())
			if err := r.store.st.SetReference(plumbing.NewHashReference(keep, ref.Hash())); err != nil {
				return err
			}
		}
	}
	if !others {
		return nil
	}
	// by folder, since "a" and "a/b" cannot follow one another as files
	if err := os.RemoveAll(filepath.Join(r.cfg.Dir, "refs", "remotes")); err != nil {
		return err
	}
	if r.tip.IsZero() {
		return nil
	}
	return r.store.st.SetReference(plumbing.NewHashReference(r.refName(), r.tip))
}

// loadEnds reads the shallow boundary of the source as of the last fetch.
func (r *Repo) loadEnds() error {
	ids, err := r.store.st.Shallow()
	if err != nil {
		return err
	}
	r.ends = setOf(ids)
	return nil
}

func setOf(ids []plumbing.Hash) map[plumbing.Hash]bool {
	set := make(map[plumbing.Hash]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// initClone makes an empty bare repository that knows its source.
func (r *Repo) initClone(dir string) error {
	repo, err := git.PlainInit(dir, true)
	if err != nil {
		return err
	}
	cfg, err := repo.Config()
	if err != nil {
		return err
	}
	cfg.Remotes["origin"] = &config.RemoteConfig{Name: "origin", URLs: []string{r.remote.name}, Fetch: []config.RefSpec{r.refSpec()}}
	cfg.Raw.Section("gc").SetOption("auto", "0")
	return repo.SetConfig(cfg)
}

// refSpec always has its '+': without it a force push would be ignored in silence.
func (r *Repo) refSpec() config.RefSpec {
	return config.RefSpec("+" + plumbing.NewBranchReferenceName(r.cfg.Branch).String() + ":" + r.refName().String())
}

// setAside moves dir out of the way, in the place of what was set aside before.
func setAside(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	aside := dir + ".aside"
	if err := os.RemoveAll(aside); err != nil {
		return fmt.Errorf("remove %s: %w", aside, err)
	}
	return os.Rename(dir, aside)
}

// removeStaging removes first clones that were not finished.
func removeStaging(dir string) error {
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(dir)+stagingMark) {
			if err := os.RemoveAll(filepath.Join(filepath.Dir(dir), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// stagingMark stands between a clone's name and the random part of the folder
// where its first clone is made.
const stagingMark = ".new-"

// tidy removes what killed processes leave in a clone: lock files, temporary
// packs, and indexes whose pack never came (a later fetch would trust them).
func tidy(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		name := d.Name()
		leftover := strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "tmp_")
		if base, ok := strings.CutSuffix(path, ".idx"); ok {
			_, err := os.Stat(base + ".pack")
			leftover = leftover || errors.Is(err, fs.ErrNotExist)
		}
		if leftover {
			return os.Remove(path)
		}
		return nil
	})
}

package gitsource

import (
	"os"
	"path/filepath"
	"strings"
)

// watched lists the folders to watch for a branch, and the paths in them whose
// events count; "folder/*" stands for everything in it.
func watched(path, branch string) (dirs []string, names map[string]bool) {
	names = map[string]bool{}
	add := func(dir string, children ...string) {
		dirs = append(dirs, dir)
		for _, c := range children {
			names[filepath.Join(dir, c)] = true
		}
	}
	above := nearest(path)
	for p := path; p != filepath.Dir(p); p = filepath.Dir(p) {
		names[p] = true
	}
	git, common := gitDirs(path)
	if git == "" { // nothing there, or just being made
		for _, dir := range []string{path, filepath.Join(path, ".git"), path + ".git"} {
			add(dir, ".git", "HEAD", "objects", "commondir")
		}
		return append(existing(dirs), above), names
	}
	add(path, ".git")
	add(filepath.Dir(common), filepath.Base(common))
	add(common, "HEAD", "packed-refs", "refs", "reftable")
	if git != common {
		add(git, "HEAD")
	}
	names[filepath.Join(common, "reftable")+"/*"] = true
	add(filepath.Join(common, "reftable"))
	dir := filepath.Join(common, "refs")
	for _, part := range strings.Split("heads/"+branch, "/") {
		add(dir, part)
		dir = filepath.Join(dir, part)
	}
	return append(existing(dirs), above), names
}

// nearest is the deepest folder above path that exists: there path appears, or
// what leads to it.
func nearest(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if isDir(dir) || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

func existing(dirs []string) []string {
	var there []string
	for _, dir := range dirs {
		if isDir(dir) {
			there = append(there, dir)
		}
	}
	return there
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// gitDirs finds the repository that git would find at path, and where its
// branches are (elsewhere for a linked worktree); both are empty if there is none.
func gitDirs(path string) (git, common string) {
	for _, try := range []string{filepath.Join(path, ".git"), path, path + ".git"} {
		if target, ok := pointer(try, "gitdir: ", path); ok {
			try = target
		}
		if _, err := os.Stat(filepath.Join(try, "HEAD")); err != nil {
			continue
		}
		if target, ok := pointer(filepath.Join(try, "commondir"), "", try); ok {
			return try, target
		}
		if isDir(filepath.Join(try, "objects")) {
			return try, try
		}
	}
	return "", ""
}

// pointer reads a small file that names a folder, relative to base.
func pointer(file, prefix, base string) (string, bool) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPath {
		return "", false
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), prefix)
	if !ok || target == "" {
		return "", false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(base, target)
	}
	return filepath.Clean(target), true
}

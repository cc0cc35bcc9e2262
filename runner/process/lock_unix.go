//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package process

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock takes f for this process, or tells that another has it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// ours tells whether a file belongs to the user that runs the agent.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

//go:build unix

package process

import (
	"errors"
	"syscall"
)

// ask sends SIGTERM to the group that pid leads, force SIGKILL, and alive
// nothing at all. All tell whether there was anybody left in the group.
func ask(pid int) (bool, error)   { return signalGroup(pid, syscall.SIGTERM) }
func force(pid int) (bool, error) { return signalGroup(pid, syscall.SIGKILL) }
func alive(pid int) (bool, error) { return signalGroup(pid, 0) }

func signalGroup(pid int, sig syscall.Signal) (bool, error) {
	err := syscall.Kill(-pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return false, nil
	}
	return true, err
}

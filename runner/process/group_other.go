//go:build !unix

package process

import (
	"errors"
	"os"
	"syscall"
)

func attr() *syscall.SysProcAttr { return nil }

// Without process groups and signals a child is only ever killed.
func ask(pid int) (bool, error) { return force(pid) }
func alive(int) (bool, error)   { return false, nil }

func force(pid int) (bool, error) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false, nil // gone
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return true, err
	}
	return false, nil
}

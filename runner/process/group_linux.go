package process

import "syscall"

// attr makes a child the leader of its own group, and lets it die with us.
func attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

//go:build unix && !linux

package process

import "syscall"

// attr makes a child the leader of its own group. There is no parent-death
// signal here: children outlive a killed agent.
func attr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Package cli owns what the commands of both programs have in common: flags
// with environment twins, exit codes, the form of messages, the logger and the
// version that was built in. Source: CONTRACT section 6.
//
// It never knows a command and never ends the process: Main gives the exit code
// to whoever called it. It keeps no state, so a crash leaves nothing behind.
package cli

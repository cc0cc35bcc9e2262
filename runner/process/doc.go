// Package process owns the launcher `process`: a job is as many child processes
// as its parallelism says, started from an argument list without a shell.
// Source: CONTRACT section 2.
//
// A child gets JOB_NAME, JOB_TENANT, JOB_GID (when known), JOB_VERSION,
// JOB_PARALLELISM, JOB_INDEX (0 to parallelism-1), JOB_GENERATION,
// JOB_CONFIG_FILE and JOB_CONFIG_<KEY>, the factory's own variables, and of the
// agent's environment nothing but PATH, HOME, LANG, TZ and TMPDIR. The config
// file is the authority: one JSON object of strings, secrets resolved, mode
// 0600 in a folder of mode 0700, removed when the job ends. Its standard input
// is empty; what it writes goes to the agent's log, line by line.
//
// When only the parallelism changes, processes are added or ended, the highest
// index first, and the others are left alone: they keep their pid, and with it
// the JOB_PARALLELISM and JOB_VERSION that they were started with.
//
// Every child leads a process group of its own. It is asked to end with SIGTERM
// to the group and killed with SIGKILL after the grace; whatever is left of the
// group goes with it. A child that dies by itself is started again, later each
// time; after some quick deaths in a row the copy counts as failed.
//
// It never runs a shell, never touches the store and never prints a value of a
// config. When the agent is killed, the kernel kills its children (Linux: the
// parent-death signal, which hangs on the thread that started them, so all are
// started by one thread that lives as long as the launcher); what children of
// children do then is theirs. A killed agent leaves its folder behind; the next
// launcher on the same machine removes folders whose owner is gone.
package process

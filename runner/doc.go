// Package runner owns what an agent asks of a launcher, and how references to
// secrets are resolved at a launch. Launchers live in packages below it, one
// for each engine.
//
// It never decides what should run and never speaks to the store. It keeps
// nothing, so a crash leaves nothing behind; what a crash of an agent leaves of
// a job is each launcher's own matter and told in its package.
package runner

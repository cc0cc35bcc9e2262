// Package e2e tells the stories that Pawl is for, with both programs as built,
// real Git repositories, real redis-server processes and real child processes:
// ledgers against an independent fold, crashes, rivals, secrets.
//
// It holds tests only. Everything a test starts ends with it.
package e2e

// Package archtest holds the plan of the house as a test: who may import whom,
// how long a file may be, what stays out of non-test code. It owns no code that
// runs anywhere else.
package archtest

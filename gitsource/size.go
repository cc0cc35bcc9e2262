package gitsource

import (
	"io"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// overPause is how long a commit whose objects did not fit is not asked for
// again, while the branch stays there: each try is a download.
const overPause = time.Hour

// tooMuch is a commit that did not fit into the clone.
type tooMuch struct {
	want plumbing.Hash
	at   time.Time
	err  error
}

// again is the same answer for the same commit, without a download.
func (t tooMuch) again(want plumbing.Hash) error {
	if t.err == nil || t.want != want || time.Since(t.at) > overPause {
		return nil
	}
	return t.err
}

// counter counts what comes in, and stops at a limit.
type counter struct {
	in          io.Reader
	have, limit int64 // bytes
}

func (c *counter) of(in io.Reader) io.Reader {
	c.in = in
	return c
}

// Read is that of what is counted.
func (c *counter) Read(b []byte) (int, error) {
	if c.have > c.limit {
		return 0, c.tooLarge()
	}
	n, err := c.in.Read(b)
	if c.have += int64(n); c.have > c.limit {
		return 0, c.tooLarge()
	}
	return n, err
}

func (c *counter) tooLarge() error {
	return &TooLargeError{What: "the clone, as far as it was received,", Size: c.have, Limit: c.limit}
}

// counter starts with what the clone has.
func (r *Repo) counter() (*counter, error) {
	size, err := r.store.size()
	return &counter{have: size, limit: r.cfg.MaxBytes}, err
}

// judge remembers a commit that did not fit. What go-git made of the error does
// not matter then.
func (r *Repo) judge(want plumbing.Hash, count *counter, err error) error {
	if count.have <= count.limit {
		return err
	}
	r.over = tooMuch{want: want, at: time.Now(), err: count.tooLarge()}
	return r.over.err
}

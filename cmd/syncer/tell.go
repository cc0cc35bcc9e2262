package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/syncer"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// teller prints what passes do: versions on stdout, findings and progress on stderr.
type teller struct {
	mu     sync.Mutex
	out    io.Writer
	errs   io.Writer
	log    *slog.Logger
	once   bool // findings are told each time, as plain lines
	plain  bool // no bar
	began  map[string]time.Time
	said   map[string]time.Time
	bar    *progressbar.ProgressBar
	barFor string
}

// A replay shorter than quiet shows nothing; a longer one a bar on a terminal
// and elsewhere a line each lineEvery.
const (
	quiet     = 2 * time.Second
	lineEvery = 3 * time.Second
)

func (a *app) teller(log *slog.Logger, once bool) *teller {
	f, ok := a.stderr.(*os.File)
	return &teller{out: a.stdout, errs: a.stderr, log: log, once: once,
		plain: a.noColor || !ok || !term.IsTerminal(int(f.Fd())),
		began: map[string]time.Time{}, said: map[string]time.Time{}}
}

// tell prints one event.
func (t *teller) tell(e syncer.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	if e.Version != nil {
		if _, err := fmt.Fprintln(t.out, e.String()); err != nil {
			t.log.Error("print a version", "error", err)
		}
	}
	if e.Refused != nil && (t.once || !e.Again) {
		t.findings(fmt.Sprintf("%s: commit %s by %s is %s", e.Tenant, spec.Short(e.Refused.ID), e.Refused.Author, e.State), e.Reasons)
		return
	}
	if e.Refused == nil && len(e.Reasons) > 0 {
		t.findings("", e.Reasons)
	}
}

// findings prints a headline and its findings, one a line.
func (t *teller) findings(head string, fs []spec.Finding) {
	if head != "" {
		t.line(head)
	}
	for _, f := range fs {
		t.line(f.String())
	}
}

func (t *teller) line(s string) {
	if !t.once {
		t.log.Warn(s)
		return
	}
	if _, err := fmt.Fprintln(t.errs, "syncer: "+s); err != nil {
		t.log.Error("print a finding", "error", err)
	}
}

// progress shows how far a long replay is.
func (t *teller) progress(tenant, phase string, done, total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	key := tenant + " " + phase
	began, ok := t.began[key]
	switch {
	case done == total:
		delete(t.began, key)
		delete(t.said, key)
		t.clear()
		return
	case !ok:
		t.began[key] = now
		return
	case now.Sub(began) < quiet:
		return
	case t.plain:
		if now.Sub(t.said[key]) >= lineEvery {
			t.said[key] = now
			t.log.Info("working", "tenant", tenant, "phase", phase, "done", done, "of", total)
		}
		return
	}
	if t.barFor != key {
		t.clear()
		t.barFor = key
		t.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(t.errs), progressbar.OptionSetDescription(key),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	if err := t.bar.Set(done); err != nil {
		t.log.Debug("progress bar", "error", err)
	}
}

// clear takes the bar from the terminal.
func (t *teller) clear() {
	if t.bar == nil {
		return
	}
	if err := t.bar.Clear(); err != nil {
		t.log.Debug("progress bar", "error", err)
	}
	t.bar, t.barFor = nil, ""
}

func (t *teller) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
}

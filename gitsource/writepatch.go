package gitsource

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/utils/diff"
)

// patchTime bounds the search for the shortest difference; behind it comes a longer one.
const patchTime = 2 * time.Second

// patchContext is the number of lines around a change.
const patchContext = 3

// Text is one side of a Patch. Lines that must not be read are compared as they
// are and written as Shown has them, which must have as many lines.
type Text struct {
	Data  []byte // nil: the file does not exist on this side
	Shown []byte // nil: as Data
}

// Patch is the unified difference of one file, as `git apply` reads it if
// nothing is hidden. It is empty if both sides have the same bytes.
func Patch(path string, from, to Text) string {
	if string(from.Data) == string(to.Data) && (from.Data == nil) == (to.Data == nil) {
		return ""
	}
	var b strings.Builder
	a, z := quoted("a/"+path), quoted("b/"+path)
	fmt.Fprintf(&b, "diff --git %s %s\n", a, z)
	switch {
	case from.Data == nil:
		b.WriteString("new file mode " + modeFile + "\n")
		a = "/dev/null"
	case to.Data == nil:
		b.WriteString("deleted file mode " + modeFile + "\n")
		z = "/dev/null"
	}
	lines := align(from, to)
	if len(lines) > 0 {
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", a, z)
	}
	hunks(&b, lines)
	return b.String()
}

// quoted is a path as git writes it in a patch.
func quoted(path string) string {
	if !strings.ContainsAny(path, `"\`) {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// patchLine is a line of a patch: its sign and what is shown of it.
type patchLine struct {
	sign byte
	text string
}

// align brings both sides into one row of lines.
func align(from, to Text) []patchLine {
	var out []patchLine
	old, is := from.lines(), to.lines()
	for _, d := range diff.DoWithTimeout(string(from.Data), string(to.Data), patchTime) {
		for range strings.Count(d.Text, "\n") + tail(d.Text) {
			switch kind := int(d.Type); {
			case kind < 0:
				out, old = append(out, patchLine{'-', old[0]}), old[1:]
			case kind > 0:
				out, is = append(out, patchLine{'+', is[0]}), is[1:]
			default:
				out, old, is = append(out, patchLine{' ', is[0]}), old[1:], is[1:]
			}
		}
	}
	return out
}

// tail is 1 if a text has a last line without its end.
func tail(s string) int {
	if s == "" || strings.HasSuffix(s, "\n") {
		return 0
	}
	return 1
}

// lines gives what is shown of each line, with its end.
func (t Text) lines() []string {
	shown := t.Shown
	if shown == nil {
		shown = t.Data
	}
	lines := strings.SplitAfter(string(shown), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// hunks writes the changed lines with what is around them.
func hunks(b *strings.Builder, lines []patchLine) {
	old, is := 1, 1 // numbers of the line that comes next
	for i := 0; i < len(lines); {
		if lines[i].sign == ' ' && !near(lines, i) {
			old, is, i = old+1, is+1, i+1
			continue
		}
		end, olds, news := i, 0, 0
		for ; end < len(lines) && (lines[end].sign != ' ' || near(lines, end)); end++ {
			if lines[end].sign != '+' {
				olds++
			}
			if lines[end].sign != '-' {
				news++
			}
		}
		fmt.Fprintf(b, "@@ -%s +%s @@\n", span(old, olds), span(is, news))
		for _, l := range lines[i:end] {
			b.WriteByte(l.sign)
			b.WriteString(l.text)
			if tail(l.text) > 0 {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
		old, is, i = old+olds, is+news, end
	}
}

// near tells whether a change is close to a line.
func near(lines []patchLine, i int) bool {
	for _, l := range lines[max(0, i-patchContext):min(len(lines), i+patchContext+1)] {
		if l.sign != ' ' {
			return true
		}
	}
	return false
}

// span is where a hunk begins and how long it is; an empty one stands behind the line before.
func span(start, count int) string {
	if count == 0 {
		start--
	}
	return fmt.Sprintf("%d,%d", start, count)
}

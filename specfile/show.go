package specfile

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const shownRunes = 40

// show prints a word from a file: cut, and quoted if it is more than a word.
func show(s string) string {
	runes, cut := 0, len(s)
	for i := range s {
		if runes++; runes > shownRunes {
			cut = i
			break
		}
	}
	tail := ""
	if cut < len(s) {
		s, tail = s[:cut], "…"
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r == ' ' || r == '"' || !unicode.IsPrint(r) }) {
		return strconv.Quote(s) + tail
	}
	return s + tail
}

// suggest gives " (name?)" for the name that was probably meant, or nothing.
func suggest(have string, names []string) string {
	if len(have) > 2*shownRunes {
		return ""
	}
	best, bestDistance := "", 3
	for _, name := range names {
		if strings.EqualFold(have, name) {
			return " (" + name + "?)"
		}
		if d := distance(strings.ToLower(have), strings.ToLower(name)); d < bestDistance && 2*d < len(name) {
			best, bestDistance = name, d
		}
	}
	if best == "" && len(have) >= 4 {
		at := slices.IndexFunc(names, func(name string) bool {
			return strings.Contains(strings.ToLower(name), strings.ToLower(have))
		})
		if at >= 0 {
			best = names[at]
		}
	}
	if best == "" {
		return ""
	}
	return " (" + best + "?)"
}

// distance is how many bytes must be put in, left out, changed or swapped with
// their neighbour to turn a into b.
func distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

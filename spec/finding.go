package spec

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Finding is one thing that is wrong, or worth a warning, at a place in a file.
// Its message never holds a secret.
type Finding struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"`   // from 1; 0 = the whole file
	Column  int    `json:"column,omitempty"` // from 1, in characters; 0 = the whole line
	Field   string `json:"field,omitempty"`  // such as spec.parallelism; empty = the document
	Message string `json:"message"`
	Warning bool   `json:"warning,omitempty"` // it refuses nothing
}

// String is path:line:column: field: message; what is not known is left out.
// A path with control characters, quotes or broken UTF-8 is quoted.
func (f Finding) String() string {
	var b strings.Builder
	if f.Path != "" {
		b.WriteString(QuotePath(f.Path))
		if f.Line > 0 {
			b.WriteString(":" + strconv.Itoa(f.Line))
			if f.Column > 0 {
				b.WriteString(":" + strconv.Itoa(f.Column))
			}
		}
		b.WriteString(": ")
	}
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	if f.Warning {
		b.WriteString("warning: ")
	}
	return b.String() + f.Message
}

// QuotePath prints a path as it is, or as a Go string if it holds anything that
// could confuse a terminal or a log.
func QuotePath(p string) string {
	if q := strconv.Quote(p); q != `"`+p+`"` {
		return q
	}
	return p
}

// SortFindings orders findings by path, line, column, field and message, and
// drops those said twice.
func SortFindings(fs []Finding) []Finding {
	slices.SortFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(fs)
}

// Split separates what refuses a commit from what only warns.
func Split(fs []Finding) (errors, warnings []Finding) {
	for _, f := range fs {
		if f.Warning {
			warnings = append(warnings, f)
		} else {
			errors = append(errors, f)
		}
	}
	return errors, warnings
}

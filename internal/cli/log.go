package cli

import (
	"io"
	"log/slog"
)

// Logger writes to w as text or as JSON, one object a line. Any other format is
// wrong usage.
func Logger(w io.Writer, format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, nil)), nil
	}
	return nil, ErrorHint(Usagef("--log-format %q is unknown", format), "use text or json")
}

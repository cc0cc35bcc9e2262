package process

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
)

// maxLine bounds one line of output in the log, in bytes.
const maxLine = 8 << 10

// relay logs what a child writes, a record for each line, until r ends. A line
// that is too long is cut. A child that writes faster than the log takes it
// waits: nothing is queued.
func relay(r io.Reader, log *slog.Logger) {
	br := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := br.ReadSlice('\n')
		cut := errors.Is(err, bufio.ErrBufferFull)
		if len(line) > 0 {
			attrs := []any{"line", strings.ToValidUTF8(string(bytes.TrimRight(line, "\r\n")), "\uFFFD")}
			if cut {
				attrs = append(attrs, "cut", true)
			}
			log.Info("output", attrs...)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = br.ReadSlice('\n')
		}
		if err != nil {
			return // the pipe has ended or was closed
		}
	}
}

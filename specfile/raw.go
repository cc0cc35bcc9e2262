package specfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/spec"
)

const bom = "\uFEFF"

// wrong is a mistake at a byte offset; -1 = the whole file.
type wrong struct {
	offset  int
	message string
}

// rawCheck looks at a file's bytes before any parser does. It gives the text
// without its byte order mark, or what is wrong with it.
func rawCheck(data []byte) (text []byte, w *wrong) {
	if w := encoding(data); w != nil {
		return nil, w
	}
	text = bytes.TrimPrefix(data, []byte(bom))
	if bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/")) {
		return nil, &wrong{0, "a large-file (LFS) pointer in place of a spec: commit the file itself"}
	}
	if w := characters(text); w != nil {
		return nil, w
	}
	if at := conflict(text); at >= 0 {
		return nil, &wrong{at, "merge conflict markers (<<<<<<< ======= >>>>>>>) are left in: resolve the conflict"}
	}
	return text, nil
}

// encoding refuses what is too big or not UTF-8.
func encoding(data []byte) *wrong {
	if len(data) > MaxFileBytes {
		return &wrong{-1, fmt.Sprintf("file of %d bytes (limit %d): split it", len(data), MaxFileBytes)}
	}
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return &wrong{-1, "UTF-16 with a byte order mark: save the file as UTF-8"}
		}
	}
	if utf8.Valid(data) {
		return nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			text := bytes.TrimPrefix(data, []byte(bom))
			return &wrong{at - (len(data) - len(text)),
				fmt.Sprintf("byte %02X at offset %d is not UTF-8: save the file as UTF-8", data[at], at)}
		}
		at += n
	}
}

// characters refuses those that YAML does not allow or that readers of YAML
// take differently.
func characters(text []byte) *wrong {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != 0x7f || c == '\n' || c == '\t' || c == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
				continue
			}
		}
		r, n := utf8.DecodeRune(text[i:])
		if message := oddCharacter(r); message != "" {
			return &wrong{i, message}
		}
		i += n
	}
	return nil
}

func oddCharacter(r rune) string {
	switch {
	case r == 0:
		return "a NUL byte: save the file as UTF-8 text"
	case r == '\r':
		return "a carriage return without a line feed: end lines with LF or CR LF"
	case r == 0xFEFF:
		return "a second byte order mark (U+FEFF): remove it"
	case r == 0x85, r == 0x2028, r == 0x2029:
		return fmt.Sprintf(`character U+%04X is a line break for some readers of YAML: write it as an escape in double quotes`, r)
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0xFFFE, r == 0xFFFF:
		return fmt.Sprintf(`control character U+%04X: write it as an escape in double quotes`, r)
	}
	return ""
}

// conflict gives the offset of the first line that Git left in a file with a
// merge conflict, or -1. Only the first column counts: text below a key is indented.
func conflict(text []byte) int {
	for _, mark := range []string{"<<<<<<<", ">>>>>>>"} {
		for at := 0; at < len(text); {
			i := bytes.Index(text[at:], []byte(mark))
			if i < 0 {
				break
			}
			i += at
			at = i + len(mark)
			atStart := i == 0 || text[i-1] == '\n'
			if atStart && (at == len(text) || strings.IndexByte(" \r\n", text[at]) >= 0) {
				return i
			}
		}
	}
	return -1
}

// finding places w in a file; lines and columns (in characters) are counted from 1.
func (w wrong) finding(path string, text []byte) spec.Finding {
	f := spec.Finding{Path: path, Message: w.message}
	if w.offset >= 0 {
		before := text[:min(w.offset, len(text))]
		f.Line = 1 + bytes.Count(before, []byte("\n"))
		f.Column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	}
	return f
}

// isFormat tells of bidirectional controls: they show a reader another text
// than the one that is stored.
func isFormat(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200E || r == 0x200F || r == 0x061C
}

// isControl tells of characters that no name may hold.
func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError
}

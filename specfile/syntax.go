package specfile

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/spec"
	"go.yaml.in/yaml/v3"
)

var errParser = errors.New("the parser gave up on it")

// documents parses a file into its documents, one at a time. A panic of the
// parser is an error of the file.
type documents struct{ dec *yaml.Decoder }

func newDocuments(text []byte) documents {
	return documents{yaml.NewDecoder(bytes.NewReader(text))}
}

// next gives the root of the next document, or io.EOF.
func (d documents) next() (root *yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			root, err = nil, errParser
		}
	}()
	var doc yaml.Node
	if err := d.dec.Decode(&doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, io.ErrUnexpectedEOF
	}
	return doc.Content[0], nil
}

// syntaxFinding turns an error of the parser into a finding. The parser's text
// may repeat a word of the file, so only known texts are passed on.
func syntaxFinding(path string, text []byte, s *scanner, err error) spec.Finding {
	switch {
	case s.template >= 0:
		return wrong{s.template, templateLeft}.finding(path, text)
	case s.alias >= 0 && strings.HasPrefix(err.Error(), "yaml: unknown anchor "):
		return wrong{s.alias, "aliases are not allowed: put text that begins with * in quotes"}.finding(path, text)
	}
	line, problem := splitError(err)
	return spec.Finding{Path: path, Line: line, Message: "not valid YAML: " + problem}
}

// splitError takes the line and the problem out of "yaml: line 3: problem". The
// line is 0 if it is not known.
func splitError(err error) (line int, problem string) {
	problem = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(problem, "line "); ok {
		number, after, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, problem = n, after
		}
	}
	if strings.HasPrefix(problem, "unknown anchor ") || strings.ContainsAny(problem, "\"`") || strings.HasPrefix(problem, "cannot decode") || len(problem) > 200 {
		return line, errParser.Error()
	}
	if line == 0 {
		line = 1
	} else if ofGrammar(problem) {
		line++ // the parser counts these from 0
	}
	return line, problem + advice(problem)
}

// ofGrammar tells the problems of the parser's grammar from those of its
// scanner, which count lines differently.
func ofGrammar(problem string) bool {
	for _, expected := range []string{"<stream-start>", "<document start>", "node content", "'-' indicator", "key", "',' or ']'", "',' or '}'"} {
		if problem == "did not find expected "+expected {
			return true
		}
	}
	return false
}

// advice gives the usual reason of a problem.
func advice(problem string) string {
	switch problem {
	case "mapping values are not allowed in this context":
		return " (a value with : in it must be in quotes, or the indent is wrong)"
	case "found character that cannot start any token":
		return " (a value that begins with @, `, % or the like must be in quotes)"
	case "could not find expected ':'":
		return " (a key without its colon)"
	case "did not find expected key":
		return " (is the indent right?)"
	case "found unexpected end of stream":
		return " (a quote that is not closed?)"
	case "did not find expected <document start>":
		return " (a document after ... begins with ---)"
	}
	return ""
}

package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// try sends one command over a connection of its own: no client library stands
// between a test and its server.
func (s *Server) try(args ...string) (reply string, err error) {
	conn, err := net.DialTimeout(s.network, s.addr, time.Second)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return "", err
	}
	return readReply(bufio.NewReader(conn))
}

// readReply reads one reply; the elements of an array are joined by line breaks.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", errors.New("empty line in place of a reply")
	}
	rest := line[1:]
	switch line[0] {
	case '+', ':':
		return rest, nil
	case '-':
		return "", errors.New(rest)
	case '$', '*':
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return "", err
		}
		if line[0] == '*' {
			return readArray(r, n)
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return "", err
		}
		return string(text[:n]), nil
	}
	return "", fmt.Errorf("reply of unknown type %q", line[0])
}

func readArray(r *bufio.Reader, n int) (string, error) {
	var all []string
	for range n {
		one, err := readReply(r)
		if err != nil {
			return "", err
		}
		all = append(all, one)
	}
	return strings.Join(all, "\n"), nil
}

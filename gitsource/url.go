package gitsource

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// Local gives the absolute path of a source on this machine (a path or a
// file:// URL), and whether url is one. As for git, "host:path" is not.
func Local(url string) (path string, ok bool) {
	scheme, _, hasScheme := cutScheme(url)
	switch {
	case url == "":
		return "", false
	case hasScheme && scheme == "file":
		return filePath(url)
	case hasScheme || scpLike(url):
		return "", false
	}
	abs, err := filepath.Abs(url)
	return abs, err == nil
}

// filePath is the path of a file:// URL; '?' and '#' are bytes of a path there.
func filePath(raw string) (string, bool) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", false
	}
	p := u.Path
	if u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	if u.Fragment != "" {
		p += "#" + u.Fragment
	}
	return filepath.Clean(p), filepath.IsAbs(p)
}

// Redact is url without user, password, query and fragment, for messages and
// for the clone's own configuration. What cannot be parsed is cut just so.
func Redact(url string) string {
	if path, ok := Local(url); ok {
		return path
	}
	scheme, rest, ok := cutScheme(url)
	if !ok { // user@host:path
		return url[strings.LastIndexByte(url[:strings.IndexByte(url+":", ':')], '@')+1:]
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	return scheme + "://" + strings.TrimSuffix(host+"/"+path, "/")
}

// cutScheme splits scheme://rest; the scheme is in lower case.
func cutScheme(url string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(url, "://")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/@:?#") {
		return "", url, false
	}
	return strings.ToLower(scheme), rest, true
}

// scpLike tells whether a colon stands before the first slash.
func scpLike(url string) bool {
	colon, slash := strings.IndexByte(url, ':'), strings.IndexByte(url, '/')
	return colon > 0 && (slash < 0 || colon < slash)
}

// endpoint is where and how to fetch. No error holds anything of the URL but
// its redacted form.
func endpoint(raw string) (*transport.Endpoint, error) {
	if raw == "" {
		return nil, errors.New("the source's url is empty")
	}
	if path, ok := Local(raw); ok {
		return &transport.Endpoint{Protocol: "file", Path: path}, nil
	}
	scheme, _, ok := cutScheme(raw)
	if !ok {
		scheme = "ssh"
	}
	switch scheme {
	case "http", "https", "ssh":
	default:
		return nil, fmt.Errorf("source %s: %s:// is not supported; use a path, file://, http(s)://, ssh:// or user@host:path",
			Redact(raw), scheme)
	}
	if strings.ContainsAny(raw, "?#") {
		return nil, fmt.Errorf("source %s: a query in the url is not supported; give credentials as user and password", Redact(raw))
	}
	ep, err := transport.NewEndpoint(raw)
	if err != nil || ep.Host == "" {
		return nil, fmt.Errorf("source %s: the url cannot be parsed; check for characters that need %%-escapes", Redact(raw))
	}
	return ep, nil
}

package specfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// image is a reference to a container image, in its parts.
type image struct{ repository, tag, digest string }

const (
	tagPattern   = `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`
	imagePattern = `^[a-z0-9][a-z0-9._:/-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`
	maxImage     = 512
)

// parseImage splits a reference: first the digest, then as tag what follows the
// last colon after the last slash, so that a registry's port is no tag.
func parseImage(s string) (image, error) {
	if len(s) > maxImage {
		return image{}, fmt.Errorf("image of %s bytes (limit %d)", commas(len(s)), maxImage)
	}
	var i image
	rest, digest, hasDigest := strings.Cut(s, "@")
	if hasDigest {
		hex, ok := strings.CutPrefix(digest, "sha256:")
		if !ok || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
			return image{}, fmt.Errorf("the digest of %s is not sha256: and 64 lower-case hex digits", show(s))
		}
		i.digest = digest
	}
	i.repository = rest
	if colon := strings.LastIndexByte(rest, ':'); colon > strings.LastIndexByte(rest, '/') {
		i.repository, i.tag = rest[:colon], rest[colon+1:]
		if err := checkTag(i.tag); err != nil {
			return image{}, err
		}
	}
	return i, checkRepository(s, i.repository)
}

func checkRepository(s, repository string) error {
	if strings.ToLower(repository) != repository {
		return fmt.Errorf("the repository of %s must be lower case", show(s))
	}
	parts := strings.Split(repository, "/")
	if host, port, ok := strings.Cut(parts[0], ":"); ok && len(parts) > 1 {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || skip(port, "0123456789") != "" {
			return fmt.Errorf("the port of the registry in %s is not a number from 1 to 65535", show(s))
		}
		parts[0] = host
	}
	for _, part := range parts {
		if !isComponent(part) {
			return fmt.Errorf("%s is not an image: REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST", show(s))
		}
	}
	return nil
}

// isComponent tells of a-z 0-9 with . _ - between them.
func isComponent(s string) bool {
	return s != "" && skip(s, "abcdefghijklmnopqrstuvwxyz0123456789._-") == "" && strings.Trim(s, "._-") == s
}

func checkTag(tag string) error {
	switch {
	case tag == "":
		return errors.New("the tag is empty: write one or leave it out")
	case strings.Contains(tag, ":"):
		return fmt.Errorf("%s is not a tag: a digest belongs to an image, after @", show(tag))
	case len(tag) > 128 || strings.Trim(tag[:1], ".-") == "" ||
		skip(tag, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "":
		return fmt.Errorf("%s is not a tag: letters, digits, _ . and -, at most 128, not beginning with . or -", show(tag))
	}
	return nil
}

func tagRule() rule { return rule{check: checkTag, pattern: tagPattern, max: 128} }

func imageRule() rule {
	return rule{pattern: imagePattern, max: maxImage, check: func(s string) error {
		_, err := parseImage(s)
		return err
	}}
}

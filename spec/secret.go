package spec

import "strings"

// SecretPrefix marks config keys whose value is a reference to a secret.
const SecretPrefix = "secret."

// Mask stands wherever a secret literal would.
const Mask = "***"

// Schemes of secret references, each with what follows it. Source: CONTRACT
// section 2, R-A10 (file: is Pawl's own).
const (
	SchemeEnv  = "env:"  // an environment variable of the agent
	SchemeSys  = "sys:"  // a -D name=value of the agent
	SchemeFile = "file:" // a file that the agent may read
)

// IsSecret tells whether a config key names a secret.
func IsSecret(key string) bool { return strings.HasPrefix(key, SecretPrefix) }

// SplitReference splits a reference into scheme and name; ok is false for a literal.
func SplitReference(value string) (scheme, name string, ok bool) {
	for _, s := range []string{SchemeEnv, SchemeSys, SchemeFile} {
		if name, ok := strings.CutPrefix(value, s); ok {
			return s, name, true
		}
	}
	return "", "", false
}

// IsSecretLiteral tells whether a config entry holds a secret itself instead of a reference.
func IsSecretLiteral(key, value string) bool {
	if !IsSecret(key) {
		return false
	}
	_, _, ref := SplitReference(value)
	return !ref
}

// Shown is the value of a config entry as it may be printed, hashed or stored
// outside the job itself: a secret literal is masked, all else is as it is.
func Shown(key, value string) string {
	if IsSecretLiteral(key, value) {
		return Mask
	}
	return value
}

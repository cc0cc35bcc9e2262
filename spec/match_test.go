package spec_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

func TestGlobMeansWhatItSays(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"**", "", true}, {"?", "", false},
		{"*", "subscription/billing", true}, {"subscription/*", "subscription/billing", true},
		{"orders-*", "orders-eu", true}, {"orders-*", "orders-", true}, {"orders-*", "orders", false},
		{"*-eu", "orders-eu-eu", true}, {"a*b*c", "aXbYbZc", true}, {"a*b*c", "aXcYb", false},
		{"?", "é", true}, {"??", "é", false}, {"*??", "€", false}, {"Müll?r", "Müller", true},
		{"[a]", "a", false}, {"[a]", "[a]", true}, {`\*`, `\x`, true}, {"A", "a", false},
		{"аdmin", "admin", false}, // the first letter of the pattern is Cyrillic
		{"*\n*", "a\nb", true},
	} {
		require.Equal(t, c.want, spec.Glob(c.pattern, c.s), "%q %q", c.pattern, c.s)
	}
}

func TestGlobTakesNoLongerForHostilePatterns(t *testing.T) {
	begin := time.Now()
	require.False(t, spec.Glob(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 2000)))
	require.Less(t, time.Since(begin), 2*time.Second)
}

func TestMailsDifferByTheCaseOfTheLocalPartAlone(t *testing.T) {
	require.True(t, spec.SameMail("Dev@Example.COM", "Dev@example.com"))
	require.False(t, spec.SameMail("Dev@example.com", "dev@example.com"))
	require.False(t, spec.SameMail("", ""))
	require.False(t, spec.SameMail("dev@example.com", "dev@еxample.com"), "the second has a Cyrillic letter")
	require.False(t, spec.SameMail("dev@\u212Aelvin.example", "dev@kelvin.example"), "only ASCII is folded")
	require.True(t, spec.GlobMail("*@EXAMPLE.com", "dev@example.COM"))
	require.False(t, spec.GlobMail("*@example.com", "dev@example.com.evil.example"))
}

// naive is Glob as one would define it: exponential, and plainly right.
func naive(pattern, s string) bool {
	if pattern == "" {
		return s == ""
	}
	_, m := utf8.DecodeRuneInString(pattern)
	_, n := utf8.DecodeRuneInString(s)
	switch {
	case pattern[0] == '*':
		return naive(pattern[1:], s) || s != "" && naive(pattern, s[n:])
	case s == "":
		return false
	case pattern[0] == '?' || pattern[:m] == s[:n]:
		return naive(pattern[m:], s[n:])
	}
	return false
}

func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"a*b?", "aXbc"}, {"*??", "€"}, {"*é*", "caféé"}, {"\xff*", "\xff\xfe"}, {"*a*a*", "baab"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 12 || len(s) > 16 {
			return // the naive matcher is exponential
		}
		if got, want := spec.Glob(pattern, s), naive(pattern, s); got != want {
			t.Fatalf("Glob(%q, %q) = %v, the definition says %v", pattern, s, got, want)
		}
	})
}

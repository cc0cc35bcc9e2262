package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// SpecHash is the content hash of the Java contract: lower-case hex SHA-256 of
// jobName|tenant|pipelineFactory| + key=value; for each config key in UTF-16
// code unit order + |parallelism|description. A secret literal enters as ***.
// It is not injective, so it is for comparing across systems and never decides;
// Equal and Digest do. Source: CONTRACT section 4.
func (j Job) SpecHash(tenant string) string {
	var b strings.Builder
	b.WriteString(j.Name + "|" + tenant + "|" + j.Factory + "|")
	for _, k := range j.ConfigKeys() {
		b.WriteString(k + "=" + Shown(k, j.Config[k]) + ";")
	}
	b.WriteString("|" + strconv.Itoa(j.Parallelism) + "|" + j.Description)
	return hexSum([]byte(b.String()))
}

// Digest is the hex SHA-256 over j's canonical JSON, suspend included, secret
// literals masked. Unlike SpecHash it is injective but for the masking.
func (j Job) Digest() string {
	config := make(map[string]string, len(j.Config))
	for k, v := range j.Config {
		config[k] = Shown(k, v)
	}
	return hexSum(canonical(struct {
		Kind        Kind              `json:"kind"`
		Name        string            `json:"name"`
		Factory     string            `json:"pipelineFactory"`
		Config      map[string]string `json:"config"`
		Parallelism int               `json:"parallelism"`
		Suspend     bool              `json:"suspend"`
		Description string            `json:"description"`
	}{KindJob, j.Name, j.Factory, config, j.Parallelism, j.Suspend, j.Description}))
}

// Digest is the hex SHA-256 over s's canonical JSON.
func (s Subscription) Digest() string {
	return hexSum(canonical(struct {
		Kind Kind `json:"kind"`
		Subscription
	}{KindSubscription, s.normal()}))
}

// canonical encodes v on one line without HTML escaping; struct order is field
// order, maps are sorted by key.
func canonical(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("spec: canonical JSON of our own structs: " + err.Error()) // only strings, numbers and booleans in them
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// compareUTF16 orders strings by UTF-16 code units, as Java does: characters
// beyond U+FFFF (surrogates D800..DFFF) come before U+E000..U+FFFF.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			return firstUnit(ra, rb)
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) - len(b)
}

func firstUnit(a, b rune) int {
	ua, ub := utf16.AppendRune(nil, a), utf16.AppendRune(nil, b)
	for i := range min(len(ua), len(ub)) {
		if ua[i] != ub[i] {
			return int(ua[i]) - int(ub[i])
		}
	}
	return len(ua) - len(ub)
}

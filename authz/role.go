package authz

import "fmt"

// Role is what a token of the API may do; the greater covers the smaller. The
// zero value is no role and may nothing.
type Role int

// The roles, from little to much. Source: CONTRACT section 7.
const (
	Reader   Role = iota + 1 // looks
	Operator                 // stops, resumes, restarts and asks for a sync
	Admin                    // approves, adopts and hands out tokens
)

// ParseRole reads READER, OPERATOR or ADMIN, exactly.
func ParseRole(s string) (Role, error) {
	for r := Reader; r <= Admin; r++ {
		if r.String() == s {
			return r, nil
		}
	}
	return 0, fmt.Errorf("role %q is none of READER, OPERATOR and ADMIN", s)
}

// String is the role as ParseRole reads it; what is no role is NONE.
func (r Role) String() string {
	switch r {
	case Reader:
		return "READER"
	case Operator:
		return "OPERATOR"
	case Admin:
		return "ADMIN"
	}
	return "NONE"
}

// Covers tells whether r may do what need asks for. What is no role covers
// nothing and is covered by nothing.
func (r Role) Covers(need Role) bool {
	return need >= Reader && need <= Admin && r >= need && r <= Admin
}

// MarshalText is String; it refuses what is no role.
func (r Role) MarshalText() ([]byte, error) {
	if _, err := ParseRole(r.String()); err != nil {
		return nil, err
	}
	return []byte(r.String()), nil
}

// UnmarshalText is ParseRole.
func (r *Role) UnmarshalText(b []byte) error {
	parsed, err := ParseRole(string(b))
	if err == nil {
		*r = parsed
	}
	return err
}

// Act is something that the API does.
type Act string

// The acts of the API. Source: CONTRACT section 7.
const (
	ActRead    Act = "read" // every GET
	ActStop    Act = "stop"
	ActResume  Act = "resume"
	ActRestart Act = "restart"
	ActSync    Act = "sync"
	ActApprove Act = "approve"
	ActAdopt   Act = "adopt"
	ActTokens  Act = "tokens"
)

// Needs is the role that an act asks for. An act that nobody listed asks for the
// greatest.
func Needs(a Act) Role {
	switch a {
	case ActRead:
		return Reader
	case ActStop, ActResume, ActRestart, ActSync:
		return Operator
	}
	return Admin
}

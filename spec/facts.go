package spec

import "slices"

// Facts are what a tenant has that does not follow from Git. They are kept in
// the store and in the state folder, and read before a rebuild. Source: CONTRACT
// section 3.
type Facts struct {
	EnforceFrom string     `json:"enforceFrom,omitempty"` // resolved at the first sync
	Approvals   []Approval `json:"approvals,omitempty"`
	Overrides   []Override `json:"overrides,omitempty"`
}

// Equal compares two sets of facts.
func (f Facts) Equal(o Facts) bool {
	return f.EnforceFrom == o.EnforceFrom && slices.Equal(f.Approvals, o.Approvals) && slices.Equal(f.Overrides, o.Overrides)
}

// Approval is a person's word that a held commit may pass.
type Approval struct {
	Commit string `json:"commit"` // full id
	Actor  string `json:"actor"`
	At     int64  `json:"at"` // ms, Redis time
}

// Override is a person's stop or start of a job over what Git says. It wins until
// it is resumed, and is no drift.
type Override struct {
	Job     string  `json:"job"`
	Desired Desired `json:"desired"` // WantStopped, or WantRunning over suspend: true
	Since   int64   `json:"since"`   // ms, Redis time
	Actor   string  `json:"actor"`
}

// Act is an administrative act: not an operation on a spec, so not in the audit
// stream, whose readers know six operations.
type Act struct {
	TS     int64  `json:"ts"` // ms, Redis time
	Tenant string `json:"tenant"`
	Actor  string `json:"actor"`
	Act    string `json:"act"`    // approve | sync
	Target string `json:"target"` // a commit
	Detail string `json:"detail"`
}

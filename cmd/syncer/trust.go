package main

import (
	"fmt"
	"os"

	"github.com/pawl-dev/pawl/internal/cli"
	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/trust"
)

// judge judges commits as a Pavilion wants it.
type judge struct{ v *trust.Verifier }

// judgeOf reads the keys that a Pavilion names.
func judgeOf(p spec.Pavilion) (judge, error) {
	v, err := trust.New(p.Verify, os.ReadFile)
	if err != nil {
		return judge{}, cli.ErrorHint(cli.Usage{Err: fmt.Errorf("tenant %s: verify: %w", p.Name, err)}, "keyrings and allowedSigners are files of the platform")
	}
	return judge{v}, nil
}

// Judge is syncer.Trust.
func (j judge) Judge(raw []byte, author spec.Person) (verified, signer string, accepted bool, why string) {
	d := j.v.Commit(raw, author)
	accepted, why = j.v.Accepts(d, author)
	if why == "" {
		why = d.Why
	}
	return d.Verified, d.Signer, accepted, why
}

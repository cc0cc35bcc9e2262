package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

// onlyFrom is an authoriser of our own: whoever has an address at domain may do
// everything, all others may do nothing but submit new jobs. A real one would
// ask a directory; it gets a context with a deadline for that.
func onlyFrom(domain string) specstore.Authorizer {
	return func(_ context.Context, who string, op spec.Op, _, job string) error {
		if op == spec.OpSubmit || strings.HasSuffix(who, "@"+domain+">") {
			return nil
		}
		return fmt.Errorf("%s of %s is for people of %s", op, job, domain)
	}
}

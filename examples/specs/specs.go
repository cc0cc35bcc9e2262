// Package specs holds the example specs, as files that tests decode and the
// demo commits. It owns no behaviour.
package specs

import "embed"

// Files are the example specs, laid out as in a tenant's repository.
//
//go:embed jobs subscriptions
var Files embed.FS

package gitsource

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// cleanUpload is a session whose errors do not hold its login's secrets.
type cleanUpload struct {
	transport.UploadPackSession
	hide []string
}

// AdvertisedReferencesContext is that of the session.
func (c *cleanUpload) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	refs, err := c.UploadPackSession.AdvertisedReferencesContext(ctx)
	return refs, cleaned(err, c.hide)
}

// UploadPack is that of the session.
func (c *cleanUpload) UploadPack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	res, err := c.UploadPackSession.UploadPack(ctx, req)
	return res, cleaned(err, c.hide)
}

// cleanReceive is the same for pushing.
type cleanReceive struct {
	transport.ReceivePackSession
	hide []string
}

// AdvertisedReferencesContext is that of the session.
func (c *cleanReceive) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	refs, err := c.ReceivePackSession.AdvertisedReferencesContext(ctx)
	return refs, cleaned(err, c.hide)
}

// ReceivePack is that of the session.
func (c *cleanReceive) ReceivePack(ctx context.Context, req *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error) {
	report, err := c.ReceivePackSession.ReceivePack(ctx, req)
	return report, cleaned(err, c.hide)
}

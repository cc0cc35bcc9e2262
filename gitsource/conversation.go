package gitsource

import (
	"context"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// conversation is one session with the server.
type conversation struct {
	session transport.UploadPackSession
	refs    *packp.AdvRefs
}

// open starts it and learns the server's branches.
func (c *conversation) open(ctx context.Context, from *remote) (err error) {
	way, err := from.link(ctx)
	if err != nil {
		return err
	}
	if c.session, err = way.upload(); err != nil {
		return err
	}
	if c.refs, err = c.session.AdvertisedReferencesContext(ctx); err != nil {
		// a session that failed may well fail to close, which says nothing more
		return firstOf(err, c.session.Close())
	}
	return nil
}

func (c *conversation) close() error { return c.session.Close() }

// receive asks for a commit and hands the pack to sink, then closes.
func (c *conversation) receive(ctx context.Context, want plumbing.Hash, haves []plumbing.Hash, sink func(io.Reader) error) error {
	req := packp.NewUploadPackRequestFromCapabilities(c.refs.Capabilities)
	if c.refs.Capabilities.Supports(capability.NoProgress) {
		if err := req.Capabilities.Set(capability.NoProgress); err != nil {
			return firstOf(err, c.session.Close())
		}
	}
	req.Wants, req.Haves = []plumbing.Hash{want}, haves
	res, err := c.session.UploadPack(ctx, req)
	if err != nil {
		return firstOf(err, c.session.Close())
	}
	var pack io.Reader = res
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		pack = sideband.NewDemuxer(sideband.Sideband64k, res)
	case req.Capabilities.Supports(capability.Sideband):
		pack = sideband.NewDemuxer(sideband.Sideband, res)
	}
	return firstOf(sink(pack), firstOf(res.Close(), c.session.Close()))
}

// cloneInto fills a new clone through a counter; nobody else looks at its
// folder meanwhile.
func (c *conversation) cloneInto(ctx context.Context, dir string, want plumbing.Hash, count *counter) error {
	s, err := openStore(dir)
	if err != nil {
		return firstOf(err, c.session.Close())
	}
	err = c.receive(ctx, want, nil, func(pack io.Reader) error {
		return packfile.WritePackfileToObjectStorage(s.st, count.of(pack))
	})
	if err == nil && len(c.refs.Shallows) > 0 {
		err = s.st.SetShallow(c.refs.Shallows)
	}
	return firstOf(err, s.close())
}

// firstOf is the first error of two: the second is but its echo.
func firstOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// gitTalk is where a conversation is.
type gitTalk struct {
	refs  *packp.AdvRefs
	asked bool // the server has its request
}

// AdvertisedReferences is AdvertisedReferencesContext: the session has its context.
func (s *sshSession) AdvertisedReferences() (*packp.AdvRefs, error) {
	if s.talk.refs != nil {
		return s.talk.refs, nil
	}
	refs := packp.NewAdvRefs()
	err := refs.Decode(s.out)
	pushing := s.service == transport.ReceivePackServiceName
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs) && pushing:
	case errors.Is(err, packp.ErrEmptyAdvRefs), err == nil && refs.IsEmpty() && !pushing:
		return nil, transport.ErrEmptyRemoteRepository
	case errors.Is(err, packp.ErrEmptyInput):
		s.talk.asked = true // nobody is there to take leave of
		return nil, s.lastWords()
	case err != nil:
		return nil, absent(err)
	}
	transport.FilterUnsupportedCapabilities(refs.Capabilities)
	s.talk.refs = refs
	return refs, nil
}

// AdvertisedReferencesContext reads where the server has its branches.
func (s *sshSession) AdvertisedReferencesContext(context.Context) (*packp.AdvRefs, error) {
	return s.AdvertisedReferences()
}

// lastWords is why a server ended before it began.
func (s *sshSession) lastWords() error {
	err := s.session.Wait()
	if line, _, _ := strings.Cut(strings.TrimSpace(s.stderr.String()), "\n"); line != "" {
		return absent(fmt.Errorf("unknown error: %s", line))
	}
	return firstOf(err, io.ErrUnexpectedEOF)
}

// absent recognises the words in which servers say that there is no such
// repository, or none for us.
func absent(err error) error {
	text := strings.ToLower(err.Error())
	for _, sign := range []string{"not found", "could not be found", "does not exist", "does not appear to be a git repository",
		"no such repository", "access denied"} {
		if strings.Contains(text, sign) {
			return fmt.Errorf("%w: %w", transport.ErrRepositoryNotFound, err)
		}
	}
	return err
}

// UploadPack asks for objects, and reads up to where the pack begins.
func (s *sshSession) UploadPack(_ context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	s.talk.asked = true
	if err := req.UploadRequest.Encode(s.in); err != nil {
		return nil, err
	}
	if err := req.UploadHaves.Encode(s.in, true); err != nil {
		return nil, err
	}
	if err := pktline.NewEncoder(s.in).EncodeString("done\n"); err != nil {
		return nil, err
	}
	if err := s.in.Close(); err != nil {
		return nil, err
	}
	res := packp.NewUploadPackResponse(req)
	return res, res.Decode(struct {
		io.Reader
		io.Closer
	}{s.out, s})
}

// ReceivePack sends objects and reads what the server made of them.
func (s *sshSession) ReceivePack(_ context.Context, req *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error) {
	s.talk.asked = true
	if err := req.Encode(s.in); err != nil {
		return nil, err
	}
	if err := s.in.Close(); err != nil {
		return nil, err
	}
	if !req.Capabilities.Supports(capability.ReportStatus) {
		return nil, s.session.Wait()
	}
	out := s.out
	if req.Capabilities.Supports(capability.Sideband64k) {
		d := sideband.NewDemuxer(sideband.Sideband64k, s.out)
		d.Progress = req.Progress
		out = d
	}
	report := packp.NewReportStatus()
	if err := report.Decode(out); err != nil {
		return nil, err
	}
	return report, report.Error()
}

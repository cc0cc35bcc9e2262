package gitsource_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

func TestACommitIsPushedOverSSHAndAHookMayDecline(t *testing.T) {
	bare, tip := pushable(t)
	key, public := gittest.SSHKey(t, "")
	srv := gittest.ServeSSH(t, gittest.SSHConfig{Root: filepath.Dir(bare), Keys: []ssh.PublicKey{public}})
	keyFile := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(keyFile, []byte(key), 0o600))
	r := open(t, srv.URL("bare.git"), func(c *gitsource.Config) {
		c.Auth = spec.Auth{SSHKey: "file:" + keyFile, KnownHosts: srv.KnownHosts()}
	})
	require.Equal(t, tip, fetch(t, r))
	tip = write(t, r, bare, tip, file("a.yaml", "2"))
	hook(t, bare, "pre-receive", "echo 'main is protected' >&2; exit 1")
	_, err := r.Write(t.Context(), request(tip, file("a.yaml", "3")))
	var refused *gitsource.PushRefused
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, "main is protected")
	require.Equal(t, tip, fetch(t, r))
}

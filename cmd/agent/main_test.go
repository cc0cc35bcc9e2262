package main

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// asProgram makes this test binary the program itself.
const asProgram = "AGENT_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// pipeTo gives files for a child whose output goes to w.
func pipeTo(t *testing.T, w io.Writer) []*os.File {
	t.Helper()
	r, end, err := os.Pipe()
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { _, err := io.Copy(w, r); done <- err }()
	t.Cleanup(func() {
		require.NoError(t, end.Close())
		require.NoError(t, <-done)
		require.NoError(t, r.Close())
	})
	return []*os.File{nil, end, end}
}

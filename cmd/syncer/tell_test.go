package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A replay says nothing for two seconds, then a line every few.
func TestALongReplayTellsHowFarItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
		out := a.teller(slog.New(slog.NewTextHandler(&log, nil)), true)
		for i := range 100 {
			out.progress("acme", "replay", i+1, 200)
			time.Sleep(100 * time.Millisecond) // of the bubble's clock
			if i < 18 {
				require.Empty(t, log.String())
			}
		}
		out.progress("acme", "replay", 200, 200)
		require.Equal(t, 3, strings.Count(log.String(), "phase=replay"), log.String())
		require.Contains(t, log.String(), "done=")
		out.close()
	})
}

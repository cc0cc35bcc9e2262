package gid_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pawl-dev/pawl/gid"
	"github.com/stretchr/testify/require"
)

func TestParseAcceptsWhatTheContractNames(t *testing.T) {
	for s, class := range map[string]gid.Class{
		"X8FD-NT:1-K0001":  gid.Kollex,
		"X8FD-NT:1-E0002":  gid.Episode,
		"X8FD-NT:1-D000b":  gid.Drama,
		"X8FD-NT:1-orders": gid.Job,
		"0000-A:z9-k0001":  gid.Job, // lower case: a job called k0001, not a Kollex
	} {
		g, err := gid.Parse(s)
		require.NoError(t, err, s)
		require.Equal(t, s, g.String())
		require.Equal(t, class, g.Local().Class(), s)
		joined, err := gid.New(g.CID(), g.Local())
		require.NoError(t, err)
		require.Equal(t, g, joined)
	}
}

func TestParseRefusesEverythingHalf(t *testing.T) {
	for _, s := range []string{
		"", "-", "X8FD", "X8FD-", "X8FD-NT:1", "X8FD-NT:1-", "NT:1-K0001", "x8fd-NT:1-K0001", "X8F-NT:1-K0001",
		"X8FD-nt:1-K0001", "X8FD-NT:-K0001", "X8FD-:1-K0001", "X8FD-NT:1-K001", "X8FD-NT:1-K00011", "X8FD-NT:1-X0001",
		"X8FD-NT:1-Orders", "X8FD-NT:1-K0001 ", " X8FD-NT:1-K0001", "X8FD-NT:1-orders-", "X8FD-NT:1-K000é", "X8FD--K0001",
		"X8FD-X8FD-NT:1-K0001", "X8FD-NT:1-K0001\n",
	} {
		g, err := gid.Parse(s)
		require.ErrorIs(t, err, gid.ErrInvalid, "%q", s)
		require.True(t, g.IsZero())
	}
}

func TestLocalSaysWhenItWasGivenAGID(t *testing.T) {
	_, err := gid.ParseLocal("X8FD-NT:1-K0001")
	require.ErrorContains(t, err, `leave out "X8FD-"`)
}

func TestTheZeroValueNeverLeavesTheProcess(t *testing.T) {
	_, err := json.Marshal(struct{ ID gid.GID }{})
	require.ErrorContains(t, err, "empty GID")
	_, err = gid.New("X8FD", gid.Local{})
	require.ErrorIs(t, err, gid.ErrInvalid)
	_, err = gid.New("", gid.Local{})
	require.ErrorIs(t, err, gid.ErrInvalid)
}

func TestJSONRoundTrip(t *testing.T) {
	var g gid.GID
	require.NoError(t, json.Unmarshal([]byte(`"X8FD-NT:1-D000b"`), &g))
	b, err := json.Marshal(g)
	require.NoError(t, err)
	require.Equal(t, `"X8FD-NT:1-D000b"`, string(b))
	require.Error(t, json.Unmarshal([]byte(`"NT:1-D000b"`), &g))
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"X8FD-NT:1-K0001", "X8FD-NT:1-orders", "", "X8FD-", "0000-A:0-a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := gid.Parse(s)
		if err != nil {
			if !g.IsZero() || g.String() != "" {
				t.Fatalf("refused %q, yet gave %v", s, g)
			}
			return
		}
		if g.String() != s {
			t.Fatalf("%q came back as %q", s, g)
		}
	})
}

func ExampleParse() {
	g, err := gid.Parse("X8FD-NT:1-K0001")
	fmt.Println(g.CID(), g.Local(), g.Local().Class(), err)
	_, err = gid.Parse("NT:1-K0001")
	fmt.Println(err)
	// Output:
	// X8FD NT:1-K0001 Kollex <nil>
	// GID "NT:1-K0001": invalid id: CID "NT:1" is not four of A-Z 0-9
}

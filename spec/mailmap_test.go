package spec_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

const mailmap = `# who is who
Ada Lovelace <ada@example.com>
Grace Hopper <grace@example.com> <g.hopper@old.example.com>
<alan@example.com> <at@old.example.com>
Sam One <sam@example.com> Sam <shared@example.com>
Sam Two <two@example.com> Samuel <shared@example.com>
no mail at all
<only@example.com>
Mixed Case <Mixed@Example.com> <MIXED@old.example.com>
`

// The same people, asked of git itself.
func TestTheMailmapShowsWhatGitShows(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".mailmap"), []byte(mailmap), 0o644))
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	m := spec.ParseMailmap([]byte(mailmap))
	for _, actor := range []string{"A <ada@example.com>", "Ada Lovelace <ADA@example.com>", "G <g.hopper@old.example.com>", "A T <at@old.example.com>",
		"Sam <shared@example.com>", "SAMUEL <shared@example.com>", "Else <shared@example.com>", "X <only@example.com>", "M <mixed@OLD.example.com>", "Nobody <none@example.com>"} {
		require.Equal(t, git("check-mailmap", actor), m.Shown(actor), actor)
	}
}

func TestTheMailmapLeavesAloneWhatIsNoPerson(t *testing.T) {
	m := spec.ParseMailmap([]byte(mailmap))
	for _, actor := range []string{"", "syncer", spec.UnknownAuthor, "(unknown: branch rewound to 1234567)", "A <ada@example.com> and more"} {
		require.Equal(t, actor, m.Shown(actor))
	}
	require.Equal(t, "A <ada@example.com>", spec.Mailmap{}.Shown("A <ada@example.com>"))
}

func FuzzMailmap(f *testing.F) {
	f.Add([]byte(mailmap), "A <ada@example.com>")
	f.Fuzz(func(t *testing.T, text []byte, actor string) {
		shown := spec.ParseMailmap(text).Shown(actor)
		if strings.Contains(shown, "\n") && !strings.Contains(actor, "\n") {
			t.Fatalf("%q became %q", actor, shown)
		}
	})
}

package specfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/specfile"
	"github.com/stretchr/testify/require"
)

// The findings of some files, to the letter: own ones, and those of the shared
// cases that have a .txt beside them. Files named platform-* are the platform's.
func TestFindingsReadAsWritten(t *testing.T) {
	own, err := filepath.Glob("testdata/golden/*.yaml")
	require.NoError(t, err)
	shared := []string{"020-duplicate-config-key", "046-config-bool-key", "053-parallelism-octal", "060-anchor-alias", "065-tab-indent",
		"067-unclosed", "068-conflict-markers", "084-latin1", "106-id-other-pavilion", "120-image-no-tag", "131-secret-literal"}
	for _, name := range shared {
		own = append(own, "testdata/yaml/"+name+".yaml")
	}
	require.GreaterOrEqual(t, len(own), 25)
	for _, path := range own {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			_, findings := specfile.Decode(name, data, specfile.Options{Platform: strings.HasPrefix(name, "platform-")})
			requireClean(t, findings)
			golden := filepath.Join("testdata/golden", strings.TrimSuffix(name, ".yaml")+".txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(text(findings)), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), text(findings))
			require.NotContains(t, text(findings), "hunter2")
		})
	}
}

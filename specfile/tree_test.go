package specfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/pawl-dev/pawl/specfile"
	"github.com/stretchr/testify/require"
)

func jobText(name string) string {
	return "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata: {name: " + name + "}\nspec: {pipelineFactory: f}\n"
}

func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return m
}

func paths(docs []specfile.FileDoc) string {
	var b strings.Builder
	for _, d := range docs {
		b.WriteString(d.Path + "=" + d.Key.String() + " ")
	}
	return strings.TrimSpace(b.String())
}

func TestATreeIsReadByTheRulesOfSpecPaths(t *testing.T) {
	fsys := tree(map[string]string{"b/z.yml": jobText("z"), "a.YAML": jobText("a"), ".ci/x.yaml": "no: spec", "b/.y.yaml": "no: spec",
		"readme.md": "# hi", "b/skipped/no.yaml": "no: spec", "b/two.yaml": jobText("two") + "---\n" + jobText("three")})
	skip := func(path string, folder bool) bool { return folder && path == "b/skipped" }
	docs, findings := specfile.Tree(fsys, []string{"."}, specfile.Options{Skip: skip})
	require.Empty(t, findings)
	require.Equal(t, "a.YAML=a b/two.yaml=two b/two.yaml=three b/z.yml=z", paths(docs))
	docs, findings = specfile.Tree(fsys, []string{"b/z.yml", "b/z.yml", "b/two.yaml", "./b/z.yml"}, specfile.Options{})
	require.Empty(t, findings, "a file that is named twice is read once")
	require.Equal(t, "b/two.yaml=two b/two.yaml=three b/z.yml=z", paths(docs))
	_, findings = specfile.Tree(fsys, []string{".ci/x.yaml", "readme.md"}, specfile.Options{})
	require.Len(t, findings, 2, "a root is read whatever its name")
}

func TestARootThatIsNotThereIsAFinding(t *testing.T) {
	_, findings := specfile.Tree(tree(nil), []string{"specs", "../up", "/etc"}, specfile.Options{})
	require.Equal(t, "../up: is not below the folder that is read\n/etc: is not below the folder that is read\nspecs: there is no such file or folder\n", text(findings))
}

func TestTheSameKeyInTwoFilesIsAFindingOnBoth(t *testing.T) {
	fsys := tree(map[string]string{"a.yaml": jobText("orders"), "b.yaml": jobText("x") + "---\n" + jobText("orders")})
	docs, findings := specfile.Tree(fsys, []string{"."}, specfile.Options{})
	require.Len(t, docs, 3)
	require.Equal(t, "a.yaml:1: metadata.name: JobSpec orders is declared twice, also in b.yaml:6: remove one\n"+
		"b.yaml:6: metadata.name: JobSpec orders is declared twice, also in a.yaml:1: remove one\n", text(findings))
}

func TestTheSameIdInTwoFilesIsAFindingOnBoth(t *testing.T) {
	subscription := func(name string) string {
		return "apiVersion: pawl.dev/v1\nkind: KollexSubscription\nmetadata: {name: " + name + "}\n" +
			"spec: {kollex: {id: \"NT:1-K0001\"}, episodes: [{id: \"NT:1-E0001\", name: a, image: \"x:1\"}]}\n"
	}
	_, findings := specfile.Tree(tree(map[string]string{"a.yaml": subscription("a"), "b.yaml": subscription("b")}), []string{"."}, specfile.Options{})
	require.Equal(t, "a.yaml:1: NT:1-E0001 is an id of KollexSubscription b (b.yaml:1) already: ids are unique in a tenant\n"+
		"b.yaml:1: NT:1-E0001 is an id of KollexSubscription a (a.yaml:1) already: ids are unique in a tenant\n", text(findings))
}

func TestLinksPipesAndOddNamesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(jobText("a")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new\nline.yaml"), []byte(jobText("b")), 0o600))
	require.NoError(t, os.Symlink("a.yaml", filepath.Join(dir, "link.yaml")))
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "up")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600))
	docs, findings := specfile.Tree(os.DirFS(dir), []string{".", "link.yaml"}, specfile.Options{})
	require.Equal(t, "a.yaml=a", paths(docs))
	require.Equal(t, `link.yaml: warning: a symbolic link is not followed; what it points to counts only where it stands itself
"new\nline.yaml": control character in the name; rename the file
pipe.yaml: is not a regular file
up: warning: a symbolic link is not followed; what it points to counts only where it stands itself
`, text(findings))
}

func TestAFileOverTheLimitIsRefusedWithoutReadingItAll(t *testing.T) {
	fsys := tree(map[string]string{"big.yaml": strings.Repeat("#", specfile.MaxFileBytes+1000)})
	_, findings := specfile.Tree(fsys, []string{"big.yaml"}, specfile.Options{})
	require.Len(t, findings, 1)
	require.Contains(t, findings[0].Message, "(limit 1048576)")
}

// failing is a file system whose files and folders cannot be read.
type failing struct{ fstest.MapFS }

func (f failing) Open(name string) (fs.File, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.MapFS.Open(name)
}

func (f failing) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "sub" {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrPermission}
	}
	return f.MapFS.ReadDir(name)
}

func TestWhatCannotBeReadIsAFinding(t *testing.T) {
	fsys := failing{tree(map[string]string{"a.yaml": jobText("a"), "sub/b.yaml": jobText("b")})}
	docs, findings := specfile.Tree(fsys, []string{"."}, specfile.Options{})
	require.Empty(t, docs)
	require.Equal(t, "a.yaml: cannot be read: permission denied\nsub: cannot be listed: permission denied\n",
		strings.ReplaceAll(text(findings), fs.ErrPermission.Error(), "permission denied"))
}

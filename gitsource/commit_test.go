package gitsource_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/gitsource"
	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

// rawCommit commits the present tree with headers and message as given; {tree}
// stands for the tree's id.
func rawCommit(src *gittest.Repo, raw string) string {
	id := hashObject(src, "commit", strings.ReplaceAll(raw, "{tree}", src.Git("write-tree")))
	src.Git("update-ref", "refs/heads/main", id)
	return id
}

func TestCommitHeadersAreReadAsFarAsTheyGo(t *testing.T) {
	const ok = "committer C <c@example.com> 1767225600 +0000\n"
	for name, tc := range map[string]struct {
		raw     string
		author  spec.Person
		subject string
	}{
		"latin-1": {"author J\xfcrgen Ex\xe4mple <dev4@example.com> 1767232800 +0100\n" + ok + "encoding ISO-8859-1\n\nErh\xf6hung\n",
			spec.Person{Name: "Jürgen Exämple", Mail: "dev4@example.com", When: 1767232800}, "Erhöhung"},
		"shift-jis": {"author \x8e\x52\x93\x63 <y@example.com> 1 +0900\n" + ok + "encoding Shift_JIS\n\n\x8e\x52\n",
			spec.Person{Name: "山田", Mail: "y@example.com", When: 1}, "山"},
		"no header": {"author J\xfcrgen <j@example.com> 5 +0000\n" + ok + "\nh\xf6\n",
			spec.Person{Name: "J\uFFFDrgen", Mail: "j@example.com", When: 5}, "h\uFFFD"},
		"unknown encoding": {"author J\xfcrgen <j@example.com> 5 +0000\n" + ok + "encoding klingon-7\n\nx\n",
			spec.Person{Name: "J\uFFFDrgen", Mail: "j@example.com", When: 5}, "x"},
		"space and control": {"author  Dev \x1b[31mOne\t  <dev1@example.com\r> 5 +0000\n" + ok + "\n\x1b[31mred\x1b[0m\x07\n",
			spec.Person{Name: "Dev [31mOne", Mail: "dev1@example.com", When: 5}, `\x1b[31mred\x1b[0m\x07`},
		"right-to-left": {"author Dev\u202e One <dev1@example.com> 5 +0000\n" + ok + "\na\u202eb\n",
			spec.Person{Name: "Dev One", Mail: "dev1@example.com", When: 5}, `a\u202eb`},
		"signature": {"author A <a@example.com> 5 +0000\n" + ok + "gpgsig -----BEGIN\n author Evil <e@example.com> 1 +0000\n -----END\n\nx\n",
			spec.Person{Name: "A", Mail: "a@example.com", When: 5}, "x"},
		"twelve digits": {"author A <a@example.com> 123456789012 +0000\n" + ok + "\nx\n", spec.Person{Name: "A", Mail: "a@example.com"}, "x"},
		"eleven digits": {"author A <a@example.com> 99999999999 +9999999\n" + ok + "\nx\n", spec.Person{Name: "A", Mail: "a@example.com", When: 99999999999}, "x"},
		"negative time": {"author A <a@example.com> -5 +0000\n" + ok + "\nx\n", spec.Person{Name: "A", Mail: "a@example.com"}, "x"},
		"no zone":       {"author A <a@example.com> 7\n" + ok + "\nx\n", spec.Person{Name: "A", Mail: "a@example.com", When: 7}, "x"},
		"no time":       {"author A <a@example.com>\n" + ok + "\nx\n", spec.Person{Name: "A", Mail: "a@example.com"}, "x"},
		"no mail":       {"author A B C\n" + ok + "\nx\n", spec.Person{Name: "A B C"}, "x"},
		"half a mail":   {"author A <a@example.com 5 +0000\n" + ok + "\nx\n", spec.Person{Name: "A", Mail: "a@example.com 5 +0000"}, "x"},
		"two mails":     {"author A <a@x> B <b@x> 5 +0000\n" + ok + "\nx\n", spec.Person{Name: "A", Mail: "a@x", When: 5}, "x"},
		"empty author":  {"author  <> 5 +0000\n" + ok + "\nx\n", spec.Person{When: 5}, "x"},
		"no author":     {ok + "\nx\n", spec.Person{}, "x"},
		"no message":    {"author A <a@example.com> 5 +0000\n" + ok, spec.Person{Name: "A", Mail: "a@example.com", When: 5}, ""},
		"blank first":   {"author A <a@example.com> 5 +0000\n" + ok + "\n\n \n  title  \nrest\n", spec.Person{Name: "A", Mail: "a@example.com", When: 5}, "title"},
		"long subject": {"author A <a@example.com> 5 +0000\n" + ok + "\n" + strings.Repeat("ä", 300) + "\n",
			spec.Person{Name: "A", Mail: "a@example.com", When: 5}, strings.Repeat("ä", 200)},
	} {
		t.Run(name, func(t *testing.T) {
			src := gittest.New(t)
			src.Write("a.yaml", "x").Git("add", "-A")
			tip := rawCommit(src, "tree {tree}\n"+tc.raw)
			r := open(t, src.Dir)
			require.Equal(t, tip, fetch(t, r))
			c, err := r.Commit(t.Context(), tip)
			require.NoError(t, err)
			require.Equal(t, tc.author, c.Author)
			require.Equal(t, tc.subject, c.Subject)
			require.Equal(t, tip, c.ID)
			require.Equal(t, src.Git("write-tree"), c.Tree)
		})
	}
}

func TestACommitObjectThatIsTooLargeIsRefusedUnread(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "x").Git("add", "-A")
	rawCommit(src, "tree {tree}\nauthor A <a@example.com> 5 +0000\ncommitter A <a@example.com> 5 +0000\n\n"+strings.Repeat("x", 1<<20))
	r := open(t, src.Dir)
	_, err := r.Fetch(t.Context())
	require.ErrorIs(t, err, gitsource.ErrTooLarge)
}

func TestNotesAreTakenFromTheMessage(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	for message, want := range map[string]spec.Notes{
		"Revert \"Raise orders\"\n\nThis reverts commit " + sha + ".":                            {RevertOf: sha},
		"Revert \"Merge\"\n\nThis reverts commit " + sha + ", reversing\nchanges made to 123.":   {RevertOf: sha},
		"Reapply \"Revert \\\"x\\\"\"\n\nThis reverts commit " + sha + ".":                       {RevertOf: sha},
		"Revert \"Raise orders to 9 (#12)\" (#13)\n\nReverts example/specs#12":                   {RevertOf: "#12", PullRequest: 13},
		"Revert \"Raise orders to 9 (#12)\" (#13)":                                               {RevertOf: "#12", PullRequest: 13},
		"Revert \"Raise orders to 9 (#12)\"":                                                     {RevertOf: "#12"},
		"Fix\n\n(cherry picked from commit 1111111111)\n(cherry picked from commit " + sha + ")": {CherryPickOf: sha},
		"Merge pull request #77 from x/y\n\nRaise orders":                                        {PullRequest: 77},
		"Raise (#12) (#013)":                      {},
		"This reverts commit nothing of the kind": {},
		"Reverts the change in x#12":              {},
		"Raise orders (#12)\n\nco-authored-BY: Dev Three <dev3@example.com>\r\nSigned-off-by: X": {
			PullRequest: 12, CoAuthors: []spec.Person{{Name: "Dev Three", Mail: "dev3@example.com"}}},
	} {
		src := gittest.New(t)
		tip := src.Write("a.yaml", "x").Commit(one, message)
		r := open(t, src.Dir)
		fetch(t, r)
		c, err := r.Commit(t.Context(), tip)
		require.NoError(t, err)
		require.Equal(t, want, c.Notes, message)
		require.Equal(t, "Dev One <dev1@example.com>", c.Author.String())
	}
}

func TestARealRevertNamesItsCommit(t *testing.T) {
	src := gittest.New(t)
	src.Write("a.yaml", "1").Commit(one, "base")
	bad := src.Write("a.yaml", "2").Commit(two, "bad")
	back := src.Revert(one, bad)
	r := open(t, src.Dir)
	fetch(t, r)
	c, err := r.Commit(t.Context(), back)
	require.NoError(t, err)
	require.Equal(t, bad, c.RevertOf)
	require.Equal(t, bad, c.Parent)
}

func FuzzParseTree(f *testing.F) {
	id := strings.Repeat("\x01", 20)
	f.Add([]byte("100644 a.yaml\x00" + id + "40000 b\x00" + id))
	f.Add([]byte("120000 a\x00" + id))
	f.Add([]byte("100644 \x00" + id))
	f.Fuzz(func(t *testing.T, raw []byte) {
		names, err := gitsource.ParseTree(raw)
		require.NotErrorIs(t, err, gitsource.ErrDamaged, "floor and at disagree")
		if err == nil {
			for _, name := range names {
				require.NotEmpty(t, name)
				require.NotContains(t, name, "/")
			}
		}
	})
}

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte("tree " + strings.Repeat("0", 39) + "1\nauthor A <a@x> 5 +0000\nencoding ISO-2022-JP\n\nRevert \"x (#1)\" (#2)\n\nReverts a#1\nCo-authored-by: <>"))
	f.Add([]byte("tree " + strings.Repeat("1", 40) + "\nauthor \xff<\nencoding utf-16le\n\n\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		name, subject, err := gitsource.ParseCommit(raw)
		if err != nil {
			require.ErrorIs(t, err, gitsource.ErrMalformed)
			return
		}
		for _, s := range []string{name, subject} {
			require.True(t, utf8.ValidString(s))
			require.NotContains(t, s, "\n")
			require.Equal(t, -1, strings.IndexFunc(s, unicode.IsControl))
		}
		require.LessOrEqual(t, utf8.RuneCountInString(subject), 200)
	})
}

package spec

import "strings"

// Person is an author, committer or co-author as the commit claims it; names
// are valid UTF-8 without control characters.
type Person struct {
	Name string `json:"name"`
	Mail string `json:"mail"`
	When int64  `json:"when,omitempty"` // seconds since 1970 UTC; 0 if the commit has no usable time
}

// UnknownAuthor is the actor of a commit whose author has neither name nor mail.
const UnknownAuthor = "(unknown author)"

// String is "Name <mail>", the actor of everything that a commit does.
func (p Person) String() string {
	switch {
	case p.Name == "" && p.Mail == "":
		return UnknownAuthor
	case p.Mail == "":
		return p.Name
	case p.Name == "":
		return "<" + p.Mail + ">"
	}
	return p.Name + " <" + p.Mail + ">"
}

// Commit is one commit of the first-parent line, as data.
type Commit struct {
	ID        string // 40 hex digits
	Parent    string // first parent; empty at the root
	Tree      string // id of its tree
	Merge     bool   // it has further parents
	Author    Person
	Committer Person
	Subject   string // first line, escaped, at most 200 characters
	Notes
}

// Notes are what a message says of itself. They are never trusted for deciding.
type Notes struct {
	RevertOf     string   `json:"revertOf,omitempty"`     // a commit id, or #12
	CherryPickOf string   `json:"cherryPickOf,omitempty"` // a commit id
	PullRequest  int      `json:"pullRequest,omitempty"`
	CoAuthors    []Person `json:"coAuthors,omitempty"`
}

// Short is the first seven digits of a commit id.
func Short(id string) string { return id[:min(7, len(id))] }

// Modes of tree entries that matter here.
const (
	ModeFile    = "file"
	ModeLink    = "link"    // symbolic link: never followed
	ModeGitlink = "gitlink" // submodule: never fetched
)

// Blob is one side of a changed path. The zero value means absent.
type Blob struct {
	ID   string // 40 hex digits; empty = absent
	Mode string // ModeFile, ModeLink or ModeGitlink
}

// Absent tells whether the path does not exist on this side.
func (b Blob) Absent() bool { return b.ID == "" }

// FileChange is a path that differs between two trees.
type FileChange struct {
	Path     string // relative to the repository's root, '/' between components; bytes, perhaps no UTF-8
	Old, New Blob
}

// IsSpecPath tells whether a path below the tenant's folder is read as a spec:
// it ends in .yaml or .yml (any case) and no component starts with a dot.
func IsSpecPath(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	low := strings.ToLower(rel)
	return strings.HasSuffix(low, ".yaml") || strings.HasSuffix(low, ".yml")
}

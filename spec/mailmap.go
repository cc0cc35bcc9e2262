package spec

import "strings"

// MaxMailmap bounds a .mailmap that is honoured, in bytes.
const MaxMailmap = 64 << 10

// Mailmap names people as a repository's .mailmap wants them shown. It is for
// display and never for authority: policies, signatures and the ledger see what
// a commit says itself.
type Mailmap struct {
	byMail map[string][]mailmapLine // by commit mail, lower case
}

type mailmapLine struct {
	name, mail string // shown; empty = as it is
	commitName string // lower case; empty = any
}

// ParseMailmap reads a .mailmap; lines that are none are left out, as git does.
func ParseMailmap(text []byte) Mailmap {
	m := Mailmap{byMail: map[string][]mailmapLine{}}
	for line := range strings.Lines(string(text[:min(len(text), MaxMailmap)])) {
		line, _, _ = strings.Cut(line, "#")
		name, mail, rest, ok := namedMail(line)
		if !ok {
			continue
		}
		l := mailmapLine{name: name}
		commitMail := mail
		if commitName, second, _, two := namedMail(rest); two {
			l.mail, l.commitName, commitMail = mail, strings.ToLower(commitName), second
		}
		if l.name == "" && l.mail == "" {
			continue
		}
		key := strings.ToLower(commitMail)
		m.byMail[key] = append(m.byMail[key], l)
	}
	return m
}

// namedMail splits "Name <mail> rest".
func namedMail(s string) (name, mail, rest string, ok bool) {
	name, rest, ok = strings.Cut(s, "<")
	if !ok {
		return "", "", "", false
	}
	mail, rest, ok = strings.Cut(rest, ">")
	return strings.TrimSpace(name), strings.TrimSpace(mail), rest, ok
}

// Shown gives an actor ("Name <mail>") as the map wants it; what it does not know
// stays as it is.
func (m Mailmap) Shown(actor string) string {
	name, mail, rest, ok := namedMail(actor)
	if !ok || rest != "" {
		return actor
	}
	var best *mailmapLine
	for i, l := range m.byMail[strings.ToLower(mail)] {
		if l.commitName == strings.ToLower(name) || l.commitName == "" && (best == nil || best.commitName == "") {
			best = &m.byMail[strings.ToLower(mail)][i]
		}
	}
	if best == nil {
		return actor
	}
	p := Person{Name: name, Mail: mail}
	if best.name != "" {
		p.Name = best.name
	}
	if best.mail != "" {
		p.Mail = best.mail
	}
	return p.String()
}

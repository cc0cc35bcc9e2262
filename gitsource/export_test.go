package gitsource

// ParseTree and ParseCommit are the parsers of raw objects, for fuzzing; what
// ParseTree accepts must be readable entry by entry.
func ParseTree(raw []byte) ([]string, error) {
	t, err := parseTree(raw)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := 0; i < len(raw); {
		e := t.at(i)
		if t.floor(0, i) != i || t.floor(i, e.next-1) != i {
			return nil, ErrDamaged
		}
		names = append(names, string(e.name))
		i = e.next
	}
	return names, nil
}

// ParseCommit reads a raw commit as Commit does.
func ParseCommit(raw []byte) (name, subj string, err error) {
	c, err := parseCommit(raw)
	if err != nil {
		return "", "", err
	}
	decode := decoder(c.encoding)
	message := decode(c.message)
	for _, p := range notes(message).CoAuthors {
		name += p.String()
	}
	return name + parsePerson(c.author, decode).String() + parsePerson(c.committer, decode).String(), subject(message), nil
}

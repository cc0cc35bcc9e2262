package trust

// Split is split, for the fuzz test: what was signed, the texts of the
// signatures, and whether raw is a commit at all.
func Split(raw []byte) (payload []byte, texts [][]byte, err error) {
	o, err := split(raw)
	for _, s := range o.signatures {
		texts = append(texts, s.text)
	}
	return o.payload, texts, err
}

// CheckFrame is checkFrame.
func CheckFrame(body []byte) error { return checkFrame(body) }

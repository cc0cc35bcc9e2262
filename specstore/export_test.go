package specstore

// What the tests of this package look at from outside.
var (
	DecodeRecord       = decodeRecord
	DecodeSubscription = decodeSubscription
	DecodeOrigin       = decodeOrigin
	DecodeCursor       = decodeCursor
	DecodeStatus       = decodeStatus
	DecodeLease        = decodeLease
	DecodeRow          = decodeRow
	EncodeRecord       = encodeRecord
	OneLine            = oneLine
	ParseWas           = func(s string) []string {
		f := parseWas(s)
		return []string{f.last, f.owner, f.adopted, f.suspend, f.path, f.raw}
	}
	LoadScripts = loadScripts
)

package specstore_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specstore"
)

// golden reads bytes that must decode for ever: a change of this folder is a
// change of what stores out there hold.
func golden(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "wire", name))
	require.NoError(t, err)
	return strings.TrimSuffix(string(b), "\n")
}

// goldenHash reads the fields of a stored hash.
func goldenHash(t testing.TB, name string) map[string]string {
	t.Helper()
	var h map[string]string
	require.NoError(t, json.Unmarshal([]byte(golden(t, name)), &h))
	return h
}

func goldenJob() (spec.Record, spec.Job) {
	j := spec.Job{Name: "orders", Factory: "kafka-to-redis", Parallelism: 4, Description: "处理订单", Config: map[string]string{
		"B": "3", "a": "1", "a.b": "4", "q": "\"\\\n\x01<&>", "secret.db": "env:DB", "😀": "smp", "Ａ": "bmp"}}
	return spec.Record{Tenant: "acme", Key: j.Key(), Spec: j, Version: 12, UpdatedBy: "Dev One <dev@example.com>", UpdatedAt: 1700000000000}, j
}

func TestAJobIsWrittenAndReadAsTheGoldenBytes(t *testing.T) {
	r, j := goldenJob()
	raw := golden(t, "job_v1.json")
	got, err := specstore.EncodeRecord(r)
	require.NoError(t, err)
	require.Equal(t, strings.Replace(raw, `"3c2a"`, `"`+j.SpecHash("acme")+`"`, 1), got)
	back, err := specstore.DecodeRecord("acme", j.Key(), raw, false)
	require.NoError(t, err)
	r.SpecHash, r.Raw = "3c2a", raw
	require.Equal(t, r, back)
}

func TestAJobOfTheJavaRuntimeIsReadAsItStands(t *testing.T) {
	raw := golden(t, "job_java.json")
	key := spec.Key{Kind: spec.KindJob, Name: "legacy"}
	back, err := specstore.DecodeRecord("default", key, raw, false)
	require.NoError(t, err)
	again, err := specstore.EncodeRecord(back)
	require.NoError(t, err)
	hash := back.Spec.(spec.Job).SpecHash("default")
	require.Equal(t, strings.Replace(raw, `"specHash":null`, `"specHash":"`+hash+`"`, 1), again)
}

func TestABrokenStringIsStoredAsValidUTF8(t *testing.T) {
	r, j := goldenJob()
	j.Description, j.Config = "a\xffb\u2028\x7f", map[string]string{}
	r.Spec = j
	got, err := specstore.EncodeRecord(r)
	require.NoError(t, err)
	require.Contains(t, got, "\"config\":{},")
	require.Contains(t, got, "\"description\":\"a\uFFFDb\u2028\x7f\"")
}

func TestASubscriptionIsWrittenAndReadAsTheGoldenBytes(t *testing.T) {
	s := spec.Subscription{Name: "billing", Kollex: spec.KollexRef{ID: "NT:1-K0001", Name: "billing", ImageTag: "1.4.0"},
		Episodes:          []spec.Episode{{ID: "NT:1-E0002", Name: "billing-web", Image: "registry.example.com:5000/shop/web:1.4.0"}},
		Dramas:            []spec.Drama{{ID: "NT:1-D000b", Service: "billing", Port: 8080, RoleID: "billing-admin", Image: "shop/api:1.4.0", Self: true}},
		ExternalTargetIDs: []string{"NT:1-D000b"}}
	r := spec.Record{Tenant: "acme", Key: s.Key(), Spec: s, Version: 3, UpdatedBy: "Dev <d@e.f> & co", UpdatedAt: 1700000000000}
	raw := golden(t, "subscription_v1.json")
	got, err := specstore.EncodeRecord(r)
	require.NoError(t, err)
	require.Equal(t, raw, got)
	back, err := specstore.DecodeSubscription("acme", "billing", raw)
	require.NoError(t, err)
	r.SpecHash, r.Raw = s.Digest(), raw
	require.Equal(t, r, back)
}

func TestAnOriginIsWrittenAndReadAsTheGoldenBytes(t *testing.T) {
	dev := spec.Person{Name: "Dev <One>", Mail: "dev@example.com", When: 1700000000}
	o := spec.Origin{Version: 4, Op: spec.OpRollback, Result: spec.Applied, Operation: strings.Repeat("a", 40) + "/orders/3", Commit: strings.Repeat("a", 40),
		Parent: strings.Repeat("b", 40), Path: "specs/orders.yaml", Line: 7, Actor: dev.String(), ChangedIn: strings.Repeat("c", 40), Author: &dev, Committer: &dev,
		Signer: "SHA256:abc", Verified: spec.VerifiedTrue, Subject: "Revert \"more\"", Contributors: []string{"Eve <e@x>"}, Restores: 2, SameDigest: 2,
		Digest: strings.Repeat("d", 64), SpecHash: strings.Repeat("e", 64), Suspend: true, Fields: []string{"config.batch"},
		Notes: spec.Notes{RevertOf: strings.Repeat("f", 40), CherryPickOf: strings.Repeat("1", 40), PullRequest: 12, CoAuthors: []spec.Person{dev}}}
	raw := golden(t, "origin_v1.json")
	got, err := specstore.OneLine(o)
	require.NoError(t, err)
	require.Equal(t, raw, got)
	back, err := specstore.DecodeOrigin("acme", spec.Key{Kind: spec.KindJob, Name: "orders"}, raw)
	require.NoError(t, err)
	require.Equal(t, o, back)
}

func TestTheGoldenHashesAreRead(t *testing.T) {
	c, err := specstore.DecodeCursor("acme", goldenHash(t, "cursor_v1.json"))
	require.NoError(t, err)
	require.Equal(t, spec.Cursor{Applied: "a1", Target: "b2", Step: 3, Seen: "c4", State: spec.StateRefused, Refused: "d5",
		Findings: []spec.Finding{{Path: "a.yaml", Line: 3, Column: 2, Field: "spec.x", Message: "unknown field"}}, Error: "no route", Errors: 2,
		Since: 1700000000000, Specs: 42, Epoch: "e6", EnforceFrom: "f7", Pavilion: "NT:1", CID: "X8FD"}, c)

	st, err := specstore.DecodeStatus("acme", "orders", goldenHash(t, "status_v1.json"))
	require.NoError(t, err)
	require.Equal(t, spec.Status{State: spec.Running, InstanceID: "agent-1", Detail: "d", UpdatedAt: 1700000000000, RunningVersion: 3,
		RunningHash: "h", Generation: 5, Since: 1700000000001, Attempt: 2}, st)
	st, err = specstore.DecodeStatus("acme", "orders", map[string]string{"state": "RUNNING", "instanceId": "java-1", "detail": "", "updatedAt": "7"})
	require.NoError(t, err, "the Java runtime writes four fields")
	require.Equal(t, spec.Status{State: spec.Running, InstanceID: "java-1", UpdatedAt: 7}, st)

	l, err := specstore.DecodeLease("acme", goldenHash(t, "lease_v1.json"))
	require.NoError(t, err)
	require.Equal(t, spec.Lease{Owner: "agent-1", Generation: 9, Until: 1700000000000}, l)

	values := map[string]any{}
	for k, v := range goldenHash(t, "row_v1.json") {
		values[k] = v
	}
	require.Equal(t, spec.AuditRow{ID: "1-0", TS: 1700000000000, Tenant: "acme", Actor: "Dev One <dev@example.com>", Op: spec.OpUpgrade, Job: "orders",
		From: 1, To: 2, Allowed: true, Detail: "config.batch", Kind: spec.KindGit, Result: spec.Applied, Commit: "a1"},
		specstore.DecodeRow(redis.XMessage{ID: "1-0", Values: values}))
	require.Equal(t, spec.AuditRow{ID: "1-0"}, specstore.DecodeRow(redis.XMessage{ID: "1-0", Values: map[string]any{"ts": "soon"}}))
}

func TestANumberThatIsNoneIsNamed(t *testing.T) {
	_, err := specstore.DecodeCursor("acme", map[string]string{"step": "x"})
	require.EqualError(t, err, "acme: cursor: field step is no number")
	_, err = specstore.DecodeStatus("acme", "orders", map[string]string{"generation": "1.5"})
	require.EqualError(t, err, "acme/orders: status: field generation is no number")
	_, err = specstore.DecodeCursor("acme", map[string]string{"findings": "{"})
	require.EqualError(t, err, "acme: cursor: field findings is unreadable")
}

func TestAnUnreadableRecordIsNamedAndNotQuoted(t *testing.T) {
	for raw, why := range map[string]string{
		`{"config":{"secret.db":"hunter2"`:        "not JSON",
		`{"config":{"secret.db":["hunter2"]}}`:    `field "config" holds a wrong type (array)`,
		`{"parallelism":123456789012345678901.5}`: `field "parallelism" holds a wrong type (number)`,
	} {
		_, err := specstore.DecodeRecord("acme", spec.Key{Kind: spec.KindJob, Name: "orders"}, raw, false)
		require.EqualError(t, err, "stored record of acme/orders is unreadable: "+why)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, name := range []string{"job_v1.json", "job_java.json", "subscription_v1.json", "origin_v1.json"} {
		f.Add(golden(f, name))
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, key := range []spec.Key{{Kind: spec.KindJob, Name: "a"}, {Kind: spec.KindSubscription, Name: "a"}} {
			r, err := specstore.DecodeRecord("acme", key, raw, false)
			if err != nil {
				continue
			}
			again, err := specstore.EncodeRecord(r)
			require.NoError(t, err)
			back, err := specstore.DecodeRecord("acme", key, again, false)
			require.NoError(t, err)
			require.True(t, r.Spec.Equal(back.Spec) || strings.Contains(again, "\uFFFD"))
		}
		if o, err := specstore.DecodeOrigin("acme", spec.Key{Kind: spec.KindJob, Name: "a"}, raw); err == nil {
			_, err = specstore.OneLine(o)
			require.NoError(t, err)
		}
	})
}

func FuzzDecodeHashes(f *testing.F) {
	for _, name := range []string{"cursor_v1.json", "status_v1.json", "lease_v1.json", "row_v1.json"} {
		for k, v := range goldenHash(f, name) {
			f.Add(k, v)
		}
	}
	f.Fuzz(func(t *testing.T, field, value string) {
		h := map[string]string{field: value}
		if _, err := specstore.DecodeCursor("acme", h); err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
		if _, err := specstore.DecodeStatus("acme", "a", h); err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
		if _, err := specstore.DecodeLease("acme", h); err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
		require.Equal(t, "1-0", specstore.DecodeRow(redis.XMessage{ID: "1-0", Values: map[string]any{field: value}}).ID)
		require.Len(t, specstore.ParseWas(value), 6)
	})
}

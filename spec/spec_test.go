package spec_test

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The vectors of the Java contract, CONTRACT section 4.
func TestSpecHashVectors(t *testing.T) {
	for _, v := range []struct {
		tenant, want string
		job          spec.Job
	}{
		{"default", "e13b74c99f5252f27ce0b7c8c3b7f5953809a94f6b5bf832ed7c45fb410258c1",
			spec.Job{Name: "jobA", Factory: "demo-factory", Config: map[string]string{"k": "v"}, Parallelism: 2, Description: "it spec"}},
		{"default", "7789bafa973085f6d375ed78ecfe6befa2ce605953fa1064d940637b70a9f690",
			spec.Job{Name: "jobA", Factory: "f", Parallelism: 1}},
		{"default", "59f800e06faaa8ec9267a558c7566b3b84ae10edaad10c8cb450b6d7ef93da3e",
			spec.Job{Name: "orders", Factory: "kafka-to-redis", Config: map[string]string{"a": "1", "b": "2", "B": "3", "a.b": "4"}, Parallelism: 4, Description: "处理订单"}},
		{"default", "845ce3b6cfd774add75b81fb9dcbcdf2c1474d20ae4ceb017665f231ec924c39",
			spec.Job{Name: "j", Factory: "f", Config: map[string]string{"😀": "smp", "Ａ": "bmp"}, Parallelism: 1}},
		{"default", "194602fffbf89a6838a14cf71c702dd9a13f6e6af59f7bd3d9f28d58ef56f5e6",
			spec.Job{Name: "j", Factory: "f", Config: map[string]string{"secret.raw": "canary", "secret.db": "env:DB_PASS"}, Parallelism: 1}},
	} {
		require.Equal(t, v.want, v.job.SpecHash(v.tenant))
	}
}

func TestDigestTellsApartWhatSpecHashCannot(t *testing.T) {
	a := spec.Job{Name: "j", Factory: "f", Parallelism: 1, Config: map[string]string{"a": "1;b=2"}}
	b := spec.Job{Name: "j", Factory: "f", Parallelism: 1, Config: map[string]string{"a": "1", "b": "2"}}
	require.Equal(t, a.SpecHash("t"), b.SpecHash("t"))
	require.NotEqual(t, a.Digest(), b.Digest())
	require.False(t, a.Equal(b))
}

func TestASecretLiteralIsMaskedEverywhereAReferenceNowhere(t *testing.T) {
	job := func(v string) spec.Job {
		return spec.Job{Name: "j", Factory: "f", Parallelism: 1, Config: map[string]string{"secret.x": v}}
	}
	require.Equal(t, job("one").Digest(), job("two").Digest())
	require.Equal(t, job("one").SpecHash("t"), job("two").SpecHash("t"))
	require.False(t, job("one").Equal(job("two")), "content differs all the same")
	require.NotEqual(t, job("env:A").Digest(), job("env:B").Digest(), "re-pointing must redeploy")
	require.True(t, job("one").HasLiteral())
	require.False(t, job("file:/run/x").HasLiteral())
	require.Equal(t, spec.Mask, spec.Shown("secret.x", "one"))
	require.Equal(t, "one", spec.Shown("secrets.x", "one"))
}

func TestContentOnlyDecidesTheDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) spec.Job {
			return spec.Job{Name: "j", Factory: rapid.SampledFrom([]string{"f", "g"}).Draw(t, "f"),
				Config:      rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "a=b"}), rapid.SampledFrom([]string{"", "1", "1;b=2", "|"}), 0, 3).Draw(t, "c"),
				Parallelism: rapid.IntRange(1, 2).Draw(t, "p"), Suspend: rapid.Bool().Draw(t, "s"),
				Description: rapid.SampledFrom([]string{"", "|", "d"}).Draw(t, "d")}
		})
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if a.Equal(b) != (a.Digest() == b.Digest()) {
			t.Fatalf("equal %v, digests equal %v: %+v %+v", a.Equal(b), a.Digest() == b.Digest(), a, b)
		}
	})
}

func TestAbsentAndEmptyListsAreOneContent(t *testing.T) {
	a := spec.Subscription{Name: "s", Kollex: spec.KollexRef{ID: "NT:1-K0001"}}
	b := spec.Subscription{Name: "s", Kollex: spec.KollexRef{ID: "NT:1-K0001"}, Dramas: []spec.Drama{}, ExternalTargetIDs: []string{}}
	require.True(t, a.Equal(b))
	require.Equal(t, a.Digest(), b.Digest())
}

func TestActorOfACommit(t *testing.T) {
	require.Equal(t, "Dev One <dev1@example.com>", spec.Person{Name: "Dev One", Mail: "dev1@example.com"}.String())
	require.Equal(t, "Dev One", spec.Person{Name: "Dev One"}.String())
	require.Equal(t, "<dev1@example.com>", spec.Person{Mail: "dev1@example.com"}.String())
	require.Equal(t, spec.UnknownAuthor, spec.Person{}.String())
}

func TestKeysReadBack(t *testing.T) {
	for _, k := range []spec.Key{{Kind: spec.KindJob, Name: "orders"}, {Kind: spec.KindSubscription, Name: "orders"}} {
		require.Equal(t, k, spec.ParseKey(k.String()))
	}
}

func TestWhatIsASpecPath(t *testing.T) {
	for p, want := range map[string]bool{
		"a.yaml": true, "x/b.YML": true, "two.dots..yaml": true, "trailing .yaml": true, ".hidden.yaml": false,
		".ci/build.yaml": false, "a/.b/c.yaml": false, "readme.yaml.bak": false, "yaml": false, "a.json": false,
	} {
		require.Equal(t, want, spec.IsSpecPath(p), p)
	}
}

func TestTenantNames(t *testing.T) {
	require.NoError(t, spec.CheckTenant("acme"))
	require.NoError(t, spec.CheckTenant(strings.Repeat("a", 63)))
	for _, s := range []string{"", "history", "status", "claim", "pawl", "A", "a_b", "-a", "a:b", "{a}", strings.Repeat("a", 64)} {
		require.Error(t, spec.CheckTenant(s), s)
	}
}

func TestFindingsReadAsOneLine(t *testing.T) {
	f := spec.Finding{Path: "jobs/a.yaml", Line: 3, Column: 7, Field: "spec.parallelism", Message: "must be 1 or more"}
	require.Equal(t, "jobs/a.yaml:3:7: spec.parallelism: must be 1 or more", f.String())
	require.Equal(t, `"new\nline.yaml": control character in the name`, spec.Finding{Path: "new\nline.yaml", Message: "control character in the name"}.String())
	got := spec.SortFindings([]spec.Finding{f, {Path: "a"}, f})
	require.Len(t, got, 2)
	require.Equal(t, "a", got[0].Path)
}

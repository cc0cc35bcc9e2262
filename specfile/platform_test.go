package specfile_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
	"github.com/stretchr/testify/require"
)

func platform(t *testing.T, data string) []specfile.Doc {
	t.Helper()
	docs, findings := specfile.Decode("platform.yaml", []byte(data), specfile.Options{Platform: true})
	require.Empty(t, findings)
	return docs
}

func TestAllFieldsOfThePlatformsDocuments(t *testing.T) {
	data, err := os.ReadFile("testdata/full/platform.yaml")
	require.NoError(t, err)
	docs := platform(t, string(data))
	require.Len(t, docs, 5)
	require.Equal(t, &spec.Pavilion{
		Name: "acme", ID: "NT:1", CID: "X8FD",
		Source: spec.Source{URL: "https://git.example.com/acme-specs.git", Branch: "live", Path: "specs/live",
			Interval: 10 * time.Second, History: "head", OnRewrite: "hold",
			Auth: spec.Auth{Username: "env:ACME_USER", Token: "file:/run/secrets/acme", KnownHosts: "/etc/pawl/known_hosts",
				CA: "/etc/pawl/ca.pem", Proxy: "http://pawl:env:PROXY_PASSWORD@proxy.example.com:3128"}},
		Manifests: spec.Manifests{URL: "git@git.example.com:acme/cluster.git", Branch: "prod", Path: "clusters/x8fd", Namespace: "acme-prod"},
		Guard:     spec.Guard{MaxRemovePercent: 10},
		Verify: spec.Verify{Mode: "signed", Keyrings: []string{"/etc/pawl/keys.asc"}, AllowedSigners: "/etc/pawl/signers",
			Forges: []string{"github"}},
		Policy:      []spec.Policy{{WhoName: "Dev *", WhoMail: "*@example.com", WhoSigner: "*", Ops: []string{"UPGRADE", "ROLLBACK"}, Jobs: "orders-*"}},
		EnforceFrom: "0123456789012345678901234567890123456789", Approved: []string{"abcdefabcdefabcdefabcdefabcdefabcdefabcd"},
		Drift: "heal", AllowSelf: true,
	}, docs[0].Pavilion)
	require.Equal(t, spec.Auth{Password: "env:GLOBEX_PASSWORD", SSHKey: "file:/run/secrets/globex",
		SSHKeyPassphrase: "env:GLOBEX_PASSPHRASE"}, docs[1].Pavilion.Source.Auth)
	require.Equal(t, spec.Auth{App: &spec.GitHubApp{ID: 12345, Installation: 9007199254740991, Key: "file:/run/secrets/app.pem",
		API: "https://github.example.com/api/v3"}}, docs[2].Pavilion.Source.Auth)
	docs = docs[2:]
	require.Equal(t, &spec.Kollex{
		Name: "showcase", ID: "K0001", Builtin: true, ImageTag: "2.1.0",
		Episodes:          []spec.Episode{{ID: "E0002", Name: "portal", Port: 80, Image: "registry.example.com/shop/portal"}},
		Dramas:            []spec.Drama{{ID: "D000b", Service: "gallery", Port: 8080, RoleID: "R-10", Image: "registry.example.com/shop/gallery:2.1.0", Self: true}},
		ExternalTargetIDs: []string{"E0002"},
	}, docs[1].Kollex)
	require.Equal(t, &spec.Agent{
		Name: "pool-a", Tenants: []string{"acme", "shop-*"}, Capacity: 10, TakeoverAfter: 0,
		Factories: []spec.Factory{
			{Name: "enrich", Process: &spec.ProcessLauncher{Command: []string{"/opt/enrich", "--serve"}, Env: map[string]string{"MODE": "fast"},
				Wire: true, Grace: 3 * time.Second}},
			{Name: "pipe", Stream: &spec.StreamLauncher{}},
			{Name: "pod", Kubernetes: &spec.KubernetesLauncher{Namespace: "jobs", Image: "registry.example.com/pod:1"}},
		},
	}, docs[2].Agent)
	for _, d := range docs {
		require.Nil(t, d.Spec)
	}
}

func TestDefaultsOfThePlatformsDocuments(t *testing.T) {
	docs := platform(t, `apiVersion: pawl.dev/v1
kind: Pavilion
metadata: {name: acme}
spec: {id: "NT:1", cid: X8FD, source: {url: /srv/git/acme.git}}
---
apiVersion: pawl.dev/v1
kind: Agent
metadata: {name: pool}
spec: {factories: [{name: a, process: {command: [/bin/a]}}]}
`)
	require.Equal(t, &spec.Pavilion{
		Name: "acme", ID: "NT:1", CID: "X8FD",
		Source: spec.Source{URL: "/srv/git/acme.git", Branch: "main", Path: ".", Interval: 30 * time.Second,
			History: "full", OnRewrite: "follow"},
		Manifests: spec.Manifests{Branch: "main", Path: ".", Namespace: "acme", ExternalGrace: 10 * time.Minute},
		Guard:     spec.Guard{MaxRemovePercent: 30},
		Verify:    spec.Verify{Mode: "none"},
		Drift:     "report",
	}, docs[0].Pavilion)
	require.Equal(t, &spec.Agent{Name: "pool", Tenants: []string{"*"}, Capacity: 200, TakeoverAfter: 6 * time.Minute,
		Factories: []spec.Factory{{Name: "a", Process: &spec.ProcessLauncher{Command: []string{"/bin/a"}, Env: map[string]string{}, Grace: 10 * time.Second}}},
	}, docs[1].Agent)
}

func TestAddressesAndCommitsThatThePlatformTakes(t *testing.T) {
	pavilion := func(url, history string) string {
		return "apiVersion: pawl.dev/v1\nkind: Pavilion\nmetadata: {name: acme}\nspec: {id: \"NT:1\", cid: X8FD, source: {url: \"" + url + "\", history: \"" + history + "\"}}\n"
	}
	commit := strings.Repeat("0f", 20)
	for _, url := range []string{"https://git.example.com/a.git", "ssh://git@git.example.com:22/a.git", "git@git.example.com:a.git", "file:///srv/a.git",
		"/srv/a.git", "../a.git", "https://bot@git.example.com/a.git", "https://bot:env:TOKEN@git.example.com/a.git"} {
		require.Equal(t, url, platform(t, pavilion(url, commit))[0].Pavilion.Source.URL)
	}
	for _, url := range []string{"", "-oProxyCommand=x", "https://a b/", "https://u:p@h/a", "https://u:@h/a", "https://u:env:@h/a", `a\tb`} {
		_, findings := specfile.Decode("p.yaml", []byte(pavilion(url, "full")), specfile.Options{Platform: true})
		require.Len(t, findings, 1, url)
		require.Equal(t, "spec.source.url", findings[0].Field)
	}
	for _, history := range []string{"", "FULL", commit[1:], strings.ToUpper(commit), "HEAD~1"} {
		_, findings := specfile.Decode("p.yaml", []byte(pavilion("/a", history)), specfile.Options{Platform: true})
		require.Len(t, findings, 1, history)
	}
}

func TestWhoseFileItIsDecidesTheIds(t *testing.T) {
	data, err := os.ReadFile("testdata/yaml/003-subscription.yaml")
	require.NoError(t, err)
	docs, findings := specfile.Decode("a.yaml", data, specfile.Options{Pavilion: "NT:1", CID: "X8FD"})
	require.Empty(t, findings)
	require.Len(t, docs, 1)
	docs, findings = specfile.Decode("a.yaml", data, specfile.Options{Pavilion: "NT:2", CID: "X8FD"})
	require.Empty(t, docs)
	require.Len(t, findings, 4)
	require.Equal(t, "a.yaml:6:16: spec.kollex.id: NT:1-K0001 is not of Pavilion NT:2, which this repository belongs to", findings[0].String())
}

func TestAPavilionInATenantsRepositoryMustAgreeAndIsNotUsed(t *testing.T) {
	data, err := os.ReadFile("testdata/yaml/004-pavilion.yaml")
	require.NoError(t, err)
	docs, findings := specfile.Decode("a.yaml", data, specfile.Options{Pavilion: "NT:1", CID: "X8FD"})
	require.Len(t, docs, 1)
	require.Equal(t, spec.Key{Kind: spec.KindPavilion, Name: "t1"}, docs[0].Key)
	require.Nil(t, docs[0].Spec)
	require.Len(t, findings, 1)
	require.True(t, findings[0].Warning)
	for want, opt := range map[string]specfile.Options{
		"6:8: spec.cid: X8FD is not X8FE": {Pavilion: "NT:1", CID: "X8FE"},
		"7:7: spec.id: NT:1 is not NT:2":  {Pavilion: "NT:2", CID: "X8FD"},
	} {
		docs, findings := specfile.Decode("a.yaml", data, opt)
		require.Empty(t, docs)
		require.Contains(t, text(findings), want)
	}
	_, findings = specfile.Decode("a.yaml", data, specfile.Options{Platform: true})
	require.Contains(t, text(findings), "spec.source: required, but missing")
}

func TestSelfAndBuiltinAreTakenWhereTheyAreAllowed(t *testing.T) {
	data := []byte(`apiVersion: pawl.dev/v1
kind: KollexSubscription
metadata: {name: shop}
spec:
  kollex: {id: "NT:1-K0001", builtin: true, imageTag: "1.4.0"}
  dramas: [{id: "NT:1-D000a", service: a, port: 1, roleId: a, image: x/a, self: true}]
`)
	docs, findings := specfile.Decode("a.yaml", data, specfile.Options{AllowSelf: true})
	require.Empty(t, findings)
	require.True(t, docs[0].Spec.(spec.Subscription).Dramas[0].Self)
	docs, findings = specfile.Decode("a.yaml", data, specfile.Options{})
	require.Empty(t, docs)
	require.Len(t, findings, 2)
	require.Contains(t, text(findings), "allowSelf: true")
}

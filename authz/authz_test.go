package authz_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/authz"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func job(name string) spec.Key { return spec.Key{Kind: spec.KindJob, Name: name} }

func subscription(name string) spec.Key { return spec.Key{Kind: spec.KindSubscription, Name: name} }

var dev = authz.Who{Name: "Dev One", Mail: "dev1@example.com", Verified: spec.VerifiedUnknown}

func TestAnEmptyPolicyLetsEverybodyDoEverything(t *testing.T) {
	d := authz.Decide(nil, authz.Who{}, spec.OpStop, job("orders"))
	require.True(t, d.Allowed)
	require.Equal(t, -1, d.Rule)
	require.Contains(t, d.Why, "there is no policy")
}

func TestAnEntryMustMatchInWhoOpAndJob(t *testing.T) {
	signed := func(signer, verified string) authz.Who {
		return authz.Who{Name: "Dev One", Mail: "dev1@example.com", Signer: signer, Verified: verified}
	}
	for _, c := range []struct {
		name  string
		entry spec.Policy
		who   authz.Who
		op    spec.Op
		key   spec.Key
		want  bool
		why   string
	}{
		{"an empty entry", spec.Policy{}, authz.Who{}, spec.OpStop, job("orders"), true, ""},
		{"name", spec.Policy{WhoName: "Dev *"}, dev, spec.OpUpgrade, job("orders"), true, ""},
		{"another name", spec.Policy{WhoName: "Ops *"}, dev, spec.OpUpgrade, job("orders"), false, `name "Dev One" does not match "Ops *"`},
		{"name, case", spec.Policy{WhoName: "dev *"}, dev, spec.OpUpgrade, job("orders"), false, "does not match"},
		{"mail", spec.Policy{WhoMail: "*@Example.com"}, dev, spec.OpUpgrade, job("orders"), true, ""},
		{"mail, longer domain", spec.Policy{WhoMail: "*@example.com"}, authz.Who{Mail: "a@example.com.evil.example"}, spec.OpUpgrade, job("orders"), false, "does not match"},
		{"name and mail", spec.Policy{WhoName: "Dev *", WhoMail: "ops@*"}, dev, spec.OpUpgrade, job("orders"), false, "mail"},
		{"op", spec.Policy{Ops: []string{"SUBMIT", "UPGRADE"}}, dev, spec.OpUpgrade, job("orders"), true, ""},
		{"another op", spec.Policy{Ops: []string{"SUBMIT", "UPGRADE"}}, dev, spec.OpStop, job("orders"), false, "STOP is none of its ops"},
		{"op, case", spec.Policy{Ops: []string{"stop"}}, dev, spec.OpStop, job("orders"), false, "none of its ops"},
		{"job", spec.Policy{Jobs: "orders-*"}, dev, spec.OpUpgrade, job("orders-eu"), true, ""},
		{"another job", spec.Policy{Jobs: "orders-*"}, dev, spec.OpUpgrade, job("billing"), false, `"billing" does not match "orders-*"`},
		{"job, not a subscription", spec.Policy{Jobs: "bill*"}, dev, spec.OpUpgrade, subscription("billing"), false, `"subscription/billing"`},
		{"subscription", spec.Policy{Jobs: "subscription/bill*"}, dev, spec.OpUpgrade, subscription("billing"), true, ""},
		{"subscriptions are among all", spec.Policy{Jobs: "*"}, dev, spec.OpUpgrade, subscription("billing"), true, ""},
		{"signer", spec.Policy{WhoSigner: "*@example.com"}, signed("dev1@Example.com", "true"), spec.OpUpgrade, job("orders"), true, ""},
		{"signer claimed", spec.Policy{WhoSigner: "*@example.com"}, signed("dev1@example.com", "false"), spec.OpUpgrade, job("orders"), false, "no signer is proven"},
		{"signer unknown", spec.Policy{WhoSigner: "*"}, signed("dev1@example.com", "unknown"), spec.OpUpgrade, job("orders"), false, "no signer is proven"},
		{"signer, verified oddly", spec.Policy{WhoSigner: "*"}, signed("dev1@example.com", "TRUE"), spec.OpUpgrade, job("orders"), false, "no signer is proven"},
		{"nobody signed", spec.Policy{WhoSigner: "*"}, signed("", "true"), spec.OpUpgrade, job("orders"), false, "no signer is proven"},
		{"another signer", spec.Policy{WhoSigner: "ops@example.com"}, signed("dev1@example.com", "true"), spec.OpUpgrade, job("orders"), false, "signer"},
		{"a signer is no mail", spec.Policy{WhoMail: "ops@example.com"}, authz.Who{Signer: "ops@example.com", Verified: "true"}, spec.OpUpgrade, job("orders"), false, "mail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := []spec.Policy{c.entry}
			d := authz.Decide(policy, c.who, c.op, c.key)
			require.Equal(t, c.want, d.Allowed, d.Why)
			require.Contains(t, authz.Explain(policy, c.who, c.op, c.key), c.why)
			if c.want {
				require.Equal(t, 0, d.Rule)
				require.Contains(t, d.Why, "policy[0] lets ")
			} else {
				require.Equal(t, -1, d.Rule)
			}
		})
	}
}

func TestHostileNamesMatchNothingButThemselves(t *testing.T) {
	policy := []spec.Policy{{WhoName: "admin"}, {WhoMail: "admin@example.com"}}
	for _, name := range []string{
		"аdmin",       // Cyrillic a
		"admin\x00",   // control character at the end
		"admin\n",     // line end
		"\u202eadmin", // turned direction
		"admin\u200b", // zero width
		"ａdmin",       // full width
		"admi\u0131n", "ADMIN", " admin", "*", "?????", "admin@example.com",
	} {
		for _, who := range []authz.Who{{Name: name}, {Mail: strings.ReplaceAll(name, "@example.com", "") + "@example.com"}} {
			if who.Mail == "admin@example.com" {
				continue
			}
			d := authz.Decide(policy, who, spec.OpStop, job("orders"))
			require.False(t, d.Allowed, "%+q", who)
			text := d.Why + authz.Explain(policy, who, spec.OpStop, job("orders"))
			require.NotContains(t, text, "\x00")
			require.NotContains(t, text, "\u202e", "what turns the direction is printed as an escape")
			require.Equal(t, 4, strings.Count(authz.Explain(policy, who, spec.OpStop, job("orders")), "\n"), "no name adds a line")
		}
	}
}

func TestExplainTellsEntryByEntry(t *testing.T) {
	policy := []spec.Policy{
		{WhoSigner: "*@example.com"},
		{WhoName: "Dev *", Ops: []string{"UPGRADE", "ROLLBACK"}, Jobs: "billing*"},
		{WhoMail: "dev1@*", Ops: []string{"UPGRADE"}},
	}
	require.Equal(t, `may "Dev One <dev1@example.com>" do UPGRADE on "orders"?
policy[0] (signer "*@example.com"; every op; everything): no: it asks for a signer like "*@example.com", and no signer is proven (verified: "unknown")
policy[1] (name "Dev *"; UPGRADE, ROLLBACK; "billing*"): no: "orders" does not match "billing*"
policy[2] (mail "dev1@*"; UPGRADE; everything): allows
allowed by policy[2]
`, authz.Explain(policy, dev, spec.OpUpgrade, job("orders")))
	require.Equal(t, `may "Dev One <dev1@example.com>" do STOP on "subscription/billing"?
policy[0] (mail "dev1@*"; UPGRADE; everything): no: STOP is none of its ops
refused: no entry allows it
`, authz.Explain(policy[2:], dev, spec.OpStop, subscription("billing")))
	require.Equal(t, `may "(unknown author)" signed by "ops" do STOP on "orders"?
allowed: there is no policy: everybody may do everything
`, authz.Explain(nil, authz.Who{Signer: "ops", Verified: "true"}, spec.OpStop, job("orders")))
}

// question draws few values, so that entries and questions meet often.
func question(t *rapid.T) (authz.Who, spec.Op, spec.Key) {
	text := rapid.SampledFrom([]string{"", "a", "b", "ab", "a@x", "b@X"})
	who := authz.Who{Name: text.Draw(t, "name"), Mail: text.Draw(t, "mail"), Signer: text.Draw(t, "signer"),
		Verified: rapid.SampledFrom([]string{"true", "false", "unknown"}).Draw(t, "verified")}
	op := rapid.SampledFrom([]spec.Op{spec.OpSubmit, spec.OpUpgrade, spec.OpStop}).Draw(t, "op")
	kind := rapid.SampledFrom([]spec.Kind{spec.KindJob, spec.KindSubscription}).Draw(t, "kind")
	return who, op, spec.Key{Kind: kind, Name: rapid.SampledFrom([]string{"a", "b", "ab"}).Draw(t, "key")}
}

func entry() *rapid.Generator[spec.Policy] {
	return rapid.Custom(func(t *rapid.T) spec.Policy {
		glob := rapid.SampledFrom([]string{"", "", "*", "a*", "?b", "*@x", "subscription/*"})
		return spec.Policy{WhoName: glob.Draw(t, "name"), WhoMail: glob.Draw(t, "mail"), WhoSigner: glob.Draw(t, "signer"),
			Ops: rapid.SliceOfN(rapid.SampledFrom([]string{"SUBMIT", "UPGRADE", "STOP"}), 0, 2).Draw(t, "ops"), Jobs: glob.Draw(t, "jobs")}
	})
}

func TestAnEntryNeverForbidsAndOrderDecidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		who, op, key := question(t)
		policy := rapid.SliceOfN(entry(), 1, 5).Draw(t, "policy")
		before := authz.Decide(policy, who, op, key)
		if more := authz.Decide(append(policy[:len(policy):len(policy)], entry().Draw(t, "more")), who, op, key); before.Allowed && !more.Allowed {
			t.Fatalf("an entry more forbids: %+v", more)
		}
		mixed := rapid.Permutation(policy).Draw(t, "mixed")
		after := authz.Decide(mixed, who, op, key)
		if before.Allowed != after.Allowed {
			t.Fatalf("another order, another decision: %+v, %+v", before, after)
		}
		if after.Allowed && !authz.Decide(mixed[after.Rule:after.Rule+1], who, op, key).Allowed {
			t.Fatalf("entry %d is named, and does not allow it", after.Rule)
		}
		unproven := who
		unproven.Verified = spec.VerifiedFalse
		if authz.Decide(policy, unproven, op, key).Allowed && !before.Allowed {
			t.Fatalf("a proof forbids what was allowed without")
		}
	})
}

func TestRolesCoverWhatIsBelowThem(t *testing.T) {
	roles := []authz.Role{authz.Reader, authz.Operator, authz.Admin}
	for i, r := range roles {
		for j, need := range roles {
			require.Equal(t, i >= j, r.Covers(need), "%s %s", r, need)
		}
		parsed, err := authz.ParseRole(r.String())
		require.NoError(t, err)
		require.Equal(t, r, parsed)
		for _, none := range []authz.Role{0, -1, 4, 99} {
			require.False(t, r.Covers(none))
			require.False(t, none.Covers(r))
		}
	}
	for _, s := range []string{"", "reader", "ROOT", "NONE", "ADMIN "} {
		_, err := authz.ParseRole(s)
		require.ErrorContains(t, err, "none of READER, OPERATOR and ADMIN")
	}
}

func TestARoleIsOneWordInJSON(t *testing.T) {
	text, err := json.Marshal(map[string]authz.Role{"role": authz.Operator})
	require.NoError(t, err)
	require.JSONEq(t, `{"role":"OPERATOR"}`, string(text))
	var back struct{ Role authz.Role }
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, authz.Operator, back.Role)
	require.Error(t, json.Unmarshal([]byte(`{"role":"root"}`), &back))
	_, err = json.Marshal(authz.Role(0))
	require.Error(t, err, "no token without a role leaves the process")
}

func TestActsAskForTheRoleOfTheContract(t *testing.T) {
	for act, role := range map[authz.Act]authz.Role{
		authz.ActRead: authz.Reader, authz.ActStop: authz.Operator, authz.ActResume: authz.Operator, authz.ActRestart: authz.Operator,
		authz.ActSync: authz.Operator, authz.ActApprove: authz.Admin, authz.ActAdopt: authz.Admin, authz.ActTokens: authz.Admin, "shutdown": authz.Admin,
	} {
		require.Equal(t, role, authz.Needs(act), act)
	}
}

func ExampleDecide() {
	policy := []spec.Policy{{WhoSigner: "*@example.com", Ops: []string{"UPGRADE"}, Jobs: "orders-*"}}
	who := authz.Who{Name: "Dev One", Mail: "dev1@example.com", Signer: "dev1@example.com", Verified: spec.VerifiedTrue}
	fmt.Println(authz.Decide(policy, who, spec.OpUpgrade, spec.ParseKey("orders-eu")).Allowed)
	who.Verified = spec.VerifiedFalse
	fmt.Println(authz.Decide(policy, who, spec.OpUpgrade, spec.ParseKey("orders-eu")).Allowed)
	// Output:
	// true
	// false
}

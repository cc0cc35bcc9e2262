package e2e_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/cases.md")

// heldElsewhere is a case without a fixture here: the tests that hold it, or why
// nothing does.
type heldElsewhere struct {
	id, what string
	tests    []string // folder.Name, or "folder: name of a part" for parts of an exam
	later    string
}

// elsewhere lists the cases of the catalogue that are no shape of a repository.
func elsewhere() []heldElsewhere {
	const yaml = "specfile.TestEveryCaseOfTheTable"
	const webhooks, selfDeploy = "webhooks", "self-upgrades and their observed version"
	return []heldElsewhere{
		{"G08", "a fetch that never answers", []string{"e2e.TestAFetchThatHangsDelaysNoOtherTenant", "gitsource.TestASilentServerIsGivenUpAtTheDeadline",
			"gitsource.TestASourceThatIgnoresItsDeadlineIsLeftBehindAndRefusedUntilItEnds", "gitsource.TestHalfAPackLeavesNothingBehind"}, "an age in `status` while the first fetch hangs"},
		{"G09", "credentials expire, a repository moves", []string{"gitsource.TestCredentialsAreAskedForBeforeEachFetch",
			"gitsource.TestRefusedCredentialsAreAnErrorWithoutThem", "gitsource.TestRedirectsAreFollowedOnOneHostOnly"}, ""},
		{"G17", "a restart with a clone on disk, whole or half", []string{"e2e.TestAStartGoesOnWithWhateverIsOnDisk", "e2e.TestTwoTenantsOfOneRepositoryKeepTheirBranchesApart",
			"gitsource.TestAFolderThatIsNoCloneOfOursIsSetAsideAndClonedAnew"}, ""},
		{"G75", "duplicate keys", []string{yaml}, ""},
		{"G76", "values that are not strings", []string{yaml, "specfile.TestStringsAreStoredAsTheyAreWritten"}, ""},
		{"G77", "several documents in a file", []string{yaml, "specfile.TestEmptyDocumentsAreSkippedAndLinesAreThoseOfTheFile"}, ""},
		{"G78", "anchors, merge keys, bombs, tags, tabs, unknown fields", []string{yaml, "specfile.TestAnAliasBombIsNeverFollowed", "specfile.TestNoFileTakesMuchTimeOrMemory"}, ""},
		{"G79", "names, ids, image references", []string{yaml}, ""},
		{"G80", "a webhook's signature is missing, wrong, or its secret empty", nil, webhooks},
		{"G81", "a webhook's body is too large, incomplete or odd", nil, webhooks},
		{"G82", "webhooks of deletions, tags, pings, other branches", nil, webhooks},
		{"G83", "a delivery that is replayed", nil, webhooks},
		{"G84", "file lists in a payload", nil, webhooks + "; changes are found by trees alone as it is"},
		{"G85", "rate limits of a forge", []string{"gitsource.TestOnlyWhatIsNewIsFetchedAndAPollWithoutChangeIsCheap",
			"gitsource.TestRetryAfterIsObeyedForOneHostAndCredential", "gitsource.TestAFailingSourceIsAskedLessAndLess"}, ""},
		{"G86", "a reply is lost after the write was applied", []string{"specstore.TestALostReplyOfASuccessIsSuccess", "specstore.TestALostRequestWroteNothingAndSaysSo",
			"specstore.TestAnOutcomeIsUnknownOnlyWhereItCannotBeReadBack"}, ""},
		{"G87", "NOSCRIPT", []string{"specstore/storetest: scripts that the server forgot are sent again"}, ""},
		{"G88", "READONLY after a failover", []string{"specstore.TestAReplicaIsUnavailableAndNoRestartIsNeededAfterwards", "specstore.TestARestartedServerIsFoundAgain"}, ""},
		{"G89", "out of memory, eviction, a script that ends half-way", []string{"specstore.TestOutOfMemoryWritesNothingIsNamedAndLetsRunningJobsGoOn",
			"specstore.TestCheckRefusesARedisThatMayLoseVersions", "specstore/storetest: a key of another type is named and nothing is written"}, ""},
		{"G90", "slots of a cluster", []string{"specstore/storetest.TestCluster", "specstore.TestAClusterWithoutTenantInThePrefixIsRefused"}, ""},
		{"G91", "a long script blocks everybody", []string{"specstore.TestAFullStepStaysFarBelowFiftyMilliseconds",
			"specstore/storetest: a step that is too big or half right is refused before it is sent"}, "agents' heartbeats during a big commit"},
		{"G92", "two syncers at once", []string{"e2e.TestTwoSyncersMakeNoVersionTwiceAndMissNone", "e2e.TestAStandbyTakesOverFromAKilledSyncer",
			"specstore.TestTwoSyncersOfOneStepMakeItOnce", "specstore/storetest: a fence refuses who lost the lease"}, ""},
		{"G93", "killed between write and checkpoint", []string{"e2e.TestAKilledSyncerLeavesTheLedgerOfOneThatWasNot", "e2e.TestAFirstSyncKilledBetweenBatchesIsContinued",
			"syncer.TestAFaultAtAnyCallLeavesTheSameLedger", "specstore/storetest: a step applied twice is done once"}, ""},
		{"G94", "tag, digest and port in an observed version", nil, selfDeploy},
		{"G95", "the same tag pushed again", nil, selfDeploy},
		{"G96", "a crash around the final event", nil, "events"},
		{"G97", "the configuration changes", []string{"e2e.TestAConfigurationIsTakenOverWhileRunning", "e2e.TestAConfigurationMayStandInGit"}, ""},
		{"G98", "numbers of versions, and what is kept of them", []string{"e2e.TestThreeHundredVersionsKeepTheirOrderAndAnOldContentIsFound",
			"specstore/storetest: three hundred versions later the numbers are still numbers"}, ""},
		{"G99", "a person's write to a job that belongs to Git", []string{"specstore/storetest: what belongs to Git is not upgraded by a person",
			"specstore/storetest: a stop wins over Git until it is resumed", "syncer.TestDriftIsNamedWithWhoDidIt"}, ""},
		{"G100", "green while blocked", []string{"e2e.TestGitCases", "e2e.TestABadCommitIsRefusedAsAWholeAndTheNextGoodOneGoesThrough"}, "metrics; the state, the commit and its findings are in `status`"},
	}
}

func TestTheCasesPageIsMadeFromTheTables(t *testing.T) {
	t.Parallel()
	const page = "../docs/cases.md"
	text := casesPage(t)
	if *update {
		require.NoError(t, writeAll(page, text))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, text, string(have), "run go test ./e2e -run TestTheCasesPage -update")
}

func casesPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`# Cases

What real repositories, networks and stores do to a control plane, and the tests that hold Pawl to an answer. Made from the tables of
` + "`e2e/cases*_test.go` by `go test ./e2e -run TestTheCasesPage -update`; a test fails if they differ." + `

Where a case and [the contract](contract.md) disagree, the contract wins: that is said under "other than the case".

## Shapes of a Git repository

` + "`e2e/testdata/cases/make-cases.sh DIR` builds them; `DIR/advance.sh DIR/CASE N` brings one to a step. `e2e.TestGitCases` takes each through its steps with" + `
the syncer as built and a real Redis. "Expected" is what it holds of every step: spec, operation, version (none and refuse: the one that stays), who.
After every pass it also holds that the exit code says how the tenant stands, that stdout and audit tell the same versions, and that a further
pass has nothing to do. *Not yet* is what the case wants and Pawl does not have.

| case | what | expected | held besides | not yet, or other than the case |
|---|---|---|---|---|
`)
	for _, c := range gitCases() {
		var wants, also, notes []string
		for _, e := range expectationsOf(t, filepath.Join(builtCases(t), c.dir)) {
			wants = append(wants, e.words())
		}
		for _, k := range c.also {
			says := k.says
			if k.step != "" {
				says = k.step + " " + says
			}
			also = append(also, says)
		}
		if c.running {
			also = append(also, "a syncer that follows needs no restart")
		}
		if c.ours != "" {
			notes = append(notes, "*Other than the case:* "+c.ours)
		}
		if c.later != "" {
			notes = append(notes, "*Not yet:* "+c.later)
		}
		row(&b, c.id(), c.what, strings.Join(wants, "; "), strings.Join(also, "; "), strings.Join(notes, ". "))
	}
	b.WriteString("\n## Everything else\n\n| case | what | tests | not yet |\n|---|---|---|---|\n")
	for _, h := range elsewhere() {
		var tests []string
		for _, name := range h.tests {
			tests = append(tests, "`"+name+"`")
		}
		row(&b, h.id, h.what, strings.Join(tests, " "), h.later)
	}
	return b.String()
}

// words is an expectation on the page: "2 orders upgrade 3 (Dev One)".
func (e expectation) words() string {
	who := ""
	if name, _, ok := strings.Cut(e.actor, " <"); ok {
		who = " (" + name + ")"
	}
	object := strings.TrimPrefix(e.object, "job/")
	object = strings.Replace(object, "/job/", "/", 1)
	if e.object == "tenant" {
		return fmt.Sprintf("%s tenant %s", e.step, e.op)
	}
	return fmt.Sprintf("%s %s %s %d%s", e.step, object, e.op, e.version, who)
}

func row(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(c, "|", "\\|") + " ")
	}
	b.WriteString("|\n")
}

// A case is held or it says why not, and no test that the page names is made up.
func TestEveryCaseIsHeldOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	once := func(id string) {
		require.False(t, ids[id], "%s stands twice", id)
		ids[id] = true
	}
	for _, c := range gitCases() {
		once(c.id())
	}
	for _, h := range elsewhere() {
		once(h.id)
		require.True(t, len(h.tests) > 0 || h.later != "", h.id)
		for _, name := range h.tests {
			if folder, part, ok := strings.Cut(name, ": "); ok {
				require.Contains(t, names(t, folder), part, h.id)
				continue
			}
			i := strings.LastIndex(name, ".")
			require.Contains(t, names(t, name[:i]), name[i+1:], h.id)
		}
	}
}

// names gives the functions and the texts of a folder's Go files.
func names(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, folder)
	all := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				all[n.Name.Name] = true
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					all[s] = true
				}
			}
			return true
		})
	}
	return all
}

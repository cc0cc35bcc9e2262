package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/internal/gittest"
	"github.com/stretchr/testify/require"
)

// After fifty edits of a file with one key a line, blame says of every key what
// git blame says of its line.
func TestBlameSaysWhatGitBlameSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := gittest.New(t)
	w.repo = r.Dir
	rnd := rand.New(rand.NewSource(4))
	const keys = 12
	values := make([]string, keys)
	write := func() {
		s := "apiVersion: pawl.dev/v1\nkind: JobSpec\nmetadata:\n  name: orders\nspec:\n  pipelineFactory: enrich\n  config:\n"
		for i, v := range values {
			s += fmt.Sprintf("    key.%02d: %q\n", i, v)
		}
		r.Write("orders.yaml", s)
	}
	people := []string{ada, grace, alan}
	for i := range values {
		values[i] = fmt.Sprintf("%d-0", i)
	}
	write()
	r.Commit(ada, "first")
	for i := range 50 {
		switch {
		case i%9 == 8:
			r.Revert(people[rnd.Intn(3)], "HEAD")
			for j := range values { // as the file is now
				_, line, _ := strings.Cut(r.Git("show", "HEAD:orders.yaml"), fmt.Sprintf("key.%02d: \"", j))
				values[j], _, _ = strings.Cut(line, `"`)
			}
			continue
		default:
			for range 1 + rnd.Intn(2) {
				j := rnd.Intn(keys)
				values[j] = fmt.Sprintf("%d-%d", j, i+1)
			}
		}
		write()
		r.Commit(people[rnd.Intn(3)], fmt.Sprintf("edit %d (#%d)", i, 100+i))
	}
	w.must("run", "--once")

	var blames []struct {
		Field, Value, Actor, Commit string
		Version                     int64
		PullRequest                 int
	}
	require.NoError(t, json.Unmarshal([]byte(w.must("blame", "orders", "-o", "json")), &blames))
	said := map[string]string{}
	for _, b := range blames {
		said[b.Field] = b.Commit + " " + b.Actor
		if strings.HasPrefix(b.Field, "config.") && b.Version > 1 && !strings.Contains(r.Git("show", "-s", "--format=%s", b.Commit), "Revert") {
			require.NotZero(t, b.PullRequest, b.Field)
		}
	}
	for i := range keys {
		line := 8 + i
		porcelain := r.Git("blame", "-p", "-L", fmt.Sprintf("%d,%d", line, line), "HEAD", "--", "orders.yaml")
		id, _, _ := strings.Cut(porcelain, " ")
		who := r.Git("show", "-s", "--format=%an <%ae>", id)
		require.Equal(t, id+" "+who, said[fmt.Sprintf("config.key.%02d", i)], "key.%02d", i)
	}
}

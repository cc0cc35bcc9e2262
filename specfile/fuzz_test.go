package specfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// FuzzDecode: no input panics, findings can be printed, and what is accepted
// is what the nodes of the file say.
func FuzzDecode(f *testing.F) {
	for _, dir := range []string{"yaml", "golden", "full"} {
		files, err := filepath.Glob("testdata/" + dir + "/*.yaml")
		require.NoError(f, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(f, err)
			if len(data) < 20_000 {
				f.Add(data, strings.HasSuffix(file, "platform.yaml") || strings.Contains(file, "platform-"))
			}
		}
	}
	f.Add([]byte(withConfig("    \"\\\\\\\"\": \"\\0\\x07\\u2028\\U0010FFFF\"\n    ? k\n    : >-\n      a\n\n      b\n")), false)
	f.Fuzz(func(t *testing.T, data []byte, platform bool) {
		opt := specfile.Options{Platform: platform, AllowSelf: true}
		docs, findings := specfile.Decode("a.yaml", data, opt)
		requireClean(t, findings)
		again, same := specfile.Decode("a.yaml", data, opt)
		require.Equal(t, docs, again)
		require.Equal(t, findings, same)
		for _, d := range docs {
			require.Positive(t, d.Line)
			job, ok := d.Spec.(spec.Job)
			if d.Spec == nil {
				continue
			}
			require.True(t, d.Spec.Equal(d.Spec))
			require.Len(t, d.Spec.Digest(), 64)
			if ok {
				requireSameAgain(t, job)
			}
		}
	})
}

// requireSameAgain writes a job as YAML in another layout and decodes that: the
// content and its digest must not move.
func requireSameAgain(t *testing.T, job spec.Job) {
	t.Helper()
	root := map[string]any{"apiVersion": spec.APIVersion, "kind": "JobSpec", "metadata": map[string]string{"name": job.Name},
		"spec": map[string]any{"pipelineFactory": quoted(job.Factory), "parallelism": job.Parallelism, "suspend": job.Suspend,
			"description": quoted(job.Description), "config": quotedMap(job.Config)}}
	data, err := yaml.Marshal(root)
	require.NoError(t, err)
	docs, findings := specfile.Decode("again.yaml", data, specfile.Options{})
	errs, _ := spec.Split(findings)
	require.Empty(t, errs, string(data))
	require.Len(t, docs, 1)
	require.True(t, docs[0].Spec.Equal(job))
	require.Equal(t, job.Digest(), docs[0].Spec.Digest())
}

func quoted(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}
}

func quotedMap(m map[string]string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
	for k, v := range m {
		n.Content = append(n.Content, quoted(k), quoted(v))
	}
	return n
}

const typicalJob = `apiVersion: pawl.dev/v1
kind: JobSpec
metadata:
  name: orders
spec:
  pipelineFactory: enrich
  parallelism: 4
  description: Enriches the orders of the shop with customer data
  config:
    input.topic: orders-v2
    output.topic: orders-enriched
    group.id: enrich-orders
    batch.size: "500"
    poll.interval: 250ms
    endpoint: "https://customers.example.com/v1"
    secret.db.password: env:ORDERS_DB_PASSWORD
`

func BenchmarkDecodeTypicalJob(b *testing.B) {
	data := []byte(typicalJob)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if docs, findings := specfile.Decode("orders.yaml", data, specfile.Options{}); len(docs) != 1 || len(findings) != 0 {
			b.Fatal(findings)
		}
	}
}

// The floor: the parser alone.
func BenchmarkParserAlone(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var n yaml.Node
		if err := yaml.NewDecoder(strings.NewReader(typicalJob)).Decode(&n); err != nil {
			b.Fatal(err)
		}
	}
}

package specfile_test

import (
	"fmt"

	"github.com/pawl-dev/pawl/spec"
	"github.com/pawl-dev/pawl/specfile"
)

func ExampleDecode() {
	file := `apiVersion: pawl.dev/v1
kind: JobSpec
metadata: {name: orders}
spec:
  pipelineFactory: enrich
  config: {input.topic: orders}
---
apiVersion: pawl.dev/v1
kind: JobSpec
metadata: {name: refunds}
spec:
  pipelineFactory: enrich
  paralelism: 2
  config: {compress: no}
`
	docs, findings := specfile.Decode("specs/pay.yaml", []byte(file), specfile.Options{Pavilion: "NT:1"})
	for _, d := range docs {
		job, ok := d.Spec.(spec.Job)
		fmt.Println(d.Key, d.Line, ok, job.Parallelism, job.Config["input.topic"])
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	// Output:
	// orders 1 true 1 orders
	// specs/pay.yaml:13:3: spec.paralelism: unknown field (parallelism?)
	// specs/pay.yaml:14:22: spec.config.compress: plain no is not a string but a boolean in YAML 1.1: put it in quotes ("no")
}

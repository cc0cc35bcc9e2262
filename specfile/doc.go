// Package specfile turns the YAML of a spec repository into the values of
// package spec. It owns strictness: which bytes are YAML for Pawl at all, which
// fields a document has, which values they take, and where a mistake stands
// (path:line:column). It owns the JSON Schemas for editors too, which say the
// same in less detail.
//
// The order is fixed: checks on bytes, parsing to nodes, checks on nodes, and
// only the tree that was accepted is decoded, by sigs.k8s.io/yaml. A library
// that decodes at once would take "no" for false, 0123 for 83, Name for name
// and the first document for the file.
//
// It never reads Git or a store, follows no link, logs nothing and never puts
// the value of a secret key into a finding. It keeps no state, so a crash
// leaves nothing behind. Source: CONTRACT section 2.
package specfile

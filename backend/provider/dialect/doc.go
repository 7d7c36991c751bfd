// Package dialect holds what the translations of all dialects share: lenient
// JSON, names and ids that a wire allows, text on its way to the eye, opaque
// data that goes back, and the client of a configured endpoint.
//
// It knows no dialect itself. The packages beside it import it; it imports
// package provider. The numbers in comments such as "decision 8" are those of
// the section Streams in backend/agent/core/testdata/patch/README.md.
package dialect

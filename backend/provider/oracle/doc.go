// Package oracle holds our translations against the vendors' own SDKs: each
// request that we send must be one that the SDK can read and write again
// unchanged, and each well-formed stream must give the same text, calls and
// usage through both. It is a module of its own, so that the SDKs are never
// linked into the program; it has tests only.
//
// Where an SDK and the decisions in backend/agent/core/testdata/patch/README.md
// part, the decisions stand and the difference is a named row (parted).
package oracle

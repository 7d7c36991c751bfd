// Package api is the boundary to the page: the four bound services Documents,
// Workspace, Agent and Settings, their DTOs, the event table, the error
// formatter and the emitter.
//
// Everything that arrives here is validated before use, since a page can be
// made to send anything. A bound method decodes, calls and encodes. DTOs are
// JSON camelCase with times as …AtMs int64; they hold no `any`, and slices are
// never nil. testdata/surface.golden lists the whole surface; tsgen writes the
// TypeScript side from the event table and the DTOs.
package api

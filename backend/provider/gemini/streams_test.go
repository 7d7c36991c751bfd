package gemini

import (
	"testing"

	"galley/backend/provider"
	"galley/backend/provider/streamtest"
)

const rowsFile = "../../agent/core/testdata/patch/streams.json"

// TestStreams plays every row of this dialect, cut in every way.
//
// covers: K1 K2 K6
// CASES: C1 C3 C4 C6 C7
func TestStreams(t *testing.T) {
	t.Parallel()
	streamtest.Suite(t, rowsFile, provider.Gemini, 63, New)
}

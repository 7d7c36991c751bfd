package openaichat

import (
	"testing"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/streamtest"
)

const rowsFile = "../../agent/core/testdata/patch/streams.json"

// TestStreams plays every row of this dialect, cut in every way.
//
// covers: K1 K2 K6
// CASES: C1 C3 C4 C5 C6 C7 C8
func TestStreams(t *testing.T) {
	t.Parallel()
	streamtest.Suite(t, rowsFile, provider.Chat, 147, New)
}

func play(t *testing.T, r streamtest.Row) {
	t.Helper()
	streamtest.PlayAt(t, r, 1<<20, New)
}

// TestStreams_AfterFinish: what comes after the finish can bring usage, and
// nothing that is wrong with it undoes the answer.
//
// CASES: C7
func TestStreams_AfterFinish(t *testing.T) {
	t.Parallel()
	const whole = "data: {\"choices\":[{\"delta\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}\n\n"
	const counts = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n"
	for name, rest := range map[string]string{
		"bad JSON":       "data: {\"oops\":\n\n" + counts,
		"error":          "data: {\"error\":{\"message\":\"late\",\"code\":500}}\n\n" + counts,
		"choice error":   "data: {\"choices\":[{\"error\":{\"message\":\"late\",\"code\":500}}]}\n\n" + counts,
		"more text":      "data: {\"choices\":[{\"delta\":{\"content\":\" ghost\"}}]}\n\n" + counts,
		"another finish": "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n" + counts,
		"cut":            counts + "data: {\"cho",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := streamtest.Said(whole + rest)
			r.Expect.Text, r.Expect.Finish = "whole", core.FinishEndTurn
			r.Expect.Usage = &core.Usage{Input: 3, Output: 1}
			play(t, r)
		})
	}
}

// TestStreams_SecondChoice: a second answer beside the first is not mixed in.
func TestStreams_SecondChoice(t *testing.T) {
	t.Parallel()
	r := streamtest.Said(
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}},{\"index\":1,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"length\"}]}\n\n" +
			"data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"y\"}}]}\n\n" +
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	r.Expect.Text, r.Expect.Finish = "ab", core.FinishEndTurn
	play(t, r)
}

package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"galley/backend/agent/core"
)

func event(seq int64) core.Event {
	return core.Event{Seq: seq, RunID: "r", Type: core.EventRunStarted, Payload: json.RawMessage("{}")}
}

// drain reads what waits and writes it in short.
func drain(t *testing.T, f *Feed) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var got []string
	for {
		it, ok := f.Next(ctx)
		switch {
		case !ok:
			return strings.Join(got, " ")
		case it.Event != nil:
			got = append(got, fmt.Sprint(it.Event.Seq))
		case it.Preview != nil:
			got = append(got, fmt.Sprintf("%s:%d+%s", it.Preview.RunID, it.Preview.Keep, it.Preview.Text))
		case it.Resync != nil:
			got = append(got, fmt.Sprintf("resync:%d", it.Resync.Seq))
		}
	}
}

// covers: R5 R10
func TestFeed_EventsOnceAndInOrderBeforePreviews(t *testing.T) {
	f := New(2, Limits{})
	f.Preview(core.Preview{RunID: "r", Text: "a"})
	for _, seq := range []int64{1, 2, 3, 3, 4, 2, 5} {
		f.Event(event(seq))
	}
	f.Preview(core.Preview{RunID: "q", Text: "x"})
	f.Preview(core.Preview{RunID: "r", Keep: 1, Text: "b"})
	if got, want := drain(t, f), "3 4 5 r:0+ab q:0+x"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFeed_WithdrawnAttemptLeavesTheNextOne(t *testing.T) {
	for shown, want := range map[int]string{1: "1", 2: "1 r:0+a"} {
		f := New(0, Limits{})
		f.Preview(core.Preview{RunID: "r", Attempt: shown, Text: "a"})
		e := event(1)
		e.Type = core.EventAttemptWithdrawn
		e.Payload = json.RawMessage(`{"step":1,"attempt":1,"code":"overloaded"}`)
		f.Event(e)
		if got := drain(t, f); got != want {
			t.Errorf("attempt %d: got %s, want %s", shown, got, want)
		}
	}
}

// A message ends the previews of its attempt and of earlier ones; what a person
// said ends none, and what comes of a later attempt stays.
// covers: R10
func TestFeed_MessageEndsTheAttemptsPreview(t *testing.T) {
	for _, c := range []struct {
		shown, message int
		want           string
	}{
		{1, 1, "1"}, {2, 1, "1 r:0+a"}, {2, 3, "1"}, {1, 0, "1 r:0+a"},
	} {
		f := New(0, Limits{})
		f.Preview(core.Preview{RunID: "r", Attempt: c.shown, Text: "a"})
		e := event(1)
		e.Type = core.EventMessageCommitted
		e.Payload, _ = json.Marshal(core.MessageCommitted{MessageID: "m", Attempt: c.message})
		f.Event(e)
		if got := drain(t, f); got != c.want {
			t.Errorf("shown %d, message %d: got %s, want %s", c.shown, c.message, got, c.want)
		}
	}
}

func TestFeed_EndOfARunLetsItsPreviewGo(t *testing.T) {
	for _, typ := range []core.EventType{
		core.EventRunSucceeded, core.EventRunFailed, core.EventRunCancelled, core.EventRunInterrupted,
	} {
		f := New(0, Limits{})
		f.Preview(core.Preview{RunID: "q", Text: "x"})
		f.Preview(core.Preview{RunID: "r", Text: "a"})
		e := event(1)
		e.Type = typ
		f.Event(e)
		if got, want := drain(t, f), "1 q:0+x"; got != want {
			t.Errorf("%s: got %s, want %s", typ, got, want)
		}
	}
}

// covers: R10
func TestFeed_LagsInsteadOfGrowing(t *testing.T) {
	for name, limits := range map[string]Limits{"events": {Events: 3}, "bytes": {Bytes: 6}} {
		t.Run(name, func(t *testing.T) {
			f := New(0, limits)
			f.Event(event(1))
			if got := drain(t, f); got != "1" {
				t.Fatal(got)
			}
			f.Preview(core.Preview{RunID: "r", Text: "a"})
			for seq := range int64(1000) {
				f.Event(event(seq + 2))
			}
			f.Preview(core.Preview{RunID: "r", Keep: 1, Text: "b"})
			if len(f.events) != 0 || len(f.previews) != 0 || !f.Lagging() {
				t.Errorf("%d events and %d previews wait", len(f.events), len(f.previews))
			}
			if got, want := drain(t, f), "resync:1"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			f.Event(event(1002))
			if got := drain(t, f); got != "" {
				t.Errorf("told again: %s", got)
			}
			// The reader fetches the state at 1003; 1003 and 1004 come meanwhile.
			f.Hold()
			f.Event(event(1003))
			f.Event(event(1004))
			f.Preview(core.Preview{RunID: "r", Keep: 2, Text: "c"})
			if got := drain(t, f); got != "" {
				t.Errorf("handed out while held: %s", got)
			}
			f.Resume(1003, []core.Preview{{RunID: "r", Text: "abc"}})
			if got, want := drain(t, f), "1004 r:0+abc"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestFeed_LagsAgainWhileHeld(t *testing.T) {
	f := New(0, Limits{Events: 2})
	f.Hold()
	for seq := range int64(5) {
		f.Event(event(seq + 1))
	}
	f.Resume(1, nil)
	if got, want := drain(t, f), "resync:1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// covers: R10
func TestFeed_PreviewsStayBounded(t *testing.T) {
	f := New(0, Limits{})
	text := ""
	for i := range 100_000 {
		next := strings.Repeat("x", i%50)
		keep, add := Between(text, next)
		f.Preview(core.Preview{RunID: "r", Keep: keep, Text: add})
		text = next
	}
	if len(f.order) != 1 || cap(f.previews["r"].text) > 100 {
		t.Errorf("%d previews of %d bytes wait", len(f.order), cap(f.previews["r"].text))
	}
}

func TestFeed_CloseHandsOutTheRest(t *testing.T) {
	f := New(0, Limits{})
	f.Event(event(1))
	f.Close()
	f.Event(event(2))
	if it, ok := f.Next(t.Context()); !ok || it.Event.Seq != 1 {
		t.Errorf("got %+v, %t", it, ok)
	}
	if it, ok := f.Next(t.Context()); ok {
		t.Errorf("got %+v after the end", it)
	}
}

func TestMerge_AndBetween(t *testing.T) {
	texts := []string{"", "a", "a😀b", "a😀", "a🦊b", "世界", "世界 e\u0301", "世", "", "é", "x", "x\ny"}
	reader, merged := "", core.Preview{Attempt: 1}
	for i, next := range texts {
		keep, add := Between(reader, next)
		p := core.Preview{Attempt: 1, Keep: keep, Text: add, Thinking: i == 0}
		if i == 0 {
			merged = p
		} else {
			merged = Merge(merged, p)
		}
		reader = Apply(reader, p)
		if reader != next {
			t.Errorf("reader has %q, want %q", reader, next)
		}
		if got := Apply("", merged); got != next {
			t.Errorf("merged gives %q, want %q", got, next)
		}
	}
	var all Merged
	var before string
	for _, next := range texts {
		keep, add := Between(before, next)
		all.Take(core.Preview{RunID: "r", Attempt: 1, Keep: keep, Text: add})
		before = next
		if got := all.Preview(); got.Text != next || got.Keep != 0 {
			t.Errorf("merged to %+v, want %q", got, next)
		}
	}
	again := Merge(core.Preview{Attempt: 1, Text: "dead"}, core.Preview{Attempt: 2, Text: "new"})
	if again.Text != "new" || again.Keep != 0 {
		t.Errorf("a new attempt kept the old one's text: %+v", again)
	}
}

// A reader that has stopped costs a preview no more than the preview itself.
func BenchmarkFeed_PreviewsThatWait(b *testing.B) {
	f := New(0, Limits{})
	n := 0
	for b.Loop() {
		if n > 1<<20 {
			n = 0
		}
		f.Preview(core.Preview{RunID: "r", Keep: n, Text: "some words "})
		n += 11
	}
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/text"
)

// opened returns an emitter for a page that has attached.
func opened(send func(Message)) *Emitter {
	e := NewEmitter(send)
	e.Open()
	return e
}

// drain takes what waits, as Run does.
func drain(e *Emitter) []Message {
	var all []Message
	for {
		m, ok := e.next()
		if !ok {
			return all
		}
		all = append(all, m)
	}
}

// Messages come in order, numbered from 1 without a gap, whoever sends them.
func TestEmitter_OrderAndNumbers(t *testing.T) {
	const senders, each = 8, 200
	ctx, stop := context.WithCancel(t.Context())
	var got []Message
	all := make(chan struct{})
	e := opened(func(m Message) {
		got = append(got, m)
		if len(got) == senders*each {
			close(all)
		}
	})
	var running sync.WaitGroup
	running.Go(func() { e.Run(ctx) })
	for s := range senders {
		running.Go(func() {
			for i := range each {
				e.Emit("menu.invoked", MenuInvoked{Command: fmt.Sprintf("%d %d", s, i)})
			}
		})
	}
	<-all
	stop()
	running.Wait()
	next := map[int]int{}
	for i, m := range got {
		if m.N != int64(i+1) {
			t.Fatalf("message %d has the number %d", i, m.N)
		}
		var s, n int
		if _, err := fmt.Sscan(m.Payload.(MenuInvoked).Command, &s, &n); err != nil || n != next[s] {
			t.Fatalf("sender %d: %d came, want %d", s, n, next[s])
		}
		next[s]++
	}
}

// Run ends with its ctx, also while messages go on coming.
func TestEmitter_RunEnds(t *testing.T) {
	for _, busy := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		var e *Emitter
		sent := 0
		e = opened(func(Message) {
			if sent++; sent == 3 {
				stop()
			}
			if busy {
				e.Emit("x", nil)
			}
		})
		e.Emit("x", nil)
		if !busy {
			stop()
		}
		e.Run(ctx)
		if sent > 3 {
			t.Errorf("%d messages after the end", sent-3)
		}
	}
}

// page applies previews as the page does: for each run, those of a newer
// attempt begin anew.
type shown struct {
	attempt int
	text    []uint16
}

func (s *shown) apply(t *testing.T, p core.Preview) {
	t.Helper()
	if p.Attempt != s.attempt {
		*s = shown{attempt: p.Attempt}
	}
	if p.Keep > len(s.text) {
		t.Fatalf("keeps %d units of %d", p.Keep, len(s.text))
	}
	s.text = append(slices.Clone(s.text[:p.Keep]), utf16.Encode([]rune(p.Text))...)
}

// between is the preview that leads from one text to another.
func between(from, to string) (keep int, rest string) {
	a, b := []rune(from), []rune(to)
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return text.Length(string(a[:n])), string(b[n:])
}

// Merged previews show what the single ones would have shown, at each place
// where another message stands between them.
func TestEmitter_MergedPreviewsShowTheSame(t *testing.T) {
	alphabet := []rune("ab 😀茶🦊\n")
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		e := opened(nil)
		want := map[core.RunID]*shown{"r1": {}, "r2": {}}
		now := map[core.RunID]string{}
		var snapshots []map[core.RunID]string
		snap := func() {
			m := map[core.RunID]string{}
			for id, s := range want {
				m[id] = string(utf16.Decode(s.text))
			}
			snapshots = append(snapshots, m)
		}
		previews := 0
		for range 60 {
			switch r.IntN(12) {
			case 0:
				e.Emit("menu.invoked", MenuInvoked{})
				snap()
			case 1:
				id := core.RunID([]string{"r1", "r2"}[r.IntN(2)])
				want[id] = &shown{attempt: want[id].attempt + 1}
				now[id] = ""
				e.EmitPreview(core.Preview{RunID: id, Attempt: want[id].attempt, Thinking: true})
				previews++
			default:
				id := core.RunID("r1")
				if r.IntN(5) == 0 {
					id = "r2"
				}
				next := []rune(now[id])
				next = next[:r.IntN(len(next)+1)]
				for range r.IntN(4) {
					next = append(next, alphabet[r.IntN(len(alphabet))])
				}
				p := core.Preview{RunID: id, Attempt: want[id].attempt}
				p.Keep, p.Text = between(now[id], string(next))
				now[id] = string(next)
				e.EmitPreview(p)
				want[id].apply(t, p)
				previews++
			}
		}
		snap()
		got := map[core.RunID]*shown{"r1": {}, "r2": {}}
		merged, at, last := 0, 0, int64(0)
		compare := func() {
			for id, s := range got {
				if g, w := string(utf16.Decode(s.text)), snapshots[at][id]; g != w {
					t.Fatalf("seed %d, run %s: shown %q, want %q", seed, id, g, w)
				}
			}
			at++
		}
		for _, m := range drain(e) {
			if last++; m.N != last {
				t.Fatalf("seed %d: number %d, want %d", seed, m.N, last)
			}
			if p, ok := m.Payload.(core.Preview); ok {
				if m.RunID != string(p.RunID) {
					t.Fatalf("a preview of %s in an envelope of %s", p.RunID, m.RunID)
				}
				got[p.RunID].apply(t, p)
				merged++
				continue
			}
			compare()
		}
		compare()
		if merged >= previews {
			t.Fatalf("seed %d: nothing was merged", seed)
		}
	}
}

func TestEmitter_MergesOnlyWhatWaitsSideBySide(t *testing.T) {
	e := opened(nil)
	e.EmitPreview(core.Preview{RunID: "r", Attempt: 1, Text: "a😀"})
	e.EmitPreview(core.Preview{RunID: "r", Attempt: 1, Keep: 3, Text: "b"})
	e.EmitPreview(core.Preview{RunID: "r", Attempt: 1, Keep: 1, Text: "c"})
	e.EmitPreview(core.Preview{RunID: "r", Attempt: 2, Text: "d"})
	e.EmitPreview(core.Preview{RunID: "s", Attempt: 2, Text: "e"})
	e.Emit("menu.invoked", MenuInvoked{})
	e.EmitPreview(core.Preview{RunID: "s", Attempt: 2, Keep: 1, Text: "f"})
	var got []string
	for _, m := range drain(e) {
		if p, ok := m.Payload.(core.Preview); ok {
			got = append(got, fmt.Sprintf("%d %s/%d %d %s", m.N, p.RunID, p.Attempt, p.Keep, p.Text))
		}
	}
	want := []string{"1 r/1 0 ac", "2 r/2 0 d", "3 s/2 0 e", "5 s/2 1 f"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A page that takes nothing does not grow memory, and sees from the numbers
// that it missed something.
func TestEmitter_OverflowLeavesAGap(t *testing.T) {
	e := opened(nil)
	e.Emit("menu.invoked", MenuInvoked{Command: "first"})
	if m, _ := e.next(); m.N != 1 {
		t.Fatalf("number %d", m.N)
	}
	for i := range 3 * maxQueued / 2 {
		e.Emit("menu.invoked", MenuInvoked{Command: fmt.Sprint(i)})
		if len(e.queue) > maxQueued {
			t.Fatalf("%d messages wait", len(e.queue))
		}
	}
	got := drain(e)
	if got[0].N == 2 {
		t.Error("no gap")
	}
	for i, m := range got {
		if m.N != got[0].N+int64(i) {
			t.Fatalf("a second gap before %d", m.N)
		}
	}
	if last := got[len(got)-1].Payload.(MenuInvoked).Command; last != fmt.Sprint(3*maxQueued/2-1) {
		t.Errorf("the last one is %s", last)
	}
}

// Before a page has attached there is nobody to tell: the state that it gets
// holds it all, and numbers begin with it.
func TestEmitter_TakesNothingBeforeAPage(t *testing.T) {
	e := NewEmitter(nil)
	e.Emit("menu.invoked", MenuInvoked{})
	e.EmitPreview(core.Preview{RunID: "r", Text: "a"})
	e.Open()
	e.Emit("menu.invoked", MenuInvoked{Command: "x"})
	if got := drain(e); len(got) != 1 || got[0].N != 1 || got[0].Payload != (MenuInvoked{Command: "x"}) {
		t.Errorf("got %v", got)
	}
}

func TestEmitter_Gap(t *testing.T) {
	e := opened(nil)
	e.Emit("a", nil)
	e.Gap()
	e.Emit("b", nil)
	if got := drain(e); got[0].N != 1 || got[1].N != 3 {
		t.Errorf("numbers %d, %d", got[0].N, got[1].N)
	}
}

func payload(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	try(t, err)
	return data
}

// An event over 32 KB travels without its body and says so; what is smaller, or
// has no body to fetch, travels as it was committed.
func TestEmitter_LargeBodyStaysBehind(t *testing.T) {
	long := strings.Repeat("x", maxPayload)
	p := core.Proposal{
		ID: "p", RunID: "r", DocURI: "file:///a.md", BaseDigest: "d", State: core.ProposalProposed,
		Patch: core.Patch{BaseVersion: 3, Edits: []text.Edit{{From: 1, To: 2, Insert: long}}, Summary: "s"},
		Hunks: []core.Hunk{{ID: "1", Count: 1, Warnings: []core.Warning{}}},
	}
	m := core.MessageCommitted{MessageID: "m", Ord: 2, Status: "complete", Message: core.Message{
		Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartText, Text: long}},
	}}
	small := p
	small.Patch.Edits = []text.Edit{{From: 1, To: 2, Insert: "y"}}
	decided := core.ProposalDecided{ProposalID: "p", State: core.ProposalApplied}
	for i := range 2000 {
		decided.Hunks = append(decided.Hunks, core.HunkDecision{ID: fmt.Sprint(i), Outcome: core.HunkAccepted})
	}
	input := payload(t, map[string]string{"dir": "Notes", "name": "Ferry 😀.md", "text": long})
	created := core.ToolCall{ID: "t", RunID: "r", Ord: 1, Name: "createDocument", Kind: core.ToolWrite, Input: input, InputDigest: "d", State: core.CallSucceeded, Result: long, Facts: core.ToolFacts{Path: "Notes/Ferry 😀.md", Bytes: 9}}
	asked := core.Approval{ID: "a", ToolCallID: "t", RunID: "r", InputDigest: "d", Rule: core.PermNotesWrite, State: core.ApprovalPending, Summary: core.ToolSummary{Path: "Notes/Ferry 😀.md", Text: long, Bytes: 9, Words: 1, Invisible: true}}
	manyMembers := created
	members := map[string]string{}
	for i := range 100 {
		members[fmt.Sprint(i)] = strings.Repeat("y", maxMember-20)
	}
	manyMembers.Input, manyMembers.Result = payload(t, members), ""
	noInput := created
	noInput.Input = json.RawMessage(`"` + long + `"`)
	for _, c := range []struct {
		name string
		typ  core.EventType
		body any
		ref  bool
	}{
		{"tool call", core.EventToolChanged, created, true},
		{"tool call with many members", core.EventToolChanged, manyMembers, true},
		{"tool call whose input is no object", core.EventToolChanged, noInput, true},
		{"reconciled call", core.EventToolReconciled, core.ToolReconciled{Call: created, Verdict: core.VerdictApplied, By: "person"}, true},
		{"approval", core.EventApprovalAsked, asked, true},
		{"answer to an approval", core.EventApprovalDecided, asked, true},
		{"proposal", core.EventProposalCreated, p, true},
		{"message", core.EventMessageCommitted, m, true},
		{"small proposal", core.EventProposalCreated, small, false},
		{"many decisions", core.EventProposalDecided, decided, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := opened(nil)
			raw := payload(t, c.body)
			try(t, e.EmitEvent(core.Event{Seq: 9, SessionID: "s", RunID: "r", Type: c.typ, V: 1, AtMs: 5, Payload: raw}))
			got := drain(e)[0]
			if want := (Envelope{N: 1, Type: string(c.typ), Seq: 9, RunID: "r", SessionID: "s", AtMs: 5, Ref: c.ref}); got.Envelope != want {
				t.Errorf("envelope %+v", got.Envelope)
			}
			sent := payload(t, got.Payload)
			noNull(t, c.name, sent)
			if !c.ref {
				if !bytes.Equal(sent, raw) {
					t.Errorf("sent %.200s", sent)
				}
				return
			}
			if len(sent) > maxPayload/2 || bytes.Contains(sent, []byte("xxxx")) {
				t.Errorf("sent %d bytes: %.200s", len(sent), sent)
			}
		})
	}
	// All but the body is there.
	e := opened(nil)
	try(t, e.EmitEvent(core.Event{Type: core.EventProposalCreated, Payload: payload(t, p)}))
	want := p
	want.Patch.Edits, want.Hunks = []text.Edit{}, []core.Hunk{}
	if d := cmp.Diff(any(want), drain(e)[0].Payload); d != "" {
		t.Error(d)
	}
}

// A row of a call that travels without its body still shows what it is about.
func TestEmitter_LargeCallKeepsWhatARowShows(t *testing.T) {
	long := strings.Repeat("x", maxPayload)
	call := core.ToolCall{
		ID: "t", RunID: "r", Ord: 3, Name: core.ToolCreateDocument, Kind: core.ToolWrite, State: core.CallWaiting, InputDigest: "d",
		Input: payload(t, map[string]any{"dir": "Notes", "name": "Ferry.md", "text": long}), Result: long, Truncated: true, ArtifactID: "art",
		Facts: core.ToolFacts{Path: "Notes/Ferry.md", Bytes: len(long), More: true}, ProposedAtMs: 5,
	}
	e := opened(nil)
	try(t, e.EmitEvent(core.Event{Type: core.EventToolChanged, Payload: payload(t, call)}))
	want := call
	want.Input, want.Result = json.RawMessage(`{"dir":"Notes","name":"Ferry.md"}`), ""
	if d := cmp.Diff(any(want), drain(e)[0].Payload); d != "" {
		t.Error(d)
	}
	approval := core.Approval{ID: "a", ToolCallID: "t", InputDigest: "d", Rule: core.PermNotesWrite, Summary: core.ToolSummary{Path: "Notes/Ferry.md", Text: long, Words: 7}}
	try(t, e.EmitEvent(core.Event{Type: core.EventApprovalAsked, Payload: payload(t, approval)}))
	approval.Summary.Text = ""
	if d := cmp.Diff(any(approval), drain(e)[0].Payload); d != "" {
		t.Error(d)
	}
}

// A message that is committed stands behind the previews that came before it and
// before those that come after, and names the attempt whose previews it ends.
//
// covers: R10
func TestEmitter_CommittedMessageKeepsItsPlace(t *testing.T) {
	e := opened(nil)
	committed := core.MessageCommitted{MessageID: "m", Ord: 2, Status: "complete", Attempt: 1, Message: core.Message{Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartText, Text: "One."}}}}
	e.EmitPreview(core.Preview{RunID: "r", Attempt: 1, Text: "On"})
	e.EmitPreview(core.Preview{RunID: "r", Attempt: 1, Keep: 2, Text: "e."})
	try(t, e.EmitEvent(core.Event{Seq: 4, RunID: "r", Type: core.EventMessageCommitted, Payload: payload(t, committed)}))
	e.EmitPreview(core.Preview{RunID: "r", Attempt: 2, Text: "Two"})
	e.EmitPreview(core.Preview{RunID: "r", Attempt: 2, Keep: 3, Text: "."})
	var got []string
	for _, m := range drain(e) {
		switch p := m.Payload.(type) {
		case core.Preview:
			got = append(got, fmt.Sprintf("%d preview %d %s", m.N, p.Attempt, p.Text))
		case json.RawMessage:
			var c core.MessageCommitted
			try(t, json.Unmarshal(p, &c))
			got = append(got, fmt.Sprintf("%d message %d", m.N, c.Attempt))
		}
	}
	if d := cmp.Diff([]string{"1 preview 1 One.", "2 message 1", "3 preview 2 Two."}, got); d != "" {
		t.Error(d)
	}
}

// An event that cannot be shortened is an error and sends nothing; the page is
// then told to look anew.
func TestEmitter_BrokenLargeEvent(t *testing.T) {
	broken := core.Event{Type: core.EventProposalCreated, Payload: json.RawMessage(`{"id":7,"pad":"` + strings.Repeat("x", maxPayload) + `"}`)}
	e := opened(nil)
	if err := e.EmitEvent(broken); fault.CodeOf(err) != fault.Internal {
		t.Errorf("got %v", err)
	}
	if got := drain(e); len(got) != 0 {
		t.Errorf("sent %v", got)
	}

	w := openWindow(t, newHome(t))
	w.ready()
	w.mark()
	before, _ := w.sent()
	if len(before) != 0 {
		t.Fatalf("there is more to come: %v", before)
	}
	w.mu.Lock()
	last := w.messages[len(w.messages)-1].N
	w.mu.Unlock()
	w.backend.onEvent(broken)
	m := w.find("runner.changed", func(m message) bool { return m.Type == "runner.changed" })
	if m.N != last+2 {
		t.Errorf("number %d after %d", m.N, last)
	}
}

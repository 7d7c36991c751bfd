package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/text"
)

// reply is what a model of a test does on one call.
type reply func(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error)

// model plays replies; it is a core.Model that does what it is told.
type model struct {
	mu       sync.Mutex
	replies  []reply
	requests []core.Request
}

func (m *model) Stream(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	m.mu.Lock()
	m.requests = append(m.requests, req)
	n := len(m.requests)
	if n > len(m.replies) {
		m.mu.Unlock()
		return core.Answer{}, fault.New(fault.Internal, "test", errors.New("one request too many"))
	}
	r := m.replies[n-1]
	m.mu.Unlock()
	return r(ctx, req, onDelta)
}

var exact = core.Usage{Kind: core.UsageExact, Input: 10, Output: 5}

// says gives words one by one, with a pause before each.
func says(pause time.Duration, words ...string) reply {
	return func(ctx context.Context, _ core.Request, onDelta func(core.Delta)) (core.Answer, error) {
		all := ""
		for _, w := range words {
			if !sleep(ctx, pause) {
				return core.Answer{Text: all}, fault.New(fault.Cancelled, "chat", ctx.Err())
			}
			all += w
			onDelta(core.Delta{Text: w})
		}
		return core.Answer{Text: all, Finish: core.FinishEndTurn, Usage: exact}, nil
	}
}

// ends gives words and then another end than an ordinary one.
func ends(words string, finish core.Finish, err error) reply {
	return func(_ context.Context, _ core.Request, onDelta func(core.Delta)) (core.Answer, error) {
		if words != "" {
			onDelta(core.Delta{Text: words})
		}
		return core.Answer{Text: words, Finish: finish, Usage: exact}, err
	}
}

func runtime() *Runtime {
	return New(Config{Logger: slog.New(slog.DiscardHandler), Random: func() float64 { return 0 }})
}

// rewriteTask is a rewrite of the words between [ and ] of doc.
func rewriteTask(t *testing.T, doc string, m *model, rec *record) core.Task {
	t.Helper()
	before, rest, ok := strings.Cut(doc, "[")
	selected, after, ok2 := strings.Cut(rest, "]")
	if !ok || !ok2 {
		t.Fatal("no selection")
	}
	doc = before + selected + after
	sum := sha256.Sum256([]byte(doc))
	from := text.Length(before)
	ids := 0
	return core.Task{
		Run:     core.Run{ID: "run", Kind: core.KindRewrite, Model: core.ModelRef{ProviderID: "p", Model: "mock-1"}},
		Rewrite: &core.RewriteInput{Preset: "improve", Prompt: "Improve it.", Instruction: "but gently\nplease", Language: "en"},
		Snapshot: &core.Snapshot{
			DocURI: "file:///a.md", BaseVersion: 7, Digest: hex.EncodeToString(sum[:]), Text: doc,
			Selection: core.Range{From: from, To: from + text.Length(selected)},
		},
		Supersedes: "old", Model: m, Budget: core.DefaultBudget(), Recorder: rec,
		NewID: func() string { ids++; return fmt.Sprintf("id%d", ids) },
	}
}

func run(t *testing.T, ctx context.Context, task core.Task) core.RunEnd {
	t.Helper()
	end, err := runtime().Run(ctx, task)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// accepted is the document after accepting everything.
func accepted(t *testing.T, task core.Task, end core.RunEnd) string {
	t.Helper()
	if end.Proposal == nil {
		t.Fatalf("no proposal: %+v", end)
	}
	got, err := text.Apply(task.Snapshot.Text, end.Proposal.Patch.Edits)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// covers: P1 P5 P6
func TestRewrite_BecomesAProposal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{replies: []reply{says(10*time.Millisecond, "A quick ", "😀 fox", " leaps.")}}
		rec := &record{}
		task := rewriteTask(t, "Intro.\n\n[A quick 😀 fox jumps.]\n\nEnd.\n", m, rec)
		end := run(t, t.Context(), task)
		if end.State != core.RunSucceeded || end.Outcome != "proposal" || end.Fault != nil || end.Usage != exact {
			t.Errorf("end %+v", end)
		}
		if got, want := accepted(t, task, end), "Intro.\n\nA quick 😀 fox leaps.\n\nEnd.\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		p := end.Proposal
		if len(p.Patch.Edits) != 1 || p.Patch.Edits[0].Insert != "leaps" {
			t.Errorf("edits are not of the word: %+v", p.Patch.Edits)
		}
		if p.Origin != core.OriginRewrite || p.RunID != "run" || p.Supersedes != "old" || p.DocURI != "file:///a.md" ||
			p.BaseDigest != task.Snapshot.Digest || p.Patch.BaseVersion != 7 || p.CutOff || p.State != core.ProposalProposed ||
			p.ID == "" || len(p.Hunks) != 1 || p.Patch.Summary != "but gently" {
			t.Errorf("proposal %+v", p)
		}
		if end.Message == nil || end.Message.Parts[0].Text != "A quick 😀 fox leaps." || end.MessageStatus != "complete" {
			t.Errorf("message %+v %s", end.Message, end.MessageStatus)
		}
		if got, want := rec.log(), "1.1 prepared, 1.1 sent, 1.1 streaming, 1.1 done"; got != want {
			t.Errorf("recorded %s, want %s", got, want)
		}
		if rec.text != "A quick 😀 fox leaps." {
			t.Errorf("the reader has %q", rec.text)
		}
	})
}

// What goes to the model: nothing but the instruction speaks to it.
func TestRewrite_Prompt(t *testing.T) {
	m := &model{replies: []reply{ends("x", core.FinishEndTurn, nil)}}
	task := rewriteTask(t, strings.Repeat("é", 5000)+"\n</selection>\n[one\ntwo]\n<selection>\nafter"+strings.Repeat("z", 5000), m, &record{})
	run(t, t.Context(), task)
	req := m.requests[0]
	if req.Model != "mock-1" || len(req.Tools) != 0 || !strings.Contains(req.System, "nothing else") {
		t.Errorf("request %+v", req)
	}
	got := req.Messages[0].Parts[0].Text
	want := "<preset>improve</preset>\n<instruction>Improve it.\n\nbut gently\nplease</instruction>\n" +
		"<before>\n> " + strings.Repeat("é", contextRunes-14) + "\n> </selection>\n</before>\n" +
		"<after>\n> \n> <selection>\n> after" + strings.Repeat("z", contextRunes-18) + "\n</after>\n" +
		"<selection>\none\ntwo\n</selection>"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRewrite_Outcomes(t *testing.T) {
	const doc = "Before.\n\n[The old words stay where they are.]\n\nAfter.\n"
	tests := []struct {
		name    string
		reply   reply
		state   core.RunState
		outcome string
		code    fault.Code
		status  string
		edits   bool
		cutOff  bool
	}{
		{"proposal", ends("The new words stay.", core.FinishEndTurn, nil), core.RunSucceeded, "proposal", "", complete, true, false},
		{"no change", ends("The old words stay where they are.", core.FinishEndTurn, nil), core.RunSucceeded, "no_change", "", complete, false, false},
		{"empty", ends("\n", core.FinishEndTurn, nil), core.RunSucceeded, "empty", "", complete, false, false},
		{"nothing", ends("", core.FinishEndTurn, nil), core.RunSucceeded, "empty", "", "", false, false},
		{"refusal", ends("No.", core.FinishRefusal, nil), core.RunSucceeded, "refused", "", complete, false, false},
		{"filter", ends("The new", core.FinishContentFilter, nil), core.RunSucceeded, "refused", "", complete, false, false},
		{"length", ends("The old words remain where they", core.FinishMaxTokens, nil), core.RunSucceeded, "cut_off", "", partial, true, true},
		{"tool call", ends("The new words stay.", core.FinishToolCalls, nil), core.RunSucceeded, "proposal", "", complete, true, false},
		{"bad key", ends("", "", &fault.Error{Code: fault.BadKey, Detail: "401"}), core.RunFailed, "", fault.BadKey, "", false, false},
		{"cut", ends("The old words remain where they", "", fault.New(fault.StreamCut, "chat", nil)), core.RunFailed, "cut_off", fault.StreamCut, partial, true, true},
		{"stalled", ends("The old words remain where they", "", fault.New(fault.Stalled, "chat", nil)), core.RunFailed, "cut_off", fault.Stalled, partial, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, rec := &model{replies: []reply{tt.reply}}, &record{}
			task := rewriteTask(t, doc, m, rec)
			end := run(t, t.Context(), task)
			code := fault.Code("")
			if end.Fault != nil {
				code = fault.Code(end.Fault.Code)
			}
			if end.State != tt.state || end.Outcome != tt.outcome || code != tt.code || end.MessageStatus != tt.status {
				t.Errorf("end %+v, fault %s", end, code)
			}
			if (end.Proposal != nil) != tt.edits {
				t.Fatalf("proposal %+v", end.Proposal)
			}
			if end.Proposal != nil && end.Proposal.CutOff != tt.cutOff {
				t.Error("cut off is not marked")
			}
			if len(m.requests) != 1 {
				t.Errorf("%d requests", len(m.requests))
			}
			if code != "" && end.Usage.Kind != core.UsageUnknown {
				t.Errorf("usage of a failed call is invented: %+v", end.Usage)
			}
		})
	}
}

func TestRewrite_RefusesASelectionOutside(t *testing.T) {
	m := &model{}
	task := rewriteTask(t, "a[b]c", m, &record{})
	task.Snapshot.Selection.To = 99
	end := run(t, t.Context(), task)
	if end.State != core.RunFailed || end.Fault.Code != string(fault.InvalidInput) || len(m.requests) != 0 {
		t.Errorf("end %+v", end)
	}
}

// A rewrite is held to the tokens of its run and to the size of its model, says
// what was sent, and sends nothing that cannot fit.
//
// covers: R8 R9
func TestRewrite_IsBounded(t *testing.T) {
	around := strings.Repeat("Words around it. ", 200)
	synctest.Test(t, func(t *testing.T) {
		rec := &record{}
		m := &model{replies: []reply{says(0, "New words.")}}
		task := rewriteTask(t, around+"[Old words.]"+around, m, rec)
		task.ContextTokens = 32_000
		if end := run(t, t.Context(), task); end.State != core.RunSucceeded || end.Clipped {
			t.Fatalf("end %+v", end)
		}
		if len(rec.contexts) != 1 {
			t.Fatalf("%d reports", len(rec.contexts))
		}
		report := rec.contexts[0]
		sum := 0
		for _, p := range report.Parts {
			sum += p.Tokens
		}
		if kinds(report) != "system whole, message whole, document summary, selection whole, answer_reserve left_out" ||
			report.RunID != "run" || report.Step != 1 || report.Size != 32_000 || sum != report.Tokens+report.Reserve ||
			m.requests[0].PromptTokensEstimate < 500 || m.requests[0].PromptTokensEstimate > report.Tokens {
			t.Errorf("report %+v, estimate %d", report, m.requests[0].PromptTokensEstimate)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// What is round the passage gives way first.
		m := &model{replies: []reply{says(0, "New words.")}}
		task := rewriteTask(t, around+"[Old words.]"+around, m, &record{})
		task.ContextTokens = 1000
		end := run(t, t.Context(), task)
		got := m.requests[0].Messages[0].Parts[0].Text
		if end.State != core.RunSucceeded || strings.Count(got, "around") > 80 || !strings.Contains(got, "around") || !strings.Contains(got, "\nOld words.\n") {
			t.Errorf("%s with %d bytes", end.State, len(got))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m, rec := &model{}, &record{}
		task := rewriteTask(t, "["+strings.Repeat("渡船", 2000)+"]", m, rec)
		task.ContextTokens = 4096
		end := run(t, t.Context(), task)
		if end.State != core.RunFailed || end.Fault.Code != string(fault.ContextTooLong) || len(m.requests)+len(rec.calls) != 0 {
			t.Errorf("end %+v, %d requests", end, len(m.requests))
		}
		task.ContextTokens, task.Budget.Tokens = 0, 4096
		end = run(t, t.Context(), task)
		if end.State != core.RunFailed || end.Fault.Code != string(fault.CutOff) || end.Reason != ReasonTokens || len(m.requests)+len(rec.calls) != 0 {
			t.Errorf("end %+v, %d requests", end, len(m.requests))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// Tokens that run out on the way cut the answer off.
		m := &model{replies: []reply{says(time.Millisecond, "Old words stay", strings.Repeat(" on and on", 2000), " and on")}}
		task := rewriteTask(t, "[Old words stay where they are.]", m, &record{})
		task.Budget.Tokens = 2000
		end := run(t, t.Context(), task)
		if end.State != core.RunFailed || end.Fault.Code != string(fault.CutOff) || end.Reason != ReasonTokens {
			t.Errorf("end %+v", end)
		}
	})
}

// That a server cut what it was sent is said with the end.
//
// covers: R9
func TestRun_SaysThatTheServerCut(t *testing.T) {
	cut := func(context.Context, core.Request, func(core.Delta)) (core.Answer, error) {
		return core.Answer{Text: "New words.", Finish: core.FinishEndTurn, Usage: exact, Clipped: true}, nil
	}
	if end := run(t, t.Context(), rewriteTask(t, "[Old words.]", &model{replies: []reply{cut}}, &record{})); !end.Clipped {
		t.Errorf("rewrite %+v", end)
	}
	rec := &record{}
	if end := run(t, t.Context(), conversation(t, &model{replies: []reply{cut}}, rec)); !end.Clipped || end.State != core.RunSucceeded {
		t.Errorf("conversation %+v", end)
	}
}

// Words that nobody saw are not doubled by asking again; when that does not
// help either they are kept.
func TestRewrite_KeepsTheWordsOfTheLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := ends("Some older words stay where they", "", fault.New(fault.StreamCut, "chat", nil))
		rec := &record{}
		task := rewriteTask(t, "[The old words stay where they are.]", &model{replies: []reply{cut, cut, cut}}, rec)
		end := run(t, t.Context(), task)
		if end.State != core.RunFailed || end.Fault.Code != "stream_cut" || end.Outcome != "cut_off" || end.Proposal == nil || !end.Proposal.CutOff {
			t.Errorf("end %+v", end)
		}
		if rec.text != "" {
			t.Errorf("shown %q", rec.text)
		}
	})
}

// Retries happen only where they can help and before the first visible word;
// the dead attempt is withdrawn; the provider's wait is kept.
// covers: K6
func TestRewrite_AsksAgain(t *testing.T) {
	overloaded := &fault.Error{Code: fault.Overloaded, RetryAfter: 30 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		thinks := func(_ context.Context, _ core.Request, onDelta func(core.Delta)) (core.Answer, error) {
			onDelta(core.Delta{Reasoning: "hm"})
			return core.Answer{}, fault.New(fault.StreamCut, "chat", nil)
		}
		m := &model{replies: []reply{ends("", "", overloaded), thinks, says(0, "New words.")}}
		rec := &record{}
		begun := time.Now()
		end := run(t, t.Context(), rewriteTask(t, "[Old words.]", m, rec))
		if end.Outcome != "proposal" || end.Usage != exact {
			t.Errorf("end %+v", end)
		}
		want := "1.1 prepared, 1.1 sent, 1.1 failedoverloaded, 1.1 withdrawn overloaded, " +
			"1.2 prepared, 1.2 sent, 1.2 streaming, 1.2 failedstream_cut, 1.2 withdrawn stream_cut, " +
			"1.3 prepared, 1.3 sent, 1.3 streaming, 1.3 done"
		if rec.log() != want {
			t.Errorf("recorded %s\nwant %s", rec.log(), want)
		}
		if d := time.Since(begun); d < 31*time.Second {
			t.Errorf("waited %s", d)
		}
		if p := rec.previews[0]; !p.Thinking || p.Text != "" || p.Attempt != 2 {
			t.Errorf("first preview %+v", p)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		bad := ends("", "", fault.New(fault.ProviderError, "chat", nil))
		m := &model{replies: []reply{bad, bad, bad}}
		if end := run(t, t.Context(), rewriteTask(t, "[Old.]", m, &record{})); end.Fault == nil || end.Fault.Code != "provider_error" {
			t.Errorf("end %+v", end)
		}
	})
}

// covers: R7
func TestRewrite_CancelAtAnyTime(t *testing.T) {
	bad := &fault.Error{Code: fault.Overloaded, RetryAfter: 30 * time.Second}
	for name, after := range map[string]time.Duration{
		"while it waits to ask again": time.Second,
		"before the first word":       40 * time.Second,
		"in mid-stream":               75 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer time.AfterFunc(after, cancel).Stop()
				late := func(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
					a, err := says(40*time.Second, "Old words have ", "left ", "here.")(ctx, req, onDelta)
					onDelta(core.Delta{Text: "late"})
					return a, err
				}
				m, rec := &model{replies: []reply{ends("", "", bad), late}}, &record{}
				begun := time.Now()
				end := run(t, ctx, rewriteTask(t, "[Old words have stayed.]", m, rec))
				if end.State != core.RunCancelled || end.Proposal != nil || end.Fault != nil || end.Outcome != "" {
					t.Errorf("end %+v", end)
				}
				if d := time.Since(begun); d != after {
					t.Errorf("ended after %s", d)
				}
				if strings.Contains(rec.text, "late") {
					t.Error("late words were shown")
				}
				if said := end.Message != nil; said != strings.HasPrefix(rec.text, "Old") {
					t.Errorf("message %+v, shown %q", end.Message, rec.text)
				}
			})
		})
	}
}

// A run that the journal says is being stopped sends nothing.
func TestRewrite_StopsWhenTheJournalSaysSo(t *testing.T) {
	m := &model{}
	rec := &record{fail: fault.New(fault.Cancelled, "begin", nil), failAt: core.PhasePrepared}
	if end := run(t, t.Context(), rewriteTask(t, "[Old.]", m, rec)); end.State != core.RunCancelled || len(m.requests) != 0 {
		t.Errorf("end %+v after %d requests", end, len(m.requests))
	}
}

// covers: R8
func TestRewrite_TimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words := strings.SplitAfter(strings.Repeat("new words ", 100), " ")
		m := &model{replies: []reply{says(time.Minute, words...)}}
		task := rewriteTask(t, "[Old words here and there.]", m, &record{})
		begun := time.Now()
		end := run(t, t.Context(), task)
		if d := time.Since(begun); d != 10*time.Minute {
			t.Errorf("ended after %s", d)
		}
		if end.State != core.RunFailed || end.Fault.Code != "timeout" || end.Reason != ReasonTime || end.Outcome != "cut_off" || !end.Proposal.CutOff {
			t.Errorf("end %+v", end)
		}
	})
}

// Previews: at most one in 33 ms, the last words always, nothing when nothing
// changed.
// covers: R5 R10
func TestRewrite_PreviewsAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words := strings.SplitAfter("Old words here "+strings.Repeat("word ", 997), " ")
		m, rec := &model{replies: []reply{says(time.Millisecond, words...)}}, &record{}
		end := run(t, t.Context(), rewriteTask(t, "[Old words here stay.]", m, rec))
		if n := len(rec.previews); n < 20 || n > 35 {
			t.Errorf("%d previews in a second", n)
		}
		for i := 1; i < len(rec.at)-1; i++ {
			if d := rec.at[i].Sub(rec.at[i-1]); d < previewEvery {
				t.Errorf("%s between previews", d)
			}
		}
		if rec.text != strings.TrimSpace(end.Message.Parts[0].Text) {
			t.Errorf("the reader has %q of %q", rec.text[max(0, len(rec.text)-30):], end.Message.Parts[0].Text[4970:])
		}
	})
}

// Drafts: the first words at once, then at most one a second, the last words
// also when no more come; none of what nobody saw.
// covers: R5
func TestRewrite_DraftsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words := strings.SplitAfter("Old words here "+strings.Repeat("word ", 47), " ")
		answer := says(100*time.Millisecond, words...)
		stalls := func(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
			a, err := answer(ctx, req, onDelta)
			sleep(ctx, 3*time.Second)
			return a, err
		}
		rec := &record{failDraft: fault.New(fault.Busy, "keep draft", nil)}
		end := run(t, t.Context(), rewriteTask(t, "[Old words here stay.]", &model{replies: []reply{stalls}}, rec))
		if end.State != core.RunSucceeded {
			t.Errorf("end %+v", end)
		}
		all := end.Message.Parts[0].Text
		if n := len(rec.drafts); n < 5 || n > 7 || rec.drafts[n-1] != all {
			t.Fatalf("%d drafts: %q", n, rec.drafts)
		}
		seen := slices.IndexFunc(rec.previews, func(p core.Preview) bool { return p.Text != "" })
		if !rec.keptAt[0].Equal(rec.at[seen]) {
			t.Errorf("the first words were kept %s after they were seen", rec.keptAt[0].Sub(rec.at[seen]))
		}
		for i := 1; i < len(rec.drafts); i++ {
			if d := rec.keptAt[i].Sub(rec.keptAt[i-1]); d < draftEvery || d > 2*draftEvery {
				t.Errorf("%s between drafts", d)
			}
			if !strings.HasPrefix(all, rec.drafts[i-1]) || len(rec.drafts[i]) <= len(rec.drafts[i-1]) {
				t.Errorf("draft %q after %q", rec.drafts[i], rec.drafts[i-1])
			}
		}

		rec = &record{}
		thinks := says(time.Second, "<think>", "hm", "</think>")
		run(t, t.Context(), rewriteTask(t, "[Old words.]", &model{replies: []reply{thinks}}, rec))
		if len(rec.drafts) > 0 {
			t.Errorf("drafts %q of what nobody saw", rec.drafts)
		}
	})
}

// When a fact cannot be recorded nothing more is sent.
func TestRun_EndsWhenNothingCanBeRecorded(t *testing.T) {
	for _, phase := range []core.CallPhase{core.PhasePrepared, core.PhaseSent, core.PhaseStreaming, core.PhaseDone} {
		m := &model{replies: []reply{ends("New.", core.FinishEndTurn, nil)}}
		rec := &record{fail: fault.New(fault.StoreFailed, "write", nil), failAt: phase}
		_, err := runtime().Run(t.Context(), rewriteTask(t, "[Old.]", m, rec))
		if fault.CodeOf(err) != fault.StoreFailed {
			t.Errorf("%s: got %v", phase, err)
		}
		if sent := len(m.requests) > 0; sent == (phase == core.PhasePrepared || phase == core.PhaseSent) {
			t.Errorf("%s: sent %t", phase, sent)
		}
	}
}

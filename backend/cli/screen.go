package cli

import (
	"fmt"
	"io"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/wire"
)

// screen shows a run to a person: what the model says on standard output, what
// happens on standard error. On a terminal the words come as they are streamed.
type screen struct {
	out, err io.Writer
	// live says that standard output is a terminal; colour that the other is
	// one that may be coloured.
	live, colour bool

	// text is what is streamed now, printed how much of it stands on the screen.
	text    feed.Merged
	printed string
	attempt int
	// middle says that the cursor stands behind words.
	middle bool
	calls  map[core.ToolCallID]core.ToolCallState
	said   map[core.MessageID]bool
}

func newScreen(out, err io.Writer, live, colour bool) *screen {
	return &screen{
		out: out, err: err, live: live, colour: colour,
		calls: map[core.ToolCallID]core.ToolCallState{}, said: map[core.MessageID]bool{},
	}
}

// show writes what is shown. What cannot be written is lost, like any output.
func show(w io.Writer, words string) { _, _ = io.WriteString(w, words) }

// The colours of rows.
const (
	plain  = ""
	dim    = "2"
	red    = "31"
	yellow = "33"
)

// row writes a line of what happens.
func (s *screen) row(colour, words string) {
	s.breakLine()
	if s.colour && colour != "" {
		words = "\x1b[" + colour + "m" + words + "\x1b[0m"
	}
	show(s.err, words+"\n")
}

// breakLine leaves a line of streamed words.
func (s *screen) breakLine() {
	if s.middle {
		show(s.out, "\n")
		s.middle = false
	}
}

func (s *screen) begun(res wire.SubmitResult, by wire.ClientKind) {
	words := "Run " + string(res.RunID)
	switch by {
	case wire.ClientWindow:
		words += ", carried out by the window"
	case "":
	default:
		words += ", carried out by another command"
	}
	s.row(dim, words)
}

func (s *screen) event(e core.Event) {
	switch e.Type {
	case core.EventMessageCommitted:
		if m, ok := payload[core.MessageCommitted](e); ok {
			s.message(m)
		}
	case core.EventAttemptWithdrawn:
		if w, ok := payload[core.AttemptWithdrawn](e); ok {
			s.row(yellow, "The answer is asked for again ("+w.Code+").")
			s.printed = ""
		}
	case core.EventToolChanged:
		if c, ok := payload[core.ToolCall](e); ok {
			s.call(c)
		}
	case core.EventApprovalDecided:
		if a, ok := payload[core.Approval](e); ok && a.State == core.ApprovalExpired {
			s.row(yellow, "Nobody answered in time, which is no consent.")
		}
	case core.EventToolReconciled:
		if r, ok := payload[core.ToolReconciled](e); ok {
			s.row(plain, "Looked after: "+sayTool(r.Call, true)+": "+sayVerdict(r.Verdict))
		}
	case core.EventRunCancelling:
		s.row(dim, "Stopping…")
	default:
	}
}

// message completes on the screen what was streamed of a message.
func (s *screen) message(m core.MessageCommitted) {
	if m.Message.Role != core.RoleAssistant || s.said[m.MessageID] || m.Status == "discarded" {
		return
	}
	s.said[m.MessageID] = true
	words, calls := "", false
	for _, p := range m.Message.Parts {
		switch p.Type {
		case core.PartText:
			words += p.Text
		case core.PartToolCall:
			calls = true
		default:
		}
	}
	switch {
	case s.live && strings.HasPrefix(words, s.printed):
		s.print(words[len(s.printed):])
	case words == "":
	case s.live:
		s.breakLine()
		s.print(words)
	case calls:
		// It is no answer yet.
		s.row(plain, visible(words))
	default:
		show(s.out, words+"\n")
	}
	if m.Status == "partial" {
		s.row(yellow, "Here the answer broke off.")
	}
	s.breakLine()
	s.printed, s.text = "", feed.Merged{}
}

// print writes words to the terminal.
func (s *screen) print(words string) {
	if words == "" {
		return
	}
	show(s.out, visible(words))
	s.middle = !strings.HasSuffix(words, "\n")
}

func (s *screen) preview(p core.Preview) {
	if !s.live {
		return
	}
	if p.Attempt != s.attempt {
		s.attempt, s.text = p.Attempt, feed.Merged{}
		if s.printed != "" {
			s.breakLine()
		}
		s.printed = ""
	}
	s.text.Take(p)
	whole := s.text.Preview().Text
	if rest, ok := strings.CutPrefix(whole, s.printed); ok {
		s.print(rest)
		s.printed = whole
	}
	// Words that were taken back stand until the message is whole.
}

// call shows a call when it is over, or waits long enough to be asked about.
func (s *screen) call(c core.ToolCall) {
	if s.calls[c.ID] == c.State {
		return
	}
	s.calls[c.ID] = c.State
	switch c.State {
	case core.CallSucceeded:
		s.row(dim, "· "+sayTool(c, true))
	case core.CallFailed:
		s.row(red, "· "+sayTool(c, false)+": failed"+because(c.Reason))
	case core.CallCancelled:
		s.row(dim, "· "+sayTool(c, false)+": not done"+because(c.Reason))
	case core.CallUnknown:
		s.row(red, "· "+sayTool(c, false)+": it is not known whether this happened. Look before you ask again.")
	case core.CallRunning:
		if s.live {
			s.row(dim, "· "+sayTool(c, false)+"…")
		}
	case core.CallProposed, core.CallWaiting, core.CallReady:
	}
}

func (s *screen) refused(a core.Approval, why string) {
	s.row(yellow, "Denied, since "+why+": "+visible(strings.TrimSpace(a.Summary.Path+" "+a.Summary.NewPath)))
}

func (s *screen) proposal(p core.Proposal, path string, err error) {
	words := "A change of " + visible(nameOf(p.DocURI)) + " is proposed: " + visible(p.Patch.Summary)
	if err != nil {
		s.row(plain, words+"\n  It is kept with the run. No patch file was written: "+sayError(err))
		return
	}
	s.row(plain, words+"\n  It is kept with the run and written to "+visible(path)+". Nothing was applied.")
}

func (s *screen) receipt(r wire.CancelResult) {
	if r.Receipt == "already_terminal" {
		s.row(dim, "It had ended already.")
		return
	}
	s.row(dim, "The wish to stop is recorded. Waiting for the end; Ctrl+C again ends at once.")
}

func (s *screen) note(words string) { s.row(yellow, words) }

func (s *screen) ended(id core.RunID, c core.RunChanged, code int) {
	colour := dim
	if code != exitOK {
		colour = red
	}
	words := sayState(c.State, c.Reason, c.Fault)
	if c.Usage.Kind == core.UsageExact || c.Usage.Kind == core.UsageEstimated {
		words += " " + sayUsage(c.Usage)
	}
	if c.State == core.RunInterrupted || c.State == core.RunFailed {
		words += fmt.Sprintf("\ngalley runs show %s tells all of it.", id)
	}
	s.row(colour, words)
}

func (s *screen) failed(err error, _ int) { s.row(red, sayError(err)) }

// sayUsage are tokens in words; those that are not known are not invented.
func sayUsage(u core.Usage) string {
	switch u.Kind {
	case core.UsageExact:
		return count(u.Input, "token") + " sent, " + count(u.Output, "token") + " received."
	case core.UsageEstimated:
		return "About " + count(u.Input, "token") + " sent, " + count(u.Output, "token") + " received."
	default:
		return "Tokens are not known."
	}
}

// sayVerdict is what was found out of a call.
func sayVerdict(v core.ToolVerdict) string {
	switch v {
	case core.VerdictApplied:
		return "it happened"
	case core.VerdictAbsent:
		return "it did not happen"
	default:
		return "it is not known whether it happened"
	}
}

package loop

import (
	"fmt"
	"strings"

	"galley/backend/agent/core"
)

// What a model is told of a call, in the words of the program. A model is never
// told anything else than what is known.
const (
	tellDenied = "permission_denied: the person refused this call, and nothing was done. " +
		"Do not make it again unless they ask for it. Go on without it, or say what you need it for."
	tellUnknown = "unknown: nobody knows whether this happened. It may have. Do not repeat it; ask the person to look."
	tellRead    = "interrupted: the reading broke off and gave nothing. It changed nothing; you may repeat it."
	tellNothing = "no_effect: it was not carried out. Nothing was changed."
	tellStopped = "cancelled: the run was stopped before this was carried out. Nothing was changed."
	tellExpired = "expired: nobody answered in time whether this may be done, and nothing was done. " +
		"Go on without it, or say what you need it for."
	tellOpen = "not_finished: this call has not ended."
	tellLost = "not_recorded: what became of this call is not recorded."
)

// The reasons of calls besides the codes of faults.
const (
	reasonDenied          = "permission_denied"
	reasonPolicy          = "policy_denied"
	reasonExpired         = "expired"
	reasonNoEffect        = "no_effect"
	reasonInterruptedRead = "interrupted_read"
	reasonCancelled       = "cancelled"
	reasonTimeout         = "timeout"
	reasonNoAnswer        = "no_answer"
)

// resultText is the result of a call, with what is known of it since. What the
// program says stands before what the tool said, which is data.
func resultText(c core.ToolCall, since string, v core.ToolVerdict) string {
	lines := notes(c, since, v)
	switch {
	case c.State == "":
		lines = append(lines, tellLost)
	case !c.State.Final():
		lines = append(lines, tellOpen)
	case c.State == core.CallUnknown:
		lines = append(lines, tellUnknown)
	case c.Reason == reasonDenied:
		lines = append(lines, tellDenied)
	case c.State == core.CallCancelled && c.Reason == reasonExpired:
		lines = append(lines, tellExpired)
	case c.State == core.CallCancelled:
		lines = append(lines, tellStopped)
	case c.Result != "":
		lines = append(lines, c.Result)
	case c.Reason == reasonInterruptedRead:
		lines = append(lines, tellRead)
	case c.Reason == reasonNoEffect:
		lines = append(lines, tellNothing)
	case c.State == core.CallFailed:
		lines = append(lines, "It failed: "+orWord(c.Reason, "no reason was given")+".")
	default:
		lines = append(lines, "It was done.")
	}
	return strings.Join(lines, "\n")
}

// bareText is the line that stands for an old result.
func bareText(c core.ToolCall, since string, v core.ToolVerdict) string {
	if c.State != core.CallSucceeded && (c.State != core.CallFailed || c.Reason == reasonDenied) {
		return resultText(c, since, v) // short, and not to be lost
	}
	c.Truncated = false // the line below says it all
	lines := notes(c, since, v)
	kept := ""
	if c.ArtifactID != "" {
		kept = ", kept as artifact " + string(c.ArtifactID)
	}
	lines = append(lines, fmt.Sprintf("[The call %s. Its result of %d bytes%s is left out here to save room%s.]",
		stateWord(c), len(c.Result), kept, map[bool]string{true: "; call the tool again if you need it"}[c.Kind == core.ToolRead]))
	return strings.Join(lines, "\n")
}

// callEntry is the line of a summary about a call.
func callEntry(c core.ToolCall, since string, v core.ToolVerdict) entry {
	text := fmt.Sprintf("- you called %s %s: %s", c.Name, quoted(brief(string(c.Input), maxQuote)), stateWord(c))
	for _, n := range append(verdictNotes(v), since) {
		if n != "" {
			text += " " + n
		}
	}
	short := fmt.Sprintf("- you called %s: %s", c.Name, stateWord(c))
	return entry{text: text, short: short, must: c.State != core.CallSucceeded && (c.State != core.CallFailed || c.Reason == reasonDenied)}
}

// notes are what the program adds to a result.
func notes(c core.ToolCall, since string, v core.ToolVerdict) []string {
	lines := verdictNotes(v)
	if since != "" {
		lines = append(lines, since)
	}
	if c.Truncated && c.ArtifactID != "" {
		lines = append(lines, fmt.Sprintf("[Shortened; the whole is kept as artifact %s, which the person can open.]", c.ArtifactID))
	}
	return lines
}

// verdictNotes say what was found out since of a call that nobody saw end.
func verdictNotes(v core.ToolVerdict) []string {
	switch v {
	case core.VerdictApplied:
		return []string{"[Since then it was found that it did happen. Do not repeat it.]"}
	case core.VerdictAbsent:
		return []string{"[Since then it was found that it did not happen.]"}
	case core.VerdictUnknown:
		return []string{"[Since then it was looked into, and it is still not known whether it happened.]"}
	}
	return nil
}

// stateWord says in a few words how a call stands.
func stateWord(c core.ToolCall) string {
	switch c.State {
	case core.CallSucceeded:
		return "succeeded" + factWords(c.Facts)
	case core.CallFailed:
		if c.Reason == reasonDenied {
			return "refused by the person, not carried out"
		}
		return "failed (" + orWord(c.Reason, "no reason") + ")"
	case core.CallCancelled:
		return "cancelled, not carried out"
	case core.CallUnknown:
		return "outcome unknown; do not repeat it, ask the person"
	case core.CallProposed, core.CallWaiting, core.CallReady, core.CallRunning:
		return "not ended"
	}
	return "outcome not recorded"
}

func factWords(f core.ToolFacts) string {
	var words []string
	if f.Path != "" {
		words = append(words, quoted(f.Path))
	}
	if f.Hits > 0 {
		words = append(words, fmt.Sprintf("%d hits in %d files", f.Hits, f.Files))
	}
	if f.Bytes > 0 {
		words = append(words, fmt.Sprintf("%d bytes", f.Bytes))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// decided says what a person did with a proposal since it was made.
func decided(p core.Proposal) string {
	accepted, rejected := 0, 0
	for _, h := range p.Hunks {
		switch h.Outcome {
		case core.HunkAccepted:
			accepted++
		case core.HunkRejected:
			rejected++
		case core.HunkOpen:
		}
	}
	switch p.State {
	case core.ProposalStale:
		return "[Since then: the passage was changed, so this can no longer be applied. It was not applied.]"
	case core.ProposalUnknownBase:
		return "[Since then: the document was closed, so this can no longer be applied. It was not applied.]"
	case core.ProposalSuperseded:
		return "[Since then: a newer proposal took its place. It was not applied.]"
	case core.ProposalProposed, core.ProposalPartlyApplied, core.ProposalApplied, core.ProposalRejected:
	}
	if accepted+rejected == 0 {
		return "[Since then: not decided yet. It is not applied.]"
	}
	var words []string
	if accepted > 0 {
		words = append(words, fmt.Sprintf("accepted %d of %d hunks", accepted, len(p.Hunks)))
	}
	if rejected > 0 {
		words = append(words, fmt.Sprintf("rejected %d of %d hunks", rejected, len(p.Hunks)))
	}
	return "[Since then: the person " + strings.Join(words, " and ") + ".]"
}

// ended says how a run ended that did not simply answer; empty when it did.
func ended(run core.Run) string {
	switch run.State {
	case core.RunSucceeded:
		return ""
	case core.RunCancelled:
		return "[The person stopped this answer here.]"
	case core.RunFailed:
		why := run.Reason
		if why == "" && run.Fault != nil {
			why = run.Fault.Code
		}
		return "[This answer failed here: " + orWord(why, "no reason") + ".]"
	case core.RunInterrupted:
		return "[This answer was interrupted here: " + orWord(run.Reason, "no reason") + ".]"
	case core.RunQueued, core.RunRunning, core.RunWaiting, core.RunCancelling:
	}
	return "[This answer is not finished.]"
}

// maxContinued is how many tokens the account of an earlier run may have.
const maxContinued = 2000

// continued tells the truth about the run that this one continues.
func (r *reader) continued(run core.Run) string {
	if run.ParentRunID == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("[This continues a run that ended before it was done")
	for _, p := range r.h.Runs {
		if p.ID == run.ParentRunID {
			fmt.Fprintf(&b, " (%s)", strings.Join(strings.Fields(string(p.State)+" "+p.Reason), ", "))
		}
	}
	b.WriteString(". Nothing of it goes on. What really became of its calls:\n")
	var entries []entry
	for _, c := range r.h.Calls {
		if c.RunID != run.ParentRunID {
			continue
		}
		since := ""
		if p, ok := r.proposals[c.ID]; ok {
			since = decided(p)
		}
		entries = append(entries, callEntry(c, since, r.h.Verdicts[c.ID]))
	}
	if len(entries) == 0 {
		entries = []entry{{text: "- it had called no tool"}}
	}
	b.WriteString(list(entries, maxContinued))
	b.WriteString("Go on from there. What succeeded is done and must not be done again. " +
		"Where the outcome is unknown, do not repeat the call; ask the person.]")
	return b.String()
}

func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

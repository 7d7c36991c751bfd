package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// The exit codes. They are part of the surface: scripts read them.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitStoreFailed = wire.ExitStoreFailed // 3
	exitFailed      = 4
	exitCancelled   = 5
	exitInterrupted = 6
	exitBusy        = 7
)

// usageError is a wrong command line, in words for the person.
type usageError struct{ words string }

func (e *usageError) Error() string { return e.words }

// exitOf is the exit code of a command that failed before it had a run.
func exitOf(err error) int {
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	return exitOfCode(fault.CodeOf(err), exitError)
}

func exitOfCode(code fault.Code, other int) int {
	switch code {
	case fault.StoreFailed, fault.DiskFull:
		return exitStoreFailed
	case fault.Busy:
		return exitBusy
	case fault.Cancelled:
		return exitCancelled
	default:
		return other
	}
}

// exitOfRun is the exit code of a run that ended.
func exitOfRun(state core.RunState, f *core.FaultInfo) int {
	switch state {
	case core.RunSucceeded:
		return exitOK
	case core.RunCancelled:
		return exitCancelled
	case core.RunInterrupted:
		return exitInterrupted
	default:
		if f == nil {
			return exitFailed
		}
		return exitOfCode(fault.Code(f.Code), exitFailed)
	}
}

// sayError is a failure in plain words: what happened, and what to do.
func sayError(err error) string {
	if u, ok := errors.AsType[*usageError](err); ok {
		return u.words
	}
	f := fault.From(err)
	return sayFault(core.FaultInfo{Code: string(f.Code), Detail: f.Detail})
}

// sayFault is a fault in plain words.
func sayFault(f core.FaultInfo) string {
	about := visible(f.Detail)
	with := func(words, instead string) string {
		if about == "" {
			return instead
		}
		return fmt.Sprintf(words, about)
	}
	switch fault.Code(f.Code) {
	case fault.NoProvider:
		return with("There is no provider %q. Add it in the window's settings.",
			"No provider is chosen. Add one in the window's settings, or try --provider mock, which needs no key.")
	case fault.NoKey:
		return "No key for this provider. Add one in the window's settings."
	case fault.BadKey:
		return "The provider refused the key. It may be mistyped or expired."
	case fault.NoPermission:
		return "The key is valid but may not use this model."
	case fault.ModelNotFound:
		return with("No model is chosen, or %s does not offer it. Name one with --model.", "The model is not offered. Name another with --model.")
	case fault.RateLimited:
		return "The provider asks for a pause. Try again later."
	case fault.Quota:
		return "The account has no credit left. Nothing was sent again."
	case fault.ContextTooLong:
		return "What is to be sent is too long for this model. Begin a new session, or use a model that takes more."
	case fault.Refused:
		return "The model declined."
	case fault.CutOff:
		return "The answer broke off. What came is kept."
	case fault.Overloaded:
		return "The provider is overloaded. Try again later."
	case fault.Offline, fault.DNS, fault.ConnectionRefused:
		return with("%s was not reached. Check the address and the network.", "The provider was not reached. Check the address and the network.")
	case fault.TLS:
		return with("The certificate of %s is not trusted.", "The provider's certificate is not trusted.")
	case fault.Proxy, fault.ProxyAuth:
		return with("The proxy %s did not let the request through.", "The proxy did not let the request through.")
	case fault.Timeout, fault.Stalled:
		return "No answer came in time. Stopped."
	case fault.RunnerGone:
		return "The AI process stopped. Nothing was repeated; galley runs shows what is known."
	case fault.StoreFailed:
		return "The run database cannot be used. Nothing new was started."
	case fault.DiskFull:
		return "The disk is full. Nothing new was started."
	case fault.Busy:
		if f.Detail == "elsewhere" {
			return "Another Galley holds the agent of this home and does not answer."
		}
		return "Too much is waiting already. Try again when a run has ended."
	case fault.Cancelled:
		return "Stopped."
	case fault.NotFound:
		return with("%s was not found.", "It was not found.")
	case fault.NotAFile:
		return with("%s is not of the kind that is needed here.", "It is not of the kind that is needed here.")
	case fault.TooLarge:
		return with("%s is too large to be sent.", "The document is too large to be sent.")
	case fault.UnsupportedEncoding:
		return with("The encoding of %s is not supported.", "The document's encoding is not supported.")
	case fault.CommandConflict:
		return "The same command was given before with another input."
	case fault.StaleApproval:
		return "The question is no longer open."
	case fault.InvalidInput:
		return with("Not understood: %s.", "Not understood.")
	case fault.ReadOnly:
		return with("%s cannot be written.", "It cannot be written.")
	case fault.KeyringMissing, fault.KeyringLocked, fault.KeyringTimeout:
		return "The keyring did not give the key. Unlock it and try again."
	default:
	}
	if about != "" {
		return fmt.Sprintf("Failed: %s (%s).", f.Code, about)
	}
	return fmt.Sprintf("Failed: %s.", f.Code)
}

// sayState is how a run ended, as one sentence.
func sayState(state core.RunState, reason string, f *core.FaultInfo) string {
	switch state {
	case core.RunSucceeded:
		return "Done."
	case core.RunCancelled:
		return "Stopped."
	case core.RunFailed:
		if f == nil {
			return "Failed."
		}
		return sayFault(*f)
	case core.RunInterrupted:
		return "Interrupted" + because(reason) + ". What is known is kept, and nothing is repeated by itself."
	default:
		return string(state) + "."
	}
}

// because adds the reason of a state.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + strings.ReplaceAll(reason, "_", " ") + ")"
}

// sayTool is what a call is about, in words.
func sayTool(c core.ToolCall, ended bool) string {
	path := c.Facts.Path
	if path == "" {
		path = field(c, "path")
	}
	verb := func(doing, done string) string {
		if ended {
			return done
		}
		return doing
	}
	words := ""
	switch c.Name {
	case core.ToolGetActiveDocument:
		words = verb("Reading the document", "Read the document")
	case core.ToolGetSelection:
		words = verb("Reading the selection", "Read the selection")
	case core.ToolGetOutline:
		words = verb("Reading the headings", "Read the headings")
	case core.ToolSearchWorkspace:
		words, path = verb("Searching for ", "Searched for ")+quoted(field(c, "query")), ""
	case core.ToolReadDocument:
		words = verb("Reading", "Read")
	case core.ToolListWorkspace:
		words = verb("Listing", "Listed")
		if path == "" {
			path = "the folder"
		}
	case core.ToolProposePatch:
		words = verb("Proposing a change of", "Proposed a change of")
		if path == "" {
			path = "the document"
		}
	case core.ToolCreateDocument:
		words, path = verb("Creating", "Created"), joined(field(c, "dir"), field(c, "name"))
	case core.ToolRenameDocument:
		words, path = verb("Renaming", "Renamed"), field(c, "path")+" to "+field(c, "newName")
	default:
		words = c.Name
	}
	if path != "" {
		words += " " + path
	}
	return visible(words + facts(c.Name, c.Facts))
}

// facts are the figures of a call.
func facts(tool string, f core.ToolFacts) string {
	var parts []string
	switch tool {
	case core.ToolSearchWorkspace:
		parts = append(parts, count(f.Hits, "hit")+" in "+count(f.Files, "file"))
	case core.ToolListWorkspace:
		parts = append(parts, count(f.Files, "document"))
	}
	if f.Bytes > 0 {
		parts = append(parts, count(f.Bytes, "byte"))
	}
	if f.More {
		parts = append(parts, "there is more")
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// field is a text field of a call's input; "" for none.
func field(c core.ToolCall, name string) string {
	var in map[string]any
	if json.Unmarshal(c.Input, &in) != nil {
		return ""
	}
	s, _ := in[name].(string)
	return s
}

func joined(dir, name string) string {
	if dir == "" || dir == "." {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// quoted is one line of a text, short.
func quoted(s string) string {
	s, rest, _ := strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 60 {
		s, rest = string(r[:60]), "…"
	}
	if rest != "" {
		s += "…"
	}
	return "\u201c" + s + "\u201d"
}

// count is a number with its noun, and commas between thousands.
func count(n int, noun string) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if n != 1 {
		noun += "s"
	}
	return s + " " + noun
}

// visible shows what a terminal would carry out or hide: control characters,
// those that turn the direction of text, and those without width. Line breaks
// and tabs stay.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	case r == 0x200D, r == 0xFE0F: // they join emoji
		return false
	case unicode.Is(unicode.Cf, r), r == 0x2028, r == 0x2029, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
		return true
	}
	return false
}

package cli

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"galley/backend/agent/core"
)

// answer is a line that somebody typed; end says that none follows.
type answer struct {
	text string
	end  bool
}

// asker asks on a terminal, one question after another. What was typed before a
// question is no answer to it.
type asker struct {
	out   io.Writer // nil where there is no terminal
	typed chan answer
	// open are the questions, the first is the one that is put.
	open  []question
	ended bool
}

type question struct {
	approval core.Approval
	call     core.ToolCall
}

// newAsker asks on out and reads in; without a terminal nothing can be asked.
func newAsker(in io.Reader, out io.Writer, terminal bool) *asker {
	k := &asker{}
	if !terminal {
		return k
	}
	k.out, k.typed = out, make(chan answer)
	// It ends with the input, at the latest with the process: a read of a
	// terminal cannot be ended otherwise.
	go func() {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			k.typed <- answer{text: lines.Text()}
		}
		k.typed <- answer{end: true}
	}()
	return k
}

// can reports whether there is somebody to ask.
func (k *asker) can() bool { return k.out != nil && !k.ended }

// lines is where answers come from; nil where there are none.
func (k *asker) lines() <-chan answer { return k.typed }

// ask puts a question, now or when those before it are answered.
func (k *asker) ask(a core.Approval, c core.ToolCall) {
	k.open = append(k.open, question{a, c})
	if len(k.open) == 1 {
		k.put()
	}
}

// put shows the first question.
func (k *asker) put() {
	if len(k.open) == 0 || k.out == nil {
		return
	}
	k.forget()
	q := k.open[0]
	show(k.out, fmt.Sprintf("\n%s\n%s%s", sayAsk(q.approval, q.call), excerpt(q.approval.Summary.Text, 12), choices(q)))
}

// forget drops what was typed before a question.
func (k *asker) forget() {
	for {
		select {
		case line := <-k.typed:
			if line.end {
				// It still has to be heard.
				k.typed = make(chan answer, 1)
				k.typed <- line
				return
			}
		default:
			return
		}
	}
}

// choices are the answers there are.
func choices(q question) string {
	yes := "create"
	switch q.call.Name {
	case core.ToolRenameDocument:
		yes = "rename"
	case core.ToolCreateDocument:
	default:
		yes = "allow once"
	}
	s := "[y] " + yes
	if q.call.Kind == core.ToolRead {
		s += "   [s] allow for this session"
	}
	s += "   [n] deny"
	if q.approval.Summary.Text != "" {
		s += "   [a] show all"
	}
	return s + " > "
}

// take reads a line as an answer to the question that is put. ok is false when
// it is none; an empty decision says that no answer can come any more.
func (k *asker) take(line answer) (a core.Approval, d core.Decision, ok bool) {
	if line.end {
		k.ended, k.typed = true, nil
		if len(k.open) == 0 {
			return a, "", false
		}
		return k.next(), "", true
	}
	if len(k.open) == 0 {
		return a, "", false // it was typed before anything was asked
	}
	q := k.open[0]
	switch strings.ToLower(strings.TrimSpace(line.text)) {
	case "y", "yes":
		return k.next(), core.AllowOnce, true
	case "n", "no":
		return k.next(), core.Deny, true
	case "s":
		if core.AllowSession.ValidFor(q.call.Kind) {
			return k.next(), core.AllowSession, true
		}
	case "a":
		show(k.out, fmt.Sprintf("%s%s", excerpt(q.approval.Summary.Text, -1), choices(q)))
		return a, "", false
	}
	show(k.out, choices(q))
	return a, "", false
}

// next takes the first question away and puts the following one.
func (k *asker) next() core.Approval {
	a := k.open[0].approval
	k.open = k.open[1:]
	k.put()
	return a
}

// withdraw takes back a question that was answered elsewhere, or went with its
// run.
func (k *asker) withdraw(id core.ApprovalID) {
	i := slices.IndexFunc(k.open, func(q question) bool { return q.approval.ID == id })
	if i < 0 {
		return
	}
	k.open = slices.Delete(k.open, i, i+1)
	if i == 0 {
		show(k.out, "\nNo longer asked: it was answered elsewhere.\n")
		k.put()
	}
}

func (k *asker) withdrawAll() { k.open = nil }

// sayAsk is a question in words.
func sayAsk(a core.Approval, c core.ToolCall) string {
	s := a.Summary
	size := ""
	if s.Bytes > 0 {
		size = ", " + count(s.Bytes, "byte")
		if s.Words > 0 {
			size += ", " + count(s.Words, "word")
		}
	}
	words := ""
	switch c.Name {
	case core.ToolCreateDocument:
		words = "Create " + s.Path + size + "?"
	case core.ToolRenameDocument:
		words = "Rename " + s.Path + " to " + s.NewPath + "?"
		if s.Links > 0 {
			words += " " + count(s.Links, "link") + " to it will not be changed."
		}
	case core.ToolSearchWorkspace:
		words = "Search the folder for " + quoted(s.Text) + "?"
	case core.ToolReadDocument:
		words = "Read " + s.Path + size + "?"
	case core.ToolListWorkspace:
		words = "List what is in the folder?"
	default:
		words = "Allow " + c.Name + "?"
	}
	if s.Invisible {
		words += " It holds characters that cannot be seen; they are shown as <U+...>."
	}
	return visible(words)
}

// excerpt is the first lines of a text, moved in; all of them for a negative
// limit.
func excerpt(s string, limit int) string {
	if s == "" {
		return ""
	}
	rows := strings.Split(strings.TrimRight(visible(s), "\n"), "\n")
	more := ""
	if limit >= 0 && len(rows) > limit {
		more = fmt.Sprintf("    … %s more\n", count(len(rows)-limit, "line"))
		rows = rows[:limit]
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString("    " + row + "\n")
	}
	return b.String() + more
}

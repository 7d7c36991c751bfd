package openairesponses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// ways says how a server of the dialect sends one answer: what it leaves out,
// and what it gets wrong.
type ways struct {
	ids     int // 0 the same throughout, 1 none, 2 another in each event
	indices int // 0 right, 1 always 0, 2 none, 3 from 5 on
	added, deltas, partDone, itemDone,
	output bool // there
	otherIDs bool // the last event has ids of its own
	twice    bool // each event comes twice, but for the pieces
}

// readable reports whether the answer is there to be read: each item can be told
// from the next, and its content and names come somewhere.
func (w ways) readable() bool {
	switch {
	case w.ids == 2 && (w.indices == 1 || w.indices == 2):
		return false // nothing says what belongs together
	case w.ids == 1 && (w.indices == 1 || w.indices == 2) && w.twice:
		return false // a second time and a second item look alike
	case w.itemDone || w.output:
		// Without beginnings, pieces of neighbours that nothing tells apart run
		// together until the end.
		return w.added || w.ids == 0 && w.indices != 1 || w.indices == 0 || w.indices == 3 || !w.deltas && !w.partDone
	}
	return w.added && (w.deltas || w.partDone)
}

// answerOf is an answer as its items: kinds r, m and c, each with its content.
type answerItem struct {
	kind, content string
	n             int
}

func (i answerItem) object(id string) string {
	if id != "" {
		id = `"id":"` + id + `",`
	}
	switch i.kind {
	case "r":
		return fmt.Sprintf(`{%s"type":"reasoning","summary":[{"type":"summary_text","text":%q}],"encrypted_content":"E%d"}`, id, i.content, i.n)
	case "m":
		return fmt.Sprintf(`{%s"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, id, i.content)
	}
	return fmt.Sprintf(`{%s"type":"function_call","call_id":"call_%d","name":"f%d","arguments":%q}`, id, i.n, i.n, i.content)
}

func (i answerItem) empty(id string) string {
	if id != "" {
		id = `"id":"` + id + `",`
	}
	switch i.kind {
	case "r":
		return `{` + id + `"type":"reasoning","summary":[]}`
	case "m":
		return `{` + id + `"type":"message","role":"assistant","content":[]}`
	}
	return fmt.Sprintf(`{%s"type":"function_call","call_id":"call_%d","name":"f%d","arguments":""}`, id, i.n, i.n)
}

// events sends an answer in some way.
func (w ways) events(answer []answerItem) string {
	var out []string
	fresh := 0
	emit := func(again bool, format string, args ...any) {
		e := fmt.Sprintf(format, args...)
		out = append(out, e)
		if again && w.twice {
			out = append(out, e)
		}
	}
	for n, item := range answer {
		id := func() string {
			switch w.ids {
			case 1:
				return ""
			case 2:
				fresh++
				return fmt.Sprint("x", fresh)
			}
			return fmt.Sprint("i", n)
		}
		index := [...]string{fmt.Sprintf(`"output_index":%d,`, n), `"output_index":0,`, ``, fmt.Sprintf(`"output_index":%d,`, n+5)}[w.indices]
		at := func() string {
			if s := id(); s != "" {
				return `"item_id":"` + s + `",` + index
			}
			return index
		}
		piece, whole := map[string]string{"r": "reasoning_summary_text", "m": "output_text", "c": "function_call_arguments"}[item.kind], "text"
		if item.kind == "c" {
			whole = "arguments"
		}
		if w.added {
			emit(true, `{"type":"response.output_item.added",%s"item":%s}`, index, item.empty(id()))
		}
		if w.deltas {
			for _, p := range strings.SplitAfter(item.content, " ") {
				emit(false, `{"type":"response.%s.delta",%s"delta":%q}`, piece, at(), p)
			}
		}
		if w.partDone {
			emit(true, `{"type":"response.%s.done",%s"%s":%q}`, piece, at(), whole, item.content)
		}
		if w.itemDone {
			emit(true, `{"type":"response.output_item.done",%s"item":%s}`, index, item.object(id()))
		}
	}
	var all []string
	if w.output {
		for n, item := range answer {
			id := fmt.Sprint("i", n)
			if w.otherIDs {
				id = fmt.Sprint("y", n)
			}
			if w.ids == 1 {
				id = ""
			}
			all = append(all, item.object(id))
		}
	}
	emit(true, `{"type":"response.completed","response":{"status":"completed","output":[%s]}}`, strings.Join(all, ","))
	var b strings.Builder
	for _, e := range out {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// TestSparse: an answer is the same in whichever way it is sent, as long as it
// is there at all (decision 14).
//
// covers: K1 K2
func TestSparse(t *testing.T) {
	t.Parallel()
	const rounds = 4000
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	tried := 0
	for range rounds {
		coin := func() bool { return r.IntN(2) == 0 }
		w := ways{
			ids: r.IntN(3), indices: r.IntN(4), added: coin(), deltas: coin(), partDone: coin(), itemDone: coin(),
			output: coin(), otherIDs: coin(), twice: r.IntN(4) == 0,
		}
		if !w.readable() {
			continue
		}
		tried++
		var answer []answerItem
		var text, thoughts string
		var calls []core.AnswerCall
		for n := range 1 + r.IntN(4) {
			item := answerItem{kind: string("rmc"[r.IntN(3)]), n: n}
			switch item.kind {
			case "r":
				item.content = fmt.Sprintf("thought %d 茶. ", n)
				thoughts += item.content
			case "m":
				item.content = fmt.Sprintf("said %d 茶. ", n)
				text += item.content
			case "c":
				item.content = fmt.Sprintf(`{"n": %d, "s": "茶 a"}`, n)
				calls = append(calls, dialect.Call(len(calls), fmt.Sprint("call_", n), fmt.Sprint("f", n), item.content, dialect.Names{}, provider.NewRedactor()))
			}
			answer = append(answer, item)
		}
		stream := w.events(answer)
		d, said, err := decodeAll([]byte(stream))
		if err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, w, err)
		}
		got := d.answer("host.test pine")
		var wrong []string
		if got.Text != text || said != text {
			wrong = append(wrong, fmt.Sprintf("text %q, said %q, want %q", got.Text, said, text))
		}
		if bare(got.Reasoning) != bare(thoughts) {
			wrong = append(wrong, fmt.Sprintf("reasoning %q, want %q", got.Reasoning, thoughts))
		}
		if diff := cmp.Diff(calls, got.Calls); diff != "" {
			wrong = append(wrong, "calls (-want +got):\n"+diff)
		}
		// What is sealed goes back, in its place.
		if w.itemDone || w.output {
			var order, want string
			for _, it := range d.items.all {
				order += string("mrco"[it.kind])
				if it.kind == kindReasoning && !sealed(it.raw) {
					wrong = append(wrong, "thinking is not sealed")
				}
			}
			for _, item := range answer {
				want += item.kind
			}
			if order != want {
				wrong = append(wrong, fmt.Sprintf("the order is %s, want %s", order, want))
			}
		}
		if wrong != nil {
			t.Fatalf("seed %d, %+v\n%s\n%s", seed, w, stream, strings.Join(wrong, "\n"))
		}
	}
	if tried < rounds/4 {
		t.Errorf("only %d of %d ways were tried", tried, rounds)
	}
}

func bare(s string) string { return strings.Join(strings.Fields(s), "") }

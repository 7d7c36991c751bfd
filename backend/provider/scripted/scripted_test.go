package scripted

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

func says(role core.Role, s string) core.Message {
	t := core.PartText
	if role == core.RoleTool {
		t = core.PartToolResult
	}
	return core.Message{Role: role, Parts: []core.Part{{Type: t, Text: s}}}
}

func asks(s string) core.Request {
	return core.Request{Model: ModelOne, Messages: []core.Message{says(core.RoleUser, s)}}
}

// stream runs a request without pauses and returns the pieces too.
func stream(t *testing.T, req core.Request, seed uint64) (core.Answer, []string) {
	t.Helper()
	var got []string
	a, err := New(Config{Pace: -1, Seed: seed}).Stream(t.Context(), req, func(d core.Delta) { got = append(got, d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	return a, got
}

// framed is a rewrite as the loop sends it.
func framed(preset, instruction, selection string) string {
	return "<preset>" + preset + "</preset>\n<instruction>" + instruction + "</instruction>\n" +
		"<before>\n> <selection>\n> very old\n</before>\n<selection>\n" + selection + "\n</selection>"
}

const (
	englishText = "The ferry leaves at night, which is very late, and many people think that it is important to get there quickly. " +
		"We do not need a lot of things to use it."
	chineseText = "河面上起了薄雾，渡船慢了。我们没有看到很多东西，但是非常安静的时候可以听见水声。"
)

// TestModel_Pieces: whatever the seed, an answer is the same, comes in many
// pieces, and is cut inside words and inside what a reader sees as one
// character.
//
// covers: K1
func TestModel_Pieces(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Wörter 👩‍👩‍👧 und Flaggen 🇨🇭, e\u0301, 茶🦊。", 12)
	insideWord, insideCluster := 0, 0
	var first []string
	for seed := range uint64(50) {
		a, got := stream(t, asks(framed("continue", "", text)), seed)
		if joined := strings.Join(got, ""); joined != a.Text || !strings.HasPrefix(a.Text, text) {
			t.Fatalf("seed %d: the pieces do not give the answer", seed)
		}
		if len(got) < 60 {
			t.Errorf("seed %d: only %d pieces", seed, len(got))
		}
		if seed == 0 {
			first = got
		} else if seed == 1 && cmp.Equal(first, got) {
			t.Error("two seeds cut alike")
		}
		at := 0
		for i, p := range got {
			if p == "" || !utf8.ValidString(p) {
				t.Fatalf("seed %d: piece %q", seed, p)
			}
			at += len(p)
			if i+1 == len(got) {
				break
			}
			if !border(a.Text, at) {
				insideCluster++
			}
			if isLetter(a.Text[at-1]) && isLetter(a.Text[at]) {
				insideWord++
			}
		}
		again, same := stream(t, asks(framed("continue", "", text)), seed)
		if !cmp.Equal(again, a) || !cmp.Equal(same, got) {
			t.Errorf("seed %d: not the same twice", seed)
		}
	}
	if insideWord == 0 || insideCluster == 0 {
		t.Errorf("%d cuts inside words, %d inside clusters", insideWord, insideCluster)
	}
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// border reports whether a cluster starts at byte at.
func border(s string, at int) bool {
	state, pos := -1, 0
	for s != "" && pos < at {
		cluster, rest, _, next := uniseg.FirstGraphemeClusterInString(s, state)
		pos, s, state = pos+len(cluster), rest, next
	}
	return pos == at
}

// TestModel_LongAnswers do not take minutes.
func TestModel_LongAnswers(t *testing.T) {
	t.Parallel()
	_, got := stream(t, asks(framed("continue", "", strings.Repeat("long text ", 20_000))), 1)
	if len(got) > 2*maxPieces {
		t.Errorf("%d pieces", len(got))
	}
}

// TestModel_Pace: a person sees it stream, and can stop it.
func TestModel_Pace(t *testing.T) {
	for model, want := range map[string]time.Duration{ModelOne: 12 * time.Millisecond, ModelSlow: 60 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			req := asks("hello")
			req.Model = model
			start, n := time.Now(), 0
			if _, err := New(Config{}).Stream(t.Context(), req, func(core.Delta) { n++ }); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(start); n < 20 || got != time.Duration(n+1)*want {
				t.Errorf("%s: %d pieces in %v", model, n, got)
			}
			ctx, cancel := context.WithCancel(t.Context())
			said := ""
			a, err := New(Config{}).Stream(ctx, req, func(d core.Delta) {
				if said += d.Text; len(said) > 20 {
					cancel()
				}
			})
			if fault.CodeOf(err) != fault.Cancelled || a.Text != said {
				t.Errorf("%s: %v, %q of %q", model, err, a.Text, said)
			}
		})
	}
}

// TestModel_Chat answers in the language it is spoken to.
//
// covers: K1
func TestModel_Chat(t *testing.T) {
	t.Parallel()
	a, _ := stream(t, asks("What is this?"), 0)
	if !strings.Contains(a.Text, "What is this?") || a.Finish != core.FinishEndTurn || a.Usage.Kind != core.UsageEstimated {
		t.Errorf("%+v", a)
	}
	if a, _ := stream(t, asks("这是什么？"), 0); !strings.Contains(a.Text, "这是什么？") || !isChinese(a.Text) {
		t.Errorf("%+v", a)
	}
	_, err := New(Config{Pace: -1}).Stream(t.Context(), core.Request{Model: "mock-9"}, nil)
	if f := fault.From(err); f.Code != fault.ModelNotFound || f.Detail != "mock-9" {
		t.Errorf("an unknown model gives %v", err)
	}
	m := New(Config{Pace: -1})
	models, err := m.Models(t.Context())
	if err != nil || len(models) != 2 {
		t.Errorf("%v, %v", models, err)
	}
	for _, info := range models {
		req := core.Request{Model: info.ID}
		if _, err := m.Stream(t.Context(), req, func(core.Delta) {}); err != nil {
			t.Errorf("%s: %v", info.ID, err)
		}
	}
}

// TestModel_Tool reads "/tool name {json}".
//
// covers: K1
func TestModel_Tool(t *testing.T) {
	t.Parallel()
	tools := []core.ToolSpec{{Name: "searchWorkspace"}, {Name: "math.add"}, {Name: "read_document"}}
	tests := []struct {
		in   string
		want []core.AnswerCall
	}{
		{`/tool searchWorkspace {"q":"a b"}`, []core.AnswerCall{{Name: "searchWorkspace", Arguments: json.RawMessage(`{"q":"a b"}`)}}},
		{`/tool workspace.search {}`, []core.AnswerCall{{Name: "searchWorkspace", Arguments: json.RawMessage(`{}`)}}},
		{`/tool read.document`, []core.AnswerCall{{Name: "read_document", Arguments: json.RawMessage(`{}`)}}},
		{`/tool math.add {"left":1}`, []core.AnswerCall{{Name: "math.add", Arguments: json.RawMessage(`{"left":1}`)}}},
		{`/tool system.echo{"t":"x"}`, []core.AnswerCall{{Name: "system.echo", Arguments: json.RawMessage(`{"t":"x"}`)}}},
		{"/tool a {\n \"x\": 1\n}\n/tool b", []core.AnswerCall{
			{Name: "a", Arguments: json.RawMessage("{\n \"x\": 1\n}")},
			{Name: "b", Arguments: json.RawMessage(`{}`)},
		}},
		{`/tool a {"x":`, []core.AnswerCall{{Name: "a", Raw: `{"x":`, Invalid: true}}},
		{`say /tool a {}`, nil},
	}
	for _, tt := range tests {
		req := asks(tt.in)
		req.Tools = tools
		a, _ := stream(t, req, 0)
		ids := make(map[string]bool)
		for i := range a.Calls {
			ids[a.Calls[i].ID] = true
			a.Calls[i].ID, a.Calls[i].ProviderID = "", ""
		}
		if d := cmp.Diff(tt.want, a.Calls); d != "" || len(ids) != len(tt.want) {
			t.Errorf("%s: ids %v (-want +got):\n%s", tt.in, ids, d)
		}
		if (len(tt.want) > 0) != (a.Finish == core.FinishToolCalls) {
			t.Errorf("%s: finish %s", tt.in, a.Finish)
		}
	}
	after := asks("/tool a {}")
	after.Messages = append(after.Messages, says(core.RoleAssistant, ""), says(core.RoleTool, "12345"))
	if a, _ := stream(t, after, 0); !strings.Contains(a.Text, "5") || len(a.Calls) != 0 {
		t.Errorf("after the result: %+v", a)
	}
}

var presets = []string{"improve", "grammar", "shorten", "expand", "simplify", "tone", "translate", "continue", ""}

// TestRewrite_Changes: each preset edits each passage so that one can see it,
// and leaves most of it.
//
// covers: K1
func TestRewrite_Changes(t *testing.T) {
	t.Parallel()
	passages := []string{
		englishText, chineseText, "Hello", "Hello, world.", "标题", "渡船。", "## Night ferry", "- [ ] milk",
		"> only a quotation", "`code`", "```go\nx := 1\n```", "42", "“quoted”", "|a|b|\n|-|-|\n|1|2|", "Über die Brücke.",
		"teh dog saw saw a apple. i dont know wich one it was",
		"你因该来,因为船的的票已经买好了",
		"  leading and trailing blanks are kept  ",
		"One.\n\nTwo with a [link](https://very.test/good).\n\nThree.",
	}
	for _, preset := range presets {
		for _, p := range passages {
			a, _ := stream(t, asks(framed(preset, "Make it better.", p)), 0)
			if visible(a.Text) == visible(p) {
				t.Errorf("%s leaves %q as it is", preset, p)
			}
			if a.Text == "" || strings.Contains(a.Text, "selection>") {
				t.Errorf("%s makes %q of %q", preset, a.Text, p)
			}
			head := p[:len(p)-len(strings.TrimLeft(p, " "))]
			if !strings.HasPrefix(a.Text, head) || strings.HasSuffix(p, " ") && preset != "continue" && !strings.HasSuffix(a.Text, "  ") {
				t.Errorf("%s: the edges of %q became %q", preset, p, a.Text)
			}
		}
	}
}

// TestRewrite_Kinds: each preset does what it says.
func TestRewrite_Kinds(t *testing.T) {
	t.Parallel()
	run := func(preset, instruction, p string) string {
		a, _ := stream(t, asks(framed(preset, instruction, p)), 0)
		return a.Text
	}
	for _, p := range []string{englishText, chineseText} {
		short, long := run("shorten", "", p), run("expand", "", p)
		if len(short) >= len(p) || len(long) <= len(p) {
			t.Errorf("of %d bytes, shorten makes %d and expand %d", len(p), len(short), len(long))
		}
		if next := run("continue", "", p); !strings.HasPrefix(next, p+"\n\n") {
			t.Errorf("continue: %q", next)
		}
		if isChinese(run("translate", "", p)) == isChinese(p) {
			t.Errorf("translate: %q", run("translate", "", p))
		}
		if run("", "缩短这段", p) != short || run("", "make it shorter", p) != short {
			t.Errorf("an instruction in words: %q", run("", "make it shorter", p))
		}
		seen := make(map[string]string)
		for _, preset := range presets[:8] {
			out := run(preset, "", p)
			if preset != "grammar" && seen[out] != "" {
				t.Errorf("%s and %s are the same: %q", preset, seen[out], out)
			}
			seen[out] = preset
		}
	}
	exact := map[[3]string]string{
		{"grammar", "", "teh dog saw saw a apple. i dont know wich one it was"}: "the dog saw an apple. I don't know which one it was.",
		{"grammar", "", "你因该来,因为船的的票已经买好了"}:                                     "你应该来，因为船的票已经买好了。",
		{"", `replace "dog" with "cat"`, "a dog, two dogs"}:                     "a cat, two cats",
		{"", "把“狗”改成“猫”", "一只狗"}:                                                "一只猫",
		{"tone", "", "It is not late. We do not wait."}:                         "It's not late. We don't wait.",
		{"", "more formal", "Don't get a book."}:                                "Do not obtain a book.",
		{"simplify", "", "They utilize numerous boats."}:                        "They use many boats.",
	}
	for in, want := range exact {
		if got := run(in[0], in[1], in[2]); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

var things = regexp.MustCompile("`[^`]*`|https?://[^)\\s]*|\\d[\\d.,%-]*\\d|\\[[^\\]]*\\]|“[^”]*”|「[^」]*」|(?m)^([ \t]*([-*+]|#+|\\d+\\.) (\\[[ x]\\] )?|> .*$)|\\$[^$]*\\$|<[^>]*>|\\||\\*\\*?")

// TestRewrite_Keeps what a good model leaves alone.
func TestRewrite_Keeps(t *testing.T) {
	t.Parallel()
	const doc = "---\ntitle: very good things\n---\n\n# A very important heading\n\n" +
		"We need a lot of things: `very good` code, **really** big words, 1,240 boats, 2031-04-09, " +
		"[a very good link](https://very.test/good?use=1), ![an image](very.png), [[very good]], a note[^very], $very + good$ and “very good words”.\n\n" +
		"- [ ] use it very often\n- [x] get 3.5 % more\n\n1. start\n2. show <b>very</b> good\n\n" +
		"> a very good quotation\n\n| very | good |\n| :--- | ---: |\n| use | 12 |\n\n" +
		"```text\nvery good things\n```\n\n    very good indented\n\n$$\nvery\n$$\n\n<!-- very\ngood -->\n\n[very]: https://very.test\n[^very]: We need it very often.\n\n" +
		"中文里也有「非常好」的 7 个词，还有 https://非常.test/很多 。"
	for _, preset := range presets {
		a, _ := stream(t, asks(framed(preset, "", doc)), 0)
		want, got := things.FindAllString(doc, -1), things.FindAllString(a.Text, -1)
		if preset == "continue" {
			got = things.FindAllString(strings.TrimSuffix(a.Text, nextParagraph(false)), -1)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", preset, d)
		}
		for _, block := range []string{
			"---\ntitle: very good things\n---", "```text\nvery good things\n```", "\n    very good indented\n",
			"$$\nvery\n$$", "<!-- very\ngood -->", "[very]: https://very.test\n", "> a very good quotation", "| :--- | ---: |",
			"![an image](very.png)", "[[very good]]", "[^very]: ",
		} {
			if !strings.Contains(a.Text, block) {
				t.Errorf("%s lost %q", preset, block)
			}
		}
		if preset != "expand" && preset != "continue" && strings.Count(a.Text, "\n") != strings.Count(doc, "\n") {
			t.Errorf("%s changed the lines", preset)
		}
	}
}

// TestParseTask reads what the loop sends, also when the passage looks like it.
func TestParseTask(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want task
	}{
		{framed("improve", "be\nkind", "a\n\nb"), task{"improve", "be\nkind", "a\n\nb"}},
		{framed("", "x", ""), task{"", "x", ""}},
		{framed("tone", "", "</selection>\n<selection>\n<preset>x</preset>\n</selection>"), task{"tone", "", "</selection>\n<selection>\n<preset>x</preset>\n</selection>"}},
		{"<instruction>x</instruction>\r\n<selection>\r\na\r\n</selection>\r\n", task{"", "x", "a"}},
		{"<selection>\n</selection>", task{}},
		{framed("a", "b", " a\n"), task{"a", "b", " a\n"}},
	}
	for _, tt := range tests {
		got, ok := parseTask(tt.in)
		if !ok {
			t.Errorf("%q is no task", tt.in)
		}
		if got != tt.want {
			t.Errorf("%q gives %+v, want %+v", tt.in, got, tt.want)
		}
	}
	for _, s := range []string{"", "hello", "the <selection> tag", "</selection>\n<selection>"} {
		if _, ok := parseTask(s); ok {
			t.Errorf("%q is a task", s)
		}
	}
}

// FuzzRewrite: no passage breaks a rewrite, and none leaves it empty.
func FuzzRewrite(f *testing.F) {
	f.Add(englishText)
	f.Add(chineseText)
	f.Add("```\n---\n$$\n<!--\n> [^x]: \\")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || strings.TrimSpace(s) == "" {
			t.Skip("no passage")
		}
		preset := presets[rand.New(rand.NewPCG(uint64(len(s)), 1)).IntN(len(presets))]
		out := rewrite(task{preset: preset, selection: s})
		if strings.TrimSpace(out) == "" || !utf8.ValidString(out) {
			t.Errorf("%s makes %q of %q", preset, out, s)
		}
	})
}

// TestPlayer plays what it is given.
func TestPlayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		stop := fault.New(fault.StreamCut, "chat", nil)
		p := Play(
			Script{Steps: append(Say("a", "b"), Step{Delta: core.Delta{Reasoning: "r"}}), Answer: core.Answer{Calls: []core.AnswerCall{{ID: "1"}}}},
			Script{Steps: append(Say("half"), Step{Fault: stop})},
			Script{Steps: []Step{{Wait: gate}, {Pause: time.Minute, Delta: core.Delta{Text: "late"}}}, Answer: core.Answer{Finish: core.FinishMaxTokens}},
			Script{Steps: append(Say("x"), Step{Hang: true})},
		)
		run := func(ctx context.Context) (core.Answer, string, error) {
			said := ""
			a, err := p.Stream(ctx, core.Request{Model: "m"}, func(d core.Delta) { said += d.Text })
			return a, said, err
		}
		a, said, err := run(t.Context())
		if err != nil || said != "ab" || a.Text != "ab" || a.Reasoning != "r" || a.Finish != core.FinishToolCalls {
			t.Errorf("%+v, %q, %v", a, said, err)
		}
		if a, _, err := run(t.Context()); err != error(stop) || a.Text != "half" { //nolint:errorlint // the very one, not one around it
			t.Errorf("%+v, %v", a, err)
		}
		start := time.Now()
		time.AfterFunc(time.Second, func() { close(gate) })
		if a, _, err := run(t.Context()); err != nil || a.Text != "late" || a.Finish != core.FinishMaxTokens || time.Since(start) != time.Minute+time.Second {
			t.Errorf("%+v, %v after %v", a, err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if a, _, err := run(ctx); fault.CodeOf(err) != fault.Cancelled || a.Text != "x" {
			t.Errorf("%+v, %v", a, err)
		}
		if _, _, err := run(t.Context()); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%v", err)
		}
		if n := len(p.Requests()); n != 5 {
			t.Errorf("%d requests", n)
		}
	})
}

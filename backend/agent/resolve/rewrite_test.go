package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/text"
)

// marked returns a document and its selection, which marks ⟦ and ⟧ stand round.
func marked(s string) (string, core.Range) {
	before, rest, _ := strings.Cut(s, "⟦")
	sel, after, _ := strings.Cut(rest, "⟧")
	from := text.Length(before)
	return before + sel + after, core.Range{From: from, To: from + text.Length(sel)}
}

// change is one edit as a person sees it, with the warnings of its hunk.
type shown struct {
	old, new string
	warn     []core.Warning
}

func show(tb testing.TB, doc string, r Reading) []shown {
	tb.Helper()
	ix := text.NewIndex(doc)
	var out []shown
	for _, h := range r.Hunks {
		for _, e := range r.Edits[h.First : h.First+h.Count] {
			old, err := ix.Slice(e.From, e.To)
			if err != nil {
				tb.Fatal(err)
			}
			out = append(out, shown{old, e.Insert, h.Warnings})
		}
	}
	return out
}

// The answers to one small rewrite, wrapped in what models say round it.
//
// covers: P7
func TestReadRewrite_TakesTalkAway(t *testing.T) {
	for name, c := range map[string]struct {
		text, answer string
		around       []string
	}{
		"english": {"⟦The dog run in the park.⟧\n", "The dog runs in the park.", []string{
			"Here's your corrected text!\n\n%", "I've fixed the grammar for you:\n\n%\n\nBest of luck!", "The corrected sentence is:\n\n%",
			"Okay, here's the improved version of your text:\n%", "%\n\n(I changed \"run\" to \"runs\".)", "%\n\n*Changes:* run → runs", "%\n\n## Changes\n\n- run → runs",
			"Absolutely! I'd be happy to help with that.\n\n%\n\nIs there anything else you'd like me to change?", "Answer: %", "%\n\nExplanation: the subject is singular.",
			"Here is the revised text:\n\n---\n\n%\n\n---\n\nLet me know if you'd like any changes!", "**Corrected text:**\n\n%\n\n**Changes made:**\n- Fixed the verb\n- Kept the tone",
			"Let me fix that for you.\n\n%", "%\n\nThe verb now agrees with its subject.", "Here you go!\n\n```\n%\n```", "~~~md\n%\n~~~", "## Corrected Text\n\n%",
		}},
		"chinese": {"⟦小明去公圆玩。⟧\n", "小明去公园玩。", []string{
			"好的，以下是修改后的句子：\n\n%", "这是改正后的文本：\n%", "已修改错别字：\n\n%\n\n说明：\n- 将“圆”改为“园”", "%\n\n（将“公圆”改为“公园”）", "没问题！\n\n%",
			"%\n\n希望这对您有所帮助！", "润色结果如下：\n\n%\n\n如有其他需要，请随时告诉我。", "**修改后：**\n\n%\n\n**修改说明：**\n1. “公圆”→“公园”", "改为：%",
			"您好！我已帮您修改好了：\n\n%\n\n还有什么我可以帮您的吗？", "%\n\n---\n\n修改了一处错别字：“圆”→“园”。", "<think>\n改错别字。\n</think>\n\n%",
		}},
		"french":  {"⟦Les chien court.⟧\n", "Les chiens courent.", []string{"Voici le texte corrigé :\n\n%"}},
		"german":  {"⟦Der Hund laufen.⟧\n", "Der Hund läuft.", []string{"Gerne! Hier ist der korrigierte Text:\n\n%\n\nIch habe das Verb korrigiert."}},
		"spanish": {"⟦Los perro corren.⟧\n", "Los perros corren.", []string{"¡Claro! Aquí tienes el texto corregido:\n\n%\n\nEspero que te sirva."}},
		"russian": {"⟦Собака бегут.⟧\n", "Собака бежит.", []string{"Вот исправленный текст:\n\n%\n\nЕсли нужно что-то ещё, дайте знать!"}},
		"korean":  {"⟦개가 달리다는.⟧\n", "개가 달린다.", []string{"수정된 문장은 다음과 같습니다:\n\n%"}},
	} {
		t.Run(name, func(t *testing.T) {
			doc, selection := marked(c.text)
			for _, around := range c.around {
				got := ReadRewrite(doc, selection, strings.ReplaceAll(around, "%", c.answer), FinishStop)
				if got.Text != c.answer {
					t.Errorf("%q gave %q", around, got.Text)
				}
			}
		})
	}
}

// covers: P7
func TestReadRewrite_KeepsTextThatSoundsLikeTalk(t *testing.T) {
	for name, c := range map[string]struct{ text, answer string }{
		"a letter that refuses":         {"⟦Dear Ann,\n\nI can't come.⟧\n", "Dear Ann,\n\nI'm sorry, but I cannot help with the bake sale.\n\nLet me know if you need anything else."},
		"an announcement":               {"⟦Here is the corected plan:\n\n- a⟧\n", "Here is the corrected plan:\n\n- a"},
		"an announcement, translated":   {"⟦以下是修改后的安排：\n\n- 一\n- 二⟧\n", "Here is the revised schedule:\n\n- one\n- two"},
		"a story in the first person":   {"⟦I walked home.⟧\n", "I walked home slowly.\n\nI kept walking until the rest of the road changed."},
		"a story at the caret":          {"One.\n\n⟦⟧", "I kept the lamp lit; everything changed.\n\nI left it there."},
		"a notice":                      {"⟦欢迎参观。⟧\n", "欢迎各位前来参观我们的花园和温室。\n\n如果您有任何问题，请随时联系我们。"},
		"a sentence of assent":          {"⟦Sure, the tide come in.⟧\n", "Sure, the tide comes in."},
		"an inner fence without info":   {"⟦Try the folowing:\n\n```\nls\n```\n\nThan wait.⟧\n", "Try the following:\n\n```\nls\n```\n\nThen wait."},
		"an inner fence, translated":    {"⟦请运行：\n\n```\nls\n```⟧\n", "Run this:\n\n```\nls\n```"},
		"blocks at both ends":           {"⟦```\na\n```\n\ntxet\n\n```\nb\n```⟧\n", "```\na\n```\n\ntext\n\n```\nb\n```"},
		"a thematic break at the start": {"x\n\n⟦one txet\n\n---\n\ntwo⟧\n", "---\n\none text\n\n---\n\ntwo"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, selection := marked(c.text)
			if got := ReadRewrite(doc, selection, c.answer, FinishStop); got.Text != c.answer {
				t.Errorf("%s: got %q", got.Outcome, got.Text)
			}
		})
	}
}

// B15: front matter is kept, bad YAML byte for byte.
//
// covers: P7
func TestReadRewrite_KeepsFrontMatter(t *testing.T) {
	for name, c := range map[string]struct{ text, answer, want string }{
		"lost":             {"⟦---\ntags:\n  * x\n---\n\nbody txet⟧\n", "body text", "---\ntags:\n  * x\n---\n\nbody text\n"},
		"invented":         {"⟦body txet\n⟧", "---\ntitle: b\n---\n\nbody text\n", "body text\n"},
		"only it selected": {"⟦---\ntitle: a\n---⟧\n\nx\n", "```yaml\ntitle: b\n```", "---\ntitle: b\n---\n\nx\n"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, selection := marked(c.text)
			if got := applied(t, doc, ReadRewrite(doc, selection, c.answer, FinishStop).Edits); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// B16: the outer fence ends at the last fence, not at the first inner one.
//
// covers: P7
func TestReadRewrite_UnwrapsTheOuterFence(t *testing.T) {
	const want = "# T\n\n```go\nx := 1\n```\n\nend"
	doc, selection := marked("⟦# T\n\n```go\nx := 1\n```\n\nennd⟧\n")
	for _, answer := range []string{
		"Sure, here it is:\n\n```markdown\n" + want + "\n```",
		"```\n" + want + "\n```\n\nI fixed one typo.",
		"````md\n" + want + "\n````\n",
	} {
		if got := ReadRewrite(doc, selection, answer, FinishStop); got.Text != want {
			t.Errorf("%q gave %q", answer, got.Text)
		}
	}
	own, selection := marked("a\n\n⟦```sh\nls\n```⟧\n")
	for _, answer := range []string{"```sh\nls -l\n```", "Here:\n\n```markdown\n```sh\nls -l\n```\n```"} {
		if got := ReadRewrite(own, selection, answer, FinishStop); got.Text != "```sh\nls -l\n```" {
			t.Errorf("%q gave %q", answer, got.Text)
		}
	}
}

// B17: an answer that was cut off leaves alone what it had not come to.
//
// covers: P7
func TestReadRewrite_LeavesTheRestOfACutOffAnswer(t *testing.T) {
	for name, c := range map[string]struct{ text, answer, want string }{
		"in the second paragraph": {"⟦It are one.\n\nIt are two.\n\nIt are three.⟧\n", "It is one.\n\nIt is tw", "It is one.\n\nIt are two.\n\nIt are three.\n"},
		"translated":              {"⟦第一段在此。\n\n第二段在此。\n\n第三段。⟧\n", "The first paragraph is here.\n\nThe second para", "The first paragraph is here.\n\n第二段在此。\n\n第三段。\n"},
		"in a word":               {"⟦The cat sat on teh mat.⟧\n", "The cat sat on the ma", "The cat sat on teh mat.\n"},
		"chinese":                 {"⟦今天天气很好，我们去公园散部吧。⟧\n", "今天天气不错，我们去公", "今天天气不错，我们去公园散部吧。\n"},
		"at a new paragraph":      {"⟦The gate is shut.\n\nThe end.⟧\n", "The old gate is shut.\n\nAnd th", "The old gate is shut.\n\nThe end.\n"},
		"before anything":         {"⟦The gate is shut.⟧\n", "", "The gate is shut.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, selection := marked(c.text)
			got := ReadRewrite(doc, selection, c.answer, FinishLength)
			if after := applied(t, doc, got.Edits); got.Outcome != CutOff || after != c.want {
				t.Errorf("%s: %q", got.Outcome, after)
			}
		})
	}
}

// covers: P7
func TestReadRewrite_CutsRepeatedContext(t *testing.T) {
	for name, c := range map[string]struct{ text, answer, want string }{
		"altered document":   {"# Title\n\nIntro text is here.\n\n## A\n\n⟦Some wrds.⟧\n\n## B\n\nEnd words here.\n", "# The Title\n\nIntro text is here now.\n\n## A\n\nSome words.\n\n## B\n\nThe end words are here.\n", "Some words."},
		"at a caret":         {"* hen\n\n* goose\n\n⟦⟧", "* hen\n\n* goose\n\n* duck\n", "* duck"},
		"the caret's line":   {"The price of the pot is ⟦⟧\n\nEnd.\n", "The price of the pot is fair.", "fair."},
		"the selection's":    {"First one is here. ⟦Second are here.⟧ Third is there.\n", "First one is here. Second is here. Third is there.", "Second is here."},
		"in a word":          {"It was an un⟦helpful⟧ remark, and nobody forgot it.\n", "It was an unkind remark, and nobody forgot it.", "kind"},
		"a table's head":     {"| a | b |\n|---|---|\n⟦| 1 | olf |⟧\n", "| a | b |\n| --- | --- |\n| 1 | old |", "| 1 | old |"},
		"its own first line": {"Ring.\n\n⟦Ring.\n\nThay left.⟧\n", "Ring.\n\nThey left.", "Ring.\n\nThey left."},
	} {
		t.Run(name, func(t *testing.T) {
			doc, selection := marked(c.text)
			if got := ReadRewrite(doc, selection, c.answer, FinishStop); got.Text != c.want {
				t.Errorf("%s: %q", got.Outcome, got.Text)
			}
		})
	}
}

// A long document that came back whole is cut to the selection too.
//
// covers: P6 P7
func TestReadRewrite_CutsALongDocument(t *testing.T) {
	doc := sized(400_000)
	from := strings.Index(doc, "The “needle”")
	to := from + len("The “needle” lies in the hay, and nobody looks for it.")
	ix := text.NewIndex(doc)
	answer := strings.Replace(strings.ReplaceAll(doc, "- two [link]", "- 2 [link]"), "nobody looks", "nobody asks", 1)
	got := ReadRewrite(doc, core.Range{From: ix.UTF16(from), To: ix.UTF16(to)}, answer, FinishStop)
	if got.Text != "The “needle” lies in the hay, and nobody asks for it." {
		t.Errorf("%s: %.200q", got.Outcome, got.Text)
	}
}

// Each warning stands at the hunks that cause it and at no other.
//
// covers: P6 P10
func TestReadRewrite_WarnsWhereTheCauseIs(t *testing.T) {
	none := []core.Warning{}
	for name, c := range map[string]struct {
		text, answer string
		want         []shown
	}{
		"link and number": {"⟦See [a](x.md). It is 3 km. And txet.⟧\n", "See [a](y.md). It is 4 km. And text.", []shown{
			{"x", "y", []core.Warning{core.WarnLink}}, {"3", "4", []core.Warning{core.WarnNumber}}, {"txet", "text", none},
		}},
		"fence and its code": {"⟦```sh\nmake al\n```⟧\n", "~~~sh\nmake all\n~~~", []shown{
			{"```", "~~~", []core.Warning{core.WarnFence}}, {"al", "all", []core.Warning{core.WarnCode}}, {"```", "~~~", []core.Warning{core.WarnFence}},
		}},
		"numbers that stay": {"⟦We have 3 cats and 4 dogs.⟧\n", "There are 3 cats and 4 dogs here.", []shown{{"We have", "There are", none}, {"", " here", none}}},
		"marker and words":  {"⟦- aa\n- b⟧\n", "1. a\n2. b", []shown{{"-", "1.", []core.Warning{core.WarnMarker}}, {"aa", "a", none}, {"-", "2.", []core.Warning{core.WarnMarker}}}},
		"quote style only":  {"⟦He sad it: 「yes」.⟧\n", "He said it: “yes”.", []shown{{"sad", "said", none}, {"「", "“", none}, {"」", "”", none}}},
		"heading to text":   {"⟦Title\n=====\n\ntxet⟧\n", "Title\n\ntext", []shown{{"=====\n", "", []core.Warning{core.WarnHeadingLevel}}, {"txet", "text", none}}},
		"opened fence":      {"⟦a\n\nb⟧\n\nc 3\n\nd\n", "a\n\n```\nb", []shown{{"", "```\n", []core.Warning{core.WarnNumber, core.WarnCode}}}},
		"keycap and prices": {"⟦It cost $5 and $6 then 1️⃣.⟧\n", "It costs $5 and $6 then 1️⃣.", []shown{{"cost", "costs", none}}},
		"removed column": {"⟦| a | b |\n|---|---|\n| x | y |⟧\n", "| a |\n|---|\n| x |", []shown{
			{" | b", "", []core.Warning{core.WarnTableColumns}}, {"---|", "", []core.Warning{core.WarnTableColumns}}, {" | y", "", []core.Warning{core.WarnTableColumns}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			doc, selection := marked(c.text)
			got := show(t, doc, ReadRewrite(doc, selection, c.answer, FinishStop))
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(shown{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// covers: P10
func TestHunks_AreFew(t *testing.T) {
	words := strings.Fields(strings.Repeat("one two three four five six ", 300))
	old := strings.Join(words, " ")
	for i := 2; i < len(words); i += 3 {
		words[i] = "x"
	}
	got := ReadRewrite(old+"\n", core.Range{To: len(old)}, strings.Join(words, " "), FinishStop)
	if len(got.Edits) < 400 || len(got.Hunks) > maxHunks {
		t.Errorf("%d edits in %d hunks", len(got.Edits), len(got.Hunks))
	}
	last := got.Hunks[len(got.Hunks)-1]
	if last.First+last.Count != len(got.Edits) {
		t.Error("the hunks do not cover the edits")
	}
}

// covers: P7
func TestPreview_TakesNothingBack(t *testing.T) {
	doc, selection := marked("⟦The dogs runs in the park.\n\n```sh\nls\n```\n\nAnd the nd.⟧\n")
	for name, answer := range map[string]string{
		"wrapped": "<think>hm, ok</think>\n\nSure! Here is the corrected text:\n\n```markdown\nThe dogs run in the park.\n\n```sh\nls\n```\n\nAnd the end.\n```",
		"bare":    "The dogs run in the park.\n\n```sh\nls\n```\n\nAnd the end.",
		"french":  "Voici le texte :\n\nThe dogs run in the park.\n\n```sh\nls\n```\n\nAnd the end.",
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPreview(doc, selection)
			last, grew := "", 0
			for i := range len(answer) + 1 {
				got := p.Text(answer[:i])
				if !strings.HasPrefix(got, last) {
					t.Fatalf("%q became %q", last, got)
				}
				if got != last {
					grew++
				}
				last = got
			}
			if want := "The dogs run in the park.\n\n```sh\nls\n```\n\nAnd the end."; last != want {
				t.Errorf("ended as %q", last)
			}
			if grew < 20 {
				t.Errorf("grew only %d times", grew)
			}
		})
	}
	if got := NewPreview(doc, selection).Text("<think>not yet"); got != "" {
		t.Errorf("shows thinking: %q", got)
	}
}

// covers: P5 P10
func TestQuote_WarnsAsARewriteDoes(t *testing.T) {
	r, err := Quote("- [ ] wash 3 windows\n", QuoteInput{OldText: "- [ ] wash 3", NewText: "- [x] wash 4"})
	if err != nil || len(r.Hunks) != 2 || !slices.Equal(r.Hunks[0].Warnings, []core.Warning{core.WarnMarker}) || !slices.Equal(r.Hunks[1].Warnings, []core.Warning{core.WarnNumber}) {
		t.Errorf("%+v, %v", r.Hunks, err)
	}
}

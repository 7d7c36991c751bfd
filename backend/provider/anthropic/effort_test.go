package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
)

// What is said of thinking, in the words of the wire.
const (
	summary  = `"display":"summarized","type":"adaptive"}` //nolint:misspell // of the wire
	adaptive = `thinking {` + summary
	drops    = `thinking {"block_binding":{"prefix_mismatch_behavior":"drop_block"},` //nolint:misspell // of the wire
)

func warm(f float64) *float64 { return &f }

// shape is what a request says besides the conversation.
func shape(got map[string]any) string {
	var parts []string
	for _, name := range []string{"max_tokens", "temperature", "thinking", "output_config"} {
		if v, ok := got[name]; ok {
			raw, _ := json.Marshal(v)
			parts = append(parts, name+" "+string(raw))
		}
	}
	return strings.Join(parts, ", ")
}

// TestRequest_Effort holds how each kind of model is asked to think, and that
// what one is known to refuse is left out.
//
// covers: K10
func TestRequest_Effort(t *testing.T) {
	t.Parallel()
	tests := []struct {
		profile, model, effort string
		max                    int
		heat                   *float64
		refused                []string
		want                   string
	}{
		{"", "heron-4", "", 0, warm(0.5), nil, `max_tokens 32000, temperature 0.5`},
		{"", "heron-4", "", 99, warm(1.7), nil, `max_tokens 99, temperature 1`},
		{"", "heron-4", "", 0, warm(0.5), []string{"temperature"}, `max_tokens 32000`},
		{"", "heron-4", "medium", 0, warm(0.5), nil, `max_tokens 32000, ` + adaptive + `, output_config {"effort":"medium"}`},
		{"", "heron-4", "high", 0, nil, nil, `max_tokens 64000, ` + adaptive + `, output_config {"effort":"high"}`},
		{"", "heron-4", "high", 500, nil, []string{"display"}, `max_tokens 500, thinking {"type":"adaptive"}, output_config {"effort":"high"}`},
		{"", "heron-4", "high", 500, nil, []string{"thinking"}, `max_tokens 500, output_config {"effort":"high"}`},
		{"", "heron-4", "high", 500, nil, []string{"effort"}, `max_tokens 500, ` + adaptive},
		{"", "heron-4", "high", 500, warm(0), []string{"output_config", "thinking"}, `max_tokens 500, temperature 0`},
		{"", "heron-4", "none", 0, warm(0.5), nil, `max_tokens 32000, temperature 0.5, thinking {"type":"disabled"}`},
		{"", "heron-4", "none", 0, warm(0.5), []string{"thinking"}, `max_tokens 32000, temperature 0.5, output_config {"effort":"low"}`},

		{"", "claude-3-haiku-20240307", "high", 0, nil, nil, `max_tokens 4096`},
		{"", "claude-3-5-sonnet-20241022", "high", 0, nil, nil, `max_tokens 8192`},
		{"", "claude-opus-4-20250514", "low", 0, nil, nil, `max_tokens 32000, thinking {"budget_tokens":2048,"type":"enabled"}`},
		{"", "claude-sonnet-4-5-20250929", "high", 0, warm(0.2), nil, `max_tokens 64000, thinking {"budget_tokens":16384,"type":"enabled"}`},
		{"", "claude-sonnet-4-5", "none", 0, warm(0.2), nil, `max_tokens 32000, temperature 0.2`},
		{"", "claude-haiku-4-5", "medium", 4000, nil, nil, `max_tokens 4000, thinking {"budget_tokens":2000,"type":"enabled"}`},
		{"", "claude-haiku-4-5", "medium", 16, warm(0), nil, `max_tokens 16, temperature 0`},
		{"", "claude-haiku-4-5", "medium", 4000, nil, []string{"thinking"}, `max_tokens 4000`},
		{"", "claude-opus-4-6", "none", 0, warm(0.2), nil, `max_tokens 32000, temperature 0.2, thinking {"type":"disabled"}`},
		{"", "claude-opus-4-7", "none", 0, warm(0.2), nil, `max_tokens 32000, thinking {"type":"disabled"}`},
		{"", "claude-opus-4-8", "low", 0, warm(0.2), nil, `max_tokens 32000, ` + adaptive + `, output_config {"effort":"low"}`},
		{"", "claude-opus-5-5", "none", 0, nil, nil, `max_tokens 32000, ` + adaptive + `, output_config {"effort":"low"}`},
		{"", "claude-sonnet-5-5", "none", 0, nil, nil, `max_tokens 32000, thinking {"type":"between_tools"}`},
		{"", "claude-haiku-5-5", "none", 0, nil, nil, `max_tokens 32000, thinking {"type":"disabled"}`},
		{"", "claude-fable-5", "none", 0, warm(1), nil, `max_tokens 32000, ` + adaptive + `, output_config {"effort":"low"}`},

		{"compatible", "plum-8b", "", 0, warm(0.5), nil, `max_tokens 8192, temperature 0.5`},
		{"compatible", "plum-8b", "high", 0, nil, nil, `max_tokens 16384, thinking {"budget_tokens":8192,"type":"enabled"}`},
		{"compatible", "plum-8b", "high", 0, nil, []string{"thinking"}, `max_tokens 16384, output_config {"effort":"high"}`},
		{"compatible", "plum-8b", "none", 0, nil, nil, `max_tokens 8192, thinking {"type":"disabled"}`},
		{"compatible", "plum-8b", "none", 0, nil, []string{"thinking"}, `max_tokens 8192`},
		{"openrouter", "anthropic/claude-opus-4.8", "low", 0, warm(0.2), nil, `max_tokens 32000, ` + adaptive + `, output_config {"effort":"low"}`},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, " ", tt.model, " ", tt.effort), func(t *testing.T) {
			t.Parallel()
			req := core.Request{
				Model: tt.model, Effort: tt.effort, MaxOutputTokens: tt.max, Temperature: tt.heat,
				Refused: tt.refused, Messages: []core.Message{userSays("x")},
			}
			got, header, _ := sent(t, tt.profile, okStream, req)
			if s := shape(got); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
			if header.Get("Anthropic-Beta") != "" {
				t.Error("a request without thinking in it asks for a beta")
			}
			// What was sent is what can be refused, and never what was refused.
			m, err := New(Config{BaseURL: "https://api.provider.test", Profile: tt.profile})
			if err != nil {
				t.Fatal(err)
			}
			out, _ := m.encode(req)
			for _, name := range out.optional() {
				if slices.Contains(tt.refused, name) {
					t.Errorf("%s is sent though it is refused", name)
				}
				if name != "effort" && name != "display" && got[name] == nil {
					t.Errorf("%s is said to be sent", name)
				}
			}
		})
	}
}

// TestRequest_Limit: the limit that nobody set is one that is known to be taken,
// and fits behind the prompt.
//
// covers: K10
func TestRequest_Limit(t *testing.T) {
	t.Parallel()
	known := func(context, output int) core.Capabilities {
		return core.Capabilities{ContextTokens: context, MaxOutputTokens: output}
	}
	tests := []struct {
		model  string
		prompt int
		max    int
		known  core.Capabilities
		want   int
	}{
		{"heron-4", 150_000, 0, core.Capabilities{}, 32_000},
		{"heron-4", 0, 0, known(0, 4000), 4000},
		{"heron-4", 0, 9000, known(0, 4000), 9000}, // what the person set is theirs
		{"heron-4", 1000, 0, known(8192, 0), 7092},
		{"heron-4", 0, 0, known(8192, 0), 4096},
		{"heron-4", 9000, 0, known(8192, 0), 1024},
		{"claude-sonnet-4-5", 170_000, 0, core.Capabilities{}, 13_000},
		{"claude-sonnet-4-5", 170_000, 0, known(1_000_000, 0), 32_000},
		{"claude-sonnet-4-5", 1000, 0, core.Capabilities{}, 32_000},
	}
	for _, tt := range tests {
		got, _, _ := sent(t, "", okStream, core.Request{
			Model: tt.model, PromptTokensEstimate: tt.prompt, MaxOutputTokens: tt.max, Known: tt.known,
			Messages: []core.Message{userSays("x")},
		})
		if got["max_tokens"] != float64(tt.want) {
			t.Errorf("%+v: max_tokens %v", tt, got["max_tokens"])
		}
	}
}

// TestRequest_ThinkingKept: what was thought goes back with thinking on, is kept
// here where it is off, and a turn that did not begin with thinking is not gone
// on with by a model that wants it to.
//
// CASES: C12
// covers: K2
func TestRequest_ThinkingKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		profile, model, effort string
		refused                []string
		plain                  bool // the turn has no envelope
		thoughts               int
		beta                   bool
		want                   string
	}{
		{"", "claude-sonnet-4-5", "", nil, false, 3, false, ``},
		{"", "claude-sonnet-4-5", "low", nil, false, 3, false, `thinking {"budget_tokens":2048,"type":"enabled"}`},
		{"", "claude-sonnet-4-5", "low", nil, true, 0, false, ``},
		{"", "claude-opus-4-6", "low", nil, true, 0, false, adaptive + `, output_config {"effort":"low"}`},
		{"", "claude-opus-4-6", "none", nil, false, 0, false, `thinking {"type":"disabled"}`},
		{"", "claude-opus-5", "", nil, false, 3, false, ``},
		{"", "claude-opus-5-5", "", nil, true, 0, false, ``},
		{"", "claude-opus-5-5", "", nil, false, 3, true, drops + `"type":"adaptive"}`},
		{"", "claude-fable-5-2", "low", nil, false, 3, true, drops + summary + `, output_config {"effort":"low"}`},
		{"", "claude-opus-5-5", "", []string{"block_binding"}, false, 3, false, ``},
		{"", "claude-opus-5-5", "", []string{"thinking"}, false, 3, false, ``},
		{"", "claude-sonnet-5-5", "none", nil, false, 0, false, `thinking {"type":"between_tools"}`},
		{"compatible", "claude-opus-5-5", "", nil, false, 3, false, ``},
	} {
		t.Run(fmt.Sprint(tt.profile, tt.model, tt.effort, tt.refused, tt.plain), func(t *testing.T) {
			t.Parallel()
			_, _, a := sent(t, tt.profile, thoughtStream, core.Request{Model: tt.model, Messages: []core.Message{userSays("x")}})
			msg := stored(t, a, 0)
			if tt.plain {
				msg.Parts[0].Envelope = nil
			}
			got, header, _ := sent(t, tt.profile, okStream, core.Request{
				Model: tt.model, Effort: tt.effort, MaxOutputTokens: 9000, Refused: tt.refused,
				Messages: []core.Message{userSays("x"), msg, resultOf("own-call_1", "r")},
			})
			delete(got, "max_tokens")
			if d := cmp.Diff(tt.want, shape(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			thoughts := 0
			for _, block := range got["messages"].([]any)[1].(map[string]any)["content"].([]any) {
				if strings.HasSuffix(block.(map[string]any)["type"].(string), "thinking") {
					thoughts++
				}
			}
			if thoughts != tt.thoughts || (header.Get("Anthropic-Beta") != "") != tt.beta {
				t.Errorf("%d blocks of thinking, beta %q", thoughts, header.Get("Anthropic-Beta"))
			}
		})
	}
}

// TestTraitsOf reads the names that the vendor and gateways give models.
func TestTraitsOf(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"claude-2.1":                                "claude 201",
		"claude-instant-1.2":                        "claude instant 102",
		"claude-3-opus-20240229":                    "claude opus 300",
		"claude-3-5-sonnet-latest":                  "claude sonnet 305",
		"claude-3-7-sonnet-20250219":                "claude sonnet 307",
		"claude-sonnet-4-20250514":                  "claude sonnet 400",
		"claude-opus-4-1@20250805":                  "claude opus 401",
		"claude-opus-4-5-20251101":                  "claude opus 405",
		"anthropic/claude-opus-4.8":                 "claude opus 408",
		"anthropic/claude-haiku-4.5:beta":           "claude haiku 405",
		"us.anthropic.claude-sonnet-4-6-v1:0":       "claude sonnet 406",
		"anthropic.claude-3-5-haiku-20241022-v1:0":  "claude haiku 305",
		"Claude-Fable-5-2":                          "claude fable 502",
		"claude-opus-5":                             "claude opus 500",
		"claude-opus-latest":                        "claude opus 0",
		"~anthropic/claude-sonnet-latest":           "claude sonnet 0",
		"claude":                                    "claude 0",
		"heron-4":                                   "",
		"deepseek-v4":                               "",
		"arn:aws:bedrock:claude-opus-4-7/profile-9": "claude opus 407",
	} {
		line, v, ok := lineage(model)
		got := ""
		if ok {
			got = strings.Join(strings.Fields(fmt.Sprint("claude ", line, " ", v)), " ")
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", model, got, want)
		}
	}
}

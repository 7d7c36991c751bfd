package core

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
)

func readTool(name string) Tool {
	return Tool{
		Name: name, Kind: ToolRead, Permission: PermWorkspaceRead, Description: "Search.",
		Input: Schema{{Name: "query", Type: TypeString, Required: true}},
	}
}

// covers: T1
func TestNewRegistry_RefusesWhatCannotBeDeclared(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*Tool){
		"empty name":         func(t *Tool) { t.Name = "" },
		"dotted name":        func(t *Tool) { t.Name = "notes.write" },
		"space":              func(t *Tool) { t.Name = "a b" },
		"line feed after":    func(t *Tool) { t.Name = "a\n" },
		"65 characters":      func(t *Tool) { t.Name = strings.Repeat("a", 65) },
		"no kind":            func(t *Tool) { t.Kind = "" },
		"other kind":         func(t *Tool) { t.Kind = "delete" },
		"write as read perm": func(t *Tool) { t.Kind = ToolWrite },
		"read as write perm": func(t *Tool) { t.Permission = PermNotesWrite },
		"notes.delete":       func(t *Tool) { t.Kind = ToolWrite; t.Permission = "notes.delete" },
		"no permission":      func(t *Tool) { t.Permission = "" },
		"no description":     func(t *Tool) { t.Description = "" },
		"unknown type":       func(t *Tool) { t.Input = Schema{{Name: "a", Type: "array"}} },
		"no field name":      func(t *Tool) { t.Input = Schema{{Type: TypeString}} },
		"field twice": func(t *Tool) {
			t.Input = Schema{{Name: "a", Type: TypeString}, {Name: "a", Type: TypeString}}
		},
		"enum of numbers": func(t *Tool) { t.Input = Schema{{Name: "a", Type: TypeNumber, Enum: []string{"1"}}} },
		"empty enum":      func(t *Tool) { t.Input = Schema{{Name: "a", Type: TypeString, Enum: []string{}}} },
		"nested": func(t *Tool) {
			t.Input = Schema{{Name: "a", Type: TypeObject, Fields: Schema{{Name: "b", Type: "any"}}}}
		},
		"fields of a string": func(t *Tool) {
			t.Input = Schema{{Name: "a", Type: TypeString, Fields: Schema{{Name: "b", Type: TypeString}}}}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := readTool("search")
			spoil(&tool)
			if _, err := NewRegistry(tool); fault.CodeOf(err) != fault.InvalidInput {
				t.Errorf("err = %v, want invalid_input", err)
			}
		})
	}
	if _, err := NewRegistry(readTool("a"), readTool("a")); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("same name twice: err = %v, want invalid_input", err)
	}
	if _, err := NewRegistry(readTool(strings.Repeat("a", 64)), readTool("A-z_9")); err != nil {
		t.Errorf("allowed names: %v", err)
	}
}

// covers: T8
func TestRegistry_OnlyToolsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	r, err := NewRegistry(readTool("search"), readTool("list"))
	if err != nil {
		t.Fatal(err)
	}
	input := json.RawMessage(`{"query":"x"}`)
	for name, allowed := range map[string][]string{
		"search": {"list"}, "list": nil, "shell": {"shell", "search"},
	} {
		_, err := r.Judge(nil, allowed, name, input, false)
		if fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s with %v: %v, want not_found", name, allowed, err)
		}
	}
	if specs := r.Specs([]string{"list", "shell"}); len(specs) != 1 || specs[0].Name != "list" {
		t.Errorf("specs = %v, want list alone", specs)
	}
	if specs := r.Specs(nil); specs == nil || len(specs) != 0 {
		t.Errorf("specs = %v, want empty", specs)
	}
	j, err := r.Judge(nil, []string{"search"}, "search", input, false)
	if err != nil || j.Verdict != VerdictAllow {
		t.Errorf("allowed call: %v %v", j.Verdict, err)
	}
}

// covers: T1 T4
func TestRegistry_JudgeByKindAndPolicy(t *testing.T) {
	t.Parallel()
	propose := Tool{Name: "proposePatch", Kind: ToolWrite, Permission: PermNotesPropose, Description: "d"}
	create := Tool{Name: "createDocument", Kind: ToolWrite, Permission: PermNotesWrite, Description: "d"}
	r, err := NewRegistry(readTool("search"), propose, create)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"search", "proposePatch", "createDocument"}
	judge := func(p Policy, name, input string) (Judgement, error) {
		return r.Judge(p, all, name, json.RawMessage(input), false)
	}
	if j, err := judge(nil, "createDocument", `{}`); err != nil || j.Verdict != VerdictConfirm || j.Confirmation != ByApproval {
		t.Errorf("create: %v by %v, %v", j.Verdict, j.Confirmation, err)
	}
	if j, err := judge(nil, "proposePatch", `{}`); err != nil || j.Verdict != VerdictConfirm || j.Confirmation != ByReview {
		t.Errorf("propose: %v by %v, %v", j.Verdict, j.Confirmation, err)
	}
	if _, err := judge(Policy{PermNotesWrite: VerdictDeny}, "createDocument", `{}`); fault.CodeOf(err) != fault.NoPermission {
		t.Errorf("denied: %v, want no_permission", err)
	}
	if _, err := judge(nil, "search", `{"query":1}`); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("bad arguments: %v, want invalid_input", err)
	}
	a, err := judge(nil, "search", `{ "query" : "x" }`)
	if err != nil {
		t.Fatal(err)
	}
	b, err := judge(nil, "search", `{"query":"\u0078"}`)
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest != b.Digest {
		t.Error("equal inputs have unequal digests")
	}
	c, err := judge(nil, "search", `{"query":"y"}`)
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest == c.Digest {
		t.Error("unequal inputs have equal digests")
	}
}

var sample = Schema{
	{Name: "path", Type: TypeString, Description: `A "path" <here>.`, Required: true},
	{Name: "count", Type: TypeInteger},
	{Name: "ratio", Type: TypeNumber},
	{Name: "deep", Type: TypeBoolean},
	{Name: "at", Type: TypeString, Enum: []string{"start", "end"}},
	{Name: "tags", Type: TypeStringArray},
	{Name: "opts", Type: TypeObject, Fields: Schema{{Name: "n", Type: TypeInteger, Required: true}}},
}

// covers: T1
func TestSchema_Normalise(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string // want "" is invalid_input
	}{
		{"least", `{"path":"a"}`, `{"path":"a"}`},
		{"order and blanks", "{ \"deep\" : true,\n\"path\":\"a\" }", `{"path":"a","deep":true}`},
		{
			"all", `{"path":"","count":-3,"ratio":0.5,"deep":false,"at":"end","tags":["x",""],"opts":{"n":1}}`,
			`{"path":"","count":-3,"ratio":0.5,"deep":false,"at":"end","tags":["x",""],"opts":{"n":1}}`,
		},
		{"integer with a fraction of zero", `{"path":"a","count":2.0,"ratio":1e2}`, `{"path":"a","count":2,"ratio":100}`},
		{"null for optional", `{"path":"a","count":null,"opts":null}`, `{"path":"a"}`},
		{"no tags", `{"path":"a","tags":[]}`, `{"path":"a","tags":[]}`},
		{"markup stays", `{"path":"<b>&\u00e9😀"}`, `{"path":"<b>&é😀"}`},
		{"required missing", `{}`, ""},
		{"required null", `{"path":null}`, ""},
		{"unknown field", `{"path":"a","force":true}`, ""},
		{"wrong case", `{"Path":"a"}`, ""},
		{"field twice", `{"path":"a","path":"b"}`, ""},
		{"nested field twice", `{"path":"a","opts":{"n":1,"n":2}}`, ""},
		{"number for string", `{"path":1}`, ""},
		{"string for integer", `{"path":"a","count":"3"}`, ""},
		{"fraction for integer", `{"path":"a","count":1.5}`, ""},
		{"integer not exact", `{"path":"a","count":9007199254740994}`, ""},
		{"number out of range", `{"path":"a","ratio":1e999}`, ""},
		{"string for boolean", `{"path":"a","deep":"true"}`, ""},
		{"outside enum", `{"path":"a","at":"middle"}`, ""},
		{"string for array", `{"path":"a","tags":"x"}`, ""},
		{"number in array", `{"path":"a","tags":["x",1]}`, ""},
		{"null in array", `{"path":"a","tags":[null]}`, ""},
		{"array for object", `{"path":"a","opts":[]}`, ""},
		{"nested missing", `{"path":"a","opts":{}}`, ""},
		{"array", `[]`, ""},
		{"string", `"path"`, ""},
		{"null", `null`, ""},
		{"empty", ``, ""},
		{"broken off", `{"path":"a"`, ""},
		{"two values", `{"path":"a"}{"path":"b"}`, ""},
		{"comma at the end", `{"path":"a",}`, ""},
		{"not UTF-8", "{\"path\":\"\xff\"}", ""},
		{"too deep", `{"path":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := sample.Normalise(json.RawMessage(tt.in))
			if tt.want == "" {
				if fault.CodeOf(err) != fault.InvalidInput {
					t.Errorf("got %s, %v; want invalid_input", got, err)
				}
				return
			}
			if err != nil || string(got) != tt.want {
				t.Fatalf("got %s, %v; want %s", got, err, tt.want)
			}
			again, err := sample.Normalise(got)
			if err != nil || string(again) != tt.want {
				t.Errorf("again: %s, %v", again, err)
			}
		})
	}
}

func TestSchema_ErrorNamesTheFieldNeverTheValue(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"path":"a","opts":{"n":"private"}}`: "opts.n: expected a number",
		`{"path":"a","at":"private"}`:         `at: expected one of ["start" "end"]`,
		`{"path":"a","private":1}`:            "expected no other fields than those declared",
		`{"path":private}`:                    "expected valid JSON",
	} {
		_, err := sample.Normalise(json.RawMessage(in))
		if got := fault.From(err); got == nil || got.Detail != want {
			t.Errorf("%s: %v, want detail %q", in, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "private") {
			t.Errorf("%s: error quotes the input: %v", in, err)
		}
	}
}

func TestSchema_JSON(t *testing.T) {
	t.Parallel()
	want := `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"A \"path\" <here>."},` +
		`"count":{"type":"integer"},"ratio":{"type":"number"},"deep":{"type":"boolean"},` +
		`"at":{"type":"string","enum":["start","end"]},` +
		`"tags":{"type":"array","items":{"type":"string"}},` +
		`"opts":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}` +
		`},"required":["path"],"additionalProperties":false}`
	got := string(sample.JSON())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	if !json.Valid([]byte(got)) {
		t.Error("not valid JSON")
	}
	if got := string(Schema(nil).JSON()); got != `{"type":"object","properties":{},"required":[],"additionalProperties":false}` {
		t.Errorf("empty schema: %s", got)
	}
}

func FuzzSchema_NormaliseIsStable(f *testing.F) {
	f.Add([]byte(`{"path":"a","count":1,"tags":["b"]}`))
	f.Add([]byte(`{"path":"\ud800","ratio":-0.0}`))
	f.Add([]byte(`{"path":"a","ratio":1e21}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := sample.Normalise(in)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidInput {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		twice, err := sample.Normalise(once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q: %s, then %s, %v", in, once, twice, err)
		}
	})
}

// covers: R8
func TestBudget_Defaults(t *testing.T) {
	t.Parallel()
	want := Budget{
		TimeMs: 600_000, Steps: 25, Tokens: 200_000,
		ToolResultBytes: 262_144, ToolResultsBytes: 4_194_304,
		ToolMs: 30_000, ConnectMs: 15_000, FirstTokenMs: 300_000, SilenceMs: 120_000,
	}
	if diff := cmp.Diff(want, Budget{}.WithDefaults()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	want.Steps, want.SilenceMs = 3, 1
	if diff := cmp.Diff(want, Budget{Steps: 3, SilenceMs: 1, Tokens: -1}.WithDefaults()); diff != "" {
		t.Errorf("with own values (-want +got):\n%s", diff)
	}
}

package settings_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/settings"
)

// The limits are those of R8 and nothing is stricter or milder than T4 says.
//
// covers: R8 T4
func TestDefault_PermissionsAndLimits(t *testing.T) {
	got := settings.Default()
	if want := (settings.Permissions{WorkspaceRead: "allow", NotesWrite: "confirm"}); got.Permissions != want {
		t.Errorf("permissions %+v", got.Permissions)
	}
	if want := (settings.Limits{Minutes: 10, Steps: 25, Tokens: 200_000}); got.Limits != want {
		t.Errorf("limits %+v", got.Limits)
	}
}

// A value that cannot be used voids itself alone. A permission asks then, since
// whoever wrote something there meant to tighten it.
//
// covers: E10 T4 R8
func TestLoad_ABadPermissionOrLimitVoidsOnlyItself(t *testing.T) {
	usual := settings.Default()
	for _, c := range []struct {
		name, text  string
		permissions settings.Permissions
		limits      settings.Limits
		problems    []string
	}{
		{
			"good ones", `{"permissions":{"workspaceRead":"deny","notesWrite":"deny"},"limits":{"minutes":240,"steps":1,"tokens":1000}}`,
			settings.Permissions{WorkspaceRead: "deny", NotesWrite: "deny"},
			settings.Limits{Minutes: 240, Steps: 1, Tokens: 1000},
			nil,
		},
		{
			"writing is never allowed unasked", `{"permissions":{"workspaceRead":"confirm","notesWrite":"allow"}}`,
			settings.Permissions{WorkspaceRead: "confirm", NotesWrite: "confirm"},
			usual.Limits,
			[]string{"permissions.notesWrite"},
		},
		{
			"mistyped", `{"permissions":{"workspaceRead":"Deny","notesWrite":"deny"}}`,
			settings.Permissions{WorkspaceRead: "confirm", NotesWrite: "deny"},
			usual.Limits,
			[]string{"permissions.workspaceRead"},
		},
		{
			"of another type", `{"permissions":{"workspaceRead":null},"limits":{"minutes":"10","steps":2.5,"tokens":5000}}`,
			settings.Permissions{WorkspaceRead: "confirm", NotesWrite: "confirm"},
			settings.Limits{Minutes: 10, Steps: 25, Tokens: 5000},
			[]string{"permissions.workspaceRead", "limits.minutes", "limits.steps"},
		},
		{
			"out of bounds", `{"limits":{"minutes":0,"steps":201,"tokens":10000001}}`,
			usual.Permissions, usual.Limits,
			[]string{"limits.minutes", "limits.steps", "limits.tokens"},
		},
		{
			"below the bounds", `{"limits":{"minutes":241,"steps":-1,"tokens":999}}`,
			usual.Permissions, usual.Limits,
			[]string{"limits.minutes", "limits.steps", "limits.tokens"},
		},
		{
			"no objects", `{"permissions":"deny","limits":[1]}`,
			settings.Permissions{WorkspaceRead: "confirm", NotesWrite: "confirm"},
			usual.Limits,
			[]string{"permissions", "limits"},
		},
		{
			"a key with a point is another", `{"limits.steps":7,"permissions.notesWrite":"allow"}`,
			usual.Permissions, usual.Limits, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := load(t, home(t, c.text))
			if got := s.Get(); got.Permissions != c.permissions || got.Limits != c.limits {
				t.Errorf("got %+v, %+v", got.Permissions, got.Limits)
			}
			if d := cmp.Diff(append([]string{}, c.problems...), s.Problems()); d != "" {
				t.Error(d)
			}
		})
	}
}

// A change writes the one value, and leaves what else stands beside it.
//
// covers: E10
func TestStore_ChangesOneLimit(t *testing.T) {
	h := home(t, `{"limits":{"steps":"many","mine":1,"minutes":5}}`)
	s := load(t, h)
	next := s.Get()
	next.Limits.Minutes = 20
	must(t, s.Update(next))
	if d := cmp.Diff("{\n  \"limits\": {\n    \"steps\": \"many\",\n    \"mine\": 1,\n    \"minutes\": 20\n  }\n}\n", content(t, h.Settings())); d != "" {
		t.Error(d)
	}
	if got := load(t, h).Get().Limits; got != (settings.Limits{Minutes: 20, Steps: 25, Tokens: 200_000}) {
		t.Errorf("read back %+v", got)
	}
	// What is no object gives way to one.
	must(t, os.WriteFile(h.Settings(), []byte(`{"permissions":7}`), 0o600))
	must(t, s.Reload())
	next = s.Get()
	next.Permissions.NotesWrite = "deny"
	must(t, s.Update(next))
	if got := content(t, h.Settings()); !strings.Contains(got, `"notesWrite": "deny"`) || strings.Contains(got, "7") {
		t.Errorf("file: %s", got)
	}
}

// covers: T4 R8
func TestStore_UpdateRefusesPermissionsAndLimits(t *testing.T) {
	s := load(t, home(t, ""))
	for _, c := range []struct {
		field  string
		change func(*settings.Settings)
	}{
		{"permissions.workspaceRead", func(x *settings.Settings) { x.Permissions.WorkspaceRead = "" }},
		{"permissions.notesWrite", func(x *settings.Settings) { x.Permissions.NotesWrite = "allow" }},
		{"permissions.notesWrite", func(x *settings.Settings) { x.Permissions.NotesWrite = "ask" }},
		{"limits.minutes", func(x *settings.Settings) { x.Limits.Minutes = 0 }},
		{"limits.steps", func(x *settings.Settings) { x.Limits.Steps = settings.MaxSteps + 1 }},
		{"limits.tokens", func(x *settings.Settings) { x.Limits.Tokens = settings.MinTokens - 1 }},
	} {
		next := s.Get()
		c.change(&next)
		wantInvalid(t, s.Update(next), c.field)
	}
	if d := cmp.Diff(settings.Default(), s.Get()); d != "" {
		t.Error(d)
	}
}

// The size of a provider's context is bounded; a bad one is unknown and does not
// take the provider with it.
//
// covers: K10 E10
func TestProvider_ContextTokens(t *testing.T) {
	for value, want := range map[string]int{
		"0": 0, "1000": 1000, "10000000": 10_000_000, "64000": 64_000,
		"999": 0, "10000001": 0, "-5": 0, "1e99": 0, "2000.5": 0, `"64000"`: 0, "null": 0,
	} {
		s := load(t, home(t, fmt.Sprintf(
			`{"providers":[{"id":"a","name":"A","kind":"openai_chat","baseUrl":"https://a.invalid","contextTokens":%s}],"provider":"a"}`, value)))
		p, ok := s.Provider("a")
		if !ok || p.ContextTokens != want || s.Get().Provider != "a" {
			t.Errorf("%s: %+v, %v", value, p, ok)
		}
		problems := []string{}
		if want == 0 && value != "0" {
			problems = append(problems, "providers[0].contextTokens")
		}
		if d := cmp.Diff(problems, s.Problems()); d != "" {
			t.Errorf("%s: %s", value, d)
		}
	}
	h := home(t, "")
	s := load(t, h)
	p := openAI()
	p.ContextTokens = settings.MaxContextTokens + 1
	_, err := s.SaveProvider(p)
	wantInvalid(t, err, "contextTokens")
	p.ContextTokens = 128_000
	p, err = s.SaveProvider(p)
	must(t, err)
	if got, _ := load(t, h).Provider(p.ID); got.ContextTokens != p.ContextTokens {
		t.Errorf("read back %+v", got)
	}
	if settings.Mock().ContextTokens != 32_768 {
		t.Errorf("the mock takes %d", settings.Mock().ContextTokens)
	}
}

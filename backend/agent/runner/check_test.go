package runner

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// Whatever does not fit is refused by name and changes nothing: the edits are
// made to a request that is right.
// covers: X5 T8
func TestCheck_RefusesByName(t *testing.T) {
	r := ready(t, nil)
	digest := strings.Repeat("ab", 32)
	long := strings.Repeat("x", 600)
	abs := filepath.Join(t.TempDir(), "x.db")
	conversation := `{"commandId":"c","kind":"conversation","input":"hello","modelRef":{"providerId":"p","model":"mock-1"},
		"providerConfig":{"kind":"mock"},"allowedTools":["listWorkspace"],"policy":{"workspace.read":"confirm"}}`
	rewrite := `{"commandId":"c","kind":"rewrite","modelRef":{"model":"mock-1"},"providerConfig":{"kind":"mock"},
		"snapshot":{"docUri":"file:///a.md","baseVersion":1,"digest":"` + snapshotOf("one\n").Digest + `","text":"one\n"},
		"rewrite":{"instruction":"improve"}}`
	methods := map[string]struct {
		right string
		wrong map[string][]string // detail → JSON merge patches
	}{
		wire.MethodRunSubmit: {conversation, map[string][]string{
			"commandId":               {`{"commandId":""}`, `{"commandId":"a b"}`, `{"commandId":"` + long + `"}`, `{"commandId":"a\u0000"}`},
			"sessionId":               {`{"sessionId":" "}`},
			"kind":                    {`{"kind":""}`, `{"kind":"chat"}`},
			"input":                   {`{"input":" \n"}`, `{"input":"` + strings.Repeat("x", maxInput+1) + `"}`},
			"modelRef":                {`{"modelRef":{"model":""}}`, `{"modelRef":{"model":"a\nb"}}`, `{"modelRef":{"model":"` + long + `"}}`},
			"providerConfig.kind":     {`{"providerConfig":{"kind":""}}`, `{"providerConfig":{"kind":"shell"}}`},
			"providerConfig.profile":  {`{"providerConfig":{"kind":"mock","profile":"mine"}}`},
			"providerConfig.baseUrl":  {`{"providerConfig":{"kind":"mock","baseUrl":"http://x\n"}}`},
			"allowedTools":            {`{"allowedTools":["shell"]}`, `{"allowedTools":["listWorkspace","listWorkspace"]}`, `{"allowedTools":[""]}`, `{"providerConfig":{"kind":"openai_chat"},"allowedTools":["math_add"]}`},
			"policy":                  {`{"policy":{"notes.write":"ask"}}`, `{"policy":{"notes.delete":"deny"}}`, `{"policy":{"":"deny"}}`},
			"budget.timeMs":           {`{"budget":{"timeMs":-1}}`, `{"budget":{"timeMs":86400001}}`},
			"budget.steps":            {`{"budget":{"steps":1001}}`},
			"budget.tokens":           {`{"budget":{"tokens":-1}}`},
			"budget.toolMs":           {`{"budget":{"toolMs":600001}}`},
			"budget.toolResultBytes":  {`{"budget":{"toolResultBytes":1048577}}`},
			"budget.toolResultsBytes": {`{"budget":{"toolResultsBytes":67108865}}`},
			"budget.silenceMs":        {`{"budget":{"silenceMs":-5}}`},
			"supersedes":              {`{"supersedes":"a b"}`},
			"contextTokens":           {`{"contextTokens":-1}`},
			"language":                {`{"language":"en_GB"}`, `{"language":"` + strings.Repeat("a", 36) + `"}`},
			"workspaceId":             {`{"workspaceId":"/a\u0000"}`},
			"rewrite":                 {`{"rewrite":{"instruction":"x"}}`},
			"snapshot":                {`{"snapshot":{}}`, `{"snapshot":{"docUri":"a","baseVersion":0,"digest":"","text":""}}`},
		}},
		"rewrite": {rewrite, map[string][]string{
			"allowedTools": {`{"allowedTools":["listWorkspace"]}`},
			"rewrite":      {`{"rewrite":null}`, `{"rewrite":{"instruction":" "}}`, `{"rewrite":{"instruction":"x","language":"a b"}}`},
			"snapshot": {
				`{"snapshot":null}`, `{"snapshot":{"text":"two\n"}}`, `{"snapshot":{"selection":{"from":2,"to":1}}}`,
				`{"snapshot":{"selection":{"from":0,"to":5}}}`, `{"snapshot":{"docUri":""}}`, `{"snapshot":{"frontMatter":"---\n"}}`,
			},
		}},
		wire.MethodRunContinue: {
			`{"commandId":"c","fromRunId":"r","modelRef":{"model":"m"},"providerConfig":{"kind":"mock"},"allowedTools":[]}`,
			map[string][]string{
				"fromRunId":    {`{"fromRunId":""}`},
				"allowedTools": {`{"allowedTools":["rm"]}`},
				"policy":       {`{"policy":{"notes.write":""}}`},
				"budget.steps": {`{"budget":{"steps":-1}}`},
			},
		},
		wire.MethodRunCancel: {`{"commandId":"c","runId":"r"}`, map[string][]string{"runId": {`{"runId":""}`}, "commandId": {`{"commandId":""}`}}},
		wire.MethodRunGet:    {`{"runId":"r"}`, map[string][]string{"runId": {`{"runId":""}`}}},
		wire.MethodRunDetail: {`{"runId":"r"}`, map[string][]string{"runId": {`{"runId":"\n"}`}}},
		wire.MethodRunList:   {`{"limit":5}`, map[string][]string{"limit": {`{"limit":0}`, `{"limit":1001}`}}},
		wire.MethodSessionCreate: {`{"commandId":"c","title":"t"}`, map[string][]string{
			"title": {`{"title":"` + long + `"}`, `{"title":"a\nb"}`}, "docUri": {`{"docUri":"a\u0000"}`}, "commandId": {`{"commandId":""}`},
		}},
		wire.MethodSessionChange: {`{"commandId":"c","sessionId":"s"}`, map[string][]string{
			"title": {`{"title":" "}`, `{"title":"` + long + `"}`}, "sessionId": {`{"sessionId":""}`},
		}},
		wire.MethodSessionDelete: {`{"commandId":"c","sessionId":"s"}`, map[string][]string{"sessionId": {`{"sessionId":""}`}}},
		wire.MethodSessionGet:    {`{"sessionId":"s"}`, map[string][]string{"sessionId": {`{"sessionId":""}`}}},
		wire.MethodSessionEvents: {`{"sessionId":"s","limit":1}`, map[string][]string{
			"sessionId": {`{"sessionId":""}`}, "afterSeq": {`{"afterSeq":-1}`}, "limit": {`{"limit":0}`, `{"limit":5000}`},
		}},
		wire.MethodApprovalDecide: {
			`{"commandId":"c","approvalId":"a","toolCallId":"t","inputDigest":"` + digest + `","decision":"deny"}`,
			map[string][]string{
				"approvalId": {`{"approvalId":""}`}, "toolCallId": {`{"toolCallId":""}`},
				"inputDigest": {`{"inputDigest":"ab"}`, `{"inputDigest":"` + strings.ToUpper(digest) + `"}`},
				"decision":    {`{"decision":"yes"}`, `{"decision":""}`},
			},
		},
		wire.MethodToolGet: {`{"toolCallId":"t"}`, map[string][]string{"toolCallId": {`{"toolCallId":""}`}}},
		wire.MethodToolReconcile: {`{"commandId":"c","toolCallId":"t","verdict":"applied"}`, map[string][]string{
			"verdict": {`{"verdict":"unknown"}`, `{"verdict":""}`}, "toolCallId": {`{"toolCallId":""}`},
		}},
		wire.MethodContextExplain: {`{"runId":"r"}`, map[string][]string{"runId": {`{"runId":""}`}}},
		wire.MethodArtifactGet: {`{"artifactId":"a","limit":10}`, map[string][]string{
			"artifactId": {`{"artifactId":""}`}, "offset": {`{"offset":-1}`}, "limit": {`{"limit":0}`, `{"limit":1048577}`},
		}},
		wire.MethodProposalGet: {`{"proposalId":"p"}`, map[string][]string{"proposalId": {`{"proposalId":""}`}}},
		wire.MethodProposalDecide: {
			`{"commandId":"c","proposalId":"p","hunks":[{"id":"1","outcome":"accepted"}]}`,
			map[string][]string{
				"hunks":          {`{"hunks":[]}`, `{"hunks":[{"id":"1","outcome":"maybe"}]}`, `{"hunks":[{"id":"","outcome":"open"}]}`},
				"appliedVersion": {`{"appliedVersion":-1}`}, "proposalId": {`{"proposalId":""}`},
			},
		},
		wire.MethodEventsSubscribe: {`{"afterSeq":0}`, map[string][]string{"afterSeq": {`{"afterSeq":-1}`}, "sessions": {`{"sessions":[""]}`}}},
		wire.MethodStoreBackup: {`{"path":"` + filepath.ToSlash(abs) + `"}`, map[string][]string{
			"path": {`{"path":""}`, `{"path":"x.db"}`, `{"path":"/a\u0000"}`},
		}},
		wire.MethodProviderTest: {`{"providerConfig":{"kind":"mock"}}`, map[string][]string{
			"providerConfig.kind": {`{"providerConfig":{"kind":"x"}}`}, "model": {`{"model":"` + long + `"}`},
		}},
		wire.MethodModelChat: {
			`{"modelRef":{"model":"mock-1"},"providerConfig":{"kind":"mock"},"messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}`,
			map[string][]string{
				"modelRef": {`{"modelRef":{"model":""}}`},
				"messages": {`{"messages":[]}`, `{"messages":[{"role":"tool","parts":[]}]}`, `{"messages":[{"role":"user","parts":[{"type":"tool_call"}]}]}`},
			},
		},
	}
	nameOf := func(method string) string {
		if method == "rewrite" {
			return wire.MethodRunSubmit
		}
		return method
	}
	for method, cases := range methods {
		name := nameOf(method)
		for what, patches := range cases.wrong {
			for _, patch := range patches {
				err := r.call(name, merged(t, cases.right, patch), nil)
				f := fault.From(err)
				if err == nil || f.Code != fault.InvalidInput || f.Detail != what {
					t.Errorf("%s with %.80s: got %v, want %s", method, patch, err, what)
				}
			}
		}
	}
	var runs []core.Run
	r.must(wire.MethodRunList, wire.RunListParams{Limit: 10}, &runs)
	if len(runs) != 0 {
		t.Errorf("%d runs were made", len(runs))
	}
	for _, raw := range []string{`[]`, `"x"`, `{"limit":"many"}`} {
		r.refused(fault.InvalidInput, wire.MethodRunList, json.RawMessage(raw))
	}
	r.refused(fault.NotFound, "run.shell", struct{}{})
	// A member that nobody knows is left alone.
	r.must(wire.MethodRunList, json.RawMessage(`{"limit":1,"mood":"good"}`), nil)
	// The right ones are right: they get as far as the store.
	for method, cases := range methods {
		err := r.call(nameOf(method), json.RawMessage(cases.right), nil)
		if code := fault.CodeOf(err); code != "" && code != fault.NotFound && code != fault.CommandConflict {
			t.Errorf("%s: %v", method, err)
		}
	}
	r.submit(message("ok", "hello", append(core.ConversationTools(), core.DevelopmentTools()...)...))
}

// merged is a JSON object with the members of another put over it, objects
// inside included.
func merged(t *testing.T, right, patch string) json.RawMessage {
	t.Helper()
	var a, b map[string]any
	for s, to := range map[string]*map[string]any{right: &a, patch: &b} {
		if err := json.Unmarshal([]byte(s), to); err != nil {
			t.Fatal(s, err)
		}
	}
	var over func(a, b map[string]any)
	over = func(a, b map[string]any) {
		for k, v := range b {
			inner, ok := a[k].(map[string]any)
			with, also := v.(map[string]any)
			if ok && also && k != "policy" {
				over(inner, with)
			} else {
				a[k] = v
			}
		}
	}
	over(a, b)
	out, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Pieces of an artifact put together are the whole, whatever their size, and
// each is whole characters.
func TestPieces_OfAnArtifact(t *testing.T) {
	whole := "a世界😀b\r\né" + strings.Repeat("字", 50)
	for limit := minPiece; limit < 20; limit++ {
		got, offset := "", int64(0)
		for pieces := 0; ; pieces++ {
			if pieces > len(whole) {
				t.Fatalf("limit %d: no end", limit)
			}
			b := []byte(whole)[offset:min(len(whole), int(offset)+limit)]
			p := pieceOf(core.Artifact{Bytes: int64(len(whole))}, b, offset)
			if strings.ToValidUTF8(p.Text, "?") != p.Text {
				t.Errorf("limit %d: piece %q", limit, p.Text)
			}
			got += p.Text
			if p.Next == 0 {
				break
			}
			offset = p.Next
		}
		if got != whole {
			t.Errorf("limit %d: got %q", limit, got)
		}
	}
}

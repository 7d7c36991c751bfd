package api

import (
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/settings"
)

// Sends are listed, read and cleared, and there are none any more once the
// person switched the log off.
//
// covers: K9
func TestSettings_SendLog(t *testing.T) {
	w := newWriting(t)
	e := newEndpoint(t, says("The quick fox jumps."))
	req := w.selected("c1", passage, "keep the fox")
	req.ProviderID = e.configured(w.window)
	run := w.submit(req)
	if end := w.ended(run.RunID); end.State != core.RunSucceeded {
		t.Fatalf("ended %+v", end)
	}
	page := ask[SendPage](w.window, "Settings.Sends", 0, 50)
	if page.Count != 2 || len(page.Sends) != 2 || page.Bytes == 0 || page.KeptDays != 30 || page.KeptBytes != 64<<20 {
		t.Fatalf("send log %+v", page)
	}
	n := page.Sends[0] // the newest; the other asked what the server tells of the model
	if n.Purpose != "rewrite" || string(n.RunID) != run.RunID || n.Model != "small" || n.ProviderName != "Local" ||
		n.URL != e.URL+"/v1/chat/completions" || n.Status != 200 || n.EndedAtMs == 0 || !n.HasBody || page.Sends[1].Purpose != "describe" {
		t.Errorf("send log %+v", page.Sends)
	}
	body := ask[SendBody](w.window, "Settings.Send", n.ID, 0)
	if !strings.Contains(body.Body, "keep the fox") || int64(len(body.Body)) != n.SentBytes || body.NextOffset != 0 || body.Send != n {
		t.Errorf("body %+v", body)
	}
	if older := ask[SendPage](w.window, "Settings.Sends", n.ID, 50); len(older.Sends) != 1 || older.Sends[0].ID >= n.ID || older.Count != 2 {
		t.Errorf("older %+v", older)
	}
	w.refused(fault.InvalidInput, "Settings.Sends", 0, 201)
	w.refused(fault.InvalidInput, "Settings.Sends", -1, 50)
	w.refused(fault.InvalidInput, "Settings.Send", n.ID, -1)

	off := settings.Default()
	off.SendLog = false
	ask[SettingsState](w.window, "Settings.Update", off)
	req.CommandID = "c2"
	w.ended(w.submit(req).RunID)
	ask[TestResult](w.window, "Settings.TestProvider", req.ProviderID)
	if page := ask[SendPage](w.window, "Settings.Sends", 0, 50); page.Count != 2 {
		t.Errorf("with the log off: %+v", page)
	}
	if left := ask[SendPage](w.window, "Settings.ClearSends", page.Sends[1].ID); left.Count != 1 || left.Sends[0].ID != n.ID {
		t.Errorf("cleared up to the older: %+v", left)
	}
	if left := ask[SendPage](w.window, "Settings.ClearSends", 0); left.Count != 0 || left.Bytes != 0 || left.Sends == nil {
		t.Errorf("cleared: %+v", left)
	}
	w.refused(fault.NotFound, "Settings.Send", n.ID, 0)
}

// A long body comes in pieces, none of which ends in the middle of a character.
//
// covers: K9
func TestSettings_SendLogOfALongBody(t *testing.T) {
	w := newWriting(t)
	e := newEndpoint(t, says("Short."))
	id := e.configured(w.window)
	p := e.provider()
	p.ID, p.ContextTokens = id, 1_000_000
	ask[SettingsState](w.window, "Settings.SaveProvider", p)
	long := w.message("c1", strings.Repeat("长词🦊", 30_000))
	long.ProviderID, long.Model = id, "small"
	if end := w.ended(w.say(long).RunID); end.State != core.RunSucceeded {
		t.Fatalf("ended %+v", end)
	}
	n := ask[SendPage](w.window, "Settings.Sends", 0, 1).Sends[0]
	var all strings.Builder
	pieces := 0
	for offset := int64(0); ; pieces++ {
		piece := ask[SendBody](w.window, "Settings.Send", n.ID, offset)
		all.WriteString(piece.Body)
		if offset = piece.NextOffset; offset == 0 {
			break
		}
	}
	if got := all.String(); int64(len(got)) != n.SentBytes || pieces == 0 || strings.ContainsRune(got, '\uFFFD') || !strings.Contains(got, strings.Repeat("长词🦊", 30_000)) {
		t.Errorf("%d bytes in %d pieces, want %d", len(got), pieces+1, n.SentBytes)
	}
}

// What is known of a model: set by the person, told by its server, or nothing.
//
// covers: K10
func TestSettings_Models(t *testing.T) {
	w := newWriting(t)
	e := newEndpoint(t, says("x"))
	id := e.configured(w.window)
	list := ask[ModelsResult](w.window, "Settings.Models", id)
	if len(list.Models) != 2 || list.Models[0].ID != "small" || list.Models[1].ID != "large" {
		t.Errorf("models %+v", list)
	}
	if d := ask[ModelDetail](w.window, "Settings.Model", id, "small", true); d.Capabilities.ContextTokens != 0 || d.Facts == nil {
		t.Errorf("model %+v", d)
	}
	p := e.provider()
	p.ID, p.ContextTokens = id, 12_345
	ask[SettingsState](w.window, "Settings.SaveProvider", p)
	for method, more := range map[string][]any{"Settings.Model": {false}, "Settings.ForgetModel": nil} {
		args := func(id, model string) []any { return append([]any{id, model}, more...) }
		if d := ask[ModelDetail](w.window, method, args(id, "small")...); d.Capabilities.ContextTokens != 12_345 || d.Capabilities.ContextSource != core.SourceSet {
			t.Errorf("%s: %+v", method, d)
		}
		w.refused(fault.NoProvider, method, args("none", "small")...)
		w.refused(fault.InvalidInput, method, args(id, "")...)
	}
	w.refused(fault.NoProvider, "Settings.Models", "none")
}

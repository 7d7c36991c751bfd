package workspace

import (
	"encoding/json"
	"testing"
)

func TestStoredPath(t *testing.T) {
	for _, want := range []StoredPath{
		"", "/w/a.md", "/w/日记 😀\n.md", "/w/e\u0301.md", "/w/caf\xe9.md", "/w/\x83e\x83X\x83g.md", "/w/\xed\xa0\x80.md", "/w/\uFFFD.md",
	} {
		data, err := json.Marshal(struct{ Path StoredPath }{want})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Path StoredPath }
		if err := json.Unmarshal(data, &got); err != nil || got.Path != want {
			t.Errorf("%q came back as %q through %s: %v", want, got.Path, data, err)
		}
	}
	var p StoredPath
	for _, broken := range []string{`1`, `[]`, `{"bytes":1}`, `{"bytes":"?"}`} {
		if err := json.Unmarshal([]byte(broken), &p); err == nil {
			t.Errorf("%s is taken for %q", broken, p)
		}
	}
	if err := json.Unmarshal([]byte(`"/w/a.md"`), &p); err != nil || p != "/w/a.md" {
		t.Errorf("a plain string: %q, %v", p, err)
	}
}

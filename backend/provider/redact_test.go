package provider

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// TestRedactor_Words plants a key in every form in which a provider may echo
// it, and looks for any eight characters of it.
func TestRedactor_Words(t *testing.T) {
	t.Parallel()
	r := NewRedactor(plantedKey, "")
	escaped := strings.ReplaceAll(plantedKey, "/", `\/`)
	var unicode strings.Builder
	for _, c := range plantedKey {
		fmt.Fprintf(&unicode, `\u%04x`, c)
	}
	quoted, err := json.Marshal(plantedKey)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{
		"plain":         plantedKey,
		"json":          string(quoted),
		"escaped slash": escaped,
		"all escaped":   unicode.String(),
		"query":         url.QueryEscape(plantedKey),
		"html":          strings.NewReplacer("/", "&#x2F;", "+", "&#43;").Replace(plantedKey),
		"split":         plantedKey[:12] + "\n" + plantedKey[12:],
		"quoted parts":  `"` + plantedKey[:12] + `" "` + plantedKey[12:] + `"`,
		"spaced":        strings.Join(strings.Split(plantedKey, ""), " "),
		"tail":          "…" + plantedKey[10:],
		"head":          plantedKey[:20] + "…",
		"base64":        base64.StdEncoding.EncodeToString([]byte(plantedKey)),
		"base64 +1":     base64.StdEncoding.EncodeToString([]byte("x" + plantedKey + "yz")),
		"base64 +2":     base64.StdEncoding.EncodeToString([]byte("xy" + plantedKey)),
		"base64 url":    base64.RawURLEncoding.EncodeToString([]byte("x" + plantedKey)),
		"hex":           hex.EncodeToString([]byte(plantedKey)),
		"HEX":           strings.ToUpper(hex.EncodeToString([]byte(plantedKey))),
	}
	for name, form := range forms {
		got := r.Words("before " + form + " after")
		if !strings.Contains(got, redacted) {
			t.Errorf("%s: nothing was taken out: %s", name, got)
		}
		for i := 0; i+gram <= len(form); i++ {
			part := form[i : i+gram]
			if strings.Contains(got, part) {
				t.Errorf("%s: %q is left in %q", name, part, got)
				break
			}
		}
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: the words around went too: %q", name, got)
		}
	}
	for _, innocent := range []string{
		"Model Not Exist", "the request exceeds the available context size", "你好，世界", "100% \\u & &#; %zz \\", "sk-…",
	} {
		if got := r.Words(innocent); got != innocent {
			t.Errorf("%q became %q", innocent, got)
		}
	}
}

// TestRedactor_Prints nothing of what it holds.
func TestRedactor_Prints(t *testing.T) {
	t.Parallel()
	r := NewRedactor(plantedKey)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, r); strings.Contains(got, "KEY") {
			t.Errorf("%s prints %q", format, got)
		}
	}
}

// TestRedactor_Hold: a secret cut anywhere between pieces is found.
func TestRedactor_Hold(t *testing.T) {
	t.Parallel()
	r := NewRedactor(plantedKey)
	text := "say " + plantedKey + " sk-TEST end"
	for cut := 0; cut <= len(text); cut++ {
		var shown strings.Builder
		held := ""
		for _, piece := range []string{text[:cut], text[cut:]} {
			all := r.Text(held + piece)
			keep := r.Hold(all)
			shown.WriteString(all[:len(all)-keep])
			held = all[len(all)-keep:]
		}
		shown.WriteString(held)
		if want := "say " + redacted + " sk-TEST end"; shown.String() != want {
			t.Errorf("cut at %d: %q, want %q", cut, shown.String(), want)
		}
	}
	// A dummy for a local server is no secret, and its letters are words.
	if got := NewRedactor("ollama").Text("run ollama"); got != "run ollama" {
		t.Errorf("got %q", got)
	}
}

// A proxy's password is taken out of messages, and not out of an answer that
// happens to hold the same word.
//
// covers: K4
func TestRedactor_ProxyPassword(t *testing.T) {
	t.Parallel()
	r := NewRedactor("sk-planted-key-1")
	r.inWords("sunflower")
	if got := r.Text("a sunflower, sk-planted-key-1"); got != "a sunflower, [redacted]" {
		t.Errorf("text %q", got)
	}
	if r.Hold("a sunflow") != 0 {
		t.Error("an answer waits for it")
	}
	if got := r.Words("no sunflower, sk-planted-key-1"); strings.Contains(got, "sunflower") || strings.Contains(got, "planted") {
		t.Errorf("words %q", got)
	}
}

package api

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/text"
)

const indexPage = `<!doctype html><style nonce="galley-nonce"></style><meta name="nonce" content="galley-nonce">`

// built is what Wails serves of the front end: files with the headers of a file
// server.
func built(w http.ResponseWriter, r *http.Request) {
	files := map[string]string{"/": indexPage, "/index.html": indexPage, "/app.js": `"galley-nonce"`, "/notes/index.html": indexPage}
	body, ok := files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Last-Modified", "Mon, 02 Nov 2026 10:00:00 GMT")
	w.Header().Set("Etag", `"1"`)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, body)
}

// serve starts the asset server of a window.
func (w *window) serve(nonce string) *httptest.Server {
	w.t.Helper()
	s := httptest.NewServer(w.backend.Middleware(nonce)(http.HandlerFunc(built)))
	w.t.Cleanup(s.Close)
	return s
}

// request makes a request whose path is sent as it is, and reads the answer.
func request(t *testing.T, method, address string, body io.Reader) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	try(t, err)
	resp, err := http.DefaultTransport.RoundTrip(r)
	try(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	try(t, err)
	return resp, string(data)
}

// The policy is word for word that of the requirements.
//
// covers: X1
func TestPolicy_IsTheRequirement(t *testing.T) {
	row := regexp.MustCompile("\\| X1 \\| CSP `([^`]+)`").FindStringSubmatch(content(t, filepath.FromSlash("../../docs/REQUIREMENTS.md")))
	if row == nil {
		t.Fatal("the requirements name no policy")
	}
	if want, got := strings.ReplaceAll(row[1], "…", "n0"), Policy("n0"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Every answer has the policy, whatever it is.
//
// covers: X1
func TestMiddleware_PolicyIsOnEveryAnswer(t *testing.T) {
	s := newWindow(t).serve("n0nce")
	for _, at := range []struct{ method, path string }{
		{"GET", "/"},
		{"GET", "/index.html"},
		{"GET", "/app.js"},
		{"GET", "/gone"},
		{"HEAD", "/"},
		{"GET", "/document/none/text"},
		{"GET", "/document/"},
		{"PUT", "/document/none/text"},
		{"POST", "/document/none/text"},
	} {
		resp, _ := request(t, at.method, s.URL+at.path, nil)
		for name, want := range map[string]string{
			"Content-Security-Policy": Policy("n0nce"), "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if got := resp.Header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s %s: %s is %q", at.method, at.path, name, got)
			}
		}
	}
}

// The nonce is put into the page and nowhere else, and the page is never kept:
// the next start has another.
func TestMiddleware_Nonce(t *testing.T) {
	s := newWindow(t).serve("n0nce")
	for _, path := range []string{"/", "/index.html"} {
		resp, body := request(t, "GET", s.URL+path, nil)
		if want := strings.ReplaceAll(indexPage, "galley-nonce", "n0nce"); body != want {
			t.Errorf("%s: %s", path, body)
		}
		if got := resp.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
		for _, gone := range []string{"Last-Modified", "Etag"} {
			if got := resp.Header.Get(gone); got != "" {
				t.Errorf("%s: %s %q", path, gone, got)
			}
		}
		if n := resp.ContentLength; n >= 0 && n != int64(len(body)) {
			t.Errorf("%s: %d bytes announced, %d sent", path, n, len(body))
		}
		if got := resp.Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
			t.Errorf("%s: %q", path, got)
		}
		if head, body := request(t, "HEAD", s.URL+path, nil); head.StatusCode != http.StatusOK || body != "" || head.Header.Get("Last-Modified") != "" {
			t.Errorf("HEAD %s: %s %q", path, head.Status, body)
		}
	}
	for path, want := range map[string]string{"/app.js": `"galley-nonce"`, "/notes/index.html": indexPage} {
		resp, body := request(t, "GET", s.URL+path, nil)
		if body != want || resp.Header.Get("Last-Modified") == "" || resp.Header.Get("Cache-Control") != "" {
			t.Errorf("%s was changed: %s", path, body)
		}
	}
	// What the front end answers stays, a failure too.
	failing := Middleware("n", newWindow(t).backend.set, slog.New(slog.DiscardHandler))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "cold")
	}))
	rec := httptest.NewRecorder()
	failing.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
	if rec.Code != http.StatusTeapot || rec.Body.String() != "cold" || rec.Header().Get("Content-Length") != "" {
		t.Errorf("got %d %q %v", rec.Code, rec.Body, rec.Header())
	}
}

func TestNewNonce(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		n := NewNonce()
		if seen[n] || !regexp.MustCompile(`^[A-Za-z0-9_-]{24}$`).MatchString(n) {
			t.Errorf("nonce %q", n)
		}
		seen[n] = true
	}
}

func TestText_Get(t *testing.T) {
	w := newWindow(t)
	dir := w.folder(map[string]string{"a.md": "\xef\xbb\xbfa😀\r\n茶\r\n", "empty.md": ""})
	s := w.serve("n")
	page := w.page()
	d := ask[Document](w, "Documents.Open", filepath.Join(dir, "a.md"))
	resp, body := request(t, "GET", s.URL+d.TextURL, nil)
	if body != "a😀\n茶\n" || resp.StatusCode != http.StatusOK {
		t.Errorf("got %s %q", resp.Status, body)
	}
	for name, want := range map[string]string{
		"Galley-Version": "1", "Content-Type": "application/octet-stream", "Cache-Control": "no-store",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	w.typed(page, d, insertion(0, "x"), insertion(1, "y"))
	resp, body = request(t, "GET", s.URL+d.TextURL, nil)
	if body != "xya😀\n茶\n" || resp.Header.Get("Galley-Version") != "3" {
		t.Errorf("got %q at %s", body, resp.Header.Get("Galley-Version"))
	}
	resp, body = request(t, "HEAD", s.URL+d.TextURL, nil)
	if body != "" || resp.StatusCode != http.StatusOK || resp.Header.Get("Galley-Version") != "3" {
		t.Errorf("HEAD: %s %q", resp.Status, body)
	}
	d = ask[Document](w, "Documents.Open", filepath.Join(dir, "empty.md"))
	if resp, body = request(t, "GET", s.URL+d.TextURL, nil); body != "" || resp.StatusCode != http.StatusOK {
		t.Errorf("empty: %s %q", resp.Status, body)
	}
}

// posted is what a page posts.
func posted(page int64, version int, endings string) string {
	return "?" + url.Values{
		"page": {strconv.FormatInt(page, 10)}, "version": {strconv.Itoa(version)}, "endings": {endings},
	}.Encode()
}

// covers: X5
func TestText_Post(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"a.md": "one\n"}), "a.md")
	s := w.serve("n")
	old, page := w.page(), w.page()
	d := ask[Document](w, "Documents.Open", path)
	at := s.URL + d.TextURL

	resp, body := request(t, "POST", at+posted(page, 4, "crlf:1,lf:1,cr:1"), strings.NewReader("1\n2\n😀\n"))
	if resp.StatusCode != http.StatusNoContent || body != "" {
		t.Fatalf("got %s %q", resp.Status, body)
	}
	ask[SaveResult](w, "Documents.Save", saving(page, d.ID, 4, "1\n2\n😀\n"))
	if got := content(t, path); got != "1\r\n2\n😀\r" {
		t.Errorf("saved %q", got)
	}
	if resp, _ = request(t, "POST", at+posted(page, 5, ""), strings.NewReader("no break")); resp.StatusCode != http.StatusNoContent {
		t.Errorf("without endings: %s", resp.Status)
	}

	for _, c := range []struct {
		name, query, body string
		status            int
		code              fault.Code
	}{
		{"older page", posted(old, 6, ""), "x", http.StatusConflict, fault.Busy},
		{"page that was never given", posted(page+1, 6, ""), "x", http.StatusBadRequest, fault.InvalidInput},
		{"no page", "?version=6&endings=", "x", http.StatusBadRequest, fault.InvalidInput},
		{"no query", "", "x", http.StatusBadRequest, fault.InvalidInput},
		{"page in words", "?page=one&version=6&endings=", "x", http.StatusBadRequest, fault.InvalidInput},
		{"no version", "?page=" + strconv.FormatInt(page, 10), "x", http.StatusBadRequest, fault.InvalidInput},
		{"older version", posted(page, 4, ""), "x", http.StatusBadRequest, fault.InvalidInput},
		{"endings missing", posted(page, 6, ""), "x\n", http.StatusBadRequest, fault.InvalidInput},
		{"endings too many", posted(page, 6, "lf:2"), "x\n", http.StatusBadRequest, fault.InvalidInput},
		{"endings unheard of", posted(page, 6, "nel:1"), "x\n", http.StatusBadRequest, fault.InvalidInput},
		{"endings below none", posted(page, 6, "lf:2,crlf:-1"), "x\n", http.StatusBadRequest, fault.InvalidInput},
		{"endings of none", posted(page, 6, "lf:1,crlf:0"), "x\n", http.StatusBadRequest, fault.InvalidInput},
		{"endings without end", posted(page, 6, "lf:9223372036854775807"), "x\n", http.StatusBadRequest, fault.InvalidInput},
		{"endings past counting", posted(page, 6, "lf:92233720368547758070"), "x\n", http.StatusBadRequest, fault.InvalidInput},
		{"endings cut", posted(page, 6, "lf"), "x\n", http.StatusBadRequest, fault.InvalidInput},
		{"endings with a comma", posted(page, 6, "lf:1,"), "x\n", http.StatusBadRequest, fault.InvalidInput},
		{"carriage return", posted(page, 6, "lf:1"), "x\r\n", http.StatusBadRequest, fault.InvalidInput},
		{"no UTF-8", posted(page, 6, ""), "x\xff", http.StatusBadRequest, fault.InvalidInput},
		{"lone surrogate", posted(page, 6, ""), "x\xed\xa0\x80", http.StatusBadRequest, fault.InvalidInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := request(t, "POST", at+c.query, strings.NewReader(c.body))
			var got FaultBody
			if err := json.Unmarshal([]byte(body), &got); err != nil || resp.StatusCode != c.status || got.Code != c.code {
				t.Errorf("got %s %s", resp.Status, body)
			}
			if got := resp.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type %q", got)
			}
		})
	}
	resp, body = request(t, "POST", s.URL+"/document/none/text"+posted(page, 1, ""), strings.NewReader("x"))
	if resp.StatusCode != http.StatusNotFound || !strings.Contains(body, `"not_found"`) {
		t.Errorf("unknown: %s %s", resp.Status, body)
	}
	// After all that the mirror is what was last accepted.
	if _, body := request(t, "GET", at, nil); body != "no break" {
		t.Errorf("the mirror holds %q", body)
	}
}

// zeros is a text without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestText_PostTooLarge(t *testing.T) {
	w := newWindow(t)
	page := w.page()
	d := ask[Document](w, "Documents.New")
	h := w.backend.Middleware("n")(http.NotFoundHandler())
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("POST", d.TextURL+posted(page, 2, ""), zeros{}))
	if rec.Code != http.StatusRequestEntityTooLarge || !strings.Contains(rec.Body.String(), `"too_large"`) {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
	if got := ask[DocumentsState](w, "Documents.Attach").Documents[0]; got.Version != 1 || got.Length != 0 {
		t.Errorf("the mirror took it: %+v", got)
	}
}

func TestText_ReadOnlyDocumentIsNotReplaced(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"latin.md": "caf\xe9\n"}), "latin.md")
	page := w.page()
	d := ask[Document](w, "Documents.Open", path)
	if d.ReadOnly != string(fault.UnsupportedEncoding) {
		t.Fatalf("read-only because %q", d.ReadOnly)
	}
	resp, body := request(t, "POST", w.serve("n").URL+d.TextURL+posted(page, 2, "lf:1"), strings.NewReader("cafe\n"))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"read_only"`) {
		t.Errorf("got %s %s", resp.Status, body)
	}
	w.refused(fault.ReadOnly, "Documents.Sync", SyncRequest{Page: page, ID: d.ID, FromVersion: 1, Changes: []Change{insertion(0, "x")}})
	w.refused(fault.ReadOnly, "Documents.Save", saving(page, d.ID, 1, "x"))
}

// Only the text of an open document is there; no path leads to anything else.
//
// covers: X5
func TestText_Paths(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"a.md": "inside\n"}), "a.md")
	w.page()
	d := ask[Document](w, "Documents.Open", path)
	h := w.backend.Middleware("n")(http.HandlerFunc(built))
	for _, p := range []string{
		"/document/", "/document/" + d.ID, "/document/" + d.ID + "/", "/document/" + d.ID + "/text/", "/document/" + d.ID + "/text/..",
		"/document/" + d.ID + "/TEXT", "/document//text", "/document/../text", "/document/./" + d.ID + "/text", "/document/" + path + "/text",
		"/document/" + d.ID + "\x00/text", "/document/" + strings.ToUpper(d.ID) + "/text", "/document/%2e%2e/text", "/document/ " + d.ID + "/text",
		"/document/../../etc/passwd/text", "/Document/" + d.ID + "/text", "//document/" + d.ID + "/text",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = &url.URL{Path: p}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != http.StatusNotFound || strings.Contains(rec.Body.String(), "inside") {
			t.Errorf("%q: %d %s", p, rec.Code, rec.Body)
		}
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "get", "FETCH"} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(method, d.TextURL, bytes.NewReader(nil)))
		if rec.Code != http.StatusMethodNotAllowed || rec.Body.Len() > 0 || rec.Header().Get("Allow") == "" {
			t.Errorf("%s: %d %s", method, rec.Code, rec.Body)
		}
	}
}

func TestParseEndings(t *testing.T) {
	got, err := parseEndings("lf:3,crlf:1,cr:2")
	try(t, err)
	if d := cmp.Diff([]text.EndingRun{{Ending: text.LF, Count: 3}, {Ending: text.CRLF, Count: 1}, {Ending: text.CR, Count: 2}}, got); d != "" {
		t.Error(d)
	}
	if got, err := parseEndings(""); got == nil || len(got) != 0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

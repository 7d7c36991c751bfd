package api

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"galley/backend/fault"
	"galley/backend/text"
)

// A file that changed outside is told, compared through texts that stay what
// they were, and saved over only as it was compared; the loser is a version.
//
// covers: F5 F6
func TestDocuments_CompareAndHistory(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"a.md": "base\r\n"}), "a.md")
	s := w.serve("n")
	page := w.page()
	d := ask[Document](w, "Documents.Open", path)
	if d.Disk != "same" {
		t.Errorf("opened as %q", d.Disk)
	}
	none := ask[History](w, "Documents.History", d.ID)
	if len(none.Versions) != 0 || none.Folder != filepath.Join(w.home.Dir, "history") || none.Broken != 0 {
		t.Errorf("%+v", none)
	}
	w.typed(page, d, insertion(0, "mine "))
	write(t, path, "theirs\n")
	w.refused(fault.ChangedOnDisk, "Documents.Save", saving(page, d.ID, 2, "mine base\n"))
	told := await[DiskChanged](w, "document.disk_changed", nil)
	if told.DocumentID != d.ID || told.State != "changed" || told.Document.Disk != "changed" || told.Document.Path != path || told.AtMs == 0 {
		t.Errorf("told %+v", told)
	}

	c := ask[Comparison](w, "Documents.Compare", page, d.ID)
	if c.DocumentID != d.ID || c.Missing || c.ModifiedMs == 0 || c.DiskHash == "" ||
		!slices.Equal(c.DiskEndings, []text.EndingRun{{Ending: text.LF, Count: 1}}) {
		t.Errorf("%+v", c)
	}
	fetch := func(url, want string) {
		t.Helper()
		resp, body := request(t, "GET", s.URL+url, nil)
		if resp.StatusCode != http.StatusOK || body != want {
			t.Errorf("%s: %s %q", url, resp.Status, body)
		}
		if resp.Header.Get("Content-Type") != "application/octet-stream" || resp.Header.Get("Cache-Control") != "no-store" ||
			resp.Header.Get("Content-Security-Policy") == "" || resp.Header.Get("Galley-Version") != "" {
			t.Errorf("%s: headers %v", url, resp.Header)
		}
		if resp, body := request(t, "HEAD", s.URL+url, nil); resp.StatusCode != http.StatusOK || body != "" {
			t.Errorf("HEAD %s: %s", url, resp.Status)
		}
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			if resp, _ := request(t, method, s.URL+url, strings.NewReader("x")); resp.StatusCode != http.StatusMethodNotAllowed ||
				resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %s", method, url, resp.Status)
			}
		}
	}
	fetch(c.BaseURL, "base\n")
	fetch(c.DiskURL, "theirs\n")

	r := saving(page, d.ID, 2, "mine base\n")
	r.DiskHash = c.DiskHash
	saved := ask[SaveResult](w, "Documents.Save", r)
	if saved.Document.Disk != "same" || saved.Document.Dirty || content(t, path) != "mine base\r\n" {
		t.Errorf("saved %+v", saved)
	}
	// The comparison is done with.
	if resp, _ := request(t, "GET", s.URL+c.DiskURL, nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("after the save: %s", resp.Status)
	}

	kept := ask[History](w, "Documents.History", d.ID)
	reasons := []string{}
	for _, v := range kept.Versions {
		reasons = append(reasons, v.Reason)
		if v.AtMs == 0 || v.Bytes == 0 || v.ID == "" || len(v.Endings) != 1 {
			t.Errorf("%+v", v)
		}
	}
	// The newest may still be on its way: it is what the file holds.
	if i := slices.Index(reasons, "overwritten"); i < 0 || !slices.Contains(reasons, "opened") {
		t.Errorf("versions %v", reasons)
	} else {
		fetch(kept.Versions[i].TextURL, "theirs\n")
		fetch(kept.Versions[len(kept.Versions)-1].TextURL, "base\n")
		if got := kept.Versions[i].Length; got != len("theirs\n") {
			t.Errorf("a length of %d", got)
		}
	}

	try(t, os.Remove(path))
	c = ask[Comparison](w, "Documents.Compare", page, d.ID)
	if !c.Missing || c.DiskHash != "" {
		t.Errorf("%+v", c)
	}
	fetch(c.DiskURL, "")
	stale := strings.Replace(c.BaseURL, "hash=", "hash=0", 1)
	for url, want := range map[string]int{
		stale:                         http.StatusConflict,
		"/document/" + d.ID + "/base": http.StatusConflict,
		"/document/none/base?hash=0":  http.StatusNotFound,
		"/document/none/disk":         http.StatusNotFound,
		"/document/" + d.ID + "/history/../../../settings.json":         http.StatusNotFound,
		"/document/" + d.ID + "/history/0000000000000-0000000000000000": http.StatusNotFound,
		"/document/" + d.ID + "/history":                                http.StatusNotFound,
		"/document/" + d.ID + "/base/x":                                 http.StatusNotFound,
	} {
		if resp, body := request(t, "GET", s.URL+url, nil); resp.StatusCode != want || strings.Contains(body, "base\n") {
			t.Errorf("%s: %s %q", url, resp.Status, body)
		}
	}
	second := ask[DocumentsState](w, "Documents.Attach")
	if got := second.Documents[0].Disk; got != "missing" {
		t.Errorf("attached as %q", got)
	}
	w.refused(fault.Busy, "Documents.Compare", page, d.ID)
	w.refused(fault.NotFound, "Documents.History", "none")
}

package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/text"
)

// noncePlaceholder is what the front end's build writes for the nonce.
const noncePlaceholder = "galley-nonce"

// NewNonce returns a fresh nonce for one start of the program.
func NewNonce() string {
	var b [18]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Policy is the content security policy of the page (X1).
func Policy(nonce string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce + "'; " +
		"img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; " +
		"form-action 'none'; base-uri 'none'; frame-src 'none'; object-src 'none'; frame-ancestors 'none'"
}

// maxTextBytes bounds a posted text; a document is editable up to 50 MB.
const maxTextBytes = 64 << 20

// TextStore is the open documents as the text handler needs them.
type TextStore interface {
	// Text returns the text of the document with this id and its version.
	Text(id string) (body string, version int, err error)
	// ReplaceText makes text the mirror at version.
	ReplaceText(r document.Replacement) (document.Synced, error)
	// BaseText and DiskText return the texts of the last comparison, which hash
	// names; VersionText that of a kept version.
	BaseText(id, hash string) (string, error)
	DiskText(id, hash string) (string, error)
	VersionText(ctx context.Context, id, version string) (string, error)
}

// Middleware returns the asset server's middleware: it sets the policy, puts
// the nonce into the page, and serves the texts of documents, since a text of
// 10 MB travels three times as fast this way as through a bound call.
func Middleware(nonce string, texts TextStore, log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", Policy(nonce))
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Referrer-Policy", "no-referrer")
			if rest, ok := strings.CutPrefix(r.URL.Path, "/document/"); ok {
				serveText(w, r, rest, texts, log)
				return
			}
			if r.URL.Path != "/" && r.URL.Path != "/index.html" {
				next.ServeHTTP(w, r)
				return
			}
			buf := &bufferedPage{header: http.Header{}}
			next.ServeHTTP(buf, r)
			for k, v := range buf.header {
				if k != "Content-Length" && k != "Last-Modified" && k != "Etag" {
					w.Header()[k] = v
				}
			}
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(max(buf.status, http.StatusOK))
			page := bytes.ReplaceAll(buf.body.Bytes(), []byte(noncePlaceholder), []byte(nonce))
			if _, err := w.Write(page); err != nil {
				log.Debug("page not delivered", "err", err)
			}
		})
	}
}

// bufferedPage holds a response back so that it can be changed.
type bufferedPage struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *bufferedPage) Header() http.Header         { return b.header }
func (b *bufferedPage) Write(p []byte) (int, error) { return b.body.Write(p) }
func (b *bufferedPage) WriteHeader(status int)      { b.status = status }

// serveText answers below /document/<id>/: GET and POST of text, and GET of
// base?hash=, disk?hash= and history/<version>. A POST carries the page's
// number, the version and the endings in its query: page, version and endings
// ("lf:3,crlf:1").
func serveText(w http.ResponseWriter, r *http.Request, rest string, texts TextStore, log *slog.Logger) {
	id, tail, _ := strings.Cut(rest, "/")
	what, version, nested := strings.Cut(tail, "/")
	hash := r.URL.Query().Get("hash")
	var get func() (string, error)
	switch {
	case tail == "text":
		get = func() (string, error) {
			body, version, err := texts.Text(id)
			w.Header().Set("Galley-Version", strconv.Itoa(version))
			return body, err
		}
	case tail == "base":
		get = func() (string, error) { return texts.BaseText(id, hash) }
	case tail == "disk":
		get = func() (string, error) { return texts.DiskText(id, hash) }
	case what == "history" && nested:
		get = func() (string, error) { return texts.VersionText(r.Context(), id, version) }
	default:
		http.NotFound(w, r)
		return
	}
	switch {
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		body, err := get()
		if err != nil {
			w.Header().Del("Galley-Version")
			refuse(w, err)
			return
		}
		// Bytes for the one reader, who decodes them: nobody else is to try.
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Header().Set("Cache-Control", "no-store")
		if _, err := io.WriteString(w, body); err != nil {
			log.Debug("text not delivered", "err", err)
		}
	case r.Method == http.MethodPost && tail == "text":
		if err := receiveText(r, id, texts); err != nil {
			log.Info("text refused", "code", fault.CodeOf(err))
			refuse(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		allow := "GET, HEAD"
		if tail == "text" {
			allow += ", POST"
		}
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func receiveText(r *http.Request, id string, texts TextStore) error {
	q := r.URL.Query()
	page, err1 := strconv.ParseInt(q.Get("page"), 10, 64)
	version, err2 := strconv.Atoi(q.Get("version"))
	endings, err3 := parseEndings(q.Get("endings"))
	if err := errors.Join(err1, err2, err3); err != nil {
		return fault.New(fault.InvalidInput, "receive text", err)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxTextBytes+1))
	if err != nil {
		return fault.New(fault.InvalidInput, "receive text", err)
	}
	if len(body) > maxTextBytes {
		return fault.New(fault.TooLarge, "receive text", nil)
	}
	_, err = texts.ReplaceText(document.Replacement{Page: page, ID: id, Version: version, Text: string(body), Endings: endings})
	return err
}

// parseEndings reads "lf:3,crlf:1".
func parseEndings(s string) ([]text.EndingRun, error) {
	runs := []text.EndingRun{}
	if s == "" {
		return runs, nil
	}
	for item := range strings.SplitSeq(s, ",") {
		ending, count, ok := strings.Cut(item, ":")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 1 || !text.Ending(ending).Valid() {
			return nil, errors.New("endings are not ending:count pairs")
		}
		runs = append(runs, text.EndingRun{Ending: text.Ending(ending), Count: n})
	}
	return runs, nil
}

// refuse answers with a status and the fault's body.
func refuse(w http.ResponseWriter, err error) {
	var status int
	body := faultBody(err)
	switch body.Code {
	case fault.NotFound:
		status = http.StatusNotFound
	case fault.Busy, fault.UnknownBase, fault.Stale:
		status = http.StatusConflict
	case fault.TooLarge:
		status = http.StatusRequestEntityTooLarge
	case fault.Internal:
		status = http.StatusInternalServerError
	default:
		status = http.StatusBadRequest
	}
	data, err := json.Marshal(body)
	if err != nil { // a FaultBody always marshals
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the page that went away needs no answer
}

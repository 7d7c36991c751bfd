package tools

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// refuse is a fault whose Detail says in plain words what is wrong and what to
// do. It names paths relative to the workspace and holds no text of a document.
func refuse(code fault.Code, format string, args ...any) error {
	return &fault.Error{Code: code, Op: "tool", Detail: fmt.Sprintf(format, args...)}
}

// failed is the result of a call that failed, with nothing changed.
func failed(err error) core.ToolResult {
	f := fault.From(plain(err))
	r := core.ToolResult{Text: f.Detail, IsError: true, Code: f.Code}
	r.Stopped = f.Code == fault.Cancelled
	if said, ok := errors.AsType[*said](err); ok {
		r.Text = said.text
	}
	return r
}

// said is a fault with words that may hold text of a document: they are for the
// model alone.
type said struct {
	error
	text string
}

func (s *said) Unwrap() error { return s.error }

// plain gives an error a Detail in plain words. One of [refuse] has them
// already; those of other packages name absolute paths, or nothing.
func plain(err error) error {
	f := fault.From(err)
	if f.Op == "tool" {
		return f
	}
	what := "It"
	if p, ok := errors.AsType[*about](err); ok {
		what = p.what
	}
	detail := map[fault.Code]string{
		fault.NotFound:            " is not there. listWorkspace and searchWorkspace give the paths there are.",
		fault.NotAFile:            " is not a document: it is a folder, or no file that can be read.",
		fault.OutsideWorkspace:    " lies outside of the workspace and cannot be reached.",
		fault.NotGranted:          " cannot be reached: the person did not open it, or no longer.",
		fault.Exists:              " exists already, and nothing is ever replaced. Choose another name.",
		fault.ReservedName:        " is no name that a document can have on every system.",
		fault.ReadOnly:            " cannot be written: it, its folder or its disk is read-only.",
		fault.DiskFull:            " could not be written: the disk is full.",
		fault.TooLarge:            " is larger than can be read here.",
		fault.UnsupportedEncoding: " is no text that can be read.",
		fault.ChangedOnDisk:       " has changed meanwhile.",
		fault.Busy:                " is in use by another program.",
		fault.Cancelled:           " was stopped before anything happened.",
		fault.Timeout:             " took too long and was given up.",
	}[f.Code]
	switch {
	case detail != "":
		detail = what + detail
	case f.Code == fault.InvalidInput && f.Detail != "" && (f.Op == "validate input" || f.Op == "search"):
		detail = "The input is not valid: " + f.Detail + "."
	case f.Code == fault.InvalidInput:
		detail = "The input is not valid."
	default:
		detail = "It went wrong here, for a reason that lies not in the input."
	}
	return &fault.Error{Code: f.Code, Op: "tool", Detail: detail, Err: err}
}

// about names what an error of another package is about.
type about struct {
	error
	what string
}

func (a *about) Unwrap() error { return a.error }

// of names what err is about, a path relative to the workspace; nil for nil.
func of(rel string, err error) error {
	if err == nil {
		return nil
	}
	return &about{err, shown(rel)}
}

// pageBytes is how much a search, a listing or one part of another document
// gives at most, so that one call does not fill what a model can take.
const pageBytes = 64 << 10

// sheet is what a result holds: words of ours round a piece of data.
type sheet struct {
	// top says what follows, in a line or a few.
	top string
	// lines are the data, without breaks.
	lines []string
	// rest is the notice when lines had to be left out: it is given how many
	// were taken, and whether the last one was cut.
	rest func(taken int, cut bool) string
	// end is the last line; "" for none.
	end string
}

// noticeRoom is kept free for the notices and the marks, in bytes.
const noticeRoom = 600

// text writes the sheet in at most limit bytes: whole lines, and where not even
// the first fits, whole characters of it. given counts the bytes of the data,
// and more is true when some were left out.
func (s sheet) text(limit int) (out string, given int, more bool) {
	room := limit - len(s.top) - len(s.end) - noticeRoom
	taken, cut := 0, false
	var data strings.Builder
	for _, l := range s.lines {
		if data.Len()+len(l)+1 > room {
			if taken == 0 && room > 1 {
				data.WriteString(head(l, room-1))
				data.WriteByte('\n')
				taken, cut = 1, true
			}
			break
		}
		data.WriteString(l)
		data.WriteByte('\n')
		taken++
	}
	more = cut || taken < len(s.lines)
	var b strings.Builder
	b.WriteString(s.top)
	b.WriteByte('\n')
	if data.Len() > 0 {
		b.WriteString(fence(data.String()))
	}
	if more && s.rest != nil {
		b.WriteString(s.rest(taken, cut))
		b.WriteByte('\n')
	}
	b.WriteString(s.end)
	return strings.TrimSuffix(b.String(), "\n"), max(data.Len()-1, 0), more
}

// give writes the sheet into a result: in at most limit bytes, and where that is
// a part of it, beside it what is kept for people.
func (s sheet) give(r *core.ToolResult, limit, whole int) {
	var more bool
	r.Text, r.Facts.Bytes, more = s.text(limit)
	r.Facts.More, r.Whole = more, ""
	if more && whole > limit {
		r.Whole, _, _ = s.text(whole)
	}
}

// fitting is a whole as it fits in its bound and in its part of a line.
func fitting(s string, limit int) string {
	s = head(s, limit)
	size := 0
	for i, r := range s {
		switch {
		case r < ' ' || r == '"' || r == '\\' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029' || r == 0x7F:
			size += 6 // as \u003c at most
		default:
			size += utf8.RuneLen(r)
		}
		if size > wire.MaxWholeLine {
			return head(s, i)
		}
	}
	return s
}

// fence puts data between two marks that it cannot contain, since they are made
// of its own digest: nothing that a document says can pass for what stands
// outside of it. data ends with a break.
func fence(data string) string {
	sum := sha256.Sum256([]byte(data))
	mark := hex.EncodeToString(sum[:8])
	return "<data " + mark + ">\n" + data + "</data " + mark + ">\n"
}

// head returns the longest beginning of s of at most n bytes that ends between
// two characters as they are seen.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := 0
	// Far enough before the cut a break of a line is one of characters too.
	if i := strings.LastIndexByte(s[:max(n-256, 0)], '\n'); i >= 0 {
		at = i + 1
	}
	for state := -1; ; {
		cluster, _, _, next := uniseg.FirstGraphemeClusterInString(s[at:], state)
		if cluster == "" || at+len(cluster) > n {
			return s[:at]
		}
		at += len(cluster)
		state = next
	}
}

// tail returns about the last n bytes of s, from a place between two
// characters.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := len(s) - n
	rest := s[strings.LastIndexByte(s[:at], '\n')+1:]
	gr := uniseg.NewGraphemes(rest)
	for gr.Next() {
		if from, _ := gr.Positions(); len(s)-len(rest)+from >= at {
			return rest[from:]
		}
	}
	return ""
}

// count is a number with its word in the singular or the plural.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if one == "entry" {
		return fmt.Sprintf("%d entries", n)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func randText() string { return rand.Text() }

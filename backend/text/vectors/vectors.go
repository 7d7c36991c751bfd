// Package vectors reads the corpora that the tests of several packages share:
// the cases of file fidelity, whose form the README beside fidelity.json
// explains, and the examples of the Markdown specifications.
//
// It is for tests only; nothing of the program imports it.
package vectors

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"galley/backend/fault"
	"galley/backend/text"
)

// FileVariable names the environment variable with the path of another file of
// the form of fidelity.json; the tests then run that one.
const FileVariable = "FIDELITY"

// leastCases is how many cases the project's own corpus holds at least, so that
// a file cut short is no success.
const leastCases = 312

// Case is one file: its bytes, how it opens, what is done to it and what a save
// then writes.
type Case struct {
	ID    string `json:"id"`
	Note  string `json:"note"`
	Bytes Blob   `json:"bytes"`
	Saved Blob   `json:"saved"`
	Open  Opened `json:"open"`
	Steps []Step `json:"steps"`
}

// Opened is how a file is to open.
type Opened struct {
	Editable bool `json:"editable"`
	// Reason is why it cannot be edited.
	Reason       fault.Code          `json:"reason"`
	Encoding     text.Encoding       `json:"encoding"`
	BOM          bool                `json:"bom"`
	Endings      map[text.Ending]int `json:"endings"`
	FinalNewline bool                `json:"finalNewline"`
	// LengthUtf16 is in UTF-16 units.
	LengthUtf16 int `json:"lengthUtf16"`
	Lines       int `json:"lines"`
}

// Step is one transaction: changes, or the undo of an earlier step.
type Step struct {
	Changes []Change `json:"changes"`
	// UndoOf is the index of the step whose inverse this one is, or nil.
	UndoOf *int `json:"undoOf"`
	// Rejected is true for a step that must be refused.
	Rejected bool `json:"rejected"`
}

// Edits are the step's changes.
func (s Step) Edits() []text.Edit {
	edits := make([]text.Edit, len(s.Changes))
	for i, c := range s.Changes {
		edits[i] = c.Edit
	}
	return edits
}

// Blob is bytes: base64, or pieces of it repeated.
type Blob []byte

// UnmarshalJSON implements json.Unmarshaler.
func (b *Blob) UnmarshalJSON(data []byte) error {
	var plain []byte
	if json.Unmarshal(data, &plain) == nil {
		*b = plain
		return nil
	}
	var long struct {
		Repeat [][2]json.RawMessage `json:"repeat"`
	}
	if err := json.Unmarshal(data, &long); err != nil {
		return err
	}
	for _, piece := range long.Repeat {
		var s string
		var n int
		if err := json.Unmarshal(piece[0], &s); err != nil {
			return err
		}
		if err := json.Unmarshal(piece[1], &n); err != nil {
			return err
		}
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return err
		}
		*b = append(*b, bytes.Repeat(raw, n)...)
	}
	return nil
}

// Change is an edit as the page sends it: a lone surrogate travels as an
// escape.
type Change struct{ text.Edit }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Change) UnmarshalJSON(data []byte) error {
	var units struct {
		From        int    `json:"from"`
		To          int    `json:"to"`
		InsertUtf16 []rune `json:"insertUtf16"`
	}
	if err := json.Unmarshal(data, &units); err != nil {
		return err
	}
	if units.InsertUtf16 == nil {
		return json.Unmarshal(data, &c.Edit)
	}
	var sent strings.Builder
	sent.WriteString(`{"insert":"`)
	for _, u := range units.InsertUtf16 {
		fmt.Fprintf(&sent, `\u%04x`, u)
	}
	sent.WriteString(`"}`)
	if err := json.Unmarshal([]byte(sent.String()), &c.Edit); err != nil {
		return err
	}
	c.From, c.To = units.From, units.To
	return nil
}

// Fidelity returns the cases of fidelity.json, or of the file that
// [FileVariable] names.
func Fidelity() ([]Case, error) {
	path, own := os.Getenv(FileVariable), false
	if path == "" {
		root, err := backend()
		if err != nil {
			return nil, err
		}
		path, own = filepath.Join(root, "agent/core/testdata/patch/fidelity.json"), true
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Cases []Case `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if n := len(file.Cases); n == 0 || own && n < leastCases {
		return nil, fmt.Errorf("%s holds %d cases", path, n)
	}
	return file.Cases, nil
}

// Example is one example of a Markdown specification.
type Example struct {
	// Spec is commonmark or gfm.
	Spec     string `json:"-"`
	Number   int    `json:"example"`
	Section  string `json:"section"`
	Markdown string `json:"markdown"`
}

// Examples returns every example of the CommonMark and GFM specifications.
func Examples() ([]Example, error) {
	root, err := backend()
	if err != nil {
		return nil, err
	}
	var all []Example
	for _, of := range []struct {
		spec  string
		least int
	}{{"commonmark", 655}, {"gfm", 673}} {
		spec, least := of.spec, of.least
		data, err := os.ReadFile(filepath.Join(root, "text/testdata/spec", spec+".json"))
		if err != nil {
			return nil, err
		}
		var some []Example
		if err := json.Unmarshal(data, &some); err != nil {
			return nil, fmt.Errorf("%s: %w", spec, err)
		}
		if len(some) < least {
			return nil, fmt.Errorf("%s holds %d examples", spec, len(some))
		}
		for i := range some {
			some[i].Spec = spec
		}
		all = append(all, some...)
	}
	return all, nil
}

// Variant is one way to write a text to a file.
type Variant struct {
	Format text.Format
	// Endings are taken by the breaks in turn. No LF follows a CR, with which it
	// would be one break where a line is empty.
	Endings []text.Ending
}

// Variants are all encodings with all endings, mixed ones among them.
func Variants() []Variant {
	var all []Variant
	for _, f := range []text.Format{
		{Encoding: text.UTF8},
		{Encoding: text.UTF8, BOM: true},
		{Encoding: text.UTF16LE, BOM: true},
		{Encoding: text.UTF16BE, BOM: true},
	} {
		for _, e := range [][]text.Ending{{text.LF}, {text.CRLF}, {text.CR}, {text.CRLF, text.LF, text.CR}} {
			all = append(all, Variant{f, e})
		}
	}
	return all
}

// Bytes writes LF text the way of the variant.
func (v Variant) Bytes(lf string) ([]byte, error) {
	var runs []text.EndingRun
	for i := range strings.Count(lf, "\n") {
		runs = append(runs, text.EndingRun{Ending: v.Endings[i%len(v.Endings)], Count: 1})
	}
	lines, err := text.NewLines(lf, runs)
	if err != nil {
		return nil, err
	}
	return text.Encode(v.Format, lines), nil
}

// String names the variant.
func (v Variant) String() string {
	bom := ""
	if v.Format.BOM {
		bom = "+bom"
	}
	return fmt.Sprintf("%s%s %v", v.Format.Encoding, bom, v.Endings)
}

// backend is the folder of the project's packages, found from the folder that
// the tests of a package run in.
func backend() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(at, "backend"), nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s lies in no module", dir)
		}
	}
}

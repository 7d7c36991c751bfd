package document

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// A draft file is three parts, each ended by a line feed but the last: the
// magic with the digest of all that follows, the head as JSON, the text.
const (
	draftMagic = "galley draft 1 "
	draftExt   = ".draft"
	// brokenExt is added to a draft that cannot be read, which is kept.
	brokenExt = ".broken"
)

// draftHead is what a draft holds besides the text. It has the document's own
// baseline, so that a file which changed after the crash is a conflict.
type draftHead struct {
	// Path is absolute; empty for an untitled document.
	Path workspace.StoredPath `json:"path"`
	// Base is zero while there was no file.
	Base       draftBase        `json:"base"`
	BaseFormat text.Format      `json:"baseFormat"`
	Format     text.Format      `json:"format"`
	Majority   text.Ending      `json:"majority"`
	Endings    []text.EndingRun `json:"endings"`
	Anchor     int              `json:"anchor"`
	Head       int              `json:"head"`
	SavedAtMs  int64            `json:"savedAtMs"`
}

// draftBase is a workspace.Stat as it is stored.
type draftBase struct {
	Size      int64  `json:"size"`
	ModTimeNs int64  `json:"modTimeNs"`
	Inode     uint64 `json:"inode"`
	Hash      string `json:"hash"`
}

func (b draftBase) stat() workspace.Stat {
	return workspace.Stat{Size: b.Size, ModTimeNs: b.ModTimeNs, Inode: b.Inode, Hash: b.Hash}
}

var errBroken = errors.New("the draft is damaged")

// encodeDraft returns the draft file of a document's state.
func encodeDraft(st state, nowMs int64) ([]byte, error) {
	head, err := json.Marshal(draftHead{
		Path: workspace.StoredPath(st.path),
		Base: draftBase{
			Size: st.base.stat.Size, ModTimeNs: st.base.stat.ModTimeNs,
			Inode: st.base.stat.Inode, Hash: st.base.stat.Hash,
		},
		BaseFormat: st.base.format,
		Format:     st.format, Majority: st.majority, Endings: st.lines.Endings(),
		Anchor: st.anchor, Head: st.head, SavedAtMs: nowMs,
	})
	if err != nil {
		return nil, fmt.Errorf("encode draft: %w", err)
	}
	body := make([]byte, 0, len(head)+1+st.lines.Size())
	body = append(append(body, head...), '\n')
	body = append(body, st.lines.Text()...)
	sum := sha256.Sum256(body)
	return append([]byte(draftMagic+hex.EncodeToString(sum[:])+"\n"), body...), nil
}

// draftDigest is the digest in the first line of a draft file.
func draftDigest(data []byte) string { return string(data[len(draftMagic):][:2*sha256.Size]) }

// decodeDraft reads a draft file back into the state of a document that was
// just opened. The baseline's text is not known yet. It fails with errBroken
// when anything does not fit.
func decodeDraft(data []byte) (state, int64, error) {
	first, body, _ := bytes.Cut(data, []byte("\n"))
	sum := sha256.Sum256(body)
	if string(first) != draftMagic+hex.EncodeToString(sum[:]) {
		return state{}, 0, errBroken
	}
	head, body, found := bytes.Cut(body, []byte("\n"))
	var h draftHead
	if err := json.Unmarshal(head, &h); err != nil || !found {
		return state{}, 0, errBroken
	}
	lines, err := text.NewLines(string(body), h.Endings)
	if err != nil || !h.Format.Encoding.Valid() || !h.Majority.Valid() || h.Path != "" && !filepath.IsAbs(string(h.Path)) {
		return state{}, 0, errBroken
	}
	return state{
		path: string(h.Path), format: h.Format, majority: h.Majority, lines: lines, version: 1,
		anchor: clamp(h.Anchor, lines), head: clamp(h.Head, lines),
		base:         baseline{stat: h.Base.stat(), format: h.BaseFormat, unknown: h.Path != ""},
		restoredAtMs: h.SavedAtMs,
	}, h.SavedAtMs, nil
}

// draftFolder is where drafts are.
func (s *Set) draftFolder() string { return filepath.Join(s.home, "drafts") }

func (s *Set) draftPath(id string) string { return filepath.Join(s.draftFolder(), id+draftExt) }

// FlushDrafts keeps a draft of all that is unsaved now. It waits until ctx
// ends; the error joins what could not be kept.
func (s *Set) FlushDrafts(ctx context.Context) error {
	s.mu.Lock()
	docs := append([]*doc(nil), s.docs...)
	s.mu.Unlock()
	var errs []error
	for _, d := range docs {
		if err := d.keeper.settleNow(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// internal wraps a failure that nobody can help.
func internal(op string, err error) error { return fault.New(fault.Internal, op, err) }

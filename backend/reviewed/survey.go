package reviewed

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// survey is the names in a workspace.
type survey struct {
	root string
	// files and folders are relative to root, with slashes.
	files, folders []string
	// aside are those of files that a tree sets aside: they can be linked to,
	// and are not looked into.
	aside map[string]bool
	// cut is true when there are more.
	cut bool
}

// surveyOf lists a workspace. Faults: those of [workspace.Folder.Walk];
// cancelled.
func (m *Manager) surveyOf(ctx context.Context, root string) (*survey, error) {
	folder, err := m.cfg.Grants.PermitList(root)
	if err != nil {
		return nil, err
	}
	level, err := folder.Walk()
	if err != nil {
		return nil, err
	}
	s := &survey{root: root, aside: map[string]bool{}}
	if err := s.list(ctx, level, "", 0); err != nil {
		return nil, err
	}
	slices.Sort(s.files)
	return s, nil
}

// list lists one folder and closes it. One inside that cannot be listed has
// nothing to be changed.
func (s *survey) list(ctx context.Context, level *workspace.Level, rel string, depth int) error {
	defer level.Close()
	if err := ctx.Err(); err != nil {
		return fault.New(fault.Cancelled, "survey", err)
	}
	items, err := level.Items()
	if err != nil {
		if rel == "" {
			return err
		}
		return nil
	}
	for _, item := range items {
		if !utf8.ValidString(item.Name) {
			continue
		}
		p := item.Name
		if rel != "" {
			p = rel + "/" + p
		}
		switch {
		case !item.Folder && len(s.files) >= MaxFiles:
			s.cut = true
		case !item.Folder:
			s.files = append(s.files, p)
			if item.Ignored {
				s.aside[p] = true
			}
		case item.Ignored:
			s.folders = append(s.folders, p)
		case depth >= MaxDepth:
			s.folders = append(s.folders, p)
			s.cut = true
		default:
			s.folders = append(s.folders, p)
			next, err := level.Open(item.Name)
			if err != nil {
				continue
			}
			if err := s.list(ctx, next, p, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// abs returns the absolute path of one relative to the workspace.
func (s *survey) abs(rel string) string { return filepath.Join(s.root, filepath.FromSlash(rel)) }

// rel returns an absolute path relative to root, with slashes; ok is false when
// it lies outside.
func relTo(root, path string) (rel string, ok bool) {
	r, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(r) {
		return "", false
	}
	return filepath.ToSlash(r), true
}

// look says what stands at a path that the survey does not list: behind a link,
// or in a folder that is set aside. A name that is not there is asked for once,
// whatever lies below it: texts have many links to nothing.
func (m *Manager) look(root string) func(string) (bool, bool) {
	type answer struct{ folder, ok bool }
	// mu guards known.
	var mu sync.Mutex
	known := map[string]answer{}
	ask := func(rel string) answer {
		mu.Lock()
		a, asked := known[rel]
		mu.Unlock()
		if asked {
			return a
		}
		path := filepath.Join(root, filepath.FromSlash(rel))
		if _, err := m.cfg.Grants.PermitRead(path); err == nil {
			a = answer{ok: true}
		} else if _, err := m.cfg.Grants.PermitList(path); err == nil {
			a = answer{folder: true, ok: true}
		}
		mu.Lock()
		known[rel] = a
		mu.Unlock()
		return a
	}
	return func(rel string) (folder, ok bool) {
		for i := range len(rel) {
			if rel[i] == '/' {
				if a := ask(rel[:i]); !a.folder {
					return false, false
				}
			}
		}
		a := ask(rel)
		return a.folder, a.ok
	}
}

// content is a file's text, that of the open document where there is one.
type content struct {
	path string
	text string
	base base
	// doc is nil for a file that is not open.
	doc *document.Info
	// problem keeps the text from being changed.
	problem fault.Code
}

// openDocuments are the open documents, by the files they hold.
type openDocuments struct {
	byPath map[string]document.Info
	// byIdentity holds those whose path may be another name of the file.
	byIdentity map[workspace.Identity]document.Info
}

// openNow lists the open documents that have a file.
func (m *Manager) openNow() openDocuments {
	o := openDocuments{byPath: map[string]document.Info{}, byIdentity: map[workspace.Identity]document.Info{}}
	for _, info := range m.cfg.Documents.List() {
		if info.Path == "" {
			continue
		}
		o.byPath[info.Path] = info
		if f, err := m.cfg.Grants.PermitRead(info.Path); err == nil {
			if id, err := f.Identity(); err == nil && id != (workspace.Identity{}) {
				o.byIdentity[id] = info
			}
		}
	}
	return o
}

// of returns the open document that holds the file at path.
func (o openDocuments) of(path string, f workspace.File) (document.Info, bool) {
	if info, ok := o.byPath[path]; ok {
		return info, true
	}
	if len(o.byIdentity) == 0 {
		return document.Info{}, false
	}
	id, err := f.Identity()
	if err != nil {
		return document.Info{}, false
	}
	info, ok := o.byIdentity[id]
	return info, ok
}

// read returns the text of a file. Faults: those of [workspace.File.Read],
// unsupported_encoding.
func (m *Manager) read(path string, open openDocuments) (content, error) {
	if info, ok := open.byPath[path]; ok {
		return m.readDocument(path, info)
	}
	f, err := m.cfg.Grants.PermitRead(path)
	if err != nil {
		return content{}, err
	}
	if info, ok := open.of(path, f); ok {
		return m.readDocument(path, info)
	}
	data, stat, err := f.Read(MaxFileBytes)
	if err != nil {
		return content{}, err
	}
	_, lines, err := text.Decode(data)
	if err != nil {
		return content{}, err
	}
	c := content{path: path, text: lines.Text(), base: base{hash: stat.Hash}}
	if stat.Mode.Perm()&0o222 == 0 {
		c.problem = fault.ReadOnly
	}
	return c, nil
}

// readDocument returns the text of an open document as it stands.
func (m *Manager) readDocument(path string, info document.Info) (content, error) {
	s, version, err := m.cfg.Documents.Text(info.ID)
	if err != nil {
		return content{}, err
	}
	info.Version = version
	return content{path: path, text: s, doc: &info, problem: info.ReadOnly}, nil
}

// file makes the entry of a set.
func (c content) file(root string) File {
	rel, _ := relTo(root, c.path)
	f := File{Path: c.path, Name: rel, Problem: c.problem, base: c.base}
	f.base.digest = text.Digest(c.text)
	if c.doc != nil {
		f.DocumentID, f.Version = c.doc.ID, c.doc.Version
	}
	return f
}

// each calls do for every path, with several goroutines, and returns what it
// gives in the order of the paths. A nil result is left out.
func each(ctx context.Context, paths []string, do func(path string) *File) ([]File, error) {
	found := make([]*File, len(paths))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(paths) || ctx.Err() != nil {
					return
				}
				found[i] = do(paths[i])
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fault.New(fault.Cancelled, "reviewed set", err)
	}
	var out []File
	for _, f := range found {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out, nil
}

// limit cuts the edits of files to [MaxEdits].
func limit(files []File) (kept []File, cut bool) {
	left := MaxEdits
	for _, f := range files {
		if len(f.Edits) > left {
			f.Edits = f.Edits[:left:left]
			cut = true
			if left == 0 {
				continue
			}
		}
		left -= len(f.Edits)
		kept = append(kept, f)
	}
	return kept, cut
}

// around returns the rest of the lines of [from, to), byte offsets of s, cut to
// a number of UTF-16 units.
func around(s string, from, to, units int) (before, after string) {
	before = s[strings.LastIndexByte(s[:from], '\n')+1 : from]
	after, _, _ = strings.Cut(s[to:], "\n")
	n := 0
	for at := len(before); at > 0; {
		_, size := utf8.DecodeLastRuneInString(before[:at])
		if n += text.Length(before[at-size : at]); n > units {
			before = before[at:]
			break
		}
		at -= size
	}
	n = 0
	for i, r := range after {
		if n += text.Length(string(r)); n > units {
			return before, after[:i]
		}
	}
	return before, after
}

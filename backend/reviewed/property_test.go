package reviewed

import (
	"context"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
)

// The resolver of this test knows nothing of the one that is tested: it looks
// on the disk, with the standard library.

// oracle is a workspace on disk and where its links stand.
type oracle struct {
	t   *testing.T
	top string
	// files is the listing of top; nil when it is to be made anew.
	files []string
}

var escapedPunct = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")

// followURL returns the path, relative to the top, that a URL in file leads to.
func (o *oracle) followURL(file, dest string) (string, bool) {
	if rest, ok := strings.CutPrefix(dest, "<"); ok {
		dest = strings.TrimSuffix(rest, ">")
	}
	dest = html.UnescapeString(escapedPunct.ReplaceAllString(dest, "$1"))
	dest, _, _ = strings.Cut(dest, "#")
	dest, _, _ = strings.Cut(dest, "?")
	if dest == "" {
		return "", false
	}
	var tries []string
	if plain, err := url.PathUnescape(dest); err == nil {
		tries = append(tries, plain)
	}
	tries = append(tries, dest)
	for _, p := range tries {
		if strings.HasPrefix(p, "/") {
			p = path.Join(o.top, p)
		} else {
			p = path.Join(o.top, path.Dir(file), p)
		}
		if _, err := os.Stat(p); err == nil {
			rel, err := filepath.Rel(o.top, p)
			try(o.t, err)
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// followWiki is followURL for the inside of [[…]].
func (o *oracle) followWiki(file, dest string) (string, bool) {
	name, _, _ := strings.Cut(dest, "|")
	name, _, _ = strings.Cut(name, "#")
	name = strings.TrimSpace(name)
	if o.files == nil {
		try(o.t, filepath.WalkDir(o.top, func(p string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(o.top, p)
				o.files = append(o.files, filepath.ToSlash(rel))
			}
			return err
		}))
	}
	files := o.files
	endings := []string{".md", ".markdown"}
	if path.Ext(name) != "" {
		endings = []string{"", ".md", ".markdown"}
	}
	for _, e := range endings {
		full := name + e
		if rest, ok := strings.CutPrefix(full, "/"); ok {
			if slices.Contains(files, rest) {
				return rest, true
			}
			continue
		}
		var fits []string
		for _, f := range files {
			if f == full || strings.HasSuffix(f, "/"+full) {
				fits = append(fits, f)
			}
		}
		if len(fits) == 0 {
			continue
		}
		if strings.Contains(full, "/") && slices.Contains(fits, full) {
			return full, true
		}
		if own := path.Join(path.Dir(file), full); slices.Contains(fits, own) {
			return own, true
		}
		slices.SortFunc(fits, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
		if len(fits) > 1 && strings.Count(fits[0], "/") == strings.Count(fits[1], "/") {
			return "", false
		}
		return fits[0], true
	}
	return "", false
}

// form is a way to write a link on a line: before and after stand around its
// destination.
type form struct {
	before, after string
	wiki          bool
	write         func(r *rand.Rand, dest string) string
}

func plainURL(_ *rand.Rand, p string) string { return (&url.URL{Path: p}).EscapedPath() }

func forms() []form {
	space := strings.NewReplacer(" ", "%20", "%", "%25", "#", "%23", "?", "%3F")
	loose := func(_ *rand.Rand, p string) string {
		p = space.Replace(p)
		if strings.Count(p, "(") != strings.Count(p, ")") || strings.Index(p, ")") < strings.Index(p, "(") {
			p = strings.NewReplacer("(", `\(`, ")", `\)`).Replace(p)
		}
		return strings.NewReplacer("[", `\[`, "]", `\]`, "&", "&amp;").Replace(p)
	}
	angle := func(_ *rand.Rand, p string) string {
		return "<" + strings.NewReplacer("%", "%25", "#", "%23", "?", "%3F", "<", `\<`, ">", `\>`, "&", "&amp;").Replace(p) + ">"
	}
	suffix := func(write func(*rand.Rand, string) string, s string) func(*rand.Rand, string) string {
		return func(r *rand.Rand, p string) string {
			out := write(r, p)
			if rest, ok := strings.CutSuffix(out, ">"); ok {
				return rest + s + ">"
			}
			return out + s
		}
	}
	attribute := func(_ *rand.Rand, p string) string {
		return strings.NewReplacer("%", "%25", "#", "%23", "?", "%3F", `"`, "&quot;", "&", "&amp;").Replace(p)
	}
	asIs := func(_ *rand.Rand, p string) string { return p }
	heading := func(_ *rand.Rand, p string) string { return p + "#A heading" }
	return []form{
		{"- [text](", ") end", false, plainURL},
		{"- [text](", " \"a title\") end", false, suffix(plainURL, "#a-heading")},
		{"> ![夜 🦊](", " 'title')", false, loose},
		{"1. a [b](", ")", false, suffix(loose, "?q=1#h")},
		{"[x](", ")", false, angle},
		{"- [x](", " (title))", false, suffix(angle, "#h")},
		{"<img alt=x src=\"", "\"> text", false, attribute},
		{"text [[", "]] text", true, asIs},
		{"text [[", "|an alias]]", true, heading},
		{"![[", "]]", true, asIs},
	}
}

// made is one link of a random workspace.
type made struct {
	file string
	line int
	form form
}

// maker makes random workspaces.
type maker struct {
	r     *rand.Rand
	files []string
	text  map[string][]string // lines
	links []made
}

var (
	nameParts   = []string{"note", "夜", "茶 馆", "my note", "100%", "a%20b", "x(1)", "b(", "c#d", "Note", "né", "ne\u0301", "🦊", "a..b", "q?", "a&b", "[k]", "it's", "v1.2", "$x", "a_b", "~t", "m=n", "t^2", "a;b", "-dash", "c,d"}
	folderParts = []string{"d", "夜", "my folder", "e(1)", "x%y", "Notes", "d2", "a.b", "deep"}
	extensions  = []string{".md", ".md", ".md", ".markdown", ".png"}
)

func (k *maker) pick(list []string) string { return list[k.r.IntN(len(list))] }

func (k *maker) folder() string {
	var parts []string
	for range k.r.IntN(4) {
		parts = append(parts, k.pick(folderParts))
	}
	return path.Join(parts...)
}

// fill makes files and links between them.
func (k *maker) fill() {
	k.text = map[string][]string{}
	for range 4 + k.r.IntN(14) {
		f := path.Join(k.folder(), k.pick(nameParts)+k.pick(extensions))
		if _, there := k.text[f]; !there && !k.clash(f) {
			k.files = append(k.files, f)
			k.text[f] = nil
		}
	}
	all := forms()
	for i, f := range k.files {
		k.text[f] = append(k.text[f], fmt.Sprintf("id %d", i), "")
		if !isNote(f) {
			continue
		}
		for range k.r.IntN(12) {
			to := k.files[k.r.IntN(len(k.files))]
			fm := all[k.r.IntN(len(all))]
			var dest string
			switch {
			case fm.wiki:
				dest = k.wikiName(to)
				if strings.ContainsAny(dest, "[]#|^") {
					continue
				}
			case k.r.IntN(5) == 0:
				dest = "/" + to
			case k.r.IntN(6) == 0 && path.Dir(to) != ".":
				dest = relativeOf(path.Dir(f), path.Dir(to))
				if k.r.IntN(2) == 0 {
					dest += "/"
				}
			default:
				dest = relativeOf(path.Dir(f), to)
				if k.r.IntN(4) == 0 && !strings.HasPrefix(dest, "..") {
					dest = "./" + dest
				}
			}
			k.links = append(k.links, made{f, len(k.text[f]), fm})
			k.text[f] = append(k.text[f], fm.before+fm.write(k.r, dest)+fm.after, "")
			if k.r.IntN(4) == 0 {
				k.text[f] = append(k.text[f], "```", fm.before+fm.write(k.r, dest)+fm.after, "```", "")
			}
		}
	}
}

// clash reports whether some file stands where f has a folder or the other way.
func (k *maker) clash(f string) bool {
	for _, other := range k.files {
		if strings.HasPrefix(other, f+"/") || strings.HasPrefix(f, other+"/") {
			return true
		}
	}
	return false
}

func (k *maker) wikiName(to string) string {
	if e := path.Ext(to); e == ".md" || e == ".markdown" {
		if k.r.IntN(4) > 0 && path.Ext(strings.TrimSuffix(to, e)) == "" {
			to = strings.TrimSuffix(to, e)
		}
	}
	parts := strings.Split(to, "/")
	n := 1 + k.r.IntN(len(parts))
	return strings.Join(parts[len(parts)-n:], "/")
}

func relativeOf(folder, to string) string {
	rel, err := filepath.Rel("/"+folder, "/"+to)
	if err != nil {
		return to
	}
	return filepath.ToSlash(rel)
}

// encoded is a text as it lies on disk: of one of four encodings, its lines
// with the endings of the file.
type encoded struct {
	kind    int
	endings []string
}

func (e encoded) bytes(lines []string) string {
	var s strings.Builder
	for i, l := range lines {
		s.WriteString(l)
		if i < len(e.endings) {
			s.WriteString(e.endings[i])
		}
	}
	switch e.kind {
	case 1:
		return "\xEF\xBB\xBF" + s.String()
	case 2, 3:
		out := []byte{0xFF, 0xFE}
		if e.kind == 3 {
			out = []byte{0xFE, 0xFF}
		}
		for _, u := range utf16.Encode([]rune(s.String())) {
			if e.kind == 2 {
				out = append(out, byte(u), byte(u>>8))
			} else {
				out = append(out, byte(u>>8), byte(u))
			}
		}
		return string(out)
	}
	return s.String()
}

// lines reads the bytes back; the endings must be the same as before.
func (e encoded) lines(t *testing.T, data string) []string {
	t.Helper()
	switch e.kind {
	case 1:
		data = strings.TrimPrefix(data, "\xEF\xBB\xBF")
	case 2, 3:
		var units []uint16
		for i := 2; i+1 < len(data); i += 2 {
			if e.kind == 2 {
				units = append(units, uint16(data[i])|uint16(data[i+1])<<8)
			} else {
				units = append(units, uint16(data[i+1])|uint16(data[i])<<8)
			}
		}
		data = string(utf16.Decode(units))
	}
	var out []string
	for _, ending := range e.endings {
		line, rest, ok := strings.Cut(data, ending)
		if !ok || strings.ContainsAny(line, "\r\n") {
			t.Fatalf("the endings changed: %q", data)
		}
		out = append(out, line)
		data = rest
	}
	return append(out, data)
}

func (k *maker) encodings() map[string]encoded {
	out := map[string]encoded{}
	for _, f := range k.files {
		e := encoded{kind: k.r.IntN(4)}
		style := k.r.IntN(4)
		for range len(k.text[f]) - 1 {
			ending := []string{"\n", "\r\n", "\r"}[min(style, 2)]
			if style == 3 {
				ending = []string{"\n", "\r\n"}[k.r.IntN(2)]
			}
			e.endings = append(e.endings, ending)
		}
		out[f] = e
	}
	return out
}

// TestPlanMove_EveryLinkStays: after a random move in a random workspace every
// link that led somewhere leads to the same file, nothing but destinations
// changed, and undoing gives every byte back.
//
// covers: F8
func TestPlanMove_EveryLinkStays(t *testing.T) {
	const rounds = 150
	edits, followed, left, moved := 0, 0, 0, 0
	for seed := range uint64(rounds) {
		k := &maker{r: rand.New(rand.NewPCG(seed, 3))}
		k.fill()
		forms := k.encodings()
		files := map[string]string{}
		for _, f := range k.files {
			files[f] = forms[f].bytes(k.text[f])
		}
		b := newBench(t, files)
		o := &oracle{t: t, top: b.path("")}
		led := map[int]string{}
		for i, l := range k.links {
			if to, ok := o.follow(l, k.text[l.file][l.line], l.file); ok {
				led[i] = to
			}
		}
		m, ok := k.move(b)
		if !ok {
			continue
		}
		before := b.snapshot()
		set, err := b.m.PlanMove(context.Background(), b.path(m.from), b.path(m.to))
		if fault.CodeOf(err) == fault.Exists {
			continue
		}
		try(t, err)
		if len(set.Files) == 0 {
			try(t, b.m.cfg.Move(context.Background(), b.path(m.from), b.path(m.to)))
		} else {
			b.apply(set)
		}
		moved++
		o.files = nil
		for _, f := range set.Files {
			edits += len(f.Edits)
			left += f.Left
		}
		texts := map[string][]string{}
		for _, f := range k.files {
			texts[f] = forms[f].lines(t, b.content(m.after(f)))
			if len(texts[f]) != len(k.text[f]) {
				t.Fatalf("seed %d: %s has other lines", seed, f)
			}
		}
		for i, l := range k.links {
			line, was := texts[l.file][l.line], k.text[l.file][l.line]
			if !strings.HasPrefix(line, l.form.before) || !strings.HasSuffix(line, l.form.after) {
				t.Errorf("seed %d: %q became %q", seed, was, line)
				continue
			}
			k.text[l.file][l.line] = line // the rest is compared below
			to, leads := led[i]
			if !leads {
				continue
			}
			followed++
			now, ok := o.follow(l, line, m.after(l.file))
			if (!ok || now != m.after(to)) && !unwritable(l, m, to) {
				t.Errorf("seed %d: move %q to %q: in %q %q led to %q; now %q leads to %q", seed, m.from, m.to, l.file, was, to, line, now)
			}
		}
		if d := cmp.Diff(k.text, texts); d != "" {
			t.Errorf("seed %d: more changed than destinations: %s", seed, d)
		}
		if len(set.Files) > 0 {
			b.undo(set.ID)
			if d := cmp.Diff(before, b.snapshot()); d != "" {
				t.Errorf("seed %d: not as it was: %s", seed, d)
			}
		}
		try(t, os.RemoveAll(b.root))
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d moves, %d edits, %d links followed, %d left", moved, edits, followed, left)
	if moved < rounds*3/4 || edits < rounds || followed < rounds*5 {
		t.Error("the workspaces are too poor")
	}
}

// unwritable reports whether no wikilink can be written to where the file went.
func unwritable(l made, m move, to string) bool {
	return l.form.wiki && strings.ContainsAny(m.after(to), "[]#|^")
}

// follow returns where the link on a line leads.
func (o *oracle) follow(l made, line, file string) (string, bool) {
	dest := strings.TrimSuffix(strings.TrimPrefix(line, l.form.before), l.form.after)
	if l.form.wiki {
		return o.followWiki(file, dest)
	}
	if strings.HasPrefix(l.form.before, "<img") {
		dest = html.UnescapeString(dest)
		dest = strings.NewReplacer(`\`, `\\`, "&", "&amp;").Replace(dest) // it is unescaped as Markdown next
	}
	return o.followURL(file, dest)
}

// move chooses a file or a folder and a place for it.
func (k *maker) move(b *bench) (move, bool) {
	folders := map[string]bool{}
	for _, f := range k.files {
		for d := path.Dir(f); d != "."; d = path.Dir(d) {
			folders[d] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(folders))
	var m move
	if len(sorted) > 0 && k.r.IntN(2) == 0 {
		m.from = k.pick(sorted)
		m.to = path.Join(k.folder(), k.pick(folderParts))
	} else {
		m.from = k.pick(k.files)
		m.to = path.Join(k.folder(), k.pick(nameParts)+path.Ext(m.from))
		if k.r.IntN(2) == 0 {
			m.to = path.Join(k.folder(), path.Base(m.from))
		}
	}
	if m.from == m.to || strings.HasPrefix(m.to, m.from+"/") || strings.HasPrefix(m.from, m.to+"/") {
		return m, false
	}
	for d := path.Dir(m.to); d != "."; d = path.Dir(d) {
		if info, err := os.Stat(b.path(d)); err == nil && !info.IsDir() || m.moves(d) {
			return m, false
		}
	}
	if _, err := os.Lstat(b.path(m.to)); err == nil {
		return m, false
	}
	try(b.t, os.MkdirAll(filepath.Dir(b.path(m.to)), 0o755))
	return m, true
}

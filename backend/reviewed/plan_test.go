package reviewed

import (
	"path"
	"slices"
	"strings"
	"testing"

	"galley/backend/text"
)

// shape makes a tree of names; one that ends with a slash is a folder.
func shape(fold bool, names ...string) *tree {
	var files, folders []string
	for _, n := range names {
		if f, ok := strings.CutSuffix(n, "/"); ok {
			folders = append(folders, f)
			continue
		}
		files = append(files, n)
		for d := path.Dir(n); d != "."; d = path.Dir(d) {
			if !slices.Contains(folders, d) {
				folders = append(folders, d)
			}
		}
	}
	return newTree(files, folders, fold, nil)
}

// TestRelink: what a link becomes when something moves.
//
// covers: F8
func TestRelink(t *testing.T) {
	for _, c := range []struct {
		name     string
		names    []string
		from, to string
		file     string
		text     string
		want     string // "" for no change
		left     int
		fold     bool
	}{
		{name: "rename", names: []string{"a.md", "b.md"}, from: "b.md", to: "c.md", file: "a.md", text: "[x](b.md) ![y](b.md 't')", want: "[x](c.md) ![y](c.md 't')"},
		{name: "definition", names: []string{"a.md", "b.md"}, from: "b.md", to: "c.md", file: "a.md", text: "[x][r]\n\n[r]: b.md#h \"t\"", want: "[x][r]\n\n[r]: c.md#h \"t\""},
		{name: "fragment and query", names: []string{"a.md", "b.md"}, from: "b.md", to: "d/c.md", file: "a.md", text: "[x](b.md?q=1#h%20i)", want: "[x](d/c.md?q=1#h%20i)"},
		{name: "dot slash", names: []string{"a.md", "b.md", "d/x.md"}, from: "b.md", to: "d/b.md", file: "a.md", text: "[x](./b.md)", want: "[x](./d/b.md)"},
		{name: "dot slash up", names: []string{"d/a.md", "d/b.md"}, from: "d/b.md", to: "b.md", file: "d/a.md", text: "[x](./b.md)", want: "[x](../b.md)"},
		{name: "from the workspace", names: []string{"d/a.md", "d/b.md"}, from: "d/b.md", to: "b.md", file: "d/a.md", text: "[x](/d/b.md#h)", want: "[x](/b.md#h)"},
		{name: "own links", names: []string{"d/a.md", "d/b.md", "p.png"}, from: "d/a.md", to: "d/e/a.md", file: "d/a.md", text: "[x](b.md) ![p](../p.png) [s](#h) [m](a.md)", want: "[x](../b.md) ![p](../../p.png) [s](#h) [m](a.md)"},
		{name: "inside a moved folder", names: []string{"d/a.md", "d/b.md", "c.md"}, from: "d", to: "e/f", file: "d/a.md", text: "[x](b.md) [y](../c.md) [[b]]", want: "[x](b.md) [y](../../c.md) [[b]]"},
		{name: "into a moved folder", names: []string{"d/a.md", "d/b.md", "c.md"}, from: "d", to: "e", file: "c.md", text: "[x](d/a.md) [y](d/) [z](d) ![[b]]", want: "[x](e/a.md) [y](e/) [z](e) ![[b]]"},
		{name: "without extension", names: []string{"a.md", "b.md"}, from: "b.md", to: "c.md", file: "a.md", text: "[x](b) [[b]]", want: "[x](b) [[c]]"},
		{name: "not there", names: []string{"a.md", "b.md"}, from: "b.md", to: "c.md", file: "a.md", text: "[x](d/b.md) [y](https://b.md) [z](//b.md) <b.md> [m](mailto:b.md)"},
		{name: "percent", names: []string{"a.md", "my note.md"}, from: "my note.md", to: "new name.md", file: "a.md", text: "[x](my%20note.md)", want: "[x](new%20name.md)"},
		{name: "angle", names: []string{"a.md", "my note.md"}, from: "my note.md", to: "new name.md", file: "a.md", text: "[x](<my note.md> 't')", want: "[x](<new name.md> 't')"},
		{name: "angle with percent", names: []string{"a.md", "my note.md"}, from: "my note.md", to: "new name.md", file: "a.md", text: "[x](<my%20note.md>)", want: "[x](<new%20name.md>)"},
		{name: "needs escapes now", names: []string{"a.md", "b.md"}, from: "b.md", to: "my (new note.md", file: "a.md", text: "[x](b.md)", want: `[x](my%20\(new%20note.md)`},
		{name: "wide", names: []string{"a.md", "夜.md"}, from: "夜.md", to: "夜 路.md", file: "a.md", text: "[x](夜.md) [y](%E5%A4%9C.md)", want: "[x](夜%20路.md) [y](%E5%A4%9C%20%E8%B7%AF.md)"},
		{name: "percent in the name", names: []string{"a.md", "100%.md", "c%20d.md"}, from: "100%.md", to: "50%20.md", file: "a.md", text: "[x](100%.md) [y](100%25.md) [z](c%20d.md)", want: "[x](50%2520.md) [y](50%2520.md) [z](c%20d.md)"},
		{name: "hash in the name", names: []string{"a.md", "c#.md"}, from: "c#.md", to: "d#?.md", file: "a.md", text: "[x](c%23.md#h)", want: "[x](d%23%3F.md#h)"},
		{name: "escapes", names: []string{"a.md", "b(c.md", "b&c.md"}, from: "b(c.md", to: "d(c.md", file: "a.md", text: `[x](b\(c.md) [y](b&amp;c.md)`, want: `[x](d\(c.md) [y](b&amp;c.md)`},
		{name: "D5 Windows path", names: []string{"a.md", "sub/note.md"}, from: "sub/note.md", to: "sub/dir/_n.md", file: "a.md", text: `[x](sub\note.md) [y](.\sub\note.md)`, want: `[x](sub\dir\\_n.md) [y](.\sub\dir\\_n.md)`},
		{name: "D5 drive", names: []string{"a.md", "b.md"}, from: "b.md", to: "c.md", file: "a.md", text: `[x](C:\b.md) [y](C:/b.md) [z](\\host\b.md) [f](file:///b.md)`},
		{name: "D5 prefix is no parent", names: []string{"a.md", "notes/b.md", "notes-private/b.md"}, from: "notes", to: "n", file: "a.md", text: "[x](notes-private/b.md) [y](notes/b.md)", want: "[x](notes-private/b.md) [y](n/b.md)"},
		{name: "D5 outside", names: []string{"d/a.md", "b.md"}, from: "d/a.md", to: "a.md", file: "d/a.md", text: "[x](../../b.md) [y](../../../c.md)", want: "[x](../b.md) [y](../../c.md)"},
		{name: "D5 dots in a name", names: []string{"a.md", "..hello/c.md"}, from: "..hello/c.md", to: "..hello/d.md", file: "a.md", text: "[x](..hello/c.md)", want: "[x](..hello/d.md)"},
		{name: "colon", names: []string{"a.md", "b.md"}, from: "b.md", to: "b:c.md", file: "a.md", text: "[x](b.md) [y](./b.md)", want: "[x](b%3Ac.md) [y](./b:c.md)"},
		{name: "case on Linux", names: []string{"a.md", "Note.md"}, from: "Note.md", to: "x.md", file: "a.md", text: "[x](note.md) [[note]]", want: "[x](note.md) [[x]]"},
		{name: "case elsewhere", names: []string{"a.md", "Note.md"}, from: "Note.md", to: "x.md", file: "a.md", text: "[x](note.md) [[note]]", want: "[x](x.md) [[x]]", fold: true},
		{name: "case alone", names: []string{"a.md", "note.md"}, from: "note.md", to: "Note.md", file: "a.md", text: "[x](note.md) [[note]]", want: "[x](Note.md) [[note]]"},
		{name: "composed", names: []string{"a.md", "cafe\u0301.md"}, from: "cafe\u0301.md", to: "x.md", file: "a.md", text: "[[caf\u00e9]]", want: "[[x]]"},
		{name: "wikilink keeps", names: []string{"a.md", "d/b.md"}, from: "d/b.md", to: "e/f/b.md", file: "a.md", text: "[[b]] [[b#h|x]] ![[b]]"},
		{name: "wikilink parts", names: []string{"a.md", "d/b.md"}, from: "d/b.md", to: "e/c.md", file: "a.md", text: "[[b]] [[b#h|x]] ![[b.md|100]] [[d/b]] [[ /d/b | y ]]", want: "[[c]] [[c#h|x]] ![[c.md|100]] [[e/c]] [[ /e/c | y ]]"},
		{name: "wikilink in a table", names: []string{"a.md", "b.md"}, from: "b.md", to: "c.md", file: "a.md", text: "| x |\n| - |\n| [[b\\|y]] |", want: "| x |\n| - |\n| [[c\\|y]] |"},
		{name: "wikilink gets longer", names: []string{"a.md", "d/b.md", "e/c.md"}, from: "d/b.md", to: "d/c.md", file: "a.md", text: "[[b]] [[c]]", want: "[[d/c]] [[e/c]]"},
		{name: "wikilink at the top", names: []string{"d/a.md", "d/c.md", "b.md"}, from: "b.md", to: "c.md", file: "d/a.md", text: "[[b]] [[c]]", want: "[[/c]] [[c]]"},
		{name: "wikilink of the own folder", names: []string{"d/a.md", "d/b.md", "b.md"}, from: "d/a.md", to: "a.md", file: "d/a.md", text: "[[b]]", want: "[[d/b]]"},
		{name: "ambiguous", names: []string{"a.md", "d/b.md", "e/b.md"}, from: "d/b.md", to: "d/c.md", file: "a.md", text: "[[b]] [[e/b]]", left: 1},
		{name: "ambiguous elsewhere", names: []string{"a.md", "d/b.md", "e/b.md", "x.md"}, from: "x.md", to: "y.md", file: "a.md", text: "[[b]] [[x]]", want: "[[b]] [[y]]"},
		{name: "no wikilink can say it", names: []string{"a.md", "b.md"}, from: "b.md", to: "b#c.md", file: "a.md", text: "[[b]] [x](b.md)", want: "[[b]] [x](b%23c.md)", left: 1},
		{name: "picture", names: []string{"a.md", "p.png"}, from: "p.png", to: "i/q.png", file: "a.md", text: "![](p.png) ![[p.png]] <img src=\"p.png\"> <img src=p.png>", want: "![](i/q.png) ![[q.png]] <img src=\"i/q.png\"> <img src=i/q.png>"},
		{name: "attribute", names: []string{"a.md", "b.md"}, from: "b.md", to: `b "c" 'd' = e.md`, file: "a.md", text: `<a href="b.md"> <a href='b.md'> <a href=b.md>`, want: `<a href="b %22c%22 'd' = e.md"> <a href='b %22c%22 &#39;d&#39; = e.md'> <a href=b%20%22c%22%20%27d%27%20%3D%20e.md>`},
		{name: "a dollar that closes", names: []string{"a.md", "b.md"}, from: "b.md", to: "b$.md", file: "a.md", text: "$5 [x](b.md)", want: "$5 [x](b%24.md)"},
		{name: "a backtick that closes", names: []string{"a.md", "b.md"}, from: "b.md", to: "b`.md", file: "a.md", text: "` [x](b.md)", want: "` [x](b%60.md)"},
		{name: "other editions stay", names: []string{"a.md", "b.md"}, from: "b.md", to: "c.md", file: "a.md", text: "`[x](b.md)`\n\n    [x](b.md)\n\n<!-- [x](b.md) -->\n\n[x](b.md)", want: "`[x](b.md)`\n\n    [x](b.md)\n\n<!-- [x](b.md) -->\n\n[x](c.md)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := shape(c.fold, c.names...)
			m := move{c.from, c.to}
			then := now.moved(m)
			got := relink(now, then, m, c.file, c.text)
			after, err := text.Apply(c.text, got.edits)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want == "" {
				want = c.text
			}
			if after != want || got.left != c.left {
				t.Errorf("got  %s (%d left)\nwant %s (%d left)", after, got.left, want, c.left)
			}
			if c.want != "" && !m.moves(c.file) && !mayLink(c.text, needles(now, m)) {
				t.Error("the filter leaves it out")
			}
		})
	}
}

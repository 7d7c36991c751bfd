package tools

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"galley/backend/workspace"
)

// listed is a folder's tree as far as it was listed.
type listed struct {
	root *branch
	// files and folders count what is in it. left counts entries past the
	// limit, unread folders that could not be opened, deep those not looked
	// into.
	files, folders     int
	left, unread, deep int
}

// branch is one folder of a tree.
type branch struct {
	name    string
	folders []*branch
	files   []string
}

// listTree lists a folder level by level, so that where not all fits what is
// near the top is there. It follows no link, and leaves out the folders, by
// their paths from the top, that aside holds; nil for none.
func listTree(ctx context.Context, permit workspace.Folder, aside func(rel string) bool) (*listed, error) {
	root, err := permit.Walk()
	if err != nil {
		return nil, err
	}
	t := &listed{root: &branch{}}
	type level struct {
		*workspace.Level
		at  *branch
		rel string
	}
	now := []level{{root, t.root, ""}}
	closeAll := func(levels []level) {
		for _, l := range levels {
			l.Close()
		}
	}
	for depth := 0; len(now) > 0; depth++ {
		var next []level
		for i, l := range now {
			if ctx.Err() != nil {
				closeAll(now[i:])
				closeAll(next)
				return nil, stopped(ctx)
			}
			items, err := l.Items()
			if err != nil && depth == 0 {
				l.Close()
				return nil, err
			}
			if err != nil {
				t.unread++
			}
			slices.SortFunc(items, func(a, b workspace.Item) int { return workspace.CompareNames(a.Name, b.Name) })
			for _, item := range items {
				switch {
				case item.Ignored, !utf8.ValidString(item.Name):
					// No path could name the latter.
				case item.Folder && aside != nil && aside(path.Join(l.rel, item.Name)):
				case t.files+t.folders >= listLimit:
					t.left++
				case !item.Folder:
					t.files++
					l.at.files = append(l.at.files, item.Name)
				default:
					t.folders++
					b := &branch{name: item.Name}
					l.at.folders = append(l.at.folders, b)
					if depth+1 >= listDepth {
						t.deep++
						continue
					}
					sub, err := l.Open(item.Name)
					if err != nil {
						t.unread++
						continue
					}
					next = append(next, level{sub, b, path.Join(l.rel, item.Name)})
				}
			}
			l.Close()
		}
		now = next
		if t.files+t.folders >= listLimit {
			// What is inside of those is left out whole.
			t.deep += len(now)
			closeAll(now)
			now = nil
		}
	}
	return t, nil
}

// lines are the entries in the order of the person's tree, with their paths
// relative to the workspace.
func (t *listed) lines(rel string) []string {
	if rel != "" {
		rel += "/"
	}
	var out []string
	var add func(b *branch, at string)
	add = func(b *branch, at string) {
		for _, f := range b.folders {
			p := at + f.name + "/"
			out = append(out, visible(p))
			add(f, p)
		}
		for _, f := range b.files {
			out = append(out, visible(at+f))
		}
	}
	add(t.root, rel)
	return out
}

// notice says what is not listed; "" for nothing.
func (t *listed) notice() string {
	var say []string
	if t.left > 0 {
		say = append(say, fmt.Sprintf("Not listed: %s more.", count(t.left, "entry")))
	}
	if t.deep > 0 {
		say = append(say, fmt.Sprintf("Not looked into: %s; list one by its path.", count(t.deep, "folder")))
	}
	if t.unread > 0 {
		say = append(say, fmt.Sprintf("Not readable: %s.", count(t.unread, "folder")))
	}
	return strings.Join(say, " ")
}

package search

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"galley/backend/workspace"
)

// tree is the files that a search or an index is about, in the order of the
// tree that a person sees: folders first, then files, both in natural order.
type tree struct {
	root *node
	// files lists them in order.
	files []leaf
	// tooDeep counts folders below the limit, unread those that could not be
	// listed.
	tooDeep, unread int
	// unsaved holds the texts that stand in for files, by their place.
	unsaved map[leaf]string
}

// leaf is one file.
type leaf struct {
	in   *node
	name string
}

// rel is the path relative to the workspace, with slashes.
func (l leaf) rel() string { return join(l.in.rel, l.name) }

// node is one folder.
type node struct {
	parent *node
	name   string
	// rel is relative to the workspace, with slashes; "" for itself.
	rel   string
	depth int
	// included says that a glob takes all files inside.
	included bool
	files    []string
	subs     []*node

	// mu guards what follows. level is nil while the folder is not open; uses
	// counts what keeps it open: first folders inside that are to be opened,
	// then files that are to be read.
	mu    sync.Mutex
	level *workspace.Level
	uses  int
}

// maxKept is how many folders are kept open from listing to reading.
const maxKept = 400

// lister lists a tree with several goroutines.
type lister struct {
	globs globs
	depth int // negative for any
	read  bool

	// mu guards what follows; more is signalled when something is waiting or
	// all is done.
	mu      sync.Mutex
	more    sync.Cond
	waiting []*node
	busy    int
	kept    int
	result  *tree
}

// listTree lists the folder down to a depth, negative for any. A failure to
// open it is the error; folders inside that cannot be listed are counted. The
// caller closes the tree, of which some folders are kept open where its files
// are to be read.
func listTree(ctx context.Context, folder workspace.Folder, g globs, depth, workers int, read bool) (*tree, error) {
	level, err := folder.Walk()
	if err != nil {
		return nil, err
	}
	l := &lister{globs: g, depth: depth, read: read, result: &tree{root: &node{level: level, uses: 1}}}
	l.more.L = &l.mu
	if err := l.list(l.result.root); err != nil {
		level.Close()
		return nil, err
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { l.work(ctx) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		l.result.close()
		return nil, err
	}
	l.result.order()
	return l.result, nil
}

func (l *lister) work(ctx context.Context) {
	for {
		l.mu.Lock()
		for len(l.waiting) == 0 && l.busy > 0 {
			l.more.Wait()
		}
		if len(l.waiting) == 0 || ctx.Err() != nil {
			l.mu.Unlock()
			l.more.Broadcast()
			return
		}
		last := len(l.waiting) - 1
		n := l.waiting[last]
		l.waiting = l.waiting[:last]
		l.busy++
		l.mu.Unlock()

		level, err := n.parent.level.Open(n.name)
		if err == nil {
			n.level = level
			err = l.list(n)
		}
		n.parent.letGo()

		l.mu.Lock()
		l.busy--
		if err != nil {
			l.result.unread++
		}
		l.mu.Unlock()
		l.more.Broadcast()
	}
}

// list reads the entries of a folder that is open, and queues the folders
// inside.
func (l *lister) list(n *node) error {
	items, err := n.level.Items()
	if err != nil {
		n.level.Close()
		n.level = nil
		return err
	}
	deep := 0
	for _, item := range items {
		if item.Ignored {
			continue
		}
		rel := join(n.rel, item.Name)
		switch {
		case !utf8.ValidString(item.Name):
			// No page could name it.
			l.countUnread()
		case !item.Folder:
			if l.globs.takes(rel, n.included) {
				n.files = append(n.files, item.Name)
			}
		case l.globs.skips(rel):
		case l.depth >= 0 && n.depth >= l.depth:
			deep++
		default:
			n.subs = append(n.subs, n.sub(item.Name, l.globs))
		}
	}
	slices.SortFunc(n.files, compareNames)
	slices.SortFunc(n.subs, func(a, b *node) int { return compareNames(a.name, b.name) })

	l.mu.Lock()
	l.result.tooDeep += deep
	keep := l.read && len(n.files) > 0 && l.kept < maxKept
	if keep {
		l.kept++
	}
	l.mu.Unlock()

	n.mu.Lock()
	n.uses += len(n.subs)
	if keep {
		n.uses++
	}
	n.mu.Unlock()

	l.mu.Lock()
	l.waiting = append(l.waiting, n.subs...)
	l.mu.Unlock()
	l.more.Broadcast()
	if n.parent != nil {
		n.letGo() // that of its listing
	}
	return nil
}

func (l *lister) countUnread() {
	l.mu.Lock()
	l.result.unread++
	l.mu.Unlock()
}

// sub returns a new folder of n; its listing is its first use.
func (n *node) sub(name string, g globs) *node {
	rel := join(n.rel, name)
	return &node{parent: n, name: name, rel: rel, depth: n.depth + 1, included: n.included || g.includes(rel), uses: 1}
}

// letGo ends one use and closes the folder after the last.
func (n *node) letGo() {
	n.mu.Lock()
	n.uses--
	var level *workspace.Level
	if n.uses <= 0 {
		level, n.level = n.level, nil
	}
	n.mu.Unlock()
	if level != nil {
		level.Close()
	}
}

// open returns the folder opened. It stays so until letGo was called for every
// file that plan counted.
func (n *node) open(root *node) (*workspace.Level, error) {
	n.mu.Lock()
	level := n.level
	n.mu.Unlock()
	if level != nil || n.rel == "" {
		return level, nil
	}
	// It was not kept: step down from the root, which always is.
	at := root.level
	for name := range strings.SplitSeq(n.rel, "/") {
		next, err := at.Open(name)
		if at != root.level {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	n.mu.Lock()
	if level = n.level; level == nil {
		n.level = at
	}
	n.mu.Unlock()
	if level != nil { // another goroutine was first
		at.Close()
		return level, nil
	}
	return at, nil
}

// plan cuts the list of files to limit, negative for none, returns how many
// that left out, and closes the folders that are not read from.
func (t *tree) plan(limit int) (left int) {
	if limit >= 0 && len(t.files) > limit {
		left = len(t.files) - limit
		t.files = t.files[:limit]
	}
	t.visit(t.root, func(n *node) { n.uses = 0 })
	for _, l := range t.files {
		l.in.uses++
	}
	t.root.uses++ // others are found from it
	t.visit(t.root, func(n *node) {
		if n.uses == 0 {
			n.letGo()
		}
	})
	return left
}

// visit calls do for n and all inside, the insides first.
func (t *tree) visit(n *node, do func(*node)) {
	for _, sub := range n.subs {
		t.visit(sub, do)
	}
	do(n)
}

// order lists all files in order.
func (t *tree) order() {
	count := 0
	t.visit(t.root, func(n *node) { count += len(n.files) })
	t.files = make([]leaf, 0, count)
	t.visit(t.root, func(n *node) {
		for _, name := range n.files {
			t.files = append(t.files, leaf{n, name})
		}
	})
}

// standIn puts the texts of unsaved documents, by their absolute paths, in the
// place of their files, and adds those whose file is not there.
func (t *tree) standIn(texts map[string]string, folder workspace.Folder, g globs, depth int) {
	t.unsaved = map[leaf]string{}
	added := false
	for path, s := range texts {
		rel, err := filepath.Rel(folder.Path(), path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		rel = filepath.ToSlash(rel)
		parts := strings.Split(rel, "/")
		if slices.ContainsFunc(parts, folder.Ignored) || depth >= 0 && len(parts)-1 > depth || !g.takesPath(rel) {
			continue
		}
		n := t.root
		for _, name := range parts[:len(parts)-1] {
			at, found := slices.BinarySearchFunc(n.subs, name, func(sub *node, name string) int { return compareNames(sub.name, name) })
			if !found {
				n.subs = slices.Insert(n.subs, at, n.sub(name, g))
			}
			n = n.subs[at]
		}
		l := leaf{n, parts[len(parts)-1]}
		if at, found := slices.BinarySearchFunc(n.files, l.name, compareNames); !found {
			n.files = slices.Insert(n.files, at, l.name)
			added = true
		}
		t.unsaved[l] = s
	}
	if added {
		t.order()
	}
}

// close lets go of every folder that is still open. Nothing else may use the
// tree any more.
func (t *tree) close() {
	t.visit(t.root, func(n *node) {
		n.uses = 0
		n.letGo()
	})
}

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// compareNames orders names as the tree does: digits by their number, letters
// without regard to case, by code point where nothing else tells two apart. It
// is what workspace has, made quick for ASCII.
func compareNames(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		switch {
		case x >= utf8.RuneSelf || y >= utf8.RuneSelf:
			return workspace.CompareNames(a, b)
		case isDigit(x) && isDigit(y):
			m, n := digits(a[i:]), digits(b[j:])
			if c := compareNumbers(a[i:i+m], b[j:j+n]); c != 0 {
				return c
			}
			i, j = i+m, j+n
		default:
			if x, y = lower(x), lower(y); x != y {
				return int(x) - int(y)
			}
			i, j = i+1, j+1
		}
	}
	if c := (len(a) - i) - (len(b) - j); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

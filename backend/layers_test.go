// Package backend_test holds the rules that no single package can test.
package backend_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "galley/"

// allowed lists for each package of backend what else of the project it may
// import. Imports point down only; a package that is not listed is a mistake.
var allowed = map[string][]string{
	"fault":                    {},
	"text":                     {"fault"},
	"text/vectors":             {"text", "fault"},
	"markdown":                 {"text", "fault"},
	"rpc":                      {"fault"},
	"proc":                     {"fault"},
	"workspace":                {"text", "fault"},
	"workspace/filefault":      {"workspace", "fault"},
	"settings":                 {"workspace", "fault"},
	"attach":                   {"agent/host", "agent/core", "agent/wire", "agent/feed", "rpc", "settings", "workspace", "fault"},
	"credential":               {"credential/nolaunch", "workspace", "fault"},
	"credential/nolaunch":      {},
	"document":                 {"workspace", "text", "fault"},
	"search":                   {"workspace", "text", "fault"},
	"reviewed":                 {"document", "search", "workspace", "markdown", "text", "fault"},
	"agent/core":               {"text", "fault"},
	"agent/wire":               {"agent/core", "fault"},
	"agent/feed":               {"agent/core"},
	"agent/crash":              {},
	"agent/resolve":            {"agent/core", "text", "fault"},
	"provider":                 {"agent/core", "agent/wire", "fault"},
	"provider/openaichat":      {"provider", "provider/dialect", "agent/core", "agent/crash", "agent/wire", "fault"},
	"provider/openairesponses": {"provider", "provider/dialect", "agent/core", "agent/crash", "agent/wire", "fault"},
	"provider/anthropic":       {"provider", "provider/dialect", "agent/core", "agent/crash", "agent/wire", "fault"},
	"provider/gemini":          {"provider", "provider/dialect", "agent/core", "agent/crash", "agent/wire", "fault"},
	"provider/dialect":         {"provider", "agent/core", "fault"},
	"provider/streamtest":      {"provider", "provider/dialect", "agent/core", "fault"},
	"provider/endpoint": {
		"provider", "provider/dialect", "provider/openaichat", "provider/openairesponses", "provider/anthropic", "provider/gemini", "provider/scripted", "provider/streamtest", "agent/core", "fault",
	},
	"network":           {"fault"},
	"network/proxytest": {},
	"provider/scripted": {"provider", "agent/core", "agent/crash", "agent/wire", "fault"},
	"agent/loop":        {"agent/core", "agent/crash", "agent/feed", "agent/resolve", "provider", "text", "fault"},
	"agent/store":       {"agent/core", "agent/crash", "text", "fault"},
	"agent/runner": {
		"agent/core", "agent/wire", "agent/feed", "agent/crash", "agent/loop", "agent/store", "rpc", "provider", "provider/dialect", "provider/endpoint", "text", "fault",
	},
	"agent/host": {"agent/core", "agent/crash", "agent/wire", "agent/feed", "rpc", "proc", "document", "workspace", "credential", "settings", "text", "fault"},
	"agent/task": {"agent/core", "agent/wire", "provider", "provider/endpoint", "network", "credential", "settings", "document", "workspace", "markdown", "text", "fault"},
	"agent/tools": {
		"agent/core", "agent/crash", "agent/wire", "agent/resolve", "document", "search", "reviewed", "workspace", "markdown", "text", "fault",
	},
	"cli": {
		"agent/runner", "agent/host", "agent/tools", "agent/task", "agent/core", "agent/feed", "agent/wire", "attach", "document", "search", "workspace", "credential", "network", "settings", "text", "fault",
	},
	"api": {
		"agent/host", "agent/tools", "agent/task", "agent/core", "agent/crash", "agent/wire", "attach", "document", "search", "reviewed", "workspace", "settings", "credential", "markdown", "provider", "provider/endpoint", "network", "text", "fault",
	},
	"bench":        {},
	"bench/search": {"bench", "search", "workspace"},
	"bench/host":   {"bench", "agent/host", "agent/runner", "agent/store", "agent/core", "agent/wire", "agent/feed", "provider/scripted", "rpc", "fault"},
	"bench/save":   {"bench", "document", "workspace", "text", "fault"},
	"api/tsgen":    {"api", "agent/core", "text", "fault"},
}

// homes gives each third-party module its one home; main is "".
var homes = map[string][]string{
	"github.com/wailsapp/":             {""},
	"modernc.org/":                     {"agent/store"},
	"github.com/99designs/keyring":     {"credential"},
	"github.com/godbus/dbus":           {"credential", "workspace", "network"},
	"github.com/sourcegraph/jsonrpc2":  {"rpc"},
	"github.com/yuin/goldmark":         {"markdown", "export"},
	"github.com/fsnotify/fsnotify":     {"workspace"},
	"gopkg.in/natefinch/lumberjack.v2": {""},
	"github.com/rivo/uniseg":           {"text", "agent/loop", "agent/resolve", "agent/tools", "provider/scripted", "search"},
	"github.com/bmatcuk/doublestar":    {"search"},
	"golang.org/x/text":                {"text", "agent/resolve"},
}

// source is one parsed file and the package folder it lies in, relative to
// backend; "" is package main.
type source struct {
	pkg, name string
	test      bool
	file      *ast.File
	fset      *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var all []source
	fset := token.NewFileSet()
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "node_modules" || d.Name() == "testdata" || rel == "build" {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && rel != "." {
				return fs.SkipDir // a module of its own, which the program cannot import
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		file, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(rel)
		pkg, inside := strings.CutPrefix(dir, "backend/")
		switch {
		case dir == ".":
			pkg = ""
		case dir == "backend":
			return nil
		case !inside:
			t.Errorf("%s lies outside of backend", rel)
		}
		all = append(all, source{pkg: pkg, name: rel, test: strings.HasSuffix(p, "_test.go"), file: file, fset: fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found %d files only", len(all))
	}
	return all
}

func TestLayers_ImportsPointDown(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.pkg == "" {
			continue
		}
		may, known := allowed[s.pkg]
		if !known {
			t.Errorf("%s: package %s has no row in the table", s.name, s.pkg)
			continue
		}
		for _, imp := range s.file.Imports {
			p := strings.Trim(imp.Path.Value, `"`)
			if own, ok := strings.CutPrefix(p, module+"backend/"); ok && !slices.Contains(may, own) {
				t.Errorf("%s imports %s, which %s may not", s.name, own, s.pkg)
			}
		}
	}
}

func TestLayers_EachModuleHasOneHome(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, imp := range s.file.Imports {
			p := strings.Trim(imp.Path.Value, `"`)
			for prefix, pkgs := range homes {
				if strings.HasPrefix(p, prefix) && !slices.Contains(pkgs, s.pkg) {
					t.Errorf("%s imports %s, whose home is %q", s.name, p, pkgs)
				}
			}
		}
	}
}

// TestLayers_NoInitNoGlobals: no func init and no package-level variable that
// is assigned to after its declaration.
func TestLayers_NoInitNoGlobals(t *testing.T) {
	packages := map[string][]*ast.File{}
	all := sources(t)
	for _, s := range all {
		if s.test {
			continue
		}
		packages[s.pkg] = append(packages[s.pkg], s.file)
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has a func init", s.name)
			}
		}
	}
	fset := all[0].fset
	found := 0
	for pkg, files := range packages {
		uses := map[*ast.Ident]types.Object{}
		// What is imported is not looked at and the files of all systems are
		// read together, so that there are errors; names of the package itself
		// are found all the same.
		conf := types.Config{Error: func(error) {}}
		checked, _ := conf.Check("galley/"+pkg, fset, files, &types.Info{Uses: uses})
		for _, name := range checked.Scope().Names() {
			if _, ok := checked.Scope().Lookup(name).(*types.Var); ok {
				found++
			}
		}
		written := func(e ast.Expr) {
			id, ok := ast.Unparen(e).(*ast.Ident)
			if !ok {
				return
			}
			if v, ok := uses[id].(*types.Var); ok && v.Parent() == checked.Scope() {
				t.Errorf("%s assigns to the package variable %s", fset.Position(id.Pos()), id.Name)
			}
		}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, l := range n.Lhs {
						written(l)
					}
				case *ast.IncDecStmt:
					written(n.X)
				case *ast.RangeStmt:
					if n.Tok == token.ASSIGN {
						written(n.Key)
						written(n.Value)
					}
				}
				return true
			})
		}
	}
	if found == 0 {
		t.Error("no package variable was found: the check no longer sees them")
	}
}

// TestLayers_GrantsAreMadeInFewPlaces: a grant comes from a gesture of a
// person, which only app.go, the dialog paths of api and the command line see
// (F7).
//
// covers: F7
func TestLayers_GrantsAreMadeInFewPlaces(t *testing.T) {
	grants := []string{"GrantFile", "GrantFolder", "GrantSave"}
	places := []string{"app.go", "backend/api/dialog.go", "backend/agent/task/grant.go"}
	used := 0
	for _, s := range sources(t) {
		// Benchmarks are no part of the program and open folders of their own.
		if s.test || s.pkg == "workspace" || strings.HasPrefix(s.pkg, "bench/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(grants, sel.Sel.Name) {
				return true
			}
			used++
			if !slices.Contains(places, s.name) {
				t.Errorf("%s calls %s", s.fset.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
	if used == 0 {
		t.Error("nothing grants anything: the rule no longer names the right functions")
	}
}

func TestLayers_EveryPackageHasOneComment(t *testing.T) {
	comments := map[string][]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if _, ok := comments[s.pkg]; !ok {
			comments[s.pkg] = nil
		}
		if s.file.Doc != nil && !strings.HasPrefix(s.file.Doc.Text(), "go:build") {
			comments[s.pkg] = append(comments[s.pkg], s.name)
		}
	}
	for pkg, names := range comments {
		if len(names) != 1 {
			t.Errorf("package %q has %d package comments: %v", pkg, len(names), names)
		}
	}
}

// TestLayers_NoReplace: go.mod builds from the published modules.
func TestLayers_NoReplace(t *testing.T) {
	data, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "replace ") {
		t.Error("go.mod replaces a module")
	}
}

package attach

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"galley/backend/agent/core"
)

// constants returns the string constants of a folder whose name begins so.
func constants(t *testing.T, folder string, prefixes ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	try(t, err)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		try(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, id := range spec.Names {
				for _, prefix := range prefixes {
					if !strings.HasPrefix(id.Name, prefix) || i >= len(spec.Values) {
						continue
					}
					if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						out[id.Name], _ = strconv.Unquote(lit.Value)
					}
				}
			}
			return true
		})
	}
	return out
}

// fields returns the JSON names of the fields of every struct of a folder's
// files whose name does not say that it is a test.
func fields(t *testing.T, folder string, only func(string) bool) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	try(t, err)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		try(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !only(spec.Name.Name) {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if field.Tag == nil {
					continue
				}
				tag, _ := strconv.Unquote(field.Tag.Value)
				if _, rest, ok := strings.Cut(tag, `json:"`); ok {
					json, _, _ := strings.Cut(rest, `"`)
					json, _, _ = strings.Cut(json, ",")
					if json != "-" && json != "" {
						out[spec.Name.Name] = append(out[spec.Name.Name], json)
					}
				}
			}
			return true
		})
	}
	return out
}

// docs/PROTOCOL.md names every method, notification, event, state and field, so
// that a client can be written from it alone.
//
// covers: R5
func TestProtocol_IsWrittenDown(t *testing.T) {
	b, err := os.ReadFile("../../docs/PROTOCOL.md")
	try(t, err)
	doc := string(b)
	names := func(name string) bool {
		for rest := doc; ; {
			i := strings.Index(rest, name)
			if i < 0 {
				return false
			}
			after := rest[i+len(name):]
			if after == "" || !strings.ContainsAny(after[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") {
				return true
			}
			rest = after
		}
	}
	methods := constants(t, "../agent/wire", "Method", "Notify")
	events := constants(t, "../agent/core", "Event")
	states := constants(t, "../agent/core", "Run", "Call", "Approval", "Phase", "Verdict", "Proposal", "Artifact", "Perm", "Tool", "Usage")
	if len(methods) < 30 || len(events) < 20 || len(states) < 40 {
		t.Fatalf("found %d methods, %d events, %d states", len(methods), len(events), len(states))
	}
	development := core.DevelopmentTools()
	for _, set := range []map[string]string{methods, events, states} {
		for constant, value := range set {
			if value == development[0] || value == development[1] {
				continue
			}
			if !names("`"+value) && !names(value) {
				t.Errorf("%s (%q) is not named", constant, value)
			}
		}
	}
	wire := fields(t, "../agent/wire", func(string) bool { return true })
	kept := fields(t, "../agent/core", func(name string) bool {
		switch name {
		case "Envelope", "ToolSpec", "Request", "Delta", "Answer", "AnswerCall", "History", "RewriteInput":
			return false // they never cross
		}
		return true
	})
	if len(wire) < 30 || len(kept) < 20 {
		t.Fatalf("found %d and %d types", len(wire), len(kept))
	}
	for _, set := range []map[string][]string{wire, kept} {
		for name, list := range set {
			for _, field := range list {
				if !names(field) {
					t.Errorf("%s.%s is not named", name, field)
				}
			}
		}
	}
}

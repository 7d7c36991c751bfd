package core

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"galley/backend/fault"
)

// Tool declares one tool. Its function lives with the host, which executes
// every tool, under the same name. A Tool has no field that says whether it
// asks: that follows from Kind, so a write tool that does not ask cannot be
// expressed (T1).
type Tool struct {
	Name        string
	Kind        ToolKind
	Permission  Permission
	Description string
	Input       Schema
}

// toolName is what every provider accepts as the name of a tool.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Spec returns what a model is told of the tool.
func (t Tool) Spec() ToolSpec {
	return ToolSpec{Name: t.Name, Description: t.Description, InputSchema: t.Input.JSON()}
}

// Registry holds the tools there are, in the order they were given. The zero
// value holds none. It is immutable.
type Registry struct {
	tools []Tool
}

// NewRegistry returns a registry of these tools. A name that is not allowed or
// given twice, a permission that does not fit the kind, a missing description
// and a schema outside the subset are invalid_input.
func NewRegistry(tools ...Tool) (Registry, error) {
	var r Registry
	for _, t := range tools {
		if err := r.check(t); err != nil {
			return Registry{}, &fault.Error{
				Code: fault.InvalidInput, Op: "register tool", Detail: t.Name, Err: err,
			}
		}
		r.tools = append(r.tools, t)
	}
	return r, nil
}

func (r Registry) check(t Tool) error {
	if !toolName.MatchString(t.Name) {
		return fmt.Errorf("name does not match %s", toolName)
	}
	if _, ok := r.Tool(t.Name); ok {
		return fmt.Errorf("name is taken")
	}
	if !t.Kind.Valid() {
		return fmt.Errorf("kind %q is not known", t.Kind)
	}
	if !t.Permission.allows(t.Kind) {
		return fmt.Errorf("permission %q does not fit kind %q", t.Permission, t.Kind)
	}
	if t.Description == "" {
		return fmt.Errorf("description is empty")
	}
	return t.Input.check("")
}

// Tool returns the tool of this name.
func (r Registry) Tool(name string) (Tool, bool) {
	i := slices.IndexFunc(r.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return r.tools[i], true
}

// Specs returns what a model is told: the tools whose names are allowed, in
// the registry's order. The slice is the caller's own and never nil.
func (r Registry) Specs(allowed []string) []ToolSpec {
	specs := []ToolSpec{}
	for _, t := range r.tools {
		if slices.Contains(allowed, t.Name) {
			specs = append(specs, t.Spec())
		}
	}
	return specs
}

// Judgement is what a proposed call comes to before anything happens.
type Judgement struct {
	// Tool is the one called.
	Tool Tool
	// Input is normalised; see Schema.Normalise.
	Input json.RawMessage
	// Digest is the SHA-256 of Input; an approval is bound to it (T5).
	Digest [32]byte
	// Verdict is allow or confirm; a denied call is an error.
	Verdict Verdict
	// Confirmation says how a call with verdict confirm is confirmed.
	Confirmation Confirmation
}

// Judge judges a call that a model made in a run that may use the allowed
// tools only (T8). Granted says that the person allowed this tool for the
// session. Errors are *fault.Error: not_found for a tool that does not exist
// or was not named when the run started, invalid_input for arguments outside
// the schema, no_permission when the policy denies. Each is a result the model
// can go on from.
func (r Registry) Judge(p Policy, allowed []string, name string, input json.RawMessage, granted bool) (Judgement, error) {
	t, ok := r.Tool(name)
	if !ok || !slices.Contains(allowed, name) {
		return Judgement{}, &fault.Error{Code: fault.NotFound, Op: "judge tool call"}
	}
	v := p.Verdict(t.Kind, t.Permission, granted)
	if v == VerdictDeny {
		return Judgement{}, &fault.Error{Code: fault.NoPermission, Op: "judge tool call", Detail: string(t.Permission)}
	}
	norm, err := t.Input.Normalise(input)
	if err != nil {
		return Judgement{}, fmt.Errorf("judge tool call: %w", err)
	}
	return Judgement{
		Tool: t, Input: norm, Digest: InputDigest(norm), Verdict: v, Confirmation: t.Permission.Confirmation(),
	}, nil
}

package gemini

import (
	"encoding/json"
	"slices"

	"galley/backend/agent/core"
	"galley/backend/provider/dialect"
)

// The request as it goes out. Fields are in the order of the API's
// documentation.
type (
	generateRequest struct {
		Contents          []content         `json:"contents"`
		SystemInstruction *content          `json:"systemInstruction,omitempty"`
		Tools             []tool            `json:"tools,omitempty"`
		GenerationConfig  *generationConfig `json:"generationConfig,omitempty"`
	}
	content struct {
		// Role is "user" or "model"; empty for the instructions.
		Role  string            `json:"role,omitempty"`
		Parts []json.RawMessage `json:"parts"`
	}
	tool struct {
		FunctionDeclarations []declaration `json:"functionDeclarations"`
	}
	declaration struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		// Parameters is left out for a function without any.
		Parameters json.RawMessage `json:"parametersJsonSchema,omitempty"`
	}
	generationConfig struct {
		MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
		Temperature     *float64        `json:"temperature,omitempty"`
		ThinkingConfig  *thinkingConfig `json:"thinkingConfig,omitempty"`
	}

	textPart struct {
		Text    string `json:"text"`
		Thought bool   `json:"thought,omitempty"`
	}
	callPart struct {
		FunctionCall functionCall    `json:"functionCall"`
		Signature    json.RawMessage `json:"thoughtSignature,omitempty"`
	}
	functionCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	responsePart struct {
		FunctionResponse functionResponse `json:"functionResponse"`
	}
	functionResponse struct {
		ID       string   `json:"id,omitempty"`
		Name     string   `json:"name"`
		Response response `json:"response"`
	}
	// response has one of the two.
	response struct {
		Output *string `json:"output,omitempty"`
		Error  *string `json:"error,omitempty"`
	}
)

// encoded is a request that is ready.
type encoded struct {
	body     []byte
	names    dialect.Names
	optional []string
}

// encode builds the body of a request.
func (m *Model) encode(req core.Request) (encoded, error) {
	r := encoded{names: dialect.NewNames(req)}
	out := generateRequest{Contents: []content{}}
	var err error
	if out.Contents, out.SystemInstruction, err = m.contents(req, r.names); err != nil {
		return r, err
	}
	var functions []declaration
	for _, t := range req.Tools {
		functions = append(functions, declaration{
			Name: r.names.Wire(t.Name), Description: dialect.Scrub(t.Description), Parameters: schema(t.InputSchema),
		})
	}
	if functions != nil {
		out.Tools = []tool{{FunctionDeclarations: functions}}
	}
	out.GenerationConfig, r.optional = config(req)
	r.body, err = dialect.Marshal(out)
	return r, err
}

// config returns what is asked of the answer, without what the model is known
// to refuse, and the names of what is there; nil for nothing.
func config(req core.Request) (*generationConfig, []string) {
	var c generationConfig
	var sent []string
	if req.Temperature != nil && !slices.Contains(req.Refused, paramTemperature) {
		c.Temperature = req.Temperature
		sent = append(sent, paramTemperature)
	}
	if req.MaxOutputTokens > 0 && !slices.Contains(req.Refused, paramMaxOutput) {
		c.MaxOutputTokens = req.MaxOutputTokens
		sent = append(sent, paramMaxOutput)
	}
	if t := thinking(req); t != nil {
		c.ThinkingConfig = t
		if t.IncludeThoughts {
			sent = append(sent, paramThoughts)
		}
		if t.ThinkingLevel != "" {
			sent = append(sent, paramLevel)
		}
		if t.ThinkingBudget != nil {
			sent = append(sent, paramBudget)
		}
		sent = append(sent, paramThinking)
	}
	if c == (generationConfig{}) {
		return nil, nil
	}
	return &c, sent
}

// schema returns the JSON Schema of a function's parameters as the API takes
// it; nil for none. An object without properties is none, and the name of the
// standard is refused.
func schema(raw json.RawMessage) json.RawMessage {
	s := dialect.Object(raw)
	if s == nil {
		return nil
	}
	some := len(dialect.Object(s["properties"])) > 0
	for _, name := range []string{"$ref", "anyOf", "oneOf", "allOf", "additionalProperties"} {
		some = some || !dialect.IsNull(s[name]) && string(s[name]) != "false"
	}
	if !some {
		return nil
	}
	if s["$schema"] == nil {
		return dialect.ScrubEscapes(raw)
	}
	delete(s, "$schema")
	out, err := dialect.Marshal(s)
	if err != nil {
		return nil // it was read from JSON
	}
	return dialect.ScrubEscapes(out)
}

package oracle

import (
	"context"
	"encoding/json"
	"net/http"

	"google.golang.org/genai"

	"galley/backend/agent/core"
)

// geminiRequest is a request as the API has it. The SDK builds it in private, of
// these types.
type geminiRequest struct {
	Contents          []*genai.Content        `json:"contents,omitempty"`
	SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool           `json:"tools,omitempty"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
}

func readGemini(body []byte) ([]byte, error) {
	var req geminiRequest
	if err := strict(body, &req); err != nil {
		return nil, err
	}
	return json.Marshal(req)
}

// noEmptyArgs drops the arguments of a call that has none: the SDK leaves them
// out.
func noEmptyArgs(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if args, ok := v["args"].(map[string]any); ok && len(args) == 0 {
			delete(v, "args")
		}
		for name := range v {
			v[name] = noEmptyArgs(v[name])
		}
	case []any:
		for i := range v {
			v[i] = noEmptyArgs(v[i])
		}
	}
	return v
}

// unreadGemini are the requests whose word in place of a signature, which the
// vendor documents, the SDK does not take for base64: it is of the alphabet for
// URLs.
var unreadGemini = map[string]string{
	"gemini-3-pro-preview/calls":          "the word in place of a signature",
	"gemini-3-pro-preview/calls, then on": "the word in place of a signature",
	"gemini-3-pro-preview/call alone":     "the word in place of a signature",
	"gemini-3-pro-preview/tools gone":     "the word in place of a signature",
}

func streamGemini(ctx context.Context, base string, via *http.Client) (decoded, error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPClient: via,
		HTTPOptions: genai.HTTPOptions{BaseURL: base + "/"},
	})
	if err != nil {
		return decoded{}, err
	}
	var d decoded
	for res, err := range client.Models.GenerateContentStream(ctx, "fern-2", genai.Text("hello"), nil) {
		if err != nil {
			return decoded{}, err
		}
		if len(res.Candidates) > 0 && res.Candidates[0].Content != nil {
			for _, part := range res.Candidates[0].Content.Parts {
				switch {
				case part.FunctionCall != nil:
					args, err := json.Marshal(part.FunctionCall.Args)
					if err != nil {
						return decoded{}, err
					}
					if part.FunctionCall.Args == nil {
						args = nil
					}
					d.calls = append(d.calls, call{part.FunctionCall.ID, part.FunctionCall.Name, string(args)})
				case !part.Thought:
					d.text += part.Text
				}
			}
		}
		if u := res.UsageMetadata; u != nil {
			d.usage = core.Usage{
				Input:  int(u.PromptTokenCount + u.ToolUsePromptTokenCount),
				Output: int(u.CandidatesTokenCount + u.ThoughtsTokenCount),
				Cached: int(u.CachedContentTokenCount), Reasoning: int(u.ThoughtsTokenCount),
			}
		}
	}
	return d, nil
}

// partedGemini names the rows of the Gemini dialect where the SDK and the
// decisions part. The numbers are those of the decisions.
var partedGemini = map[string]string{
	"gem-multi-line-data":  "1: several lines of data are not one event",
	"gem-sse-fields":       "1: other fields than data are an error",
	"gem-length-with-call": "10: calls of an answer that was cut are handed on",
	"gem-done-marker":      "2: [DONE] is an error",
}

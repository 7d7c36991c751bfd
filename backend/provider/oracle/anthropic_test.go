package oracle

import (
	"context"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"galley/backend/agent/core"
)

func readMessages(body []byte) ([]byte, error) {
	var params anthropic.MessageNewParams
	if err := params.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	return params.MarshalJSON()
}

// blocks writes a string where a list of blocks may stand as the list of one text.
func blocks(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"system", "content"} {
			if text, ok := v[name].(string); ok {
				v[name] = []any{map[string]any{"type": "text", "text": text}}
			}
		}
		for name := range v {
			v[name] = blocks(v[name])
		}
	case []any:
		for i := range v {
			v[i] = blocks(v[i])
		}
	}
	return v
}

// unreadMessages are the requests of which the SDK has dropped a part that older
// models take.
var unreadMessages = map[string]string{
	"claude-3-5-haiku-latest/parameters": "this version of the SDK has no temperature any more",
	"claude-sonnet-4-5/parameters":       "this version of the SDK has no temperature any more",
}

func streamMessages(ctx context.Context, base string, via *http.Client) (decoded, error) {
	client := anthropic.NewClient(option.WithBaseURL(base), option.WithAPIKey("sk-none"), option.WithMaxRetries(0), option.WithHTTPClient(via))
	stream := client.Messages.NewStreaming(ctx, anthropic.MessageNewParams{
		Model: "fern-2", MaxTokens: 100,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
	})
	defer stream.Close()
	var whole anthropic.Message
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			return decoded{}, err
		}
	}
	if err := stream.Err(); err != nil {
		return decoded{}, err
	}
	var d decoded
	for _, block := range whole.Content {
		switch block := block.AsAny().(type) {
		case anthropic.TextBlock:
			d.text += block.Text
		case anthropic.ToolUseBlock:
			d.calls = append(d.calls, call{block.ID, block.Name, string(block.Input)})
		}
	}
	u := whole.Usage
	d.usage = core.Usage{
		Input:  int(u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens),
		Output: int(u.OutputTokens), Cached: int(u.CacheReadInputTokens),
	}
	return d, nil
}

// partedMessages names the rows of the Messages dialect where the SDK and the
// decisions part. The numbers are those of the decisions.
var partedMessages = map[string]string{
	"anth-index-always-0":         "15: an index in use is an error, not another block",
	"anth-cr":                     "1: CR alone ends no line, so that nothing is read",
	"anth-mixed-eol":              "1: CR alone ends no line, so that part of it is not read",
	"anth-no-event-names":         "1: without an event name nothing is read",
	"anth-duplicate-start-late":   "7: a repeated start begins the answer anew",
	"anth-length-valid-arguments": "10: calls of an answer that was cut are handed on",
	"anth-refusal-with-call":      "10: calls of a refused answer are handed on",
}

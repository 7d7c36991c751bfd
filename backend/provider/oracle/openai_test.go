package oracle

import (
	"context"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/endpoint"
)

func sdks() []sdk {
	return []sdk{{
		dialect: provider.Chat, kind: endpoint.KindOpenAIChat,
		read: readChat, stream: streamChat, parted: partedChat,
	}, {
		dialect: provider.Responses, kind: endpoint.KindOpenAIResponses,
		read: readResponses, stream: streamResponses, parted: partedResponses,
	}, {
		dialect: provider.Messages, kind: endpoint.KindAnthropic,
		read: readMessages, plain: blocks, unread: unreadMessages, stream: streamMessages, parted: partedMessages,
	}, {
		dialect: provider.Gemini, kind: endpoint.KindGemini,
		read: readGemini, plain: noEmptyArgs, unread: unreadGemini, stream: streamGemini, parted: partedGemini,
	}}
}

func readChat(body []byte) ([]byte, error) {
	var params openai.ChatCompletionNewParams
	if err := params.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	return params.MarshalJSON()
}

func openAI(base string, via *http.Client) openai.Client {
	return openai.NewClient(option.WithBaseURL(base+"/v1/"), option.WithAPIKey("sk-none"), option.WithMaxRetries(0), option.WithHTTPClient(via))
}

func streamChat(ctx context.Context, base string, via *http.Client) (decoded, error) {
	client := openAI(base, via)
	stream := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model: "fern-2", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
	})
	defer stream.Close()
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return decoded{}, err
	}
	var d decoded
	if len(acc.Choices) > 0 {
		m := acc.Choices[0].Message
		d.text, d.refusal = m.Content, m.Refusal
		for _, c := range m.ToolCalls {
			d.calls = append(d.calls, call{c.ID, c.Function.Name, c.Function.Arguments})
		}
	}
	d.usage = core.Usage{
		Input: int(acc.Usage.PromptTokens), Output: int(acc.Usage.CompletionTokens),
		Cached:    int(acc.Usage.PromptTokensDetails.CachedTokens),
		Reasoning: int(acc.Usage.CompletionTokensDetails.ReasoningTokens),
	}
	return d, nil
}

// partedChat names the rows of the chat dialect where the SDK and the decisions
// part. The numbers are those of the decisions.
var partedChat = map[string]string{
	"chat-no-index":                "12: without an index all calls become one",
	"chat-index-always-0-pieces":   "12: another id under an index in use is taken for the same call",
	"chat-index-from-1":            "12: an index is taken for a position, which leaves an empty call",
	"chat-index-gap":               "12: an index is taken for a position, which leaves empty calls",
	"chat-id-repeated-no-index":    "12: without an index all calls become one",
	"chat-mistral-thinking":        "17: a list of parts is taken for a text",
	"chat-think-empty":             "18: thinking tags are text",
	"chat-think-lone-close-zh":     "18: thinking tags are text",
	"chat-think-cut":               "18: thinking tags are text",
	"chat-think-blank-first":       "18: thinking tags are text",
	"chat-think-then-tool":         "18: thinking tags are text",
	"chat-keepalive-as-data":       "2: a keep-alive sent as data is an error",
	"chat-cr":                      "1: CR alone ends no line, so that nothing is read",
	"chat-no-final-blank":          "3: the last event without its blank line is lost",
	"chat-no-final-blank-newline":  "3: the last event without its blank line is lost",
	"chat-usage-every-chunk":       "19: counts of several events are summed",
	"chat-usage-xai-reasoning-2":   "19: reasoning beside the completion is not counted as output",
	"chat-json-answer":             "6: a whole answer in place of a stream is nothing, without an error",
	"chat-json-answer-tool":        "6: a whole answer in place of a stream is nothing, without an error",
	"chat-deepseek":                "19: prompt_cache_hit_tokens is not known",
	"chat-finish-then-reset":       "8: a reset after the finish fails the answer",
	"chat-length-after-whole-call": "10: calls of an answer that was cut are handed on, one of them half",
	"chat-content-filter-call":     "10: calls of an answer that was filtered are handed on",
	"chat-err-null":                "7: an error that is null is an error",
}

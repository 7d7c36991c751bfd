package oracle

import (
	"context"
	"net/http"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"galley/backend/agent/core"
)

func readResponses(body []byte) ([]byte, error) {
	var params responses.ResponseNewParams
	if err := params.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	return params.MarshalJSON()
}

// streamResponses takes the answer from the event that ends it, as users of the
// SDK do: it has no accumulator.
func streamResponses(ctx context.Context, base string, via *http.Client) (decoded, error) {
	client := openAI(base, via)
	stream := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{
		Model: "fern-2", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("hello")},
	})
	defer stream.Close()
	var whole responses.Response
	for stream.Next() {
		switch event := stream.Current().AsAny().(type) {
		case responses.ResponseCompletedEvent:
			whole = event.Response
		case responses.ResponseIncompleteEvent:
			whole = event.Response
		}
	}
	if err := stream.Err(); err != nil {
		return decoded{}, err
	}
	d := decoded{text: whole.OutputText()}
	for _, item := range whole.Output {
		switch item := item.AsAny().(type) {
		case responses.ResponseFunctionToolCall:
			d.calls = append(d.calls, call{item.CallID, item.Name, item.Arguments})
		case responses.ResponseOutputMessage:
			for _, part := range item.Content {
				if refusal, ok := part.AsAny().(responses.ResponseOutputRefusal); ok {
					d.refusal += refusal.Refusal
				}
			}
		}
	}
	d.usage = core.Usage{
		Input: int(whole.Usage.InputTokens), Output: int(whole.Usage.OutputTokens),
		Cached:    int(whole.Usage.InputTokensDetails.CachedTokens),
		Reasoning: int(whole.Usage.OutputTokensDetails.ReasoningTokens),
	}
	return d, nil
}

// partedResponses names the rows of the Responses dialect where the SDK and the
// decisions part. The numbers are those of the decisions.
var partedResponses = map[string]string{
	"resp-tool-long-args":    "14: what the end does not repeat is lost",
	"resp-keepalive-as-data": "2: a keep-alive sent as data is an error",
	"resp-json-answer":       "6: a whole answer in place of a stream is nothing, without an error",
}

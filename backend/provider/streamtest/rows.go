// Package streamtest plays the rows of streams.json: a server on a real socket
// that sends what a row says, cut as it says, and a comparison of what came of
// it with what the row expects. Every dialect is tested with it.
package streamtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// Row is one line of streams.json.
type Row struct {
	ID      string           `json:"id"`
	Dialect provider.Dialect `json:"dialect"`
	Profile string           `json:"profile"`
	HTTP    struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
	} `json:"http"`
	Chunks  []Chunk `json:"chunks"`
	Request struct {
		PromptTokensEstimate int `json:"promptTokensEstimate"`
	} `json:"request"`
	Expect struct {
		Text       repeated        `json:"text"`
		Reasoning  repeated        `json:"reasoning"`
		Refusal    string          `json:"refusal"`
		Finish     core.Finish     `json:"finish"`
		Fault      fault.Code      `json:"fault"`
		Partial    repeated        `json:"partialText"`
		Calls      []expectedCall  `json:"toolCalls"`
		Usage      *core.Usage     `json:"usage"`
		Keep       []string        `json:"keep"`
		Provider   map[string]any  `json:"provider"`
		RetryMs    *int64          `json:"retryAfterMs"`
		Clipped    bool            `json:"clipped"`
		MustNotRun bool            `json:"mustNotRun"`
		Opaque     json.RawMessage `json:"opaque"`
	} `json:"expect"`
}

type expectedCall struct {
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	ProviderID string          `json:"providerId"`
	Raw        string          `json:"raw"`
	Invalid    bool            `json:"invalid"`
}

// Chunk is a piece of the body or something that happens to the connection.
type Chunk struct {
	Data  []byte
	wait  bool
	close string
	hold  bool
}

func (c *Chunk) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		c.Data = []byte(s)
		return nil
	}
	var o struct {
		B64    string            `json:"b64"`
		Repeat []json.RawMessage `json:"repeat"`
		Wait   string            `json:"wait"`
		Close  string            `json:"close"`
		Hold   bool              `json:"hold"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	c.wait, c.close, c.hold = o.Wait != "", o.Close, o.Hold
	var err error
	switch {
	case o.B64 != "":
		c.Data, err = base64.StdEncoding.DecodeString(o.B64)
	case o.Repeat != nil:
		var text repeated
		err = text.from(o.Repeat)
		c.Data = []byte(text)
	}
	return err
}

// repeated is a string, plain or as {"$repeat": [text, count]}.
type repeated string

func (r *repeated) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*string)(r)) == nil {
		return nil
	}
	if b[0] == '[' {
		return nil
	}
	var o struct {
		Repeat []json.RawMessage `json:"$repeat"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	return r.from(o.Repeat)
}

func (r *repeated) from(pair []json.RawMessage) error {
	if len(pair) != 2 {
		return fmt.Errorf("repeat of %d items", len(pair))
	}
	var text string
	var n int
	if err := errors.Join(json.Unmarshal(pair[0], &text), json.Unmarshal(pair[1], &n)); err != nil {
		return err
	}
	*r = repeated(strings.Repeat(text, n))
	return nil
}

// Load reads the rows of a dialect from file, of the form of streams.json. A row
// of no dialect that there is is an error: nobody would play it.
func Load(file string, d provider.Dialect) ([]Row, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all, own []Row
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for _, r := range all {
		switch r.Dialect {
		case provider.Chat, provider.Responses, provider.Messages, provider.Gemini:
		default:
			return nil, fmt.Errorf("row %s is of no dialect: %q", r.ID, r.Dialect)
		}
		if r.Dialect == d {
			own = append(own, r)
		}
	}
	return own, nil
}

// Waits reports whether the row has a silence in it.
func (r Row) Waits() bool {
	for _, c := range r.Chunks {
		if c.wait || c.hold {
			return true
		}
	}
	return false
}

// Joined returns the row with its body in one piece.
func (r Row) Joined() Row {
	var body []byte
	var rest []Chunk
	for _, c := range r.Chunks {
		body = append(body, c.Data...)
		if c.Data == nil {
			rest = append(rest, c)
		}
	}
	r.Chunks = append([]Chunk{{Data: body}}, rest...)
	return r
}

package openairesponses

import (
	"galley/backend/agent/core"
)

func hello() core.Request {
	return core.Request{Model: "fern-2", Messages: []core.Message{userSays("hello")}}
}

func userSays(s string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: s}}}
}

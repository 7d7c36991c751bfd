package tools

import (
	"context"
	"strconv"

	"galley/backend/agent/core"
)

// prepareNothing is for tools that touch nothing.
func prepareNothing(context.Context, *call) (core.Prepared, error) { return core.Prepared{}, nil }

// systemEcho gives its text back.
func systemEcho(_ context.Context, c *call) (core.ToolResult, error) {
	var in struct{ Text string }
	if err := c.decode(&in); err != nil {
		return core.ToolResult{}, err
	}
	out := head(in.Text, c.max)
	r := core.ToolResult{Text: out, Facts: core.ToolFacts{Bytes: len(out), More: len(out) < len(in.Text)}}
	if r.Facts.More && c.whole > c.max {
		r.Whole = in.Text
	}
	return r, nil
}

// mathAdd adds two numbers.
func mathAdd(_ context.Context, c *call) (core.ToolResult, error) {
	var in struct{ Left, Right float64 }
	if err := c.decode(&in); err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: strconv.FormatFloat(in.Left+in.Right, 'g', -1, 64)}, nil
}

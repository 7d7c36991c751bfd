package loop

import (
	"context"
	"fmt"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// converse answers a person in plain words. No tool is offered; a model that
// calls one all the same is told so and goes on (T8).
func (r *Runtime) converse(ctx context.Context, t core.Task) (core.RunEnd, error) {
	s := &steps{r: r, t: t, clean: func(answer string) string { return answer }}
	req := core.Request{Model: t.Run.Model.Model, System: conversationSystem, Messages: t.Messages}
	usage := core.Usage{Kind: core.UsageExact}
	for step := 1; step <= t.Budget.Steps; step++ {
		res, err := s.do(ctx, step, req)
		if err != nil {
			return core.RunEnd{}, err
		}
		usage = add(usage, res.answer.Usage)
		end := core.RunEnd{State: core.RunSucceeded}
		status := complete
		switch {
		case told(ctx, res.err):
			end, status = stopped(ctx, t), partial
		case res.err != nil:
			end, status = failed(res.err), partial
		case res.answer.Finish == core.FinishRefusal || res.answer.Finish == core.FinishContentFilter:
			end = failed(&fault.Error{Code: fault.Refused, Op: "converse", Detail: res.answer.Refusal})
			status = partial
		case res.answer.Finish == core.FinishMaxTokens:
			end, status = failed(fault.New(fault.CutOff, "converse", nil)), partial
		case len(res.answer.Calls) > 0:
			req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], refuse(t, res.answer)...)
			continue
		}
		end.Usage = usage
		say(&end, res.answer.Text, status)
		return end, nil
	}
	end := failed(&fault.Error{Code: fault.CutOff, Op: "converse", Detail: fmt.Sprintf("%d steps", t.Budget.Steps)})
	end.Reason, end.Usage = ReasonSteps, usage
	return end, nil
}

// refuse is the turn of an answer with calls, and their failed results.
func refuse(t core.Task, a core.Answer) []core.Message {
	said := core.Message{Role: core.RoleAssistant}
	if a.Text != "" {
		said.Parts = append(said.Parts, core.Part{Type: core.PartText, Text: a.Text})
	}
	results := core.Message{Role: core.RoleTool}
	for _, c := range a.Calls {
		id := core.ToolCallID(t.NewID())
		call := core.Part{
			Type: core.PartToolCall, ToolCallID: id, ProviderCallID: c.ProviderID, Name: c.Name, Input: c.Arguments,
		}
		if c.Invalid {
			call.Input = []byte("{}")
		}
		said.Parts = append(said.Parts, call)
		results.Parts = append(results.Parts, core.Part{
			Type: core.PartToolResult, ToolCallID: id, ProviderCallID: c.ProviderID, Name: c.Name,
			Text: "This tool is not available here. Answer without it.", IsError: true,
		})
	}
	return []core.Message{said, results}
}

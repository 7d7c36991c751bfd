package loop

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// errToolTime is the cause of a ctx whose tool used up its time.
var errToolTime = errors.New("the tool used up its time")

// maxInput is the longest input of a call in bytes.
const maxInput = 1 << 20

// maxSaid is how much of arguments that cannot be read is given back, in
// characters.
const maxSaid = 300

// act commits an answer with its calls and carries these out one after the
// other. The end is nil when the run goes on.
func (k *talk) act(ctx context.Context, res result) (*core.RunEnd, error) {
	m, calls := k.propose(res)
	stored, err := k.t.Recorder.CommitStep(context.WithoutCancel(ctx), k.t.Run.ID, res.call.Attempt, m, calls)
	if stop, err := k.stopping(ctx, err); stop != nil || err != nil {
		if stop != nil {
			sayWith(stop, res.answer, partial)
		}
		return stop, err
	}
	if len(stored) != len(calls) {
		return nil, fault.New(fault.Internal, "commit step", fmt.Errorf("%d calls became %d", len(calls), len(stored)))
	}
	for i, c := range stored {
		if ctx.Err() != nil {
			end := stopped(ctx, k.t)
			return &end, nil
		}
		if end, err := k.call(ctx, c, res.answer.Calls[i]); end != nil || err != nil {
			return end, err
		}
	}
	if ctx.Err() != nil {
		end := stopped(ctx, k.t)
		return &end, nil
	}
	return nil, nil
}

// stopping turns an error of the recorder into the run's end when it says that
// the run is being stopped, which a recorder can know before our ctx does.
func (k *talk) stopping(ctx context.Context, err error) (*core.RunEnd, error) {
	if err == nil {
		return nil, nil
	}
	if fault.CodeOf(err) == fault.Cancelled {
		end := stopped(ctx, k.t)
		return &end, nil
	}
	return nil, err
}

// propose makes the message of an answer with calls, and these as they are
// recorded. Each call gets an id of ours; the provider's, where it was given
// twice, stays with the first.
func (k *talk) propose(res result) (core.Message, []core.ToolCall) {
	m := core.Message{Role: core.RoleAssistant}
	if res.answer.Text != "" {
		m.Parts = append(m.Parts, core.Part{Type: core.PartText, Text: res.answer.Text})
	}
	var calls []core.ToolCall
	taken := map[string]bool{}
	for _, a := range res.answer.Calls {
		said, normal := k.input(a)
		c := core.ToolCall{
			ID: core.ToolCallID(k.t.NewID()), RunID: k.t.Run.ID, ModelCallID: res.call.ID,
			ProviderCallID: a.ProviderID, Name: callName(a.Name), Kind: core.ToolWrite, Input: normal,
			State: core.CallProposed, Attempt: 1,
		}
		if taken[c.ProviderCallID] {
			c.ProviderCallID = ""
		}
		taken[c.ProviderCallID] = c.ProviderCallID != ""
		if tool, ok := k.t.Tools.Tool(c.Name); ok {
			c.Kind = tool.Kind
		}
		digest := core.InputDigest(normal)
		c.InputDigest = hex.EncodeToString(digest[:])
		calls = append(calls, c)
		m.Parts = append(m.Parts, core.Part{
			Type: core.PartToolCall, ToolCallID: c.ID, ProviderCallID: c.ProviderCallID, Name: c.Name, Input: said,
		})
	}
	attach(&m, res.answer.Envelopes)
	return m, calls
}

// input returns the arguments of a call as they were said, as far as they are
// JSON, and in the one form in which they are recorded.
func (k *talk) input(a core.AnswerCall) (said, normal json.RawMessage) {
	none := json.RawMessage("{}")
	var b bytes.Buffer
	if a.Invalid || len(a.Arguments) > maxInput || json.Compact(&b, a.Arguments) != nil {
		return none, none
	}
	said = b.Bytes()
	if tool, ok := k.t.Tools.Tool(callName(a.Name)); ok {
		if norm, err := tool.Input.Normalise(said); err == nil {
			return said, norm
		}
	}
	return said, said
}

// callName is a name as it can be recorded and shown: a model can say anything.
func callName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		return "unnamed"
	}
	return clean[:min(len(clean), 64)]
}

// call carries out one recorded call. Whatever goes wrong with it is its
// result. The end is set when the run cannot go on.
func (k *talk) call(ctx context.Context, c core.ToolCall, said core.AnswerCall) (*core.RunEnd, error) {
	record := context.WithoutCancel(ctx)
	j, refusal, err := k.judge(record, c, said)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return k.stopping(ctx, k.t.Recorder.RefuseCall(record, c.ID, refusal.reason, refusal.text))
	}
	c.Input = j.Input
	prepared, err := k.prepare(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			end := stopped(ctx, k.t)
			return &end, nil
		}
		code := fault.CodeOf(err)
		return k.stopping(ctx, k.t.Recorder.RefuseCall(record, c.ID, string(code), failureText(code, fault.From(err).Detail)))
	}
	asks := j.Verdict == core.VerdictConfirm && j.Confirmation == core.ByApproval
	if asks {
		allowed, end, err := k.approve(ctx, c, j, prepared)
		if !allowed || err != nil {
			return end, err
		}
	}
	in := core.Intent{
		Tool: c.Name, Input: j.Input, InputDigest: c.InputDigest, BaseVersion: prepared.BaseVersion,
		Source: prepared.Source, Target: prepared.Target,
		PreDigest: prepared.PreDigest, PostDigest: prepared.PostDigest, Attempt: c.Attempt,
	}
	if asks && j.Tool.Kind == core.ToolWrite {
		in.IdemKey = string(c.ID)
	}
	if end, err := k.stopping(ctx, k.t.Recorder.ReadyCall(record, c.ID, in)); end != nil || err != nil {
		return end, err
	}
	if end, err := k.stopping(ctx, k.t.Recorder.StartCall(record, c.ID)); end != nil || err != nil {
		return end, err
	}
	return k.carryOut(ctx, c, j, in)
}

// refusal is why a call is not even begun, and what the model is told.
type refusal struct{ reason, text string }

// judge says whether a call may be made at all.
func (k *talk) judge(ctx context.Context, c core.ToolCall, said core.AnswerCall) (core.Judgement, *refusal, error) {
	tool, _ := k.t.Tools.Tool(c.Name)
	j, err := k.t.Tools.Judge(k.t.Policy, k.t.Allowed, c.Name, c.Input, false)
	if err == nil && j.Verdict == core.VerdictConfirm && j.Tool.Kind == core.ToolRead {
		granted, gerr := k.t.Recorder.Granted(ctx, k.t.Run.SessionID, c.Name)
		if gerr != nil {
			return core.Judgement{}, nil, gerr
		}
		j, err = k.t.Tools.Judge(k.t.Policy, k.t.Allowed, c.Name, c.Input, granted)
	}
	unread := unreadable(said)
	switch code := fault.CodeOf(err); code {
	case "":
		if unread != "" { // what is recorded in its place could be called
			return j, badInput(unread, tool), nil
		}
		return j, nil, nil
	case fault.NotFound:
		return j, &refusal{string(code), k.noSuchTool(c.Name)}, nil
	case fault.NoPermission:
		return j, &refusal{reasonPolicy, fmt.Sprintf(
			"%s: the person's settings do not allow %s. Go on without it, or say what you need it for.", reasonPolicy, c.Name)}, nil
	case fault.InvalidInput:
		return j, badInput(orWord(unread, fault.From(err).Detail), tool), nil
	default:
		return j, &refusal{string(code), failureText(code, "")}, nil
	}
}

// unreadable says why the arguments of a call were not taken in at all; empty
// when they were.
func unreadable(said core.AnswerCall) string {
	switch {
	case said.Invalid:
		return "the arguments are no valid JSON object. What came begins with " + quoted(brief(said.Raw, maxSaid))
	case len(said.Arguments) > maxInput:
		return fmt.Sprintf("the arguments have %d bytes; at most %d are taken", len(said.Arguments), maxInput)
	case !json.Valid(said.Arguments):
		return "the arguments are no valid JSON object"
	}
	return ""
}

// badInput tells a model what is wrong with its arguments, and what is right.
func badInput(what string, tool core.Tool) *refusal {
	return &refusal{string(fault.InvalidInput), fmt.Sprintf(
		"%s: %s. Nothing was done. The arguments must be one JSON object that fits this schema; call %s again with that:\n%s",
		fault.InvalidInput, strings.TrimSuffix(what, "."), tool.Name, tool.Input.JSON())}
}

func (k *talk) noSuchTool(name string) string {
	var names []string
	for _, s := range k.t.Tools.Specs(k.t.Allowed) {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return "not_found: there are no tools in this conversation. Answer without them."
	}
	return fmt.Sprintf("not_found: there is no tool %s in this conversation. The tools are: %s.", name, strings.Join(names, ", "))
}

// failureText tells a model of a failure of which the tool has no words.
func failureText(code fault.Code, detail string) string {
	if detail == "" {
		return string(code) + ": it was not carried out."
	}
	return fmt.Sprintf("%s: %s. It was not carried out.", code, strings.TrimSuffix(detail, "."))
}

// approve asks the person and waits for their answer. When the call is not
// allowed it has ended; the end is set when the run is to stop.
func (k *talk) approve(ctx context.Context, c core.ToolCall, j core.Judgement, p core.Prepared) (allowed bool, end *core.RunEnd, err error) {
	a, err := k.t.Recorder.AskApproval(context.WithoutCancel(ctx), core.Approval{
		ToolCallID: c.ID, RunID: c.RunID, InputDigest: c.InputDigest, Rule: j.Tool.Permission, Summary: p.Summary,
	})
	if end, err := k.stopping(ctx, err); end != nil || err != nil {
		return false, end, err
	}
	k.clock.hold()
	a, err = k.t.Recorder.AwaitApproval(ctx, a.ID)
	k.clock.release()
	switch {
	case ctx.Err() != nil:
		stop := stopped(ctx, k.t)
		return false, &stop, nil
	case err != nil:
		end, err := k.stopping(ctx, err)
		return false, end, err
	}
	switch a.State {
	case core.ApprovalAllowedOnce, core.ApprovalAllowedSession:
		return true, nil, nil
	case core.ApprovalDenied, core.ApprovalExpired:
		return false, nil, nil
	case core.ApprovalCancelled:
		stop := stopped(ctx, k.t)
		return false, &stop, nil
	case core.ApprovalPending:
	}
	return false, nil, fault.New(fault.StaleApproval, "await approval", fmt.Errorf("approval is %s", a.State))
}

// prepare looks at a call without any effect.
func (k *talk) prepare(ctx context.Context, c core.ToolCall) (p core.Prepared, err error) {
	ctx, cancel := k.toolTime(ctx)
	defer cancel()
	defer k.recovered(c, &err)
	return k.t.Toolbox.Prepare(ctx, c)
}

func (k *talk) execute(ctx context.Context, c core.ToolCall, in core.Intent) (res core.ToolResult, err error) {
	defer k.recovered(c, &err)
	return k.t.Toolbox.Execute(ctx, c, in)
}

// recovered turns a panic on the way to a tool into an error.
func (k *talk) recovered(c core.ToolCall, err *error) {
	if p := recover(); p != nil {
		k.r.log.Error("tool panicked", "run", k.t.Run.ID, "tool", c.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = fault.New(fault.Internal, "tool", errors.New("panic"))
	}
}

// toolTime is a ctx that ends when a tool has used up its time.
func (k *talk) toolTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, time.Duration(k.t.Budget.ToolMs)*time.Millisecond, errToolTime)
}

// carryOut has a call carried out whose start is recorded, and records how it
// ended, whatever happened to the run meanwhile.
func (k *talk) carryOut(ctx context.Context, c core.ToolCall, j core.Judgement, in core.Intent) (*core.RunEnd, error) {
	toolCtx, cancel := k.toolTime(ctx)
	begun := time.Now()
	res, err := k.execute(toolCtx, c, in)
	late := ctx.Err() == nil && errors.Is(context.Cause(toolCtx), errToolTime)
	cancel()
	late = late || res.Stopped && res.Code == fault.Timeout
	end, full := k.callEnd(c, j, res, err, late)
	stop := k.quotes.note(c, res, &end)
	k.output += len(end.Result)
	k.r.log.Info("tool ended", "run", k.t.Run.ID, "tool", c.Name, "state", end.State, "reason", end.Reason,
		"bytes", len(end.Result), "dur", time.Since(begun))
	if err := k.finish(context.WithoutCancel(ctx), c, j, &end); err != nil {
		return nil, err
	}
	switch {
	case end.State == core.CallUnknown:
		return &core.RunEnd{State: core.RunInterrupted, Reason: ReasonUnknown}, nil
	case ctx.Err() != nil:
		e := stopped(ctx, k.t)
		return &e, nil
	case stop:
		e := failed(&fault.Error{Code: fault.NotInDocument, Op: "converse", Detail: fmt.Sprintf("%d tries", maxMisses)})
		e.Reason = ReasonQuotes
		return &e, nil
	case full:
		e := spent(ReasonOutput, fmt.Sprintf("%d bytes", k.t.Budget.ToolResultsBytes))
		return &e, nil
	}
	return nil, nil
}

// finish records how a call ended. What the recorder does not take of a result,
// such as a proposal that is none, must not leave the call running for ever: it
// is recorded without that.
func (k *talk) finish(ctx context.Context, c core.ToolCall, j core.Judgement, end *core.CallEnd) error {
	err := k.t.Recorder.FinishCall(ctx, c.ID, *end)
	if fault.CodeOf(err) != fault.InvalidInput {
		return err
	}
	k.r.log.Error("result not taken", "run", k.t.Run.ID, "tool", c.Name, "err", err)
	plain := core.CallEnd{State: end.State, Reason: end.Reason, Result: end.Result, Truncated: end.Truncated, Facts: end.Facts}
	if end.State == core.CallSucceeded && j.Confirmation == core.ByReview {
		plain.State, plain.Reason = core.CallFailed, string(fault.Internal)
		plain.Result = failureText(fault.Internal, "the proposal could not be kept")
	}
	*end = plain
	return k.t.Recorder.FinishCall(ctx, c.ID, plain)
}

// callEnd is how a call ended by what the host said, or did not say. Late says
// that its time was up; full that the run has no room for more results.
func (k *talk) callEnd(c core.ToolCall, j core.Judgement, res core.ToolResult, err error, late bool) (end core.CallEnd, full bool) {
	limit := (time.Duration(k.t.Budget.ToolMs) * time.Millisecond).String()
	switch {
	case err != nil && j.Tool.Kind == core.ToolRead:
		end = core.CallEnd{State: core.CallFailed, Reason: reasonInterruptedRead, Result: tellRead}
		if late {
			end.Reason = reasonTimeout
			end.Result = fmt.Sprintf("timeout: it took longer than %s and gave nothing. It changed nothing; ask for less, or go on without it.", limit)
		}
	case err != nil && j.Confirmation == core.ByReview:
		// It has no effect but its result, and that did not come.
		end = core.CallEnd{State: core.CallFailed, Reason: reasonNoEffect, Result: tellNothing}
	case err != nil:
		end = core.CallEnd{State: core.CallUnknown, Reason: reasonNoAnswer, Result: tellUnknown}
	case res.Stopped && late:
		end = core.CallEnd{State: core.CallFailed, Reason: reasonTimeout}
		end.Result = fmt.Sprintf("timeout: it took longer than %s and was stopped. Nothing was changed.", limit)
	case res.Stopped:
		end = core.CallEnd{State: core.CallCancelled, Reason: reasonCancelled, Result: tellStopped}
	case res.IsError:
		code := res.Code
		if code == "" {
			code = fault.Internal
		}
		end = core.CallEnd{State: core.CallFailed, Reason: string(code), Result: res.Text, Facts: res.Facts}
		if !strings.HasPrefix(res.Text, string(code)) {
			end.Result = strings.TrimSuffix(string(code)+": "+res.Text, ": ")
		}
	default:
		end = core.CallEnd{State: core.CallSucceeded, Result: res.Text, PostDigest: res.PostDigest, Facts: res.Facts}
		if res.Proposal != nil && j.Confirmation == core.ByReview {
			end.Proposal = k.proposal(c, *res.Proposal)
		}
	}
	room := max(0, k.t.Budget.ToolResultsBytes-k.output)
	whole := end.Result
	var cut bool
	end.Result, cut = shorten(whole, min(k.t.Budget.ToolResultBytes, room))
	end.Truncated = cut
	if cut {
		end.Whole = whole
	}
	if end.State == core.CallSucceeded && len(res.Whole) > len(end.Result) {
		end.Truncated, end.Whole = true, res.Whole
	}
	return end, len(end.Result) >= room || cut && room < k.t.Budget.ToolResultBytes
}

// proposal is what a call proposed, with what only the run knows.
func (k *talk) proposal(c core.ToolCall, p core.Proposal) *core.Proposal {
	if p.ID == "" {
		p.ID = core.ProposalID(k.t.NewID())
	}
	if p.CreatedAtMs == 0 {
		p.CreatedAtMs = k.r.now().UnixMilli()
	}
	p.Origin, p.RunID, p.ToolCallID, p.State = core.OriginTool, c.RunID, c.ID, core.ProposalProposed
	return &p
}

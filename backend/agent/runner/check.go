package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/provider"
	"galley/backend/provider/endpoint"
	"galley/backend/text"
)

// What a request may hold (X5). Sizes are in bytes of UTF-8.
const (
	maxID          = 200
	maxName        = 500
	maxURL         = 4096
	maxCA          = 1 << 20 // bytes of certificates as PEM
	maxTag         = 35      // a BCP 47 tag
	maxPath        = 16 << 10
	maxInput       = 1 << 20
	maxPrompt      = 256 << 10
	maxTokens      = 100_000_000
	maxList        = 1000 // sessions, hunks, messages
	maxPage        = 1000 // events, runs
	maxSends       = 200  // entries of the send log
	maxPiece       = 1 << 20
	maxDeadlineMs  = 60_000
	maxBudgetMs    = 24 * 60 * 60 * 1000
	maxToolMs      = 10 * 60 * 1000
	maxSteps       = 1000
	maxResultBytes = 1 << 20
	maxRunBytes    = 64 << 20
)

// isID reports whether s can be an identifier.
func isID[S ~string](s S) bool {
	return s != "" && len(s) <= maxID && !strings.ContainsFunc(string(s), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
}

// isLine reports whether s is a line of at most n bytes; it may be empty.
func isLine(s string, n int) bool {
	return len(s) <= n && !strings.ContainsFunc(s, unicode.IsControl)
}

// isPath reports whether s can be a path or a URI; it may be empty. A file name
// may hold a control character.
func isPath(s string) bool { return len(s) <= maxPath && !strings.Contains(s, "\x00") }

func isTag(s string) bool {
	return len(s) <= maxTag && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

// Each function below names what is wrong, "" when nothing is.

func wrongProvider(p wire.ProviderConfig) string {
	switch {
	case !endpoint.Known(p.Kind):
		return "providerConfig.kind"
	case !slices.Contains(provider.Profiles(), p.Profile):
		return "providerConfig.profile"
	case !isLine(p.ID, maxName):
		return "providerConfig.id"
	case !isLine(p.Name, maxName):
		return "providerConfig.name"
	case !isLine(p.BaseURL, maxURL):
		return "providerConfig.baseUrl"
	case !isLine(p.ProxyURL, maxURL):
		return "providerConfig.proxyUrl"
	case !isLine(p.CredentialRef, maxName):
		return "providerConfig.credentialRef"
	case !isLine(p.ProxyUser, maxName):
		return "providerConfig.proxyUser"
	case !isLine(p.ProxyCredentialRef, maxName):
		return "providerConfig.proxyCredentialRef"
	case len(p.ExtraCA) > maxCA:
		return "providerConfig.extraCa"
	case p.Temperature != nil && (*p.Temperature < 0 || *p.Temperature > 2):
		return "providerConfig.temperature"
	case p.MaxOutputTokens < 0 || p.MaxOutputTokens > maxTokens:
		return "providerConfig.maxOutputTokens"
	case !slices.Contains([]string{"", core.EffortNone, core.EffortLow, core.EffortMedium, core.EffortHigh}, p.Effort):
		return "providerConfig.effort"
	}
	return ""
}

func wrongModel(m core.ModelRef) string {
	if strings.TrimSpace(m.Model) == "" || !isLine(m.Model, maxName) || !isLine(m.ProviderID, maxName) {
		return "modelRef"
	}
	return ""
}

// wrongTools: a run gets tools that there are, and those for development only
// with the provider that is for that.
func wrongTools(names []string, kind core.RunKind, providerKind string) string {
	if kind == core.KindRewrite && len(names) > 0 {
		return "allowedTools"
	}
	known := core.ConversationTools()
	if providerKind == endpoint.KindMock {
		known = append(known, core.DevelopmentTools()...)
	}
	for i, name := range names {
		if !slices.Contains(known, name) || slices.Contains(names[:i], name) {
			return "allowedTools"
		}
	}
	return ""
}

func wrongPolicy(p core.Policy) string {
	for perm, v := range p {
		if !perm.Valid() || !v.Valid() {
			return "policy"
		}
	}
	return ""
}

// wrongBudget: a zero field means the default.
func wrongBudget(b core.Budget) string {
	for _, f := range []struct {
		name       string
		value, max int64
	}{
		{"timeMs", b.TimeMs, maxBudgetMs},
		{"steps", int64(b.Steps), maxSteps},
		{"tokens", int64(b.Tokens), maxTokens},
		{"toolResultBytes", int64(b.ToolResultBytes), maxResultBytes},
		{"toolResultsBytes", int64(b.ToolResultsBytes), maxRunBytes},
		{"toolMs", b.ToolMs, maxToolMs},
		{"connectMs", b.ConnectMs, maxBudgetMs},
		{"firstTokenMs", b.FirstTokenMs, maxBudgetMs},
		{"silenceMs", b.SilenceMs, maxBudgetMs},
	} {
		if f.value < 0 || f.value > f.max {
			return "budget." + f.name
		}
	}
	return ""
}

// wrongSnapshot: a snapshot is whole when its digest is its text's, and its
// selection and front matter lie in it.
func wrongSnapshot(s *core.Snapshot) string {
	if s == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(s.Text))
	if s.DocURI == "" || !isPath(s.DocURI) || s.BaseVersion < 1 || s.Digest != hex.EncodeToString(sum[:]) ||
		!strings.HasPrefix(s.Text, s.FrontMatter) {
		return "snapshot"
	}
	if _, err := text.NewIndex(s.Text).Slice(s.Selection.From, s.Selection.To); err != nil {
		return "snapshot"
	}
	return ""
}

// first returns the first that is not empty.
func first(wrong ...string) string {
	for _, w := range wrong {
		if w != "" {
			return w
		}
	}
	return ""
}

// unless returns name when a claim does not hold.
func unless(ok bool, name string) string {
	if ok {
		return ""
	}
	return name
}

func wrongSubmit(p wire.SubmitParams) string {
	wrong := first(
		unless(isID(p.CommandID), "commandId"),
		unless(p.SessionID == "" || isID(p.SessionID), "sessionId"),
		unless(p.Kind == core.KindConversation || p.Kind == core.KindRewrite, "kind"),
		wrongModel(p.ModelRef), wrongProvider(p.Provider),
		wrongTools(p.AllowedTools, p.Kind, p.Provider.Kind),
		wrongPolicy(p.Policy), wrongBudget(p.Budget), wrongSnapshot(p.Snapshot),
		unless(p.Supersedes == "" || isID(p.Supersedes), "supersedes"),
		unless(p.ContextTokens >= 0 && p.ContextTokens <= maxTokens, "contextTokens"),
		unless(isTag(p.Language), "language"),
		unless(isPath(p.WorkspaceID), "workspaceId"),
		unless(len(p.Input) <= maxInput, "input"),
	)
	if wrong != "" {
		return wrong
	}
	if p.Kind == core.KindConversation {
		return first(unless(p.Rewrite == nil, "rewrite"), unless(strings.TrimSpace(p.Input) != "", "input"))
	}
	if p.Snapshot == nil {
		return "snapshot"
	}
	if p.Rewrite == nil {
		return "rewrite"
	}
	r := *p.Rewrite
	return unless(isLine(r.Preset, maxName) && len(r.Prompt) <= maxPrompt && len(r.Instruction) <= maxPrompt &&
		isTag(r.Language) && strings.TrimSpace(asked(p)) != "", "rewrite")
}

func wrongContinue(p wire.ContinueParams) string {
	return first(
		unless(isID(p.CommandID), "commandId"), unless(isID(p.FromRunID), "fromRunId"),
		wrongModel(p.ModelRef), wrongProvider(p.Provider),
		wrongTools(p.AllowedTools, core.KindConversation, p.Provider.Kind),
		wrongPolicy(p.Policy), wrongBudget(p.Budget), wrongSnapshot(p.Snapshot),
		unless(p.ContextTokens >= 0 && p.ContextTokens <= maxTokens, "contextTokens"),
		unless(isTag(p.Language), "language"),
	)
}

func wrongCancel(p wire.CancelParams) string {
	return first(unless(isID(p.CommandID), "commandId"), unless(isID(p.RunID), "runId"))
}

func wrongRun(p wire.RunGetParams) string { return unless(isID(p.RunID), "runId") }

func wrongRunList(p wire.RunListParams) string {
	return unless(p.Limit >= 1 && p.Limit <= maxPage, "limit")
}

func wrongSession(p wire.SessionGetParams) string { return unless(isID(p.SessionID), "sessionId") }

func wrongSessionCreate(p wire.SessionCreateParams) string {
	return first(
		unless(isID(p.CommandID), "commandId"), unless(isLine(p.Title, maxName), "title"),
		unless(isPath(p.WorkspaceID), "workspaceId"), unless(isPath(p.DocURI), "docUri"),
		unless(isLine(p.ModelRef.Model, maxName) && isLine(p.ModelRef.ProviderID, maxName), "modelRef"),
	)
}

func wrongSessionChange(p wire.SessionChangeParams) string {
	return first(
		unless(isID(p.CommandID), "commandId"), unless(isID(p.SessionID), "sessionId"),
		unless(p.Title == nil || isLine(*p.Title, maxName) && strings.TrimSpace(*p.Title) != "", "title"),
	)
}

func wrongSessionDelete(p wire.SessionDeleteParams) string {
	return first(unless(isID(p.CommandID), "commandId"), unless(isID(p.SessionID), "sessionId"))
}

func wrongSessionEvents(p wire.SessionEventsParams) string {
	return first(
		unless(isID(p.SessionID), "sessionId"), unless(p.AfterSeq >= 0, "afterSeq"),
		unless(p.Limit >= 1 && p.Limit <= maxPage, "limit"),
	)
}

func wrongApproval(p wire.ApprovalDecideParams) string {
	return first(
		unless(isID(p.CommandID), "commandId"), unless(isID(p.ApprovalID), "approvalId"),
		unless(isID(p.ToolCallID), "toolCallId"), unless(isDigest(p.InputDigest), "inputDigest"),
		unless(slices.Contains([]core.Decision{core.AllowOnce, core.AllowSession, core.Deny}, p.Decision), "decision"),
	)
}

func wrongToolGet(p wire.ToolGetParams) string { return unless(isID(p.ToolCallID), "toolCallId") }

func wrongReconcile(p wire.ToolReconcileParams) string {
	return first(
		unless(isID(p.CommandID), "commandId"), unless(isID(p.ToolCallID), "toolCallId"),
		unless(p.Verdict == core.VerdictApplied || p.Verdict == core.VerdictAbsent, "verdict"),
	)
}

func wrongExplain(p wire.ContextExplainParams) string { return unless(isID(p.RunID), "runId") }

func wrongArtifact(p wire.ArtifactGetParams) string {
	return first(
		unless(isID(p.ArtifactID), "artifactId"), unless(p.Offset >= 0, "offset"),
		unless(p.Limit >= 1 && p.Limit <= maxPiece, "limit"),
	)
}

func wrongBackup(p wire.BackupParams) string {
	return unless(filepath.IsAbs(p.Path) && isPath(p.Path), "path")
}

func wrongSubscribe(p wire.SubscribeParams) string {
	ok := len(p.Sessions) <= maxList
	for _, id := range p.Sessions {
		ok = ok && isID(id)
	}
	return first(unless(p.AfterSeq >= 0, "afterSeq"), unless(ok, "sessions"))
}

func wrongProposalGet(p wire.ProposalGetParams) string {
	return unless(isID(p.ProposalID), "proposalId")
}

func wrongDecide(p wire.ProposalDecideParams) string {
	ok := len(p.Hunks) >= 1 && len(p.Hunks) <= maxList
	for _, h := range p.Hunks {
		ok = ok && isID(h.ID) && h.Outcome.Valid()
	}
	return first(
		unless(isID(p.CommandID), "commandId"), unless(isID(p.ProposalID), "proposalId"),
		unless(ok, "hunks"), unless(p.AppliedVersion >= 0, "appliedVersion"),
	)
}

func wrongTest(p wire.ProviderTestParams) string {
	return first(wrongProvider(p.Provider), unless(isLine(p.Model, maxName), "model"))
}

// wrongDescribe: of a model that is named.
func wrongDescribe(p wire.ModelParams) string {
	return first(
		wrongProvider(p.Provider), unless(strings.TrimSpace(p.Model) != "" && isLine(p.Model, maxName), "model"),
		unless(p.ContextTokens >= 0 && p.ContextTokens <= maxTokens, "contextTokens"),
	)
}

func wrongSends(p wire.SendListParams) string {
	return first(unless(p.BeforeID >= 0, "beforeId"), unless(p.Limit >= 1 && p.Limit <= maxSends, "limit"))
}

func wrongSend(p wire.SendGetParams) string {
	return first(
		unless(p.ID >= 1, "id"), unless(p.Offset >= 0, "offset"),
		unless(p.Limit >= 1 && p.Limit <= maxPiece, "limit"),
	)
}

func wrongSendClear(p wire.SendClearParams) string { return unless(p.UpToID >= 0, "upToId") }

// wrongChat: words only, no calls.
func wrongChat(p wire.ChatParams) string {
	ok := len(p.Messages) >= 1 && len(p.Messages) <= maxList
	for _, m := range p.Messages {
		ok = ok && slices.Contains([]core.Role{core.RoleSystem, core.RoleUser, core.RoleAssistant}, m.Role)
		for _, part := range m.Parts {
			ok = ok && part.Type == core.PartText
		}
	}
	return first(wrongModel(p.ModelRef), wrongProvider(p.Provider), unless(ok, "messages"))
}

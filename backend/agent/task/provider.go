package task

import (
	"context"
	"slices"
	"strings"
	"time"

	"galley/backend/agent/core"
	"galley/backend/credential"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/provider"
	"galley/backend/settings"
)

// Provider returns the configured provider that a reference names, and the model
// of it. Empty fields mean what the person chose. Faults: no_provider with the
// id as detail, model_not_found.
func Provider(s *settings.Store, op string, ref core.ModelRef) (settings.Provider, core.ModelRef, error) {
	if ref.ProviderID == "" {
		ref.ProviderID = s.Get().Provider
	}
	p, ok := s.Provider(ref.ProviderID)
	if !ok {
		return settings.Provider{}, ref, &fault.Error{Code: fault.NoProvider, Op: op, Detail: ref.ProviderID}
	}
	if ref.Model == "" {
		ref.Model = p.Model
	}
	if ref.Model == "" {
		return p, ref, &fault.Error{Code: fault.ModelNotFound, Op: op, Detail: p.Name}
	}
	return p, ref, nil
}

// NeedsKey says whether a provider cannot be used without a key. A server on
// this machine, and one of a profile that runs there, may need none.
func NeedsKey(p settings.Provider) bool {
	if p.Kind == settings.KindMock || provider.ProfileOf(p.Profile).Local {
		return false
	}
	return !provider.IsLocalURL(p.BaseURL)
}

// Key returns the key of a provider for the Runner, "" when it may go without, or
// the password of a proxy. It is a host's credential callback. A provider that
// has another address than the one that is asked for has no key for it: no_key.
func Key(ctx context.Context, s *settings.Store, net *network.Resolver, keys *credential.Store, ref string) (string, error) {
	if host, ok := strings.CutPrefix(ref, settings.ProxyRef+"@"); ok {
		return proxyPassword(ctx, s, net, keys, host)
	}
	id, _, placed := strings.Cut(ref, "@")
	p, ok := s.Provider(id)
	if !ok {
		return "", fault.New(fault.NoProvider, "get key", nil)
	}
	if placed && keyRef(p) != ref {
		return "", fault.New(fault.NoKey, "get key", nil)
	}
	secret, err := keys.Get(ctx, id)
	if err != nil {
		if !NeedsKey(p) && fault.CodeOf(err) == fault.NoKey {
			return "", nil
		}
		return "", err
	}
	return secret.Reveal(), nil
}

// Tools are those that a run with a provider may use.
func Tools(p settings.Provider) []string {
	names := core.ConversationTools()
	if p.Kind == settings.KindMock {
		names = append(names, core.DevelopmentTools()...)
	}
	return names
}

// Policy is what the person lets runs do.
func Policy(p settings.Permissions) core.Policy {
	return core.Policy{
		core.PermWorkspaceRead: core.Verdict(p.WorkspaceRead),
		core.PermNotesWrite:    core.Verdict(p.NotesWrite),
	}
}

// Budget are the limits that the person set; the others are the defaults.
func Budget(l settings.Limits) core.Budget {
	return core.Budget{TimeMs: (time.Duration(l.Minutes) * time.Minute).Milliseconds(), Steps: l.Steps, Tokens: l.Tokens}
}

// allowed leaves of all tools those that are named; nil names all.
func allowed(all, named []string) []string {
	if named == nil {
		return all
	}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(named, name) })
}

// tighten returns the policy of a person with the stricter verdict of what is
// asked for. Nothing becomes milder by it.
func tighten(set, asked core.Policy) core.Policy {
	order := core.Verdicts()
	for perm, v := range asked {
		if had, ok := set[perm]; !ok || slices.Index(order, v) > slices.Index(order, had) {
			set[perm] = v
		}
	}
	return set
}

// smaller returns the smaller of each limit, where both are given.
func smaller(set, asked core.Budget) core.Budget {
	b := set.WithDefaults()
	less(&b.TimeMs, asked.TimeMs)
	less(&b.Steps, asked.Steps)
	less(&b.Tokens, asked.Tokens)
	less(&b.ToolResultBytes, asked.ToolResultBytes)
	less(&b.ToolResultsBytes, asked.ToolResultsBytes)
	less(&b.ToolMs, asked.ToolMs)
	less(&b.ConnectMs, asked.ConnectMs)
	less(&b.FirstTokenMs, asked.FirstTokenMs)
	less(&b.SilenceMs, asked.SilenceMs)
	return b
}

func less[T int | int64](v *T, other T) {
	if other > 0 && other < *v {
		*v = other
	}
}

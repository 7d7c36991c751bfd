package api

import (
	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// Models lists the models of a provider, with what it tells of each.
func (s *Settings) Models(id string) (ModelsResult, error) {
	return call(s.log, "list models", func() (ModelsResult, error) {
		params, err := s.modelParams("list models", id, "")
		if err != nil {
			return ModelsResult{}, err
		}
		r, err := s.host.Models(s.ctx(), wire.ProviderTestParams{Provider: params.Provider})
		if r.Models == nil {
			r.Models = []core.ModelInfo{}
		}
		return ModelsResult{Models: r.Models}, err
	})
}

// Model says what is known of one model of a provider. It asks the provider,
// for 3 s at most, unless it did so today; no answer is no failure.
func (s *Settings) Model(id, model string) (ModelDetail, error) {
	return call(s.log, "describe model", func() (ModelDetail, error) {
		params, err := s.modelParams("describe model", id, model)
		if err != nil {
			return ModelDetail{}, err
		}
		r, err := s.host.DescribeModel(s.ctx(), params)
		return detailOf(r), err
	})
}

// ForgetModel forgets what was learned or asked of one model of a provider.
func (s *Settings) ForgetModel(id, model string) (ModelDetail, error) {
	return call(s.log, "forget model", func() (ModelDetail, error) {
		params, err := s.modelParams("forget model", id, model)
		if err != nil {
			return ModelDetail{}, err
		}
		r, err := s.host.ForgetModel(s.ctx(), params)
		return detailOf(r), err
	})
}

// modelParams names a model of a provider to the Runner. What the person set of
// the context holds for every model of a provider.
func (s *Settings) modelParams(op, id, model string) (wire.ModelParams, error) {
	p, ok := s.store.Provider(id)
	if !ok {
		return wire.ModelParams{}, fault.New(fault.NoProvider, op, nil)
	}
	reached, err := s.reached(p)
	return wire.ModelParams{Provider: reached, Model: model, ContextTokens: p.ContextTokens}, err
}

func detailOf(r wire.ModelDescribeResult) ModelDetail {
	if r.Facts == nil {
		r.Facts = []core.Fact{}
	}
	return ModelDetail{Capabilities: r.Capabilities, Facts: r.Facts}
}

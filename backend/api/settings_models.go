package api

import (
	"galley/backend/agent/core"
	"galley/backend/agent/task"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// Models lists the models of a provider, with what it tells of each.
func (s *Settings) Models(id string) (ModelsResult, error) {
	return call(s.log, "list models", func() (ModelsResult, error) {
		params, err := s.modelParams("list models", id, "", true)
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

// Model says what is known of one model of a provider. With ask the provider is
// asked first, for 3 s at most, unless that was so today; no answer is no
// failure. Without it nothing is sent, so that it can be called unasked.
func (s *Settings) Model(id, model string, ask bool) (ModelDetail, error) {
	const op = "describe model"
	return call(s.log, op, func() (ModelDetail, error) {
		params, err := s.modelParams(op, id, model, ask)
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
		params, err := s.modelParams("forget model", id, model, false)
		if err != nil {
			return ModelDetail{}, err
		}
		r, err := s.host.ForgetModel(s.ctx(), params)
		return detailOf(r), err
	})
}

// modelParams names a model of a provider to the Runner, with the way there when
// it is to ask. What the person set of the context holds for every model of a
// provider.
func (s *Settings) modelParams(op, id, model string, ask bool) (wire.ModelParams, error) {
	p, ok := s.store.Provider(id)
	if !ok {
		return wire.ModelParams{}, fault.New(fault.NoProvider, op, nil)
	}
	params := wire.ModelParams{Provider: task.Named(p), Model: model, ContextTokens: p.ContextTokens, Ask: ask}
	if !ask {
		return params, nil
	}
	var err error
	params.Provider, err = s.reached(p)
	return params, err
}

func detailOf(r wire.ModelDescribeResult) ModelDetail {
	if r.Facts == nil {
		r.Facts = []core.Fact{}
	}
	return ModelDetail{Capabilities: r.Capabilities, Facts: r.Facts}
}

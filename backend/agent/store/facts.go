package store

import (
	"context"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// What is kept of models when Config says nothing. Facts are learned again, so
// that the oldest may go.
const (
	// factsOfModel and factsInAll are how many there are of one model at one
	// place, and together.
	factsOfModel = 32
	factsInAll   = 2000
	// learnedFor and askedFor are how long a fact is kept by its source.
	learnedFor = 30 * 24 * time.Hour
	askedFor   = 24 * time.Hour
	// The longest name of a model and of a fact, and the longest value, in
	// bytes.
	maxModelName = 500
	maxFactName  = 80
	maxFactValue = 80
)

// Place is where facts of models hold: a configured provider at an address,
// since the same model may be different elsewhere.
type Place struct {
	ProviderID string
	// Host is that of the address, with its port when there is one.
	Host string
}

// Facts returns what is kept of a model at a place and has not expired, the
// newest first; never nil.
func (s *Store) Facts(ctx context.Context, at Place, model string) ([]core.Fact, error) {
	var list []core.Fact
	now := s.cfg.Now()
	err := s.read(ctx, "read model facts", func(ctx context.Context, q querier) error {
		var err error
		list, err = all(ctx, q, scanFact, qFacts, at.ProviderID, at.Host, model,
			now.Add(-learnedFor).UnixMilli(), now.Add(-askedFor).UnixMilli())
		return err
	})
	return list, err
}

// LearnFact keeps a fact in place of the one of the same name and source. A
// place with too many lets the oldest go, and what has expired goes too. A fact
// of another source than asked or learned, and one that is too long, is
// invalid_input.
func (s *Store) LearnFact(ctx context.Context, at Place, model string, f core.Fact) error {
	const op = "learn model fact"
	if f.Source != core.SourceAsked && f.Source != core.SourceLearned {
		return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "source"}
	}
	if f.Name == "" || len(f.Name) > maxFactName || len(f.Value) > maxFactValue ||
		len(model) > maxModelName || len(at.ProviderID) > maxModelName || len(at.Host) > maxModelName {
		return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "fact"}
	}
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, qLearnFact, at.ProviderID, at.Host, model, f.Name, f.Value, string(f.Source), f.AtMs); err != nil {
			return err
		}
		if _, err := t.exec(ctx, qTrimFacts, at.ProviderID, at.Host, model, factsOfModel); err != nil {
			return err
		}
		if _, err := t.exec(ctx, qTrimAllFacts, factsInAll); err != nil {
			return err
		}
		return t.dropOldFacts(ctx)
	})
}

// ForgetFacts forgets what is kept of a model at a place.
func (s *Store) ForgetFacts(ctx context.Context, at Place, model string) error {
	return s.change(ctx, "forget model facts", func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, qForgetFacts, at.ProviderID, at.Host, model)
		return err
	})
}

// dropOldFacts lets facts go that have expired.
func (t *tx) dropOldFacts(ctx context.Context) error {
	_, err := t.exec(ctx, qDropOldFacts, t.now-learnedFor.Milliseconds(), t.now-askedFor.Milliseconds())
	return err
}

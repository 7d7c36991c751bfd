package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

func fact(name, value string, source core.Source, at int64) core.Fact {
	return core.Fact{Name: name, Value: value, Source: source, AtMs: at}
}

func facts(t *testing.T, s *Store, at Place, model string) []core.Fact {
	t.Helper()
	list, err := s.Facts(t.Context(), at, model)
	must(t, err)
	return list
}

// covers: K10
func TestFacts_AreKeptBySourceAndPlace(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, _ := openNew(t)
	here, there := Place{"p", "a.example.org"}, Place{"p", "b.example.org"}
	if got := facts(t, s, here, "m"); got == nil || len(got) != 0 {
		t.Errorf("a new store knows %v", got)
	}
	asked := fact(core.FactContextTokens, "128000", core.SourceAsked, 900)
	must(t, s.LearnFact(ctx, here, "m", asked))
	must(t, s.LearnFact(ctx, here, "m", fact(core.FactContextTokens, "64000", core.SourceLearned, 901)))
	must(t, s.LearnFact(ctx, here, "m", fact(core.FactContextTokens, "32000", core.SourceLearned, 902)))
	must(t, s.LearnFact(ctx, there, "m", fact(core.FactTools, "no", core.SourceLearned, 903)))
	must(t, s.LearnFact(ctx, here, "n", fact(core.FactTools, "yes", core.SourceLearned, 904)))
	want := []core.Fact{fact(core.FactContextTokens, "32000", core.SourceLearned, 902), asked}
	if diff := cmp.Diff(want, facts(t, s, here, "m")); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	must(t, s.ForgetFacts(ctx, here, "m"))
	if got := facts(t, s, here, "m"); len(got) != 0 {
		t.Errorf("forgotten and still there: %v", got)
	}
	if len(facts(t, s, there, "m")) != 1 || len(facts(t, s, here, "n")) != 1 {
		t.Error("another model, or another place, was forgotten too")
	}
	for name, f := range map[string]core.Fact{
		"set by the person": fact("x", "y", core.SourceSet, 1),
		"known":             fact("x", "y", core.SourceKnown, 1),
		"no name":           fact("", "y", core.SourceAsked, 1),
		"a long name":       fact(strings.Repeat("x", 81), "y", core.SourceAsked, 1),
		"a long value":      fact("x", strings.Repeat("y", 81), core.SourceAsked, 1),
	} {
		if err := s.LearnFact(ctx, here, "m", f); fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantCode(t, s.LearnFact(ctx, here, strings.Repeat("m", 501), asked), fault.InvalidInput)
}

// covers: K10
func TestFacts_AreFewAndTheOldestGo(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	here := Place{"p", "h"}
	for i := range int64(40) {
		must(t, s.LearnFact(t.Context(), here, "m", fact(fmt.Sprint(core.FactParam, i), core.FactRefused, core.SourceLearned, 100+i)))
	}
	got := facts(t, s, here, "m")
	if len(got) != factsOfModel || got[0].Name != "param:39" || got[len(got)-1].Name != "param:8" {
		t.Errorf("%d facts: %v", len(got), got)
	}
	// All but the last in one commit, to save the disk.
	must(t, s.change(t.Context(), "test", func(ctx context.Context, t *tx) error {
		for i := range int64(factsInAll) - 1 {
			if _, err := t.exec(ctx, qLearnFact, "p", "h", fmt.Sprint("m", i), core.FactTools, "no", "learned", 200+i); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.LearnFact(t.Context(), here, "last", fact(core.FactTools, "no", core.SourceLearned, 9_000)))
	n, _, err := one(t.Context(), plain{s.reader}, scanInt, "SELECT count(*) FROM model_facts")
	must(t, err)
	if n != factsInAll || len(facts(t, s, here, "m")) != 0 || len(facts(t, s, here, "m0")) != 1 {
		t.Errorf("%d facts in all, want %d", n, factsInAll)
	}
}

// covers: K10
func TestFacts_Expire(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	begun := time.UnixMilli(1_700_000_000_000)
	now := begun
	path := filepath.Join(t.TempDir(), "runs.db")
	clock := func(c *Config) { c.Now = func() time.Time { return now } }
	s := openAt(t, path, "one", clock)
	here := Place{"p", "h"}
	must(t, s.LearnFact(ctx, here, "m", fact("a", "1", core.SourceAsked, begun.UnixMilli())))
	must(t, s.LearnFact(ctx, here, "m", fact("b", "1", core.SourceLearned, begun.UnixMilli())))
	names := func() (all string) {
		for _, f := range facts(t, s, here, "m") {
			all += f.Name
		}
		return all
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{24*time.Hour - time.Millisecond, "ba"}, {24 * time.Hour, "b"}, {30*24*time.Hour - time.Millisecond, "b"}, {30 * 24 * time.Hour, ""}} {
		now = begun.Add(step.after)
		if got := names(); got != step.want {
			t.Errorf("after %v: %q, want %q", step.after, got, step.want)
		}
	}
	// They are not only hidden: a start removes them, and so does learning.
	rows := func() int64 {
		n, _, err := one(ctx, plain{s.reader}, scanInt, "SELECT count(*) FROM model_facts")
		must(t, err)
		return n
	}
	must(t, s.Close())
	s = openAt(t, path, "two", clock)
	if recovered(t, s); rows() != 0 {
		t.Errorf("%d rows after a start", rows())
	}
	must(t, s.LearnFact(ctx, here, "m", fact("a", "1", core.SourceAsked, now.UnixMilli())))
	now = now.Add(24 * time.Hour)
	must(t, s.LearnFact(ctx, here, "n", fact("a", "1", core.SourceAsked, now.UnixMilli())))
	if rows() != 1 {
		t.Errorf("%d rows after another was learned", rows())
	}
}

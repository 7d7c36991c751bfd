package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"galley/backend/agent/core"
)

// covers: R3
func TestGuards_TheDatabaseRefusesEveryForbiddenMove(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	run := submit(t, s, rewrite("c"))
	// Each pair is tried by itself and undone; the row is put into its first
	// state by insertion alone, so the way there goes through the table too.
	check := func(table, key, id string, insert func(x *tx, id string) error, from, to string, way []string, want bool) {
		var moved error
		err := s.change(t.Context(), "test", func(ctx context.Context, x *tx) error {
			if err := insert(x, id); err != nil {
				return err
			}
			for _, st := range way {
				if _, err := x.exec(ctx, fmt.Sprintf("UPDATE %s SET state=? WHERE %s=?", table, key), st, id); err != nil {
					return fmt.Errorf("way to %s: %w", from, err)
				}
			}
			_, moved = x.exec(ctx, fmt.Sprintf("UPDATE %s SET state=? WHERE %s=?", table, key), to, id)
			return errUndo
		})
		if !errors.Is(err, errUndo) {
			t.Fatalf("%s %s to %s: %v", table, from, to, err)
		}
		if got := moved == nil; got != want {
			t.Errorf("%s %s to %s: %v, want allowed %v", table, from, to, moved, want)
		}
		if e, ok := errors.AsType[*sqlite.Error](moved); moved != nil && (!ok || e.Code() != sqlite3.SQLITE_CONSTRAINT_TRIGGER) {
			t.Errorf("%s %s to %s: %v, want a trigger's refusal", table, from, to, moved)
		}
	}
	newRun := func(x *tx, id string) error {
		ctx := t.Context()
		if err := x.done(ctx, core.CommandID(id), "test", [32]byte{}, run.SessionID, id); err != nil {
			return err
		}
		return x.update(ctx, qInsertRun, id, string(run.SessionID), id, nil, "native", "{}", "{}", "boot", 1, "rewrite", "", "[]")
	}
	newCall := func(x *tx, id string) error {
		ctx := t.Context()
		if err := x.update(ctx, qInsertCall, id, string(run.ID), nil, 1, nil, "search", "read", "{}", []byte{1}, 1, 1); err != nil {
			return err
		}
		_, err := x.exec(ctx, "UPDATE tool_calls SET intent_json='{}' WHERE id=?", id)
		return err
	}
	runWay := ways(core.RunStates(), core.RunQueued, core.CanRun)
	for _, from := range core.RunStates() {
		for _, to := range core.RunStates() {
			want := core.CanRun(from, to) || from == to && !from.Final()
			check("runs", "id", "g", newRun, string(from), string(to), runWay[from], want)
		}
	}
	callWay := ways(core.ToolCallStates(), core.CallProposed, core.CanCall)
	for _, from := range core.ToolCallStates() {
		for _, to := range core.ToolCallStates() {
			want := core.CanCall(from, to) || from == to && !from.Final()
			check("tool_calls", "id", "g", newCall, string(from), string(to), callWay[from], want)
		}
	}
}

var errUndo = errors.New("undo")

// ways returns a way from the first state to each other one, without the first.
func ways[S ~string](states []S, first S, can func(from, to S) bool) map[S][]string {
	way := map[S][]string{first: {}}
	for range states {
		for _, from := range states {
			for _, to := range states {
				if _, known := way[to]; !known && way[from] != nil && can(from, to) {
					way[to] = append(append([]string{}, way[from]...), string(to))
				}
			}
		}
	}
	return way
}

func TestGuards_FinalRowsAndEventsNeverChange(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	run := started(t, s, "c")
	call := runningCall(t, s, run.ID, "search", core.ToolRead)
	must(t, s.FinishCall(t.Context(), call.ID, core.CallEnd{State: core.CallSucceeded}))
	_, err := s.End(t.Context(), run.ID, core.RunEnd{State: core.RunSucceeded})
	must(t, err)
	for _, q := range []string{
		"UPDATE runs SET ended_at=2", "UPDATE tool_calls SET model_result_text='other'", "UPDATE events SET at=2",
		"INSERT INTO runs SELECT 'x',session_id,command_id,NULL,'running',NULL,NULL,NULL,runtime,'{}','{}',NULL,'unknown',NULL,NULL,boot_id,1,1,NULL,kind,doc_uri,'[]' FROM runs",
		"INSERT INTO tool_calls(id,run_id,ord,name,kind,input_json,input_digest,state,proposed_at) SELECT 'x',run_id,9,name,kind,'{}',input_digest,'ready',1 FROM tool_calls",
	} {
		err := s.change(t.Context(), "test", func(ctx context.Context, x *tx) error {
			_, err := x.exec(ctx, q)
			return err
		})
		if e, ok := errors.AsType[*sqlite.Error](err); !ok || e.Code() != sqlite3.SQLITE_CONSTRAINT_TRIGGER {
			t.Errorf("%s: %v, want a trigger's refusal", q, err)
		}
	}
}

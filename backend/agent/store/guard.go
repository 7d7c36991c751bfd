package store

import (
	"fmt"
	"strings"

	"galley/backend/agent/core"
)

// guard is a trigger that refuses what the state tables of core forbid, so
// that no statement, however wrong, can write it.
type guard struct {
	name string
	sql  string
}

// guards generates the triggers from core's tables: a row starts in the first
// state, moves only where the table says, and never changes once it is final.
func guards() []guard {
	return append(
		machine("runs", core.RunStates(), core.RunQueued, core.CanRun, core.RunState.Final),
		machine("tool_calls", core.ToolCallStates(), core.CallProposed, core.CanCall, core.ToolCallState.Final)...,
	)
}

func machine[S ~string](table string, states []S, first S, can func(from, to S) bool, final func(S) bool) []guard {
	var allowed, ends []string
	for _, from := range states {
		if final(from) {
			ends = append(ends, quoted(from))
			continue
		}
		var to []string
		for _, s := range states {
			if can(from, s) {
				to = append(to, quoted(s))
			}
		}
		allowed = append(allowed, fmt.Sprintf("(OLD.state=%s AND NEW.state IN(%s))", quoted(from), strings.Join(to, ",")))
	}
	trigger := func(name, event, when string) guard {
		name = table + "_" + name
		return guard{name, fmt.Sprintf("CREATE TRIGGER %s BEFORE %s ON %s WHEN %s BEGIN SELECT RAISE(ABORT,'%s'); END",
			name, event, table, when, name)}
	}
	return []guard{
		trigger("first", "INSERT", "NEW.state<>"+quoted(first)),
		trigger("move", "UPDATE OF state", "NEW.state<>OLD.state AND NOT("+strings.Join(allowed, " OR ")+")"),
		trigger("frozen", "UPDATE", "OLD.state IN("+strings.Join(ends, ",")+")"),
	}
}

// quoted returns a state as an SQL string; states hold no quotation mark.
func quoted[S ~string](s S) string { return "'" + string(s) + "'" }

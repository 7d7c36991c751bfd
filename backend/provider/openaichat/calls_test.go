package openaichat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// TestCalls holds the neighbours of decision 12. An entry of want is the id,
// the name and the arguments of a call; "!" marks an invalid one.
//
// CASES: C8
func TestCalls(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		deltas []string
		want   []string
	}{
		{"name in every delta", []string{
			`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}`,
			`{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}`,
		}, []string{`a read {"p":1}`}},
		{"name in every delta, neither id nor index", []string{
			`{"function":{"name":"read","arguments":"{\"p\""}}`,
			`{"function":{"name":"read","arguments":":1}"}}`,
			`{"function":{"name":"read","arguments":""}}`,
		}, []string{` read {"p":1}`}},
		{"whole calls, neither id nor index", []string{
			`{"function":{"name":"read","arguments":"{\"p\":1}"}}`,
			`{"function":{"name":"read","arguments":"{\"p\":2}"}}`,
		}, []string{` read {"p":1}`, ` read {"p":2}`}},
		{"late id", []string{
			`{"index":0,"function":{"name":"read","arguments":"{}"}}`,
			`{"index":0,"id":"a"}`,
			`{"function":{"name":"find","arguments":"{\"q\":"},"index":1}`,
			`{"function":{"arguments":"1}"},"index":1,"id":"b"}`,
		}, []string{`a read {}`, `b find {"q":1}`}},
		{"late id, no index", []string{
			`{"function":{"name":"read","arguments":"{\"p\":"}}`,
			`{"id":"a","function":{"arguments":"1}"}}`,
		}, []string{`a read {"p":1}`}},
		{"index from the second delta on", []string{
			`{"id":"a","function":{"name":"read","arguments":""}}`,
			`{"index":0,"function":{"arguments":"{\"p\":1"}}`,
			`{"index":0,"function":{"arguments":"}"}}`,
		}, []string{`a read {"p":1}`}},
		{"ids take turns under one index", []string{
			`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":"}}`,
			`{"index":0,"id":"b","function":{"name":"find","arguments":"{\"q\":"}}`,
			`{"index":0,"id":"a","function":{"arguments":"1}"}}`,
			`{"index":0,"id":"b","function":{"arguments":"2}"}}`,
		}, []string{`a read {"p":1}`, `b find {"q":2}`}},
		{"one id under two indices", []string{
			`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":"}}`,
			`{"index":1,"id":"a","function":{"name":"find","arguments":"{\"q\":"}}`,
			`{"index":0,"function":{"arguments":"1}"}}`,
			`{"index":1,"id":"a","function":{"arguments":"2}"}}`,
		}, []string{`a read {"p":1}`, `a find {"q":2}`}},
		{"place holder", []string{
			`{"index":0,"id":"","function":{"name":"","arguments":""}}`,
			`{"index":1,"id":"a","function":{"name":"read","arguments":" \n"}}`,
		}, []string{`a read {}`}},
		{"arguments of other kinds", []string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"null"}}`,
			`{"index":1,"id":"b","function":{"name":"f","arguments":{"x":[1]}}}`,
			`{"index":2,"id":"c","function":{"name":"f","arguments":"[1]"}}`,
			`{"index":3,"id":"d","function":{"name":"f","arguments":"{\"a\":1}{\"b\":2}"}}`,
			`{"index":4,"id":"e","function":{"name":"f"}}`,
			`{"index":5,"id":"f","function":{"arguments":"{}"}}`,
			`{"index":6,"id":"g","function":{"name":"f","arguments":"{\"s\":\"\\ud83d\"}"}}`,
		}, []string{`a f {}`, `b f {"x":[1]}`, `c f !`, `d f !`, `e f {}`, `f  !`, `g f {"s":"\ufffd"}`}},
		{"index as a string", []string{
			`{"index":"0","id":"a","function":{"name":"f","arguments":"{"}}`,
			`{"index":0,"function":{"arguments":"}"}}`,
		}, []string{`a f {}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var c calls
			for _, d := range tt.deltas {
				c.add(dialect.Object(json.RawMessage(d)))
			}
			all, _ := c.answer(dialect.Names{}, provider.NewRedactor())
			var got []string
			ids := make(map[string]bool)
			for _, a := range all {
				s := string(a.Arguments)
				if a.Invalid {
					s = "!"
				}
				got = append(got, strings.Join([]string{a.ProviderID, a.Name, s}, " "))
				ids[a.ID] = true
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if len(ids) != len(all) {
				t.Errorf("own ids are not unique: %v", ids)
			}
		})
	}
}

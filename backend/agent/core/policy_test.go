package core

import (
	"fmt"
	"strings"
	"testing"
)

// policyTable is written out by hand. The columns are what the person set:
// nothing, allow, confirm, deny, a word that is not known; the last three are
// the same nothing, allow and confirm with the scope allowed for the session.
const policyTable = `
                       unset   allow   confirm deny other   granted granted-allow granted-confirm granted-deny
read  document.read    allow   allow   confirm deny deny    allow   allow         allow           deny
read  workspace.read   allow   allow   confirm deny deny    allow   allow         allow           deny
read  notes.propose    deny    deny    deny    deny deny    deny    deny          deny            deny
read  notes.write      deny    deny    deny    deny deny    deny    deny          deny            deny
read  network.request  confirm confirm confirm deny deny    allow   allow         allow           deny
read  secrets.use      deny    deny    deny    deny deny    deny    deny          deny            deny
write document.read    deny    deny    deny    deny deny    deny    deny          deny            deny
write workspace.read   deny    deny    deny    deny deny    deny    deny          deny            deny
write notes.propose    confirm confirm confirm deny deny    confirm confirm       confirm         deny
write notes.write      confirm confirm confirm deny deny    confirm confirm       confirm         deny
write network.request  confirm confirm confirm deny deny    confirm confirm       confirm         deny
write secrets.use      confirm confirm confirm deny deny    confirm confirm       confirm         deny
other document.read    deny    deny    deny    deny deny    deny    deny          deny            deny
read  other            deny    deny    deny    deny deny    deny    deny          deny            deny
`

// covers: T4
func TestPolicy_VerdictTable(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(policyTable), "\n")
	head := strings.Fields(lines[0])
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		kind, perm := ToolKind(row[0]), Permission(row[1])
		seen[row[0]+" "+row[1]] = true
		for i, col := range head {
			set, granted := col, false
			if rest, ok := strings.CutPrefix(col, "granted"); ok {
				set, granted = strings.TrimPrefix(rest, "-"), true
				if set == "" {
					set = "unset"
				}
			}
			p := Policy{}
			if set != "unset" {
				p[perm] = Verdict(set)
			}
			want := Verdict(row[i+2])
			if got := p.Verdict(kind, perm, granted); got != want {
				t.Errorf("%s %s, %s: %s, want %s", kind, perm, col, got, want)
			}
		}
	}
	for _, k := range []ToolKind{ToolRead, ToolWrite} {
		for _, p := range Permissions() {
			if !seen[fmt.Sprintf("%s %s", k, p)] {
				t.Errorf("table has no row for %s %s", k, p)
			}
		}
	}
}

// covers: T1 T4
func TestPolicy_NoSettingLetsAWriteToolRunUnasked(t *testing.T) {
	t.Parallel()
	settings := append(Verdicts(), "", "other")
	for _, perm := range Permissions() {
		for _, other := range Permissions() {
			for _, set := range settings {
				for _, granted := range []bool{false, true} {
					p := Policy{perm: set, other: VerdictAllow}
					if got := p.Verdict(ToolWrite, perm, granted); got == VerdictAllow {
						t.Errorf("write %s with %v, granted %v: allow", perm, p, granted)
					}
				}
			}
		}
	}
}

// covers: T4
func TestDecision_SessionOnlyForReads(t *testing.T) {
	t.Parallel()
	tests := []struct {
		d    Decision
		k    ToolKind
		want bool
	}{
		{AllowOnce, ToolRead, true},
		{AllowOnce, ToolWrite, true},
		{AllowSession, ToolRead, true},
		{AllowSession, ToolWrite, false},
		{Deny, ToolRead, true},
		{Deny, ToolWrite, true},
		{AllowOnce, "other", false},
		{AllowSession, "other", false},
		{Deny, "other", false},
		{"always", ToolRead, false},
		{"", ToolRead, false},
	}
	for _, tt := range tests {
		if got := tt.d.ValidFor(tt.k); got != tt.want {
			t.Errorf("%q for %s: %v, want %v", tt.d, tt.k, got, tt.want)
		}
	}
}

func TestPermission_OnlyProposingIsConfirmedByReview(t *testing.T) {
	t.Parallel()
	for _, p := range append(Permissions(), "other") {
		want := ByApproval
		if p == PermNotesPropose {
			want = ByReview
		}
		if got := p.Confirmation(); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
}

package core

import "slices"

// ToolKind says whether a tool can change something of the person's. Whether
// a tool asks first follows from it and is not a field of anything (T1).
type ToolKind string

// The kinds of tool.
const (
	ToolRead  ToolKind = "read"
	ToolWrite ToolKind = "write"
)

// Valid reports whether k is read or write.
func (k ToolKind) Valid() bool { return k == ToolRead || k == ToolWrite }

// Verdict is what the policy says to a call, from the mildest to the strictest.
type Verdict string

// The verdicts.
const (
	VerdictAllow   Verdict = "allow"
	VerdictConfirm Verdict = "confirm"
	VerdictDeny    Verdict = "deny"
)

// Verdicts returns every verdict, mildest first. The slice is the caller's own.
func Verdicts() []Verdict { return []Verdict{VerdictAllow, VerdictConfirm, VerdictDeny} }

// Valid reports whether v is one of Verdicts.
func (v Verdict) Valid() bool { return slices.Contains(Verdicts(), v) }

// stricter returns the stricter of two verdicts; one that is not known counts
// as deny.
func stricter(a, b Verdict) Verdict {
	if !a.Valid() || !b.Valid() {
		return VerdictDeny
	}
	if slices.Index(Verdicts(), a) >= slices.Index(Verdicts(), b) {
		return a
	}
	return b
}

// Permission is what a tool needs (T4). notes.delete exists for no tool.
type Permission string

// The permissions.
const (
	// PermDocumentRead: the open document, its selection and its outline.
	PermDocumentRead Permission = "document.read"
	// PermWorkspaceRead: search, list, and other documents.
	PermWorkspaceRead Permission = "workspace.read"
	// PermNotesPropose: propose a patch. Its review is the confirmation.
	PermNotesPropose Permission = "notes.propose"
	// PermNotesWrite: create and rename documents.
	PermNotesWrite Permission = "notes.write"
	// PermNetwork: servers that a person added.
	PermNetwork Permission = "network.request"
	// PermSecrets: hand a key to an external agent.
	PermSecrets Permission = "secrets.use"
)

// Permissions returns every permission. The slice is the caller's own.
func Permissions() []Permission {
	return []Permission{
		PermDocumentRead, PermWorkspaceRead, PermNotesPropose, PermNotesWrite, PermNetwork, PermSecrets,
	}
}

// Valid reports whether p is one of Permissions.
func (p Permission) Valid() bool { return slices.Contains(Permissions(), p) }

// Confirmation is how a call with verdict confirm is confirmed.
type Confirmation string

// The ways to confirm.
const (
	// ByApproval asks before anything happens.
	ByApproval Confirmation = "approval"
	// ByReview lets the call answer "proposed, not applied" at once: it has no
	// effect outside the store until a person accepts it in the document.
	ByReview Confirmation = "review"
)

// Confirmation returns how a call under p is confirmed. Only notes.propose is
// confirmed by review.
func (p Permission) Confirmation() Confirmation {
	if p == PermNotesPropose {
		return ByReview
	}
	return ByApproval
}

// allows reports whether a tool of this kind may declare the permission. A
// write tool cannot hide behind a permission to read, nor the reverse.
func (p Permission) allows(k ToolKind) bool {
	switch p {
	case PermDocumentRead, PermWorkspaceRead:
		return k == ToolRead
	case PermNotesPropose, PermNotesWrite, PermSecrets:
		return k == ToolWrite
	case PermNetwork:
		return k.Valid()
	}
	return false
}

// floor returns the mildest verdict that the kind and the permission leave.
func floor(k ToolKind, p Permission) Verdict {
	if !p.allows(k) {
		return VerdictDeny
	}
	if k == ToolRead && p != PermNetwork {
		return VerdictAllow
	}
	return VerdictConfirm
}

// Policy holds what a person set per permission. A permission that is absent
// has its default. A policy can only tighten: what is milder than the floor of
// the kind counts as the floor, and a verdict that is not known as deny.
type Policy map[Permission]Verdict

// Verdict judges a call of a tool of this kind under this permission. Granted
// says that the person allowed the scope for this session: that turns confirm
// into allow for reads, and for nothing else.
func (p Policy) Verdict(k ToolKind, perm Permission, granted bool) Verdict {
	v := floor(k, perm)
	if set, ok := p[perm]; ok {
		v = stricter(v, set)
	}
	if v == VerdictConfirm && granted && k == ToolRead {
		return VerdictAllow
	}
	return v
}

// Decision is a person's answer to an approval.
type Decision string

// The decisions.
const (
	AllowOnce    Decision = "allow_once"
	AllowSession Decision = "allow_session"
	Deny         Decision = "deny"
)

// ValidFor reports whether d may be given to a call of a tool of this kind:
// allow_session exists for reads only (T4).
func (d Decision) ValidFor(k ToolKind) bool {
	switch d {
	case AllowOnce, Deny:
		return k.Valid()
	case AllowSession:
		return k == ToolRead
	}
	return false
}

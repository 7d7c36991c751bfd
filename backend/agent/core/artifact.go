package core

// ArtifactKind says what may be cleaned away. A product is what the person
// asked for and never goes silently; logs and caches can (R11).
type ArtifactKind string

// The kinds of artifact.
const (
	ArtifactProduct ArtifactKind = "product"
	ArtifactLog     ArtifactKind = "log"
	ArtifactCache   ArtifactKind = "cache"
)

// ArtifactState is where an artifact stands.
type ArtifactState string

// The states of an artifact.
const (
	ArtifactWriting   ArtifactState = "writing"
	ArtifactPublished ArtifactState = "published"
	ArtifactMissing   ArtifactState = "missing"
	ArtifactDeleted   ArtifactState = "deleted"
)

// Artifact is an output too large for the database, kept as a file.
type Artifact struct {
	ID         ArtifactID   `json:"id"`
	RunID      RunID        `json:"runId"`
	ToolCallID ToolCallID   `json:"toolCallId"`
	Kind       ArtifactKind `json:"kind"`
	// Bytes is its size; SHA256 the hex digest of its content. Both are empty
	// until it is published.
	Bytes  int64         `json:"bytes"`
	SHA256 string        `json:"sha256"`
	State  ArtifactState `json:"state"`
}

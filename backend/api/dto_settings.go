package api

import (
	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/settings"
)

// KeyState says whether a provider has a key and where.
type KeyState struct {
	// Place is none, keyring, memory or file.
	Place string `json:"place"`
	// Keyring is the name of the keyring ("Secret Service"); may be empty.
	Keyring    string `json:"keyring"`
	StoredAtMs int64  `json:"storedAtMs"`
	// Path is the plain-text file a consent would write to.
	Path string `json:"path"`
}

// ProviderState is a configured endpoint as the page sees it.
type ProviderState struct {
	settings.Provider
	// NeedsKey is false for mock and for local servers.
	NeedsKey bool     `json:"needsKey"`
	Key      KeyState `json:"key"`
	// URL is the final address a chat request goes to; empty for mock.
	URL string `json:"url"`
	// Problem is a fault code that makes the address unusable, or "".
	Problem string `json:"problem"`
	// ModelsURL is where its models are listed; empty for mock.
	ModelsURL string `json:"modelsUrl"`
}

// SettingsState is everything the settings tab shows.
type SettingsState struct {
	Settings  settings.Settings `json:"settings"`
	Providers []ProviderState   `json:"providers"`
	// Problems are keys of settings.json that were not understood.
	Problems []string `json:"problems"`
	// File is the path of settings.json.
	File string `json:"file"`
	// KeptAside is the path of a broken settings file that was set aside.
	KeptAside string `json:"keptAside"`
	Version   string `json:"version"`
	OS        string `json:"os"`
	// CanMoveKeys is the name of a keyring that answers while keys lie in plain
	// text, so that they can move there; "" otherwise.
	CanMoveKeys string `json:"canMoveKeys"`
}

// SetKeyRequest stores a key. The page never gets one back.
type SetKeyRequest struct {
	ProviderID string `json:"providerId"`
	Key        string `json:"key"`
	// Place is keyring, memory or file. Only keyring needs no consent.
	Place string `json:"place"`
}

// TestResult is what a connection test found.
type TestResult struct {
	URL string `json:"url"`
	// Models are what the provider offers; where they could not be listed
	// ModelsCode is the fault, else "".
	Models     []core.ModelInfo `json:"models"`
	ModelsCode string           `json:"modelsCode"`
	// Answer is what the model said, at most 200 characters; times are in ms
	// from the sending to the first token and to the whole answer.
	Answer       string     `json:"answer"`
	FirstTokenMs int64      `json:"firstTokenMs"`
	TotalMs      int64      `json:"totalMs"`
	Usage        core.Usage `json:"usage"`
}

// ModelsResult is the list of a provider's models.
type ModelsResult struct {
	Models []core.ModelInfo `json:"models"`
}

// ModelDetail is what is known of one model of a provider.
type ModelDetail struct {
	Capabilities core.Capabilities `json:"capabilities"`
	// Facts were learned from refusals or asked of the endpoint, newest first.
	Facts []core.Fact `json:"facts"`
}

// NetworkState says how a provider is reached, and what the certificates file
// holds.
type NetworkState struct {
	// Proxy is the host of the proxy that would be used for the provider, "" for
	// none; Source is where it comes from: environment, desktop, system, manual
	// or none.
	Proxy  string `json:"proxy"`
	Source string `json:"source"`
	// Certificates are the subjects in the extra file, in its order; Problem is
	// a fault code when the file or the proxy cannot be used, or "".
	Certificates []string `json:"certificates"`
	Problem      string   `json:"problem"`
	// ProblemDetail names what is wrong ("not_found", a path), or is "".
	ProblemDetail string `json:"problemDetail"`
	// Password says whether a password of the proxy is kept, and where.
	Password KeyState `json:"password"`
}

// SendPage is a page of the send log, newest first.
type SendPage = wire.SendListResult

// SendBody is part of what left with one request.
type SendBody = wire.SendGetResult

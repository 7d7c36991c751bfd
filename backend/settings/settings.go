// Package settings owns the person's settings: one human-readable JSON file,
// typed, in which a bad value voids only itself; the provider configurations,
// without secrets; and the layout of the program's home folder.
package settings

// Settings are the person's choices. The zero value of a field is never a
// valid choice; Default gives every default.
type Settings struct {
	// Theme is system, light, dark, sepia or contrast.
	Theme string `json:"theme"`
	// Language is system, en or zh.
	Language string `json:"language"`
	// Face is sans, serif or mono.
	Face string `json:"face"`
	// TextSize is in CSS pixels, 13 to 28.
	TextSize int `json:"textSize"`
	// Provider is the id of the provider that AI uses; "" before one is chosen.
	Provider string `json:"provider"`
}

// Provider is a configured endpoint, without its key.
type Provider struct {
	// ID is made by us: lower-case letters, digits and hyphens.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Kind is mock or openai_chat.
	Kind string `json:"kind"`
	// Profile tunes a dialect; see wire.ProviderConfig.
	Profile string `json:"profile"`
	BaseURL string `json:"baseUrl"`
	Model   string `json:"model"`
}

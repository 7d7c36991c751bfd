// Package settings owns the person's settings: one human-readable JSON file,
// typed, in which a bad value voids only itself; the provider configurations,
// without secrets; and the layout of the program's home folder.
//
// It must not know keys, the page or what a setting does. A Store is safe for
// concurrent use. The invariant that matters: what a person wrote in the file
// and we do not understand stays there.
package settings

import (
	"slices"
	"strings"
	"unicode"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// Settings are the person's choices. The zero value of a field is never a
// valid choice, but for Provider, ShowHidden and SendLog; Default gives every default.
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
	// ShowHidden shows files and folders whose name begins with a dot; else
	// they are set aside, as those of Ignored are.
	ShowHidden bool `json:"showHidden"`
	// Ignored are the names of folders and files that the tree, the search and
	// the quick opening set aside; never nil, at most MaxIgnored.
	Ignored []string `json:"ignored"`
	// Permissions and Limits hold for runs that begin from now on.
	Permissions Permissions `json:"permissions"`
	Limits      Limits      `json:"limits"`
	// Presets are the models that presets of a rewrite use in place of that of
	// Provider, each preset at most once; never nil, at most MaxPresets.
	Presets []PresetModel `json:"presets"`
	Network Network       `json:"network"`
	// SendLog keeps what leaves for providers, so that it can be looked at (K9).
	SendLog bool `json:"sendLog"`
}

// PresetModel is the model that a preset of a rewrite uses.
type PresetModel struct {
	// Preset is the id of one: lower-case letters, digits and hyphens.
	Preset string `json:"preset"`
	// Provider is the id of one that exists; with it goes the entry.
	Provider string `json:"provider"`
	// Model is one of the provider; "" is the one that is set there.
	Model string `json:"model"`
}

// Network says how providers are reached (K7).
type Network struct {
	// Proxy is system, none or manual.
	Proxy string `json:"proxy"`
	// ProxyURL is the proxy of manual: http, https or socks5, a host and perhaps
	// a port, without a user name or password; "" while it is being set up.
	ProxyURL string `json:"proxyUrl"`
	// ProxyUser is the name that the proxy of manual knows the person by; ""
	// for none. The password is kept where keys are, under ProxyRef.
	ProxyUser string `json:"proxyUser"`
	// Bypass are hosts that the proxy of manual is not asked for, as in NO_PROXY;
	// never nil, at most MaxBypass.
	Bypass []string `json:"bypass"`
	// CAFile is the absolute path of certificates, as PEM, that are trusted besides those
	// of the system; "" for none.
	CAFile string `json:"caFile"`
}

// The values of Network.Proxy.
const (
	ProxySystem = "system"
	ProxyNone   = "none"
	ProxyManual = "manual"
)

// ProxyRef names the proxy's password among the keys. No provider may have it as
// its id.
const ProxyRef = "network-proxy"

// Default returns every default.
func Default() Settings {
	return Settings{
		Theme: "system", Language: "system", Face: "sans", TextSize: 17,
		Ignored:     workspace.DefaultIgnored(),
		Permissions: Permissions{WorkspaceRead: Allow, NotesWrite: Confirm},
		Limits:      Limits{Minutes: 10, Steps: 25, Tokens: 200_000},
		Presets:     []PresetModel{},
		Network:     Network{Proxy: ProxySystem, Bypass: []string{}},
		SendLog:     true,
	}
}

// The limits of Settings.TextSize.
const (
	MinTextSize = 13
	MaxTextSize = 28
)

// The limits of Settings.Ignored: how many names, and how long each may be, in
// bytes.
const (
	MaxIgnored     = 200
	MaxIgnoredName = 255
)

// check returns the JSON name of the first field that is out of range, or "".
// Whether Provider exists is the store's to know.
func (s Settings) check() string {
	switch {
	case !slices.Contains([]string{"system", "light", "dark", "sepia", "contrast"}, s.Theme):
		return "theme"
	case !slices.Contains([]string{"system", "en", "zh"}, s.Language):
		return "language"
	case !slices.Contains([]string{"sans", "serif", "mono"}, s.Face):
		return "face"
	case s.TextSize < MinTextSize || s.TextSize > MaxTextSize:
		return "textSize"
	case s.Ignored == nil || len(s.Ignored) > MaxIgnored || slices.ContainsFunc(s.Ignored, noName):
		return "ignored"
	}
	if field := s.Permissions.check(); field != "" {
		return field
	}
	if field := s.Limits.check(); field != "" {
		return field
	}
	if !validPresets(s.Presets) {
		return presetsKey
	}
	return s.Network.check()
}

// trimmed is s without blanks round what a person typed.
func (s Settings) trimmed() Settings {
	s = s.clone()
	for i := range s.Presets {
		s.Presets[i].Model = strings.TrimSpace(s.Presets[i].Model)
	}
	s.Network = s.Network.trimmed()
	return s
}

// noName reports whether s can be no name of a file or folder.
func noName(s string) bool {
	return s == "" || s == "." || s == ".." || len(s) > MaxIgnoredName || strings.ContainsAny(s, `/\`) ||
		strings.ContainsFunc(s, unicode.IsControl)
}

// clone returns a copy that shares nothing.
func (s Settings) clone() Settings {
	s.Ignored = slices.Clone(s.Ignored)
	s.Presets = slices.Clone(s.Presets)
	s.Network.Bypass = slices.Clone(s.Network.Bypass)
	return s
}

// invalid is a fault that names the field at fault, never its value: what was
// typed into the wrong field may be a key.
func invalid(op, field string) error {
	e := fault.New(fault.InvalidInput, op, nil)
	e.Detail = field
	return e
}

package settings

import "encoding/json"

const presetsKey = "presets"

// MaxPresets is how many presets of a rewrite may have a model of their own.
const MaxPresets = 50

// unusable reports whether m can be no entry of the presets; whether its provider
// exists is the store's to know.
func (m PresetModel) unusable() bool {
	return !validID(m.Preset) || !validID(m.Provider) || !printable(m.Model)
}

// validPresets reports whether list can be Settings.Presets.
func validPresets(list []PresetModel) bool {
	seen := make(map[string]bool, len(list))
	for _, m := range list {
		if m.unusable() || seen[m.Preset] {
			return false
		}
		seen[m.Preset] = true
	}
	return list != nil && len(list) <= MaxPresets
}

// readPresets reads the presets. An entry that cannot be used, or whose provider
// is not there, voids only itself.
func (u *understood) readPresets(raw json.RawMessage) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		u.void(presetsKey, presetsKey)
		return
	}
	for i, entry := range list {
		m, ok := decodePreset(entry)
		next := append(u.settings.Presets[:len(u.settings.Presets):len(u.settings.Presets)], m)
		if !ok || !u.knows(m.Provider) || !validPresets(next) {
			u.void(presetsKey, presetsKey+"["+itoa(i)+"]")
			continue
		}
		u.settings.Presets = next
	}
}

// decodePreset returns the entry in raw; ok is false for null and for what is of
// another type.
func decodePreset(raw json.RawMessage) (m PresetModel, ok bool) {
	if string(raw) == "null" {
		return m, false
	}
	ok = json.Unmarshal(raw, &m) == nil
	return m, ok
}

// withoutPresets takes the presets of a provider out of o. Entries that cannot be
// read stay as they are.
func withoutPresets(o object, provider string) (object, error) {
	raw, ok := o.get(presetsKey)
	if !ok {
		return o, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return o, nil // what is no list refers to nobody
	}
	kept := make([]json.RawMessage, 0, len(list))
	for _, entry := range list {
		if m, ok := decodePreset(entry); !ok || m.Provider != provider {
			kept = append(kept, entry)
		}
	}
	if len(kept) == len(list) {
		return o, nil
	}
	return o.set(presetsKey, kept)
}

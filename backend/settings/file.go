package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object that keeps the order of its members and those that
// we do not know.
type object []member

type member struct {
	key string
	raw json.RawMessage
}

// parseObject reads the object in data. When data is cut or wrong somewhere,
// whole is false and what came before that place is returned.
func parseObject(data []byte) (o object, whole bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return o, false
		}
		key, ok := t.(string)
		var raw json.RawMessage
		if !ok || d.Decode(&raw) != nil {
			return o, false
		}
		o = o.with(key, raw)
	}
	if _, err := d.Token(); err != nil {
		return o, false
	}
	_, err := d.Token() // nothing may follow
	return o, errors.Is(err, io.EOF)
}

func (o object) get(key string) (json.RawMessage, bool) {
	for _, m := range o {
		if m.key == key {
			return m.raw, true
		}
	}
	return nil, false
}

// with returns o with key set, in its old place or at the end.
func (o object) with(key string, raw json.RawMessage) object {
	for i := range o {
		if o[i].key == key {
			out := append(object(nil), o...)
			out[i].raw = raw
			return out
		}
	}
	return append(o[:len(o):len(o)], member{key, raw})
}

// set is with for a Go value.
func (o object) set(key string, value any) (object, error) {
	raw, err := encode(value)
	if err != nil {
		return nil, err
	}
	return o.with(key, raw), nil
}

// find returns the value at a setting's key, which may be that of a member of a
// member ("limits.steps"). bad says that the outer one is no object.
func (o object) find(key string) (raw json.RawMessage, ok, bad bool) {
	outer, inner, nested := strings.Cut(key, ".")
	raw, ok = o.get(outer)
	if !nested || !ok {
		return raw, ok, false
	}
	group, whole := parseObject(raw)
	if !whole {
		return nil, false, true
	}
	raw, ok = group.get(inner)
	return raw, ok, false
}

// put is set for a setting's key. What else the outer member holds stays, unless
// it is no object.
func (o object) put(key string, value any) (object, error) {
	outer, inner, nested := strings.Cut(key, ".")
	if !nested {
		return o.set(key, value)
	}
	raw, _ := o.get(outer)
	group, whole := parseObject(raw)
	if !whole {
		group = nil
	}
	group, err := group.set(inner, value)
	if err != nil {
		return nil, err
	}
	if raw, err = group.raw(); err != nil {
		return nil, err
	}
	return o.with(outer, raw), nil
}

// raw is o as JSON on one line.
func (o object) raw() (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := encode(m.key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.raw)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// text is o as a person reads it.
func (o object) text() ([]byte, error) {
	raw, err := o.raw()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// encode is json.Marshal without escapes that only HTML needs.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// understood is what a file says, as far as it can be used.
type understood struct {
	settings  Settings
	providers []Provider // without the mock
	entry     []int      // of each provider: where it stands in the file's list
	problems  []string
}

// understand reads o over the defaults. A value that cannot be used leaves its
// default and its key among the problems.
func understand(o object) understood {
	u := understood{settings: Default()}
	u.readProviders(o)
	u.readSettings(o)
	return u
}

func (u *understood) readSettings(o object) {
	for _, key := range settingKeys() {
		raw, ok, bad := o.find(key)
		if bad {
			u.void(key, strings.Split(key, ".")[0])
			continue
		}
		if !ok {
			continue
		}
		if key == presetsKey {
			u.readPresets(raw)
			continue
		}
		next := u.settings
		if !decodeField(&next, key, raw) || next.check() != "" || !u.knows(next.Provider) {
			u.void(key, key)
			continue
		}
		u.settings = next
	}
}

// void leaves a field at its default and names the problem. A permission asks
// then: whoever wrote something there meant to tighten it.
func (u *understood) void(key, problem string) {
	switch key {
	case "permissions.workspaceRead":
		u.settings.Permissions.WorkspaceRead = Confirm
	case "permissions.notesWrite":
		u.settings.Permissions.NotesWrite = Confirm
	}
	if !slices.Contains(u.problems, problem) {
		u.problems = append(u.problems, problem)
	}
}

// decodeField sets one field. A value of another type is refused, and so is
// null, which json would take for "leave".
func decodeField(s *Settings, key string, raw json.RawMessage) bool {
	if string(raw) == "null" {
		return false
	}
	var err error
	switch key {
	case "theme":
		err = json.Unmarshal(raw, &s.Theme)
	case "language":
		err = json.Unmarshal(raw, &s.Language)
	case "face":
		err = json.Unmarshal(raw, &s.Face)
	case "textSize":
		err = json.Unmarshal(raw, &s.TextSize)
	case "provider":
		err = json.Unmarshal(raw, &s.Provider)
	case "showHidden":
		err = json.Unmarshal(raw, &s.ShowHidden)
	case "ignored":
		// A slice of its own: the one before is the defaults'.
		var names []string
		err = json.Unmarshal(raw, &names)
		s.Ignored = names
	case "permissions.workspaceRead":
		err = json.Unmarshal(raw, &s.Permissions.WorkspaceRead)
	case "permissions.notesWrite":
		err = json.Unmarshal(raw, &s.Permissions.NotesWrite)
	case "limits.minutes":
		err = json.Unmarshal(raw, &s.Limits.Minutes)
	case "limits.steps":
		err = json.Unmarshal(raw, &s.Limits.Steps)
	case "limits.tokens":
		err = json.Unmarshal(raw, &s.Limits.Tokens)
	case "network.proxy":
		err = json.Unmarshal(raw, &s.Network.Proxy)
	case "network.proxyUrl":
		err = json.Unmarshal(raw, &s.Network.ProxyURL)
	case "network.proxyUser":
		err = json.Unmarshal(raw, &s.Network.ProxyUser)
	case "network.bypass":
		var hosts []string
		err = json.Unmarshal(raw, &hosts)
		s.Network.Bypass = hosts
	case "network.caFile":
		err = json.Unmarshal(raw, &s.Network.CAFile)
	case "sendLog":
		err = json.Unmarshal(raw, &s.SendLog)
	default:
		err = errors.New("no such field")
	}
	return err == nil
}

// settingKeys are the JSON names of Settings in the order of a new file; those of
// a member that is an object are "member.name".
func settingKeys() []string {
	return []string{
		"theme", "language", "face", "textSize", "provider", "showHidden", "ignored",
		"permissions.workspaceRead", "permissions.notesWrite", "limits.minutes", "limits.steps", "limits.tokens",
		presetsKey, "network.proxy", "network.proxyUrl", "network.proxyUser", "network.bypass", "network.caFile", "sendLog",
	}
}

func (s Settings) field(key string) any {
	switch key {
	case "theme":
		return s.Theme
	case "language":
		return s.Language
	case "face":
		return s.Face
	case "textSize":
		return s.TextSize
	case "showHidden":
		return s.ShowHidden
	case "ignored":
		return s.Ignored
	case "permissions.workspaceRead":
		return s.Permissions.WorkspaceRead
	case "permissions.notesWrite":
		return s.Permissions.NotesWrite
	case "limits.minutes":
		return s.Limits.Minutes
	case "limits.steps":
		return s.Limits.Steps
	case "limits.tokens":
		return s.Limits.Tokens
	case presetsKey:
		return s.Presets
	case "network.proxy":
		return s.Network.Proxy
	case "network.proxyUrl":
		return s.Network.ProxyURL
	case "network.proxyUser":
		return s.Network.ProxyUser
	case "network.bypass":
		return s.Network.Bypass
	case "network.caFile":
		return s.Network.CAFile
	case "sendLog":
		return s.SendLog
	default:
		return s.Provider
	}
}

const providersKey = "providers"

func (u *understood) readProviders(o object) {
	raw, ok := o.get(providersKey)
	if !ok {
		return
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		u.problems = append(u.problems, providersKey)
		return
	}
	for i, entry := range list {
		at := providersKey + "[" + itoa(i) + "]."
		p, void, field := decodeProvider(entry)
		for _, key := range void {
			u.problems = append(u.problems, at+key)
		}
		if field == "" && (p.ID == Mock().ID || u.knows(p.ID)) {
			field = "id"
		}
		if field != "" {
			u.problems = append(u.problems, at+field)
			continue
		}
		u.providers, u.entry = append(u.providers, p), append(u.entry, i)
	}
}

// decodeProvider returns the provider in raw, or the field that voids it. void
// are the fields of one that holds whose values cannot be used: they are as if
// they were not there.
func decodeProvider(raw json.RawMessage) (p Provider, void []string, field string) {
	o, whole := parseObject(raw)
	if !whole {
		return Provider{}, nil, "id"
	}
	for key, to := range providerFields(&p) {
		value, ok := o.get(key)
		if ok && (string(value) == "null" || json.Unmarshal(value, to) != nil) {
			return Provider{}, nil, key
		}
	}
	p = p.trimmed()
	if field := p.checkAddress(); field != "" {
		return p, nil, field
	}
	void = p.readOptions(o)
	return p, void, ""
}

// providerFields are the fields that hold the address of a provider.
func providerFields(p *Provider) map[string]*string {
	return map[string]*string{
		"id": &p.ID, "name": &p.Name, "kind": &p.Kind, "profile": &p.Profile, "baseUrl": &p.BaseURL, "model": &p.Model,
	}
}

// knows reports whether id may be chosen.
func (u *understood) knows(id string) bool {
	if id == "" || id == Mock().ID {
		return true
	}
	for _, p := range u.providers {
		if p.ID == id {
			return true
		}
	}
	return false
}

func itoa(n int) string { return strconv.Itoa(n) }

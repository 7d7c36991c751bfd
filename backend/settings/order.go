package settings

import (
	"encoding/json"
	"reflect"
	"slices"

	"galley/backend/fault"
)

// MoveProvider puts a provider at another place in the order, counted from 0
// among those that are not the mock. Entries that cannot be used keep their
// places among the others as far as they can. Faults: not_found; invalid_input
// for the mock ("id") and for a place that is not there ("to"); and those of
// writing.
func (s *Store) MoveProvider(id string, to int) error {
	const op = "move provider"
	if id == Mock().ID {
		return invalid(op, "id")
	}
	return s.change(func(o object, said understood) (object, error) {
		from := said.place(id)
		switch {
		case from < 0:
			return nil, fault.New(fault.NotFound, op, nil)
		case to < 0 || to >= len(said.providers):
			return nil, invalid(op, "to")
		case from == to:
			return o, nil
		}
		list := entries(o)
		at := said.entry[from]
		moved := list[at]
		list = slices.Delete(list, at, at+1)
		// Where the one that stood at this place was: before it when the entry
		// comes from below, and after it when it comes from above, since then
		// all between them moved up by one.
		return o.set(providersKey, slices.Insert(list, said.entry[to], moved))
	})
}

// DuplicateProvider adds a copy of a provider right after it, with a name and an
// id of its own, and returns the copy. Faults: not_found; invalid_input for the
// mock ("id") and for the name; and those of writing.
func (s *Store) DuplicateProvider(id, name string) (Provider, error) {
	const op = "duplicate provider"
	if id == Mock().ID {
		return Provider{}, invalid(op, "id")
	}
	var p Provider
	err := s.change(func(o object, said understood) (object, error) {
		from := said.place(id)
		if from < 0 {
			return nil, fault.New(fault.NotFound, op, nil)
		}
		p = said.providers[from]
		p.Name, p.ID = name, ""
		p = p.trimmed()
		p.ID = said.newID(p.Name)
		if field := p.check(); field != "" {
			return nil, invalid(op, field)
		}
		// Members of the entry that we do not know stay with the one they were
		// written for.
		copied, err := mergeProvider(nil, p)
		if err != nil {
			return nil, err
		}
		return o.set(providersKey, slices.Insert(entries(o), said.entry[from]+1, copied))
	})
	if err != nil {
		return Provider{}, err
	}
	return p, nil
}

// place returns where a provider stands among those that can be used; -1 for
// nowhere.
func (u *understood) place(id string) int {
	return slices.IndexFunc(u.providers, func(p Provider) bool { return p.ID == id })
}

// newID makes an id for a provider of that name.
func (u *understood) newID(name string) string {
	return idFor(name, append(slices.Clone(u.providers), Mock()))
}

// entries are those of the providers in o, used or not.
func entries(o object) []json.RawMessage {
	var list []json.RawMessage
	if raw, ok := o.get(providersKey); ok {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil // reported as a problem; the person chose to go on
		}
	}
	return list
}

// withProvider puts p into the list of o: over the entry with its id, whose
// unknown members stay, or at the end. drop takes the entry out instead.
// Entries that cannot be used stay as they are.
func withProvider(o object, p Provider, drop bool) (object, error) {
	list := entries(o)
	out := make([]json.RawMessage, 0, len(list)+1)
	found := false
	for _, entry := range list {
		old, _ := parseObject(entry)
		var id string
		if raw, ok := old.get("id"); !ok || json.Unmarshal(raw, &id) != nil || id != p.ID || found {
			out = append(out, entry)
			continue
		}
		found = true
		if drop {
			continue
		}
		merged, err := mergeProvider(old, p)
		if err != nil {
			return nil, err
		}
		out = append(out, merged)
	}
	if !found && !drop {
		added, err := mergeProvider(nil, p)
		if err != nil {
			return nil, err
		}
		out = append(out, added)
	}
	return o.set(providersKey, out)
}

// mergeProvider writes p over the entry o. An optional value that could not be
// used stays as it was written until the person sets another.
func mergeProvider(o object, p Provider) (json.RawMessage, error) {
	fields := providerFields(&p)
	var err error
	for _, key := range []string{"id", "name", "kind", "profile", "baseUrl", "model"} {
		if o, err = o.set(key, *fields[key]); err != nil {
			return nil, err
		}
	}
	was := Provider{}.trimmed()
	void := was.readOptions(o)
	for _, key := range optionalKeys() {
		if slices.Contains(void, key) && reflect.DeepEqual(was.option(key), p.option(key)) {
			continue
		}
		if o, err = o.set(key, p.option(key)); err != nil {
			return nil, err
		}
	}
	return o.raw()
}

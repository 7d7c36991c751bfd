package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"galley/backend/fault"
)

// FieldType is the type of one field of a tool's input.
type FieldType string

// The types: the whole subset of JSON Schema that tools may use (T1). An enum
// is a string with Enum set.
const (
	TypeObject      FieldType = "object"
	TypeString      FieldType = "string"
	TypeNumber      FieldType = "number"
	TypeInteger     FieldType = "integer"
	TypeBoolean     FieldType = "boolean"
	TypeStringArray FieldType = "string_array"
)

// Field is one field of a tool's input.
type Field struct {
	Name        string
	Type        FieldType
	Description string
	Required    bool
	// Enum holds the only allowed values of a string; nil allows any.
	Enum []string
	// Fields of an object; nil for other types.
	Fields Schema
}

// Schema is a JSON object's fields in order. It describes a tool's input to
// models and validates every call. The zero value takes the empty object.
type Schema []Field

// check reports a schema outside the subset.
func (s Schema) check(path string) error {
	seen := map[string]bool{}
	for _, f := range s {
		at := path + f.Name
		switch {
		case f.Name == "":
			return fmt.Errorf("field of %q has no name", path)
		case seen[f.Name]:
			return fmt.Errorf("field %q is given twice", at)
		case f.Enum != nil && (f.Type != TypeString || len(f.Enum) == 0):
			return fmt.Errorf("field %q: enum needs a string and a value", at)
		case f.Fields != nil && f.Type != TypeObject:
			return fmt.Errorf("field %q: only an object has fields", at)
		}
		seen[f.Name] = true
		switch f.Type {
		case TypeString, TypeNumber, TypeInteger, TypeBoolean, TypeStringArray:
		case TypeObject:
			if err := f.Fields.check(at + "."); err != nil {
				return err
			}
		default:
			return fmt.Errorf("field %q: type %q is outside the subset", at, f.Type)
		}
	}
	return nil
}

// JSON returns the schema as JSON Schema, fields in order.
func (s Schema) JSON() json.RawMessage {
	var b bytes.Buffer
	s.write(&b, "")
	return b.Bytes()
}

func (s Schema) write(b *bytes.Buffer, description string) {
	b.WriteString(`{"type":"object"`)
	writeDescription(b, description)
	b.WriteString(`,"properties":{`)
	required := []string{}
	for i, f := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(f.Name))
		b.WriteByte(':')
		f.write(b)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	b.WriteString(`},"required":`)
	b.Write(quote(required))
	b.WriteString(`,"additionalProperties":false}`)
}

func (f Field) write(b *bytes.Buffer) {
	switch f.Type {
	case TypeObject:
		f.Fields.write(b, f.Description)
		return
	case TypeStringArray:
		b.WriteString(`{"type":"array","items":{"type":"string"}`)
	case TypeString, TypeNumber, TypeInteger, TypeBoolean:
		b.WriteString(`{"type":`)
		b.Write(quote(f.Type))
	}
	writeDescription(b, f.Description)
	if f.Enum != nil {
		b.WriteString(`,"enum":`)
		b.Write(quote(f.Enum))
	}
	b.WriteByte('}')
}

func writeDescription(b *bytes.Buffer, d string) {
	if d != "" {
		b.WriteString(`,"description":`)
		b.Write(quote(d))
	}
}

// quote encodes a string or a slice of strings, which cannot fail, without the
// escapes meant for HTML.
func quote(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// maxExact is the greatest integer that a JSON number carries exactly.
const maxExact = 1 << 53

// Normalise checks an input against the schema and returns it in one canonical
// form: fields in the schema's order, no blanks, integers without fraction,
// null for an optional field left out. Equal inputs get equal bytes. Errors
// are invalid_input with a Detail that names the field and what was expected,
// never the value.
func (s Schema) Normalise(input json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(input) {
		return nil, invalidInput("", "valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	v, err := readValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, invalidInput("", "one JSON object")
	}
	var b bytes.Buffer
	if err := s.normalise(&b, v, ""); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (s Schema) normalise(b *bytes.Buffer, v any, path string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return invalidInput(path, "an object")
	}
	for name := range m {
		if !slices.ContainsFunc(s, func(f Field) bool { return f.Name == name }) {
			// The name is the model's own and may hold anything: not quoted.
			return invalidInput(path, "no other fields than those declared")
		}
	}
	b.WriteByte('{')
	first := true
	for _, f := range s {
		at := f.Name
		if path != "" {
			at = path + "." + f.Name
		}
		got, ok := m[f.Name]
		if !ok || got == nil {
			if f.Required {
				return invalidInput(at, "a value")
			}
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(quote(f.Name))
		b.WriteByte(':')
		if err := f.normalise(b, got, at); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func (f Field) normalise(b *bytes.Buffer, v any, at string) error {
	switch f.Type {
	case TypeObject:
		return f.Fields.normalise(b, v, at)
	case TypeString:
		s, ok := v.(string)
		if !ok {
			return invalidInput(at, "a string")
		}
		if f.Enum != nil && !slices.Contains(f.Enum, s) {
			return invalidInput(at, fmt.Sprintf("one of %q", f.Enum))
		}
		b.Write(quote(s))
	case TypeBoolean:
		t, ok := v.(bool)
		if !ok {
			return invalidInput(at, "true or false")
		}
		b.WriteString(strconv.FormatBool(t))
	case TypeNumber, TypeInteger:
		n, ok := v.(json.Number)
		if !ok {
			return invalidInput(at, "a number")
		}
		x, err := n.Float64()
		if err != nil {
			return invalidInput(at, "a number in range")
		}
		whole := x == math.Trunc(x) && math.Abs(x) <= maxExact
		switch {
		case whole:
			b.WriteString(strconv.FormatInt(int64(x), 10))
		case f.Type == TypeInteger:
			return invalidInput(at, "an integer")
		default:
			b.WriteString(strconv.FormatFloat(x, 'g', -1, 64))
		}
	case TypeStringArray:
		items, ok := v.([]any)
		if !ok {
			return invalidInput(at, "an array of strings")
		}
		list := make([]string, len(items))
		for i, it := range items {
			if list[i], ok = it.(string); !ok {
				return invalidInput(at, "an array of strings")
			}
		}
		b.Write(quote(list))
	default:
		return invalidInput(at, "a type that exists")
	}
	return nil
}

// maxDepth is how deep an input may nest.
const maxDepth = 32

// readValue reads one JSON value. Unlike json.Unmarshal it refuses a field
// that is given twice: a person must not be shown one value and the tool get
// the other.
func readValue(d *json.Decoder) (any, error) { return readNested(d, 0) }

func readNested(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, invalidInput("", "less nesting")
	}
	t, err := d.Token()
	if err != nil {
		return nil, notJSON(err)
	}
	switch t {
	case json.Delim('{'):
		m := map[string]any{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, notJSON(err)
			}
			name, ok := k.(string)
			if !ok {
				return nil, invalidInput("", "valid JSON")
			}
			if _, twice := m[name]; twice {
				return nil, invalidInput("", "each field once")
			}
			if m[name], err = readNested(d, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return m, notJSON(err)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := readNested(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, notJSON(err)
	}
	return t, nil
}

// notJSON leaves out the decoder's words, which quote the input.
func notJSON(err error) error {
	if err == nil {
		return nil
	}
	return invalidInput("", "valid JSON")
}

func invalidInput(path, want string) error {
	detail := "expected " + want
	if path != "" {
		detail = path + ": " + detail
	}
	return &fault.Error{Code: fault.InvalidInput, Op: "validate input", Detail: detail}
}

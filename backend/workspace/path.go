package workspace

import (
	"encoding/json"
	"unicode/utf8"
)

// StoredPath is a path as it stands in JSON. A JSON string holds Unicode only,
// while a name can be any bytes on many systems: such a path is an object with
// its bytes in base64, so that it comes back as it was.
type StoredPath string

// rawPath is a path that is not UTF-8.
type rawPath struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON implements json.Marshaler.
func (p StoredPath) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(p)) {
		return json.Marshal(string(p))
	}
	return json.Marshal(rawPath{[]byte(p)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *StoredPath) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw rawPath
		err := json.Unmarshal(data, &raw)
		*p = StoredPath(raw.Bytes)
		return err
	}
	var s string
	err := json.Unmarshal(data, &s)
	*p = StoredPath(s)
	return err
}

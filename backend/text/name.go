package text

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// FoldName returns a form of a name that is the same for every spelling which
// people and some file systems take for the same: letters by their lower case,
// characters by their composed form. It is to compare, never to show.
func FoldName(name string) string {
	return norm.NFC.String(strings.ToLower(name))
}

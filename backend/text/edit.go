package text

// Edit replaces the half-open range [From, To) of a text by Insert. Positions
// are UTF-16 code units into LF text without BOM; Insert holds LF only. All
// edits of one set refer to the same text, are sorted by From and do not
// overlap; ranges that touch are allowed.
type Edit struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Insert string `json:"insert"`
}

package text

import "testing"

func TestFoldName(t *testing.T) {
	for _, same := range [][2]string{
		{"Note.md", "note.MD"}, {"caf\u00e9", "cafe\u0301"}, {"CAFE\u0301", "caf\u00e9"}, {"夜.md", "夜.md"}, {"", ""},
	} {
		if a, b := FoldName(same[0]), FoldName(same[1]); a != b {
			t.Errorf("%q and %q differ: %q, %q", same[0], same[1], a, b)
		}
	}
	for _, differ := range [][2]string{{"a", "b"}, {"cafe", "café"}, {"夜", "昼"}, {"a ", "a"}} {
		if FoldName(differ[0]) == FoldName(differ[1]) {
			t.Errorf("%q and %q are the same", differ[0], differ[1])
		}
	}
}

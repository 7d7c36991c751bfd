package markdown

import "strings"

// longestFrontMatter is how far front matter is looked for, in bytes; the page
// stops there too.
const longestFrontMatter = 64 << 10

// FrontMatter returns the front matter that a text begins with, with its marks
// and without its last break; empty when there is none.
func FrontMatter(s string) string { return s[:frontMatterEnd(s)] }

// frontMatterEnd returns where the front matter that s begins with ends, in
// bytes, its last break not included; 0 when there is none. It counts by its
// marks alone, so that bad YAML is front matter too (B15).
func frontMatterEnd(s string) int {
	mark, _, found := strings.Cut(s[:min(len(s), longestFrontMatter)], "\n")
	if !found || strings.TrimRight(mark, " \t") != "---" {
		return 0
	}
	at := len(mark) + 1
	for at < len(s) && at < longestFrontMatter {
		line, _, _ := strings.Cut(s[at:], "\n")
		switch strings.TrimRight(line, " \t") {
		case "---", "...":
			return at + len(line)
		}
		at += len(line) + 1
	}
	return 0
}

package search

import (
	"bytes"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// lineAround returns the rest of the lines that b[start:end] begins and ends
// in, cut to width UTF-16 units each, between two characters as they are seen.
func lineAround(b []byte, start, end, width int) (before, after string) {
	return string(b[headOf(b, start, width):start]), string(b[end:tailOf(b, end, width)])
}

// headOf returns where the last width units before at begin, on its line.
func headOf(b []byte, at, width int) int {
	// A unit is at most three bytes.
	low := max(0, at-3*width)
	line := bytes.LastIndexByte(b[low:at], '\n')
	if line >= 0 {
		low += line + 1
	}
	part := b[low:at]
	switch {
	case len(part) <= width:
		return low
	case isASCII(part):
		return at - width
	}
	for low < at && !utf8.RuneStart(b[low]) {
		low++
	}
	left := units(b[low:at])
	for state := -1; left > width; {
		var cluster []byte
		cluster, _, _, state = uniseg.FirstGraphemeCluster(b[low:at], state)
		low += len(cluster)
		left -= units(cluster)
	}
	return low
}

// tailOf returns where the first width units after at end, on their line.
func tailOf(b []byte, at, width int) int {
	high := min(len(b), at+3*width+utf8.UTFMax)
	if i := bytes.IndexByte(b[at:high], '\n'); i >= 0 {
		high = at + i
	}
	if high-at <= width {
		return high
	}
	// What is seen as one character with the next one stays with it.
	if isASCII(b[at : at+width+1]) {
		return at + width
	}
	end := at
	for state, left := -1, width; end < high; {
		cluster, _, _, next := uniseg.FirstGraphemeCluster(b[end:high], state)
		n := units(cluster)
		if n > left {
			break
		}
		left, state = left-n, next
		end += len(cluster)
	}
	return end
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

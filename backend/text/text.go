// Package text owns what a text is: edits and their application, changed
// ranges and position mapping, the UTF-16 ⇄ byte index, the table of line
// endings, encodings and digests.
//
// It is a leaf: standard library and golang.org/x/text only. It knows no file,
// no document and no agent. Every position is a UTF-16 code-unit offset into
// LF text; bytes appear only in encoded files. Values are immutable unless
// their documentation says otherwise, so they may be shared by goroutines.
package text

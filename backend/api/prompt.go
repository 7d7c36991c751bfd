package api

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"galley/backend/fault"
)

//go:embed prompt
var promptFiles embed.FS

// maxPrompt bounds a prompt that a person edited, in bytes.
const maxPrompt = 64 << 10

// presets are the ids of the rewrite presets (U1).
func presets() []string {
	return []string{"improve", "grammar", "shorten", "expand", "simplify", "tone", "translate", "continue"}
}

// promptOf returns the Markdown prompt of a preset: the person's own from
// <home>/prompts/<id>.md where there is one, else ours. An empty id has none.
func promptOf(promptDir, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	if !slices.Contains(presets(), id) {
		return "", &fault.Error{Code: fault.InvalidInput, Op: "prompt", Detail: "preset"}
	}
	name := id + ".md"
	info, err := os.Stat(filepath.Join(promptDir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data, err := promptFiles.ReadFile("prompt/" + name)
		if err != nil {
			return "", fault.New(fault.Internal, "prompt", err)
		}
		return string(data), nil
	case err != nil:
		return "", fault.New(fault.InvalidInput, "prompt", err)
	case !info.Mode().IsRegular() || info.Size() > maxPrompt:
		return "", &fault.Error{Code: fault.TooLarge, Op: "prompt", Detail: name}
	}
	data, err := os.ReadFile(filepath.Join(promptDir, name))
	if err != nil {
		return "", fault.New(fault.InvalidInput, "prompt", err)
	}
	return string(data), nil
}

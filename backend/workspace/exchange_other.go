//go:build !linux && !darwin

package workspace

import (
	"errors"
	"os"
)

func renameNew(*os.File, string, string) error { return errors.ErrUnsupported }

func exchange(*os.File, string, string) error { return errors.ErrUnsupported }

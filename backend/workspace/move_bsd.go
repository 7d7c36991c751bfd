//go:build unix && !linux && !darwin

package workspace

import "errors"

func renameAcross(int, string, int, string) error { return errors.ErrUnsupported }

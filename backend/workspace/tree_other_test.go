//go:build !unix

package workspace_test

import "errors"

func changeTree([]string) error { return errors.ErrUnsupported }

func changeReadOnly([]string) error { return errors.ErrUnsupported }

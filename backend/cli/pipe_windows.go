package cli

import "os"

// pipes returns the standard streams. Closing a pipe ends what blocks on it.
func pipes(stdin, stdout *os.File) (in, out *os.File, err error) { return stdin, stdout, nil }

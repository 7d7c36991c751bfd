package workspace

import "context"

func show(ctx context.Context, path string, _ bool) error {
	return launch(ctx, "/usr/bin/open", "-R", path)
}

package network

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
)

// lookup is how this system is asked.
func lookup(func(string) string) func(context.Context, *url.URL) (Found, error) {
	return func(ctx context.Context, target *url.URL) (Found, error) {
		out, err := exec.CommandContext(ctx, "/usr/sbin/scutil", "--proxy").Output()
		if err != nil {
			return Found{}, fmt.Errorf("read proxy settings: %w", err)
		}
		return ofMacOS(string(out), target)
	}
}

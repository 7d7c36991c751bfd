package provider

import (
	"context"
	"io"
	"net/http"
	"testing"
)

// plantedKey is looked for in everything that leaves the package.
const plantedKey = "sk-TEST/KEY+1-abcdefghij0123456789"

type nopCloser struct{ io.Reader }

func (nopCloser) Close() error { return nil }

// testAttempt returns an attempt that was never sent.
func testAttempt(t *testing.T) *attempt {
	t.Helper()
	c, err := NewClient(ClientConfig{
		BaseURL: "https://api.provider.test/v1",
		Key:     func(context.Context) (string, error) { return plantedKey, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.begin(t.Context(), "chat", http.MethodPost, "https://api.provider.test/v1/chat/completions", []byte("{}"), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.end)
	return a
}

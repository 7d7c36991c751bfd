package provider

import (
	"context"
	"io"
	"log"
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
	a, err := c.begin(t.Context(), asking{
		op: "chat", method: http.MethodPost, url: "https://api.provider.test/v1/chat/completions", body: []byte("{}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.end(nil) })
	return a
}

// quiet is the log of a server whose failures are wanted.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

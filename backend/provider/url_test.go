package provider

import (
	"strings"
	"testing"

	"galley/backend/fault"
)

// TestRequestURL holds the one builder of addresses.
//
// CASES: C10
// covers: K7
func TestRequestURL(t *testing.T) {
	t.Parallel()
	tests := []struct{ base, chat, models string }{
		{"https://h.test/v1", "https://h.test/v1/chat/completions", "https://h.test/v1/models"},
		{"https://h.test/v1/", "https://h.test/v1/chat/completions", "https://h.test/v1/models"},
		{" https://h.test/v1/chat/completions ", "https://h.test/v1/chat/completions", "https://h.test/v1/models"},
		{"https://h.test/v1/chat/completions/", "https://h.test/v1/chat/completions", "https://h.test/v1/models"},
		{"https://h.test/v1//", "https://h.test/v1/chat/completions", "https://h.test/v1/models"},
		{"https://h.test/v1/models", "https://h.test/v1/chat/completions", "https://h.test/v1/models"},
		{"https://h.test/api/paas/v4", "https://h.test/api/paas/v4/chat/completions", "https://h.test/api/paas/v4/models"},
		{"http://localhost:11434", "http://localhost:11434/v1/chat/completions", "http://localhost:11434/v1/models"},
		{"http://[::1]:8080/", "http://[::1]:8080/v1/chat/completions", "http://[::1]:8080/v1/models"},
		{"http://127.0.0.1:1234/api", "http://127.0.0.1:1234/api/chat/completions", "http://127.0.0.1:1234/api/models"},
		{"https://api.deepseek.com", "https://api.deepseek.com/chat/completions", "https://api.deepseek.com/models"},
		{"https://api.openai.com", "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/models"},
		{"https://openrouter.ai/", "https://openrouter.ai/api/v1/chat/completions", "https://openrouter.ai/api/v1/models"},
		{"https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1/chat/completions", "https://r.openai.azure.com/openai/v1/models"},
		{
			"https://r.openai.azure.com/openai/deployments/d?api-version=2031-01-01",
			"https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2031-01-01",
			"https://r.openai.azure.com/openai/models?api-version=2031-01-01",
		},
		{"https://h.test/v1#part", "https://h.test/v1/chat/completions", "https://h.test/v1/models"},
	}
	for _, tt := range tests {
		chat, err := RequestURL(Chat, tt.base, "")
		if err != nil || chat != tt.chat {
			t.Errorf("RequestURL(%q) = %q, %v, want %q", tt.base, chat, err, tt.chat)
		}
		models, err := ModelsURL(Chat, tt.base)
		if err != nil || models != tt.models {
			t.Errorf("ModelsURL(%q) = %q, %v, want %q", tt.base, models, err, tt.models)
		}
		// What was built is an address too, and stays as it is.
		again, err := RequestURL(Chat, chat, "")
		if err != nil || again != chat {
			t.Errorf("RequestURL(%q) = %q, %v", chat, again, err)
		}
	}
	for _, bad := range []string{
		"", "h.test/v1", "ftp://h.test", "https://", "http://h.test/v1", "http://192.168.1.9:11434",
		"http://localhost.evil.test/v1", "https://user:" + plantedKey + "@h.test", "https://h.test/%zz" + plantedKey,
	} {
		_, err := RequestURL(Chat, bad, "")
		if fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("RequestURL(%q) gives %v", bad, err)
		}
		if err != nil && strings.Contains(err.Error(), "KEY") {
			t.Errorf("the key is in the error: %v", err)
		}
	}
}

// TestIsLoopback tells this machine from names that look like it.
//
// covers: K7
func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "a.localhost": true, "127.0.0.1": true,
		"127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"localhost.test": false, "127.0.0.1.test": false, "0.0.0.0": false, "10.0.0.1": false, "": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("IsLoopback(%q) = %v", host, got)
		}
	}
}

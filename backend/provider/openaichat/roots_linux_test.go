package openaichat

import (
	"bytes"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// connectProxy is a proxy that keeps what passes it in the clear.
func connectProxy(t *testing.T) (addr string, heard func() string) {
	t.Helper()
	var mu sync.Mutex // guards clear
	var clear bytes.Buffer
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		clear.WriteString(r.Method + " " + r.Host + "\n")
		_ = r.Header.Write(&clear)
		mu.Unlock()
		up, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer up.Close()
		down, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer down.Close()
		_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		var both sync.WaitGroup
		both.Go(func() { _, _ = io.Copy(up, down); up.Close() })
		_, _ = io.Copy(down, up)
		down.Close()
		both.Wait()
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), func() string {
		mu.Lock()
		defer mu.Unlock()
		return clear.String()
	}
}

// TestSystemRoots: an authority that the system trusts is trusted, directly and
// through the proxy of the configuration, which sees the host and not the key.
// The roots are read once a process, so the requests are made by a child.
//
// covers: K7
func TestSystemRoots(t *testing.T) {
	if base := os.Getenv("GALLEY_TEST_BASE"); base != "" {
		if f := ask(t, Config{BaseURL: base, ProxyURL: os.Getenv("GALLEY_TEST_PROXY")}); f != nil {
			t.Fatal(f)
		}
		return
	}
	t.Parallel()
	addr, ca := ownAuthority(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+plantedKey {
			_, _ = io.WriteString(w, okStream)
		}
	}))
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca}), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy, heard := connectProxy(t)
	for _, via := range []string{"", "http://" + proxy} {
		child := exec.Command(os.Args[0], "-test.run=^TestSystemRoots$")
		child.Env = append(os.Environ(), "GALLEY_TEST_BASE=https://"+addr+"/v1", "GALLEY_TEST_PROXY="+via, "SSL_CERT_FILE="+file)
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("through %q: %v\n%s", via, err, out)
		}
	}
	if got := heard(); strings.Count(got, "CONNECT "+addr) != 1 || strings.Contains(got, "abcdefghij") {
		t.Errorf("the proxy heard %q", got)
	}
}

package api

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"galley/backend/network/proxytest"
	"galley/backend/settings"
)

// leaky is a provider that speaks every dialect and gives away what it was sent,
// in the way of the moment; and the proxy before it, which does so too.
type leaky struct {
	proxy *httptest.Server
	ca    string
	// arrived gets one for each request that is held; release lets them go on.
	arrived chan struct{}
	release chan struct{}

	// mu guards what follows.
	mu sync.Mutex
	// way is how the provider answers, and way of the proxy how that does.
	way, proxyWay string
	keys, logins  []string
}

const leakyUser = "ann"

func newLeaky(t *testing.T) *leaky {
	t.Helper()
	l := &leaky{arrived: make(chan struct{}, 16), release: make(chan struct{}, 16)}
	authority := proxytest.NewAuthority(t, "ACME Proxy CA")
	far := authority.Serve(t, proxytest.Issue{Names: []string{"provider.example"}}, http.HandlerFunc(l.answer))
	to := far.Listener.Addr().String()
	l.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.pass(w, r, to) }))
	l.ca = authority.File(t)
	t.Cleanup(func() {
		l.proxy.CloseClientConnections()
		l.proxy.Close()
	})
	return l
}

// answers has the provider and the proxy answer otherwise from now on; "" is as
// they should.
func (l *leaky) answers(way, proxyWay string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.way, l.proxyWay = way, proxyWay
}

// saw returns the keys and the logins that came so far.
func (l *leaky) saw() (keys, logins []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.keys...), append([]string{}, l.logins...)
}

// kinds are the dialects, with the address and the name of the header's key.
func (l *leaky) kinds() []settings.Provider {
	var all []settings.Provider
	for _, kind := range []string{settings.KindOpenAIChat, settings.KindOpenAIResponses, settings.KindAnthropic, settings.KindGemini} {
		p := settings.Provider{Name: kind, Kind: kind, BaseURL: "https://provider.example/v1", Model: "small"}
		if kind == settings.KindOpenAIChat {
			p.Profile = "compatible"
		}
		all = append(all, p)
	}
	return all
}

// proxyWays are how a proxy lets a person down.
func proxyWays() []string {
	return []string{"407 quotes", "403 quotes", "502 quotes", "hangs up", "no http", "redirects"}
}

// pass is the proxy.
func (l *leaky) pass(w http.ResponseWriter, r *http.Request, to string) {
	login := r.Header.Get("Proxy-Authorization")
	plain, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(login, "Basic "))
	l.mu.Lock()
	way := l.proxyWay
	l.logins = append(l.logins, string(plain))
	l.mu.Unlock()
	if way == "" && string(plain) != leakyUser+":"+plantedPassword {
		way = "407 quotes"
	}
	all := fmt.Sprintf("<html>%s %s %x</html>", login, plain, plain)
	if way != "" {
		w.Header().Set("X-Echo", login)
		w.Header().Set("Proxy-Authenticate", `Basic realm="`+string(plain)+`"`)
	}
	switch way {
	case "":
		l.tunnel(w, to)
	case "hangs up", "no http":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if way == "no http" {
			_, _ = io.WriteString(conn, all)
		}
		_ = conn.Close()
	case "redirects":
		w.Header().Set("Location", "https://elsewhere.example/?login="+url.QueryEscape(string(plain)))
		w.WriteHeader(http.StatusFound)
	default:
		status := http.StatusProxyAuthRequired
		_, _ = fmt.Sscanf(way, "%d", &status)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, all)
	}
}

func (l *leaky) tunnel(w http.ResponseWriter, at string) {
	to, err := net.Dial("tcp", at)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	proxytest.Tunnel(w, to)
}

// ways are how a provider lets a person down: by a status, or another way of its
// own. Each quotes the key.
func ways() []string {
	ways := []string{}
	for _, status := range []int{400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 500, 501, 502, 503, 504, 529} {
		ways = append(ways, fmt.Sprint(status))
	}
	return append(ways,
		"401 escaped", "400 split", "400 base64", "400 hex", "400 html", "200 html", "200 error", "stream error", "stream cut", "stream garbage", "endless line",
		"redirect", "redirect away", "hang up", "no http", "wrong type",
	)
}

// answer is the provider.
func (l *leaky) answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	key := keyOf(r)
	l.mu.Lock()
	way := l.way
	l.keys = append(l.keys, key)
	l.mu.Unlock()
	w.Header().Set("X-Echo", key)
	w.Header().Set("Request-Id", key)
	if way == "held" && r.Method == http.MethodPost {
		l.arrived <- struct{}{}
		select {
		case <-l.release:
		case <-r.Context().Done():
			return
		}
		way = ""
	}
	switch {
	case way == "" || way == "held":
		l.fine(w, r, "An answer.")
	case way == "echo":
		l.fine(w, r, "Your key is "+key+", is it not?")
	case !spoilt(w, way, key):
		status, kind, _ := strings.Cut(way, " ")
		code := http.StatusTeapot
		_, _ = fmt.Sscan(status, &code)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, refusal(kind, key))
	}
}

func keyOf(r *http.Request) string {
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		if v := r.Header.Get(name); v != "" {
			return strings.TrimPrefix(v, "Bearer ")
		}
	}
	return r.URL.Query().Get("key")
}

// refusal is the body of an error that quotes the key in some writing.
func refusal(kind, key string) string {
	switch kind {
	case "escaped":
		var b strings.Builder
		for _, r := range key {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		return `{"error":{"message":"Incorrect API key: ` + b.String() + `","type":"auth"}}`
	case "split":
		return `{"error":{"message":"Incorrect API key: ` + key[:9] + ` ` + key[9:] + `"}}`
	case "base64":
		return `{"error":{"message":"Authorization: ` + base64.StdEncoding.EncodeToString([]byte("Bearer "+key)) + `"}}`
	case "hex":
		return `{"error":{"message":"` + hex.EncodeToString([]byte(key)) + `"}}`
	case "html":
		return "<html><body>" + key + "</body></html>"
	}
	return `{"error":{"message":"Incorrect API key provided: ` + key + `. Find yours.","code":"` + key + `","type":"` + key + `","status":"` + key + `","param":"` + key + `"}}`
}

// spoilt answers in a way that is no error of HTTP; false says that way is one.
func spoilt(w http.ResponseWriter, way, key string) bool {
	sse := func(s string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, s)
	}
	switch way {
	case "200 html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>"+key+"</html>")
	case "200 error":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, refusal("", key))
	case "stream error":
		sse("data: " + refusal("", key) + "\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" + key + "\",\"message\":\"" + key + "\"}}\n\n")
	case "stream cut":
		sse("data: {\"choices\":[{\"delta\":{\"content\":\"" + key)
	case "stream garbage":
		sse("data: " + key + "\n\n: " + key + "\n\nevent: " + key + "\ndata: {" + key + "\n\n")
	case "endless line":
		sse("data: " + strings.Repeat(key, (17<<20)/len(key)) + "\n\n")
	case "redirect", "redirect away":
		at := "/v1/elsewhere?key=" + key
		if way == "redirect away" {
			at = "https://elsewhere.example" + at
		}
		w.Header().Set("Location", at)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case "hang up", "no http":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, map[string]string{"no http": key + "\r\n\r\n"}[way])
			_ = conn.Close()
		}
	case "wrong type":
		w.Header().Set("Content-Type", "image/png; name="+key)
		_, _ = io.WriteString(w, key)
	default:
		return false
	}
	return true
}

// fine is a whole answer in the dialect of the request.
func (l *leaky) fine(w http.ResponseWriter, r *http.Request, text string) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[{"id":"small"}],"models":[{"name":"models/small"}]}`)
		return
	}
	quoted, _ := json.Marshal(text)
	w.Header().Set("Content-Type", "text/event-stream")
	events := []string{}
	switch {
	case strings.HasSuffix(r.URL.Path, "/responses"):
		events = append(
			events, `{"type":"response.created","response":{"id":"r","status":"in_progress"}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}`,
			fmt.Sprintf(`{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":%s}`, quoted),
			fmt.Sprintf(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":%s}]}}`, quoted),
			fmt.Sprintf(`{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":%s}]}]}}`, quoted),
		)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		events = append(
			events, `{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, quoted), `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`,
		)
	case strings.Contains(r.URL.Path, ":streamGenerateContent"):
		events = append(events, fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":%s}]},"finishReason":"STOP","index":0}]}`, quoted))
	default:
		events = append(events, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%s}}]}`, quoted), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	}
	for _, e := range events {
		var typed struct{ Type string }
		_ = json.Unmarshal([]byte(e), &typed)
		if typed.Type != "" {
			_, _ = io.WriteString(w, "event: "+typed.Type+"\n")
		}
		_, _ = io.WriteString(w, "data: "+e+"\n\n")
	}
	if strings.HasSuffix(r.URL.Path, "/chat/completions") {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

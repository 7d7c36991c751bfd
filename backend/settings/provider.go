package settings

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Provider is a configured endpoint, without its key.
type Provider struct {
	// ID is made by us: lower-case letters, digits and hyphens.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Kind is mock, openai_chat, openai_responses, anthropic_messages or gemini.
	Kind string `json:"kind"`
	// Profile tunes a dialect; see wire.ProviderConfig.
	Profile string `json:"profile"`
	BaseURL string `json:"baseUrl"`
	Model   string `json:"model"`
	// ContextTokens is how many tokens the model takes, MinContextTokens to
	// MaxContextTokens; 0 when that is not known.
	ContextTokens int `json:"contextTokens"`
	// MaxOutputTokens limits an answer, 0 to MaxContextTokens; 0 leaves it to
	// the provider.
	MaxOutputTokens int `json:"maxOutputTokens"`
	// Temperature is a decimal from 0 to 2 ("0.7"); "" leaves it to the
	// provider.
	Temperature string `json:"temperature"`
	// Effort is how much a model that reasons should: none, low, medium or high;
	// "" leaves it to the provider.
	Effort string `json:"effort"`
	// Favourites are the models that are offered first; never nil, at most
	// MaxFavourites.
	Favourites []string `json:"favourites"`
	// Prices are those that the person set, one for a model; never nil. Without
	// one no cost is shown.
	Prices []Price `json:"prices"`
}

// Price is what a model costs, in a currency of the person's choice, for a
// million tokens each.
type Price struct {
	Model string `json:"model"`
	// Currency is what stands before an amount ("$", "¥", "EUR").
	Currency string  `json:"currency"`
	Input    float64 `json:"input"`
	Output   float64 `json:"output"`
	// Cached is for input that the provider had read before.
	Cached float64 `json:"cached"`
}

// The kinds of providers.
const (
	KindMock            = "mock"
	KindOpenAIChat      = "openai_chat"
	KindOpenAIResponses = "openai_responses"
	KindAnthropic       = "anthropic_messages"
	KindGemini          = "gemini"
)

// The bounds of lists of a provider.
const (
	MaxFavourites = 50
	MaxPrices     = 100
)

// Mock is the provider that works offline and needs no key. It always exists
// and cannot be changed.
func Mock() Provider {
	return Provider{
		ID: "mock", Name: "Mock", Kind: KindMock, Model: "mock-1", ContextTokens: 32_768,
		Favourites: []string{}, Prices: []Price{},
	}
}

const maxProviderText = 200 // characters in a name or model

// check returns the JSON name of the first field that cannot be used, or "".
func (p Provider) check() string {
	if field := p.checkAddress(); field != "" {
		return field
	}
	for _, key := range optionalKeys() {
		if !p.allows(key) {
			return key
		}
	}
	return ""
}

// checkAddress is check for the fields that a provider cannot do without.
func (p Provider) checkAddress() string {
	switch {
	case !validID(p.ID) || p.ID == ProxyRef:
		return "id"
	case !printable(p.Name) || p.Name == "":
		return "name"
	case !slices.Contains([]string{KindOpenAIChat, KindOpenAIResponses, KindAnthropic, KindGemini}, p.Kind):
		return "kind" // there is one mock, and it is not stored
	case !slices.Contains([]string{
		"", "compatible", "openrouter", "deepseek", "azure", "ollama", "lmstudio", "llamacpp", "mistral", "xai",
	}, p.Profile):
		return "profile"
	case p.BaseURL != "" && !validBaseURL(p.BaseURL):
		// An empty one is a provider that is still being set up.
		return "baseUrl"
	case !printable(p.Model):
		return "model"
	}
	return ""
}

// trimmed is p without blanks round what a person typed, with lists that are not
// nil and are nobody else's.
func (p Provider) trimmed() Provider {
	p = p.clone()
	for _, s := range []*string{&p.ID, &p.Name, &p.Kind, &p.Profile, &p.BaseURL, &p.Model, &p.Temperature, &p.Effort} {
		*s = strings.TrimSpace(*s)
	}
	for i := range p.Favourites {
		p.Favourites[i] = strings.TrimSpace(p.Favourites[i])
	}
	for i := range p.Prices {
		p.Prices[i].Model, p.Prices[i].Currency = strings.TrimSpace(p.Prices[i].Model), strings.TrimSpace(p.Prices[i].Currency)
	}
	return p
}

// clone returns a copy that shares nothing; its lists are not nil.
func (p Provider) clone() Provider {
	p.Favourites = append([]string{}, p.Favourites...)
	p.Prices = append([]Price{}, p.Prices...)
	return p
}

func validID(id string) bool {
	if id == "" || len(id) > 64 || id[0] == '-' || id[len(id)-1] == '-' {
		return false
	}
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return true
}

func printable(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxProviderText && !strings.ContainsFunc(s, unicode.IsControl)
}

// validBaseURL holds K7: https, or http to this computer, and nothing that
// could be a secret.
func validBaseURL(raw string) bool {
	if raw == "" || len(raw) > 2000 {
		return false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return false
	}
	for name := range query {
		n := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
		if strings.Contains(n, "key") || strings.Contains(n, "token") || strings.Contains(n, "secret") {
			return false
		}
	}
	switch strings.ToLower(u.Scheme) {
	case "https":
		return true
	case "http":
		return loopback(u.Hostname())
	}
	return false
}

// loopback reports whether host can only be this computer.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// idFor makes an id out of a name that none of taken has, and that is kept for
// nothing else.
func idFor(name string, taken []Provider) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 40 {
			break
		}
	}
	stem := strings.Trim(b.String(), "-")
	if stem == "" {
		stem = "provider"
	}
	id := stem
	for n := 2; id == ProxyRef || slices.ContainsFunc(taken, func(p Provider) bool { return p.ID == id }); n++ {
		id = stem + "-" + itoa(n)
	}
	return id
}

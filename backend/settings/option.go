package settings

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The fields that a provider can do without: a bad value of one does not void
// the others.
const (
	contextTokensKey   = "contextTokens"
	maxOutputTokensKey = "maxOutputTokens"
	temperatureKey     = "temperature"
	effortKey          = "effort"
	favouritesKey      = "favourites"
	pricesKey          = "prices"
)

// optionalKeys are those of a provider's entry, in their order there.
func optionalKeys() []string {
	return []string{contextTokensKey, maxOutputTokensKey, temperatureKey, effortKey, favouritesKey, pricesKey}
}

// The bounds of a price.
const (
	// MaxPriceAmount is the highest that a million tokens can cost.
	MaxPriceAmount = 1_000_000
	// MaxCurrency is how many characters a currency may have.
	MaxCurrency = 8
)

// option returns the field of an optional key, to be read or set.
func (p *Provider) option(key string) any {
	switch key {
	case contextTokensKey:
		return &p.ContextTokens
	case maxOutputTokensKey:
		return &p.MaxOutputTokens
	case temperatureKey:
		return &p.Temperature
	case effortKey:
		return &p.Effort
	case favouritesKey:
		return &p.Favourites
	default:
		return &p.Prices
	}
}

// allows reports whether the value of an optional key can be used.
func (p Provider) allows(key string) bool {
	switch key {
	case contextTokensKey:
		return p.ContextTokens == 0 || p.ContextTokens >= MinContextTokens && p.ContextTokens <= MaxContextTokens
	case maxOutputTokensKey:
		return p.MaxOutputTokens >= 0 && p.MaxOutputTokens <= MaxContextTokens
	case temperatureKey:
		return p.Temperature == "" || temperatureForm.MatchString(p.Temperature)
	case effortKey:
		return slices.Contains([]string{"", "none", "low", "medium", "high"}, p.Effort)
	case favouritesKey:
		return p.Favourites != nil && len(p.Favourites) <= MaxFavourites && distinctModels(p.Favourites)
	default:
		models := make([]string, 0, len(p.Prices))
		for _, price := range p.Prices {
			models = append(models, price.Model)
		}
		return p.Prices != nil && len(p.Prices) <= MaxPrices && distinctModels(models) && !slices.ContainsFunc(p.Prices, Price.unusable)
	}
}

// temperatureForm is 0 to 2 with at most two decimals.
var temperatureForm = regexp.MustCompile(`^([01](\.[0-9]{1,2})?|2(\.0{1,2})?)$`)

// distinctModels reports whether names can be those of models, each once.
func distinctModels(names []string) bool {
	for i, name := range names {
		if name == "" || !printable(name) || slices.Contains(names[:i], name) {
			return false
		}
	}
	return true
}

// unusable reports whether p can be no price; its model is not looked at.
func (p Price) unusable() bool {
	currency := p.Currency == "" || !printable(p.Currency) || utf8.RuneCountInString(p.Currency) > MaxCurrency ||
		strings.ContainsFunc(p.Currency, unicode.IsDigit)
	return currency || slices.ContainsFunc([]float64{p.Input, p.Output, p.Cached}, func(amount float64) bool {
		return math.IsNaN(amount) || amount < 0 || amount > MaxPriceAmount
	})
}

// readOptions fills the optional fields from a provider's entry, and returns the
// keys of those that stay as they are since their value cannot be used.
func (p *Provider) readOptions(o object) (void []string) {
	for _, key := range optionalKeys() {
		raw, ok := o.get(key)
		if !ok {
			continue
		}
		next := p.clone()
		to := next.option(key)
		if string(raw) == "null" || json.Unmarshal(raw, to) != nil {
			void = append(void, key)
			continue
		}
		if next = next.trimmed(); !next.allows(key) {
			void = append(void, key)
			continue
		}
		*p = next
	}
	return void
}

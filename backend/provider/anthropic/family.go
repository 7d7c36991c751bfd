package anthropic

import (
	"strconv"
	"strings"
)

// thinkMode is how a model is asked to think.
type thinkMode int

const (
	// thinkAdaptive: the model decides how much, guided by an effort.
	thinkAdaptive thinkMode = iota
	// thinkBudget: a number of tokens is set aside for it.
	thinkBudget
	// thinkNever: the model does not.
	thinkNever
)

// offMode is how a model that thinks by itself is asked not to.
type offMode int

const (
	// offNever: it cannot be, or does not think unasked.
	offNever offMode = iota
	offDisabled
	// offBetween: not at first, only between calls.
	offBetween
)

// traits are what the models of the dialect differ in, as far as a request has
// to know. They hold what documentation and refusals say; what is wrong in them
// is learned from a refusal.
type traits struct {
	// usual is max_tokens when nobody set one, output the largest that is taken,
	// context what prompt and answer may have together where a request for more
	// is refused; 0 for what is not known.
	usual, output, context int
	think                  thinkMode
	off                    offMode
	// effort says that output_config.effort is taken, sampling that a
	// temperature is.
	effort, sampling bool
	// bound says that thinking is refused where what stands before it has
	// changed since.
	bound bool
}

// usualOutput is max_tokens for the models of the vendor when nobody set one.
// More than is needed costs nothing, but where prompt and answer have to fit
// together it takes room from the prompt.
const usualOutput = 32_000

// newest are the traits of models that are not known: at the vendor they are
// newer than this program.
var newest = traits{usual: usualOutput, off: offDisabled, effort: true, sampling: true, bound: true}

// elsewhere are the traits of models of other makers behind a gateway. Most of
// them read the older way to ask for thinking.
var elsewhere = traits{usual: 8192, think: thinkBudget, off: offDisabled, effort: true, sampling: true}

// traitsOf returns the traits of a model by its name, which gateways write in
// several ways: claude-opus-4-5-20251101, anthropic/claude-opus-4.5,
// anthropic.claude-3-5-sonnet-20241022-v2:0, claude-opus-4-1@20250805.
func traitsOf(model string, vendor bool) traits {
	line, v, ok := lineage(model)
	switch {
	case !ok && vendor, ok && v == 0:
		return newest
	case !ok:
		return elsewhere
	}
	t := traits{usual: usualOutput, context: 200_000, think: thinkNever, sampling: true}
	switch {
	case v < 300:
		t.output, t.context = 4096, 100_000
		return t
	case v < 305:
		t.output = 4096
		return t
	case v < 307:
		t.output = 8192
		return t
	case v < 405 && line == "opus":
		t.output, t.think = 32_000, thinkBudget
		return t
	case v < 406:
		t.output, t.think = 64_000, thinkBudget
		return t
	}
	story := line == "fable" || line == "mythos"
	t = traits{
		usual: usualOutput, output: 128_000, effort: true,
		sampling: v < 407 && !story, bound: v >= 505 || story && v > 500,
	}
	switch {
	case story:
	case v < 505, v == 505 && line == "haiku":
		t.off = offDisabled
	case v == 505 && line == "sonnet":
		t.off = offBetween
	}
	return t
}

// lineage reads a name: the line of models, and the version as 405 for 4.5; 0
// for a name without one. It reports false for what is not of Anthropic.
func lineage(model string) (line string, v int, ok bool) {
	model = strings.ToLower(model)
	at := strings.LastIndex(model, "claude")
	if at < 0 {
		return "", 0, false
	}
	var version []int
	words := strings.FieldsFunc(model[at+len("claude"):], func(r rune) bool {
		return strings.ContainsRune("-_.@:/ ", r)
	})
	for _, w := range words {
		n, err := strconv.Atoi(strings.TrimPrefix(w, "v"))
		switch {
		case err != nil && line == "":
			line = w
		case err != nil:
		case n < 100 && len(version) < 2 && (len(version) == 0 || w[0] != 'v'):
			version = append(version, n)
		default:
			version = append(version, 0, 0) // a date or a build: what follows is none
		}
	}
	switch {
	case len(version) == 0 || version[0] == 0:
		return line, 0, true
	case len(version) == 1:
		return line, version[0] * 100, true
	}
	return line, version[0]*100 + version[1], true
}

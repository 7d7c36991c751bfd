package provider

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"galley/backend/fault"
)

// RefusedParam stands in the chain of a fault whose request was refused for one
// optional parameter: without it the request may go.
type RefusedParam struct {
	// Name is that of the wire, one of those that were sent.
	Name string
}

// Error implements error.
func (e *RefusedParam) Error() string { return "the model does not take " + e.Name }

// RefusedOpaque stands in the chain of a fault whose request was refused for
// opaque data of an earlier turn: it was made with another key or too long ago,
// or the provider takes it for changed. Without it the request may go (K2).
type RefusedOpaque struct{}

// Error implements error.
func (e *RefusedOpaque) Error() string { return "the provider does not take its own data back" }

// RefusedTools stands in the chain of a fault whose model calls no tools. Where a
// server was only started without them, or gives them elsewhere, it does not.
type RefusedTools struct{}

// Error implements error.
func (e *RefusedTools) Error() string { return "the model calls no tools" }

// NamedSize stands in the chain of a fault whose refusal names how much the
// model takes, in tokens; 0 for what it does not name.
type NamedSize struct {
	// Context is that of prompt and answer together, Output that of an answer.
	Context, Output int
}

// Error implements error.
func (e *NamedSize) Error() string {
	if e.Context > 0 {
		return "the model takes " + strconv.Itoa(e.Context) + " tokens"
	}
	return "the model answers in at most " + strconv.Itoa(e.Output) + " tokens"
}

// maxRefusal limits how much of a message is searched, in bytes.
const maxRefusal = 4 << 10

// refusal says what a failure teaches of the model; nil for nothing. sent are
// the optional parameters of the request.
func refusal(code fault.Code, e *APIError, sent []string) error {
	message := e.Message[:min(len(e.Message), maxRefusal)]
	if code == fault.ContextTooLong {
		// How much may be sent in a minute is no size of the model's.
		if n := contextSize(e, message); n > 0 && !paceWords.MatchString(strings.ToLower(message)) {
			return &NamedSize{Context: n}
		}
	}
	if code == fault.BadRequest && isOpaque(e, message) {
		return &RefusedOpaque{}
	}
	if code == fault.BadRequest || code == fault.ProviderError || code == fault.UnsupportedByModel {
		size := &NamedSize{Output: outputSize(e, message)}
		if size.Output == 0 && outputThing.MatchString(message) {
			size.Context = contextSize(e, message)
		}
		if size.Output > 0 || size.Context > 0 {
			return size
		}
		if code == fault.ProviderError && e.Param == "" && !plainly.MatchString(strings.ToLower(message)) {
			return nil
		}
		if name := refusedParam(e, message, sent); name != "" {
			return &RefusedParam{Name: name}
		}
	}
	if code == fault.UnsupportedByModel && !notTheModel.MatchString(strings.ToLower(message)) {
		return &RefusedTools{}
	}
	return nil
}

// notTheModel is said of how a server was started, and of where it stands.
var notTheModel = regexp.MustCompile(`--[a-z]+-[a-z-]+|--jinja|\bflag\b|\b(region|country|location|plan|tier|account|organi[sz]ation)\b`)

var (
	opaqueCodes = regexp.MustCompile(`invalid_encrypted_content|invalid_(thinking_|thought_)?signature|signature_(invalid|mismatch|expired)`)
	opaqueWords = regexp.MustCompile("(invalid|corrupted|expired|wrong|bad)[^.]{0,20}signature|signature[^.]{0,40}(invalid|not valid|not be verified|could not be|expired|mismatch|corrupt|does not match)|" +
		`encrypted[_ ]content[^.]{0,80}(not be (verified|decrypted|parsed)|invalid|malformed|different|corrupt)|` +
		"thinking[`'\"]?[^.]{0,60}blocks?[^.]{0,80}(cannot be modified|must remain|must match|were modified)|" +
		"item (with id )?[`'\"]?rs_\\w+[`'\"]?[^.]{0,40}(not found|without its|of type .?reasoning)")
)

// isOpaque reports whether a refusal is for opaque data that was sent back. That
// a model gives none out, or knows no such parameter, is another thing.
func isOpaque(e *APIError, message string) bool {
	for _, name := range append([]string{e.Code, e.Type}, e.more...) {
		if opaqueCodes.MatchString(strings.ToLower(name)) {
			return true
		}
	}
	return opaqueWords.MatchString(strings.ToLower(message))
}

// unknownThing is a thing of a request that is not known; an unknown error is none.
const unknownThing = `unknown (name|field|param|argument|property|key|option|variant|value|request)|unknown\W{0,3}["'` + "`" + `]`

var (
	refusedCodes = regexp.MustCompile(`unsupported_?(parameter|param|value)|unknown_?(parameter|param|field|name|argument)|extra_forbidden|unrecogni[sz]ed|unsupportedparams`)
	// Words that say that the parameter itself is not taken.
	notTaken = regexp.MustCompile(`(not|n't|no longer|cannot|un-?)[ -]?(be )?(support|permit|allow|accept|available|recogni[sz]e|used|enabled|a valid|valid|set|specified|applicable|compatible|implement)|` +
		`not expected|unsupported|` + unknownThing + `|unrecogni[sz]ed|was unexpected|unexpected (keyword|argument|param|field|property|name|key|value)|extra(neous)? |forbidden|deprecated|removed|no such|cannot find field|` +
		`invalid (parameter|param|argument|field|key|property|name)|only (the )?(default|\(?\d)|may only be|must be (set to |equal to |exactly )?(1|the default)\b|only works|` +
		`不支持|不允许|无效|未知|不能|已废弃`)
	// Words that say that another value would do.
	otherValue = regexp.MustCompile(`between|\brange\b|less than|greater than|at (most|least)|too (large|high|big|small|low)|<=|>=|[<>] ?\d|maximum|minimum|\bmust be in\b|不能(大于|小于|超过)|之间|范围`)
	// Words that say that the thing is not taken at all, whatever values are
	// named besides.
	notAtAll = regexp.MustCompile(`unsupported (parameter|param|argument)|(parameter|param|argument|field|key|property)\S* .{0,40}(not supported|unsupported)|not supported (with|by|on|for) th|deprecated|` + unknownThing + `|unrecogni[sz]ed|extra inputs`)
	// Words that a failure of the server's own, which may pass, would not use.
	plainly = regexp.MustCompile(`not support|n't support|unsupported|unrecogni[sz]ed|not permitted|` + unknownThing + `|不支持`)

	outputThing = regexp.MustCompile(`(?i)max_?(completion|output|new)?_?tokens|(output|completion) tokens|输出`)
)

// refusedParam returns the one of sent that was refused; "" when none was, as
// far as can be told. What the error names as its parameter goes before words.
func refusedParam(e *APIError, message string, sent []string) string {
	if len(sent) == 0 {
		return ""
	}
	words := strings.ToLower(message)
	coded := false
	for _, n := range append([]string{e.Code, e.Type}, e.more...) {
		coded = coded || refusedCodes.MatchString(strings.ToLower(n))
	}
	if e.Param != "" {
		for _, name := range sent {
			if !sameParam(e.Param, name) {
				continue
			}
			// Of a limit only a refusal counts; with any other complaint of an
			// optional parameter but its number the request may go without.
			if coded || isRefusal(words) || !outputThing.MatchString(name) && !otherValue.MatchString(words) {
				return name
			}
			return ""
		}
		if !isContainer(e.Param) {
			return "" // it speaks of something else
		}
	}
	found, at := "", len(words)
	for _, name := range sent {
		i, end := findParam(words, name)
		if i < 0 || i >= at {
			continue
		}
		near := words[max(0, i-80):min(len(words), end+120)]
		if coded || isRefusal(near) {
			found, at = name, i
		}
	}
	return found
}

// isRefusal reports whether words that name a parameter say that it is not
// taken. A number out of its range is the value's fault and not the parameter's.
func isRefusal(words string) bool {
	if otherValue.MatchString(words) && !notAtAll.MatchString(words) {
		return false
	}
	return notTaken.MatchString(words)
}

// isContainer reports whether a parameter is only where others stand in.
func isContainer(param string) bool { return len(segments(param)) == 0 }

// segments are the parts of a parameter's path in lower case, without what marks
// words, and without what all parameters stand in.
func segments(path string) []string {
	var out []string
	for _, s := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]/#' \"", r) }) {
		s = strings.Map(func(r rune) rune {
			if r == '_' || r == '-' {
				return -1
			}
			return unicode.ToLower(r)
		}, s)
		switch s {
		case "", "body", "generationconfig", "request", "root", "params", "none", "null", "validationerror":
			continue
		}
		out = append(out, s)
	}
	return out
}

// sameParam reports whether a path that an error names is that of a parameter
// that was sent, or stands above or below it.
func sameParam(path, name string) bool {
	a, b := segments(path), segments(name)
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return len(a) == 1 && a[0] == b[len(b)-1]
		}
	}
	return true
}

// findParam looks for a parameter's name in words of lower case: as it is on the
// wire, in the other way of writing it, or its last part. It returns where it
// stands; negative for nowhere.
func findParam(words, name string) (from, to int) {
	forms := []string{strings.ToLower(name)}
	last := name[strings.LastIndexByte(name, '.')+1:]
	forms = append(forms, strings.ToLower(last), snake(last), strings.ToLower(strings.ReplaceAll(last, "_", "")), strings.ReplaceAll(snake(last), "_", " "))
	if path := segments(name); len(path) > 1 && len(path) == strings.Count(name, ".")+1 {
		forms = append(forms, strings.ToLower(name[:strings.IndexByte(name, '.')]))
	}
	if thinkNames.MatchString(strings.ToLower(name)) {
		forms = append(forms, "thinking", "reasoning", "budget")
	}
	from = -1
	for _, f := range forms {
		if i := wordAt(words, f); i >= 0 && (from < 0 || i < from) {
			from, to = i, i+len(f)
		}
	}
	return from, to
}

// thinkNames are parameters that servers call by what they do.
var thinkNames = regexp.MustCompile(`reason|think`)

// snake writes camelCase with underscores.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// wordAt returns where a name stands by itself; negative for nowhere.
func wordAt(words, name string) int {
	for from := 0; name != ""; {
		i := strings.Index(words[from:], name)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(name)
		if (i == 0 || !isNameByte(words[i-1])) && (end == len(words) || !isNameByte(words[end])) {
			return i
		}
		from = end
	}
	return -1
}

func isNameByte(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9'
}

// size matches a number of tokens as people write them.
const size = "[\"'`(]*" + `(\d[\d,_]{1,11})`

// contextSizes are the ways of naming the window; the number is that of the
// model, not that of the request.
var contextSizes = compileAll(
	`context (?:limit|window|length)[^.]{0,20}: [\d,_ +]+> `+size,
	`maximum context (?:length|window|size)(?: of this model)?(?: is| of|:)?(?: only)? `+size,
	`max(?:imum)? (?:model|prompt|sequence|input) len(?:gth)?(?: is| of|:)?(?: only)? `+size,
	`context (?:length|window|size|limit)(?: is| of|:)?(?: only)? `+size,
	`(?:large|long) for model with `+size+` maximum context`,
	`available context size \(`+size,
	`too long: [\d,_]+ tokens > `+size,
	`exceeds the maximum (?:number|count) of (?:input )?tokens(?: allowed)? \(`+size,
	`range of input length should be \[\d+, ?`+size,
	`tokens.{0,40} must be <= `+size,
	`(?:limit|maximum) (?:is|of) `+size+` (?:input |prompt |context )?tokens`,
	`(?:supports|allows|accepts)(?: at most| up to| only)+ `+size+` (?:input |prompt |context )?tokens`,
	`(?:最大|上限)[^\d]{0,12}`+size,
	`(?:不能|不得)?(?:超过|超出)[^\d]{0,12}`+size,
)

var outputSizes = compileAll(
	`supports at most `+size+` (?:completion|output) tokens`,
	`[\d,_]+ > `+size+`,? which is the maximum allowed number of output tokens`,
	`max_?(?:completion|output|new)?_?tokens.{0,60}valid range .{0,30}\[\d+, ?`+size,
	`max_?(?:completion|output|new)?_?tokens.{0,60}(?:range|in|between) \[\d+, ?`+size,
	`max_?(?:completion|output|new)?_?tokens.{0,60}between \d+ and `+size,
	`max_?(?:completion|output|new)?_?tokens.{0,60}(?:less than or equal to|at most|no more than|<=|cannot exceed|not exceed|up to|maximum (?:is|of|value of)) `+size,
	`(?:less than or equal to|at most|<=) `+size+`.{0,40}max_?(?:completion|output|new)?_?tokens`,
	`maximum (?:number of )?(?:output|completion) tokens.{0,20}(?:is|of|:) `+size,
	`最大输出[^\d]{0,12}`+size,
)

// belowSizes name the first number that is too much.
var belowSizes = compileAll(
	`max_?(?:completion|output|new)?_?tokens.{0,80}to `+size+` \(exclusive\)`,
	`max_?(?:completion|output|new)?_?tokens.{0,40}(?:must be )?less than `+size,
)

func compileAll(patterns ...string) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		out[i] = regexp.MustCompile(`(?i)` + p)
	}
	return out
}

// The sizes that can be true, in tokens.
const (
	minContextSize = 256
	minOutputSize  = 16
	maxSize        = 100_000_000
)

// contextSize returns how many tokens the model takes by what was said; 0 when
// nothing was.
func contextSize(e *APIError, message string) int {
	if e.context >= minContextSize && e.context <= maxSize {
		return e.context
	}
	return named(contextSizes, message, minContextSize)
}

// outputSize returns how long an answer can be by what was said; 0 when nothing
// was.
func outputSize(e *APIError, message string) int {
	if sameParam(e.Param, "max_tokens") || sameParam(e.Param, "max_completion_tokens") || sameParam(e.Param, "max_output_tokens") {
		// The message may leave out what the error says beside it.
		message = "max_tokens: " + message
	}
	if n := named(outputSizes, message, minOutputSize); n > 0 {
		return n
	}
	return max(named(belowSizes, message, minOutputSize+1)-1, 0)
}

// notTokens follows a number that counts something else, or goes on: 1.5M is not
// 1.
var notTokens = regexp.MustCompile(`(?i)^(\.\d|\s*(characters?|chars?|bytes?|kb|mb|字符|个字符|字节|messages?|条)(\P{L}|$))`)

// inThousands follows a number that is written short; 256k is at least 256,000.
var inThousands = regexp.MustCompile(`(?i)^\s?k(\P{L}|$)`)

// named returns the number that the first pattern that fits names.
func named(patterns []*regexp.Regexp, message string, least int) int {
	for _, p := range patterns {
		m := p.FindStringSubmatchIndex(message)
		if m == nil {
			continue
		}
		digits, rest := message[m[2]:m[3]], message[m[3]:]
		if notTokens.MatchString(rest) {
			continue
		}
		n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(digits))
		if inThousands.MatchString(rest) && n <= maxSize {
			n *= 1000
		}
		if err == nil && n >= least && n <= maxSize {
			return n
		}
	}
	return 0
}

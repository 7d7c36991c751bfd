package provider

import (
	"regexp"
	"strings"

	"galley/backend/fault"
)

// rule says which failures have one code (decision 23).
type rule struct {
	code fault.Code
	// names matches a code or type of the provider.
	names *regexp.Regexp
	// statuses of HTTP, or numbers in the error's code.
	statuses []int
	// words matches the message, in lower case; it is asked only when no code
	// or type says more.
	words func(e evidence) bool
}

// evidence is all that is known of a failure.
type evidence struct {
	statuses []int
	names    []string // lower case
	param    string
	message  string // lower case
	flagged  bool
}

func (e evidence) status(any ...int) bool {
	for _, s := range e.statuses {
		for _, a := range any {
			if s == a {
				return true
			}
		}
	}
	return false
}

func (e evidence) name(re *regexp.Regexp) bool {
	if re == nil {
		return false
	}
	for _, n := range e.names {
		if re.MatchString(n) {
			return true
		}
	}
	return false
}

// Classify returns the code for what a provider said, with the status of the
// answer it came in (200 for a stream). The first rule that fits decides; codes
// and types go before words, and a number in a code counts as a status.
func Classify(status int, e *APIError) fault.Code {
	ev := evidence{
		names:   []string{strings.ToLower(e.Code), strings.ToLower(e.Type)},
		param:   strings.ToLower(e.Param),
		message: strings.ToLower(e.Message),
		flagged: e.flagged,
	}
	for _, m := range e.more {
		ev.names = append(ev.names, strings.ToLower(m))
	}
	for _, s := range []int{status, e.Status} {
		if s >= 400 {
			ev.statuses = append(ev.statuses, s)
		}
	}
	named := false
	for _, r := range rules {
		named = named || ev.name(r.names) && r.code != fault.BadRequest
	}
	for _, r := range rules {
		if ev.name(r.names) || ev.status(r.statuses...) {
			return r.code
		}
		if !named && r.words != nil && r.words(ev) {
			return r.code
		}
	}
	return fault.ProviderError
}

var (
	refusedNames = regexp.MustCompile(`^content_filter$|content_policy|responsibleaipolicy|data_?inspection`)
	contextNames = regexp.MustCompile(`context_(length|window|size)|context_too|exceed_context|request_too_large|(prompt|input)_too_(long|large)`)
	quotaNames   = regexp.MustCompile(`insufficient_?(\w*_)?(quota|balance|credit|fund)|^billing|(credit|balance)\w*(exhaust|low|insufficient|used|empty|depleted)|exceeded_current_quota|quota_exceeded|payment_required|arrear|out_of_credit`)
	keyNames     = regexp.MustCompile(`authentication_?error|invalid_authentication|(invalid|incorrect)_api_?key|api_key_(invalid|expired)|^unauthori[sz]ed$|^unauthenticated$`)
	rateNames    = regexp.MustCompile(`rate_?limit|resource_exhausted|too_many_requests|throttl`)
	busyNames    = regexp.MustCompile(`overloaded|^(service_?)?unavailable(_error)?$|insufficient_system_resource`)
	modelNames   = regexp.MustCompile(`model_?not_?(found|exist)|deployment_?not_?found|^(unknown|invalid)_model`)
	permitNames  = regexp.MustCompile(`permission_?(denied|error)|^(access_?denied|forbidden)$`)
	requestNames = regexp.MustCompile(`invalid_?(request|argument|parameter)|bad_?request|validation_?error|unprocessable`)

	flaggedWords = regexp.MustCompile(`flagged|usage polic|safety|content (management )?policy`)

	// A window and the sense of too much.
	contextThing = regexp.MustCompile(`context[ _](length|window|size|limit)|(maximum|max) context|available context|context the overflows|上下文`)
	contextMuch  = regexp.MustCompile(`exceed|too (long|large|big)|greater|larger|longer|maximum|max |only|overflow|reduce|超|过长`)
	// Forms that name no window.
	contextWords = regexp.MustCompile(`prompt.{0,60}(too (long|large)|exceed)|maximum prompt length|` +
		`input.{0,60}(too long|exceed)|range of input length|` +
		"inputs?`? tokens.{0,80}must be <=|" +
		`too many (input |prompt )?tokens in (the |your )?(prompt|input|message|request)|` +
		`reduce (the )?(length|size) of (the |your )?(messages?|prompt|input)|` +
		`exceeds? (the )?(model'?s )?(maximum )?(input|token) (limit|length)|` +
		`(输入|提示词?|内容).{0,8}(过长|太长|超长|超出|超过)|(超出|超过).{0,12}(最大)?(输入|token).{0,4}(长度|限制|数)?`)
	// Too much asked for, not too much sent.
	outputWords = regexp.MustCompile(`max_(completion_|output_|new_)?tokens\W{0,4}( or '?max_completion_tokens'?)?.{0,12}(is )?too (large|big|high)|(maximum|allowed) .{0,30}(output|completion) tokens|^\W?max_(completion_|output_)?tokens\W{0,3}must be less|输出`)
	paceWords   = regexp.MustCompile(`per[ -](second|minute|min|hour|day)\b|\b(tpm|rpm)\b|每(秒|分钟|小时|天|日)`)

	quotaWords = regexp.MustCompile(`(insufficient|not enough|too low|exhausted|used up|run out|out of|exceeded|no).{0,30}(credit|balance|fund|quota)|` +
		`(credit|balance|fund|quota).{0,30}(insufficient|not enough|too low|exhausted|used up|run out|depleted|exceeded|empty)|余额不足|欠费`)

	toolWords = regexp.MustCompile(`(not|n't|no|cannot) support.{0,30}(\btools?\b|tool[ _]|function[ _]?call)|support tool use|` +
		"\\b(tools?|tool[ _-]?(use|calls?|calling|choice)|functions?|function[ _-]?call(s|ing)?)[\"'`]?" + `\s*(is|are)?\s*(currently )?(not |n't |un)-?(support|available|allowed|enabled)|` +
		`requires --enable-auto-tool-choice|不支持.{0,10}(工具|函数)|(工具|函数).{0,10}不支持`)

	keyWords = regexp.MustCompile(`(incorrect|invalid|wrong|expired).{0,10}api[ _-]?key|api[ _-]?key.{0,20}(not valid|invalid|incorrect|expired|revoked)`)

	modelWords = regexp.MustCompile(`\b(model|deployment)\b.{0,80}(not exist|not found|n't exist|is unknown|is not a valid|not be found|not loaded)|` +
		`\bmodels/\S+ is not found|` +
		`(unknown|no such|cannot find|can't find|could not find|not find) model|invalid model( name| id|:|$)|not a valid model|` +
		`no models? loaded|no (allowed )?(endpoints?|providers?) (found|available)|try pulling it first|` +
		`模型.{0,40}(不存在|未找到|找不到)|(不存在|未找到|找不到).{0,12}模型`)
)

// rules in the order of decision 23.
var rules = []rule{
	{code: fault.Refused, names: refusedNames, words: func(e evidence) bool {
		return e.flagged || e.has("invalid_prompt") && flaggedWords.MatchString(e.message)
	}},
	{code: fault.ContextTooLong, names: contextNames, statuses: []int{413}, words: isContext},
	{code: fault.Quota, names: quotaNames, statuses: []int{402}, words: func(e evidence) bool {
		return e.status(400, 402) && quotaWords.MatchString(e.message)
	}},
	{code: fault.UnsupportedByModel, words: func(e evidence) bool {
		return toolWords.MatchString(e.message) && !e.status(401, 402, 429, 503, 529)
	}},
	{code: fault.BadKey, names: keyNames, statuses: []int{401}, words: func(e evidence) bool {
		// xAI refuses a wrong key with 400.
		return e.status(400) && keyWords.MatchString(e.message)
	}},
	{code: fault.RateLimited, names: rateNames, statuses: []int{429}},
	{code: fault.Overloaded, names: busyNames, statuses: []int{503, 529}},
	{code: fault.ModelNotFound, names: modelNames, words: func(e evidence) bool {
		// Anthropic names the model and nothing else.
		return modelWords.MatchString(e.message) ||
			e.has("not_found_error") && strings.Contains(e.message, "model")
	}},
	{code: fault.NoPermission, names: permitNames, statuses: []int{403}},
	{code: fault.BadRequest, names: requestNames, statuses: []int{400, 422}},
	{code: fault.NotAnAPI, statuses: []int{404, 405}},
}

func (e evidence) has(name string) bool {
	for _, n := range e.names {
		if n == name {
			return true
		}
	}
	return false
}

// isContext reports whether words say that the request is longer than the
// model can read. A limit by the minute, too long an output and too long a name
// are other things.
func isContext(e evidence) bool {
	m := e.message
	if paceWords.MatchString(m) || outputWords.MatchString(m) {
		return false
	}
	return contextThing.MatchString(m) && contextMuch.MatchString(m) || contextWords.MatchString(m)
}

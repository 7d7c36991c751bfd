package scripted

import (
	"regexp"
	"strings"
)

// The tables of Chinese. A phrase has two characters or more, since a single
// one is too often part of another word.
var (
	zhWeak = strings.NewReplacer(
		"非常好", "出色", "非常重要", "至关重要", "非常", "十分", "很多", "许多", "很大", "巨大", "很小", "细小",
		"但是", "不过", "因为", "由于", "所以", "因此", "如果", "倘若", "然后", "随后", "已经", "业已",
		"觉得", "认为", "看到", "看见", "东西", "事物", "时候", "时刻", "地方", "之处", "一些", "若干",
		"开始", "着手", "帮助", "协助", "使用", "运用", "可以", "能够", "重要", "关键", "慢了", "缓了下来",
		"问题", "难题", "经常", "时常", "而且", "并且", "慢慢", "缓缓", "马上", "立刻", "知道", "明白", "突然", "忽然", "安静", "宁静", "美丽", "秀美", "高兴", "欣喜",
	)
	zhShort = strings.NewReplacer(
		"其实，", "", "其实", "", "事实上，", "", "总的来说，", "", "也就是说，", "", "换句话说，", "", "可以说", "", "众所周知，", "",
		"非常", "很", "十分", "很", "比较", "", "的话", "", "进行了", "", "进行", "", "由于这个原因", "因此",
		"在这种情况下", "这时", "与此同时", "同时", "各种各样的", "各种", "越来越", "更", "一定要", "要",
		"已经", "已", "但是", "但", "因为", "因", "所以", "故", "如果", "若", "可以", "可", "能够", "能",
		"并且", "且", "或者", "或", "以及", "和", "时候", "时", "应该", "应", "需要", "需", "慢慢地", "", "真的", "",
	)
	zhPlain = strings.NewReplacer(
		"旨在", "想要", "具备", "有", "予以", "给", "此外", "另外", "然而", "但是", "因此", "所以", "倘若", "如果",
		"即便", "就算", "诸如", "比如", "及其", "和它的", "显著", "明显", "众多", "很多", "亦可", "也可以", "尚未", "还没有",
		"能够", "可以", "使用", "用", "进行", "做", "利用", "用", "获得", "得到", "购买", "买", "协助", "帮", "帮助", "帮",
		"提供", "给", "实现", "做到", "由于", "因为", "以及", "和", "并且", "而且", "若干", "一些", "立即", "马上", "逐渐", "慢慢",
		"缓缓", "慢慢", "宁静", "安静", "薄雾", "雾", "凝视", "看着", "仍然", "还", "依然", "还", "开始", "起",
	)
	zhWarm = strings.NewReplacer(
		"您", "你", "应当", "要", "必须", "得", "请勿", "别", "不可", "别", "如果", "要是", "本文", "这篇文章", "是否", "是不是",
		"因此", "所以", "然而", "不过", "但是", "可是", "非常", "特别", "需要", "得", "我们", "咱们", "没有", "没",
		"能够", "能", "可以", "能", "现在", "眼下", "立刻", "马上", "孩子", "小朋友", "告诉", "跟你说",
	)
	zhFormal = strings.NewReplacer(
		"你们", "各位", "咱们", "我们", "但是", "然而", "所以", "因此", "要是", "如果", "觉得", "认为", "马上", "立即", "很多", "诸多",
		"没有", "未有", "可以", "得以", "帮忙", "协助", "告诉", "告知", "因为", "由于", "现在", "目前", "一些", "若干", "非常", "极为",
	)
	zhFuller = strings.NewReplacer(
		"重要", "尤其重要", "因为", "正因为", "很多", "相当多", "经常", "几乎经常", "需要", "确实需要", "可以", "完全可以",
		"开始", "真正开始", "应该", "理应", "但是", "但是反过来看，", "所以", "也正是出于这个缘故，", "最后", "到了最后",
	)
	zhTypos = strings.NewReplacer(
		"的的", "的", "了了", "了", "是是", "是", "在在", "在", "和和", "和", "我我们", "我们", "因该", "应该", "既使", "即使",
		"按装", "安装", "已后", "以后", "做为", "作为", "在次", "再次", "必竟", "毕竟", "一但", "一旦", "渡假", "度假",
	)
)

// chineseEdits returns the edits of a kind.
func chineseEdits(kind string) func(string) string {
	switch kind {
	case "grammar":
		return func(s string) string { return fullWidth(zhTypos.Replace(s)) }
	case "shorten":
		return zhShort.Replace
	case "expand":
		return zhFuller.Replace
	case "simplify":
		return zhPlain.Replace
	case "tone":
		return zhWarm.Replace
	case "formal":
		return zhFormal.Replace
	case "translate":
		return toEnglish
	default:
		return zhWeak.Replace
	}
}

var halfWidth = regexp.MustCompile(`(\p{Han})([,;:!?])(\p{Han}|$)`)

// fullWidth gives Chinese its own punctuation.
func fullWidth(s string) string {
	return halfWidth.ReplaceAllStringFunc(s, func(m string) string {
		return strings.NewReplacer(",", "，", ";", "；", ":", "：", "!", "！", "?", "？").Replace(m)
	})
}

// dictionary is what the mock knows of two languages. It does not pretend to
// translate well: what it does not know stays.
var dictionary = []string{
	"the", "", "a", "", "an", "", "and", "和", "or", "或", "but", "但是", "because", "因为", "if", "如果", "when", "当",
	"is", "是", "are", "是", "was", "曾是", "were", "曾是", "has", "有", "have", "有", "had", "曾有", "not", "不", "no", "没有",
	"i", "我", "you", "你", "he", "他", "she", "她", "it", "它", "we", "我们", "they", "他们", "this", "这", "that", "那",
	"in", "在", "on", "在", "at", "在", "to", "到", "from", "从", "with", "与", "of", "的", "for", "为了", "by", "由",
	"night", "夜晚", "day", "白天", "morning", "早晨", "evening", "傍晚", "ferry", "渡船", "river", "河", "boat", "船",
	"water", "水", "sea", "海", "rain", "雨", "wind", "风", "house", "房子", "door", "门", "window", "窗", "light", "光",
	"book", "书", "word", "词语", "words", "词语", "text", "文字", "page", "页", "file", "文件", "letter", "信", "story", "故事",
	"man", "男人", "woman", "女人", "child", "孩子", "children", "孩子们", "people", "人们", "friend", "朋友", "captain", "船长",
	"good", "好", "bad", "坏", "big", "大", "small", "小", "old", "旧", "new", "新", "long", "长", "short", "短", "quick", "快",
	"slow", "慢", "slowly", "慢慢地", "quickly", "很快地", "very", "非常", "many", "许多", "some", "一些", "all", "所有", "every", "每个",
	"go", "去", "goes", "去", "went", "去了", "come", "来", "comes", "来", "came", "来了", "leave", "离开", "leaves", "离开", "left", "离开了",
	"see", "看见", "say", "说", "says", "说", "said", "说了", "write", "写", "wrote", "写了", "read", "读", "think", "想", "know", "知道",
	"can", "能", "must", "必须", "should", "应该", "will", "将", "use", "使用", "need", "需要", "time", "时间", "year", "年", "work", "工作",
	"world", "世界", "hello", "你好", "fox", "狐狸", "dog", "狗", "cat", "猫", "tea", "茶", "sentence", "句子", "paragraph", "段落", "town", "小镇",
}

var (
	english = newTable(dictionary...)
	chinese = newChinese()
)

func newChinese() *strings.Replacer {
	pairs := []string{
		"河面上", "On the river ", "起了", "rose ", "薄雾", "mist", "渡船", "the ferry ", "今天", "today ", "天气", "the weather ",
		"我们", "we ", "他们", "they ", "你们", "you ", "但是", "but ", "因为", "because ", "所以", "so ", "如果", "if ", "可以", "can ",
		"需要", "need ", "没有", "no ", "许多", "many ", "重要", "important ", "非常", "very ", "文章", "text ", "文字", "words ",
		"段落", "paragraph ", "句子", "sentence ", "世界", "world ", "你好", "hello ", "时间", "time ", "时候", "time ", "孩子", "child ",
		"朋友", "friend ", "夜里", "at night ", "早晨", "morning ", "船长", "the captain ", "已经", "already ", "开始", "begin ",
		"喜欢", "like ", "知道", "know ", "看见", "see ", "工作", "work ", "问题", "problem ", "城市", "city ", "小镇", "town ",
		"我", "I ", "你", "you ", "他", "he ", "她", "she ", "它", "it ", "是", "is ", "有", "has ", "在", "in ", "和", "and ",
		"不", "not ", "很", "very ", "的", "of ", "了", "", "好", "good ", "大", "big ", "小", "small ", "人", "people ", "水", "water ",
		"书", "book ", "茶", "tea ", "雨", "rain ", "河", "river ", "船", "boat ", "夜", "night ",
		"，", ", ", "。", ". ", "！", "! ", "？", "? ", "；", "; ", "：", ": ", "、", ", ",
	}
	return strings.NewReplacer(pairs...)
}

// hanBlank is a blank where Chinese has none; words of one character overlap,
// so it is looked for twice.
var hanBlank = regexp.MustCompile(`(\p{Han}) +(\p{Han})`)

// toChinese puts the words that the dictionary has.
func toChinese(s string) string {
	s = strings.NewReplacer(". ", "。", ", ", "，", ".", "。", "! ", "！", "? ", "？").Replace(english.apply(s))
	return hanBlank.ReplaceAllString(hanBlank.ReplaceAllString(s, "$1$2"), "$1$2")
}

// toEnglish does the same the other way.
func toEnglish(s string) string {
	out := chinese.Replace(s)
	return strings.NewReplacer(" ,", ",", " .", ".", "  ", " ").Replace(out)
}

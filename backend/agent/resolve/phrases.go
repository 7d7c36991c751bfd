package resolve

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// strength says how surely a passage is talk to the person rather than text.
type strength uint8

const (
	noTalk strength = iota
	// weakTalk may be text as well; where it stands decides.
	weakTalk
	// clearTalk speaks of the work on the text.
	clearTalk
)

// maxTalk is the length in bytes past which nothing is taken for talk before
// the text.
const maxTalk = 400

// edited names work on a text, in the forms in which models report it.
const edited = `(?:correct(?:ed|ion|ions|ing)?|revis(?:ed|ion|ions|ing)|re-?writ(?:ten|e|ing)|rewrote|rephrased?|reworded|improved?|improvements?|` +
	`polish(?:ed)?|edit(?:ed|s)?|updated?|fixed|fix(?:es)?|proof-?read|translat(?:ed|ion)|simplif(?:ied|ication)|shorten(?:ed)?|shorter|condensed|` +
	`expand(?:ed)?|extended|adjust(?:ed|ments?)?|modif(?:ied|ications?)|clean(?:ed)?[- ]?up|tightened|summar(?:y|ized|ised)|tidied|chang(?:ed|es?)|` +
	`formal|friendlier|livel(?:y|ier)|clearer|grammar|grammatical|typos?|spelling|wording|punctuation|mistakes?|errors?|tense|` +
	`unchanged|as requested|you asked|your request)`

// matter names what was worked on.
const matter = `(?:text|version|draft|paragraphs?|passage|sentences?|section|selection|list|table|document|code|block|snippet|content|answer|` +
	`result|output|continuation|items?|rewrite|lines?|file|note|markdown|translation|copy|heading|title|front ?matter|yaml|entry|entries)`

// The forms of talk before a text, each tried on every sentence of a passage.
var openingClear = compileAll(
	`^(?:here|below|following)(?:'s|'re| is| are| you go| you are| it is| goes| comes)\b.*(?:`+edited+`|`+matter+`)`,
	`^here (?:you go|you are|it is|it goes|they are)\b[^.]{0,40}$`,
	`^(?:this is|that's|that is|the following is|what follows is|you'll find below)\b.*(?:`+edited+`|`+matter+`)`,
	`^(?:the |your |my |a )?(?:`+edited+`)(?: and (?:`+edited+`))? (?:`+matter+`)\b.{0,40}:$`,
	`^(?:the )?(?:`+edited+`|`+matter+`|output|result|answer)(?: is| are| follows| below)?:$`,
	`^(?:i've|i have|i|we've) (?:also |just |only |now |gone ahead and |carefully )*(?:`+edited+`|made|kept|left|went|reviewed|checked|read|looked|removed|replaced|added|turned|kept|written|continued)\b.*(?:`+edited+`|`+matter+`|\btone|\bmeaning|\bit)\b`,
	`^(?:the |your |this )?(?:original |whole |selected )?(?:`+matter+`) (?:is|was|are|were|looks?|seems?|has|had|contains?|reads?|needs?) (?:already |all |quite |perfectly |very )*(?:correct|fine|good|great|well|clear|no |free of|without)`,
	`^(?:let me|i'll|i will|allow me to|i'm going to) (?:just |now |quickly )?(?:`+edited+`|fix|correct|revise|improve|polish|rewrite|translate)\b.{0,60}[.!:]$`,
	`^(?:改为|改為|应为|應為|改成|更正为|修正为|译文|譯文|译为|結果|结果|输出|答案|答复|回答)[:：]$`,
	`^(?:there (?:are|were|is) no|no|i found no|i did(?:n't| not) find any|i see no) (?:`+edited+`|spelling|grammar)`,
	`^(?:as requested|per your request|as you (?:asked|wished))\b`,
	`(?:修改|修正|更正|润色|潤色|优化|優化|改写|改寫|翻译|翻譯|校对|校對|校正|调整|調整|整理|改正|订正|訂正|扩写|擴寫|缩写|縮寫|精简|精簡|简化|簡化|续写|續寫|完善|更新|重写|重寫|纠正|糾正|改动|改動|扩展|擴展|压缩|处理|處理|编辑|編輯|译文|譯文|润饰|生成|补充|補充).{0,24}[:：]$`,
	`^(?:以下|下面|下方|这里|這裡|这|這|如下)(?:是|为|為|就是|即).{0,40}[:：]$`,
	`^.{0,16}(?:如下|见下|見下)[:：。]$`,
	`^(?:原文|原句|文本|文章|这段|這段|这句|該段|内容|內容|您的|你的|文中|此段|本段).{0,16}(?:没有|沒有|无|無|未发现|未發現|正确|正確|不需|无需|無需|通顺|良好).{0,16}[:：。！!]?$`,
	`^(?:我)(?:已经|已經|已|来|來|对|對|将|將|把|为您|為您|帮您|幫您|帮你|幫你).{0,30}(?:修改|修正|更正|润色|优化|改写|翻译|校对|调整|整理|改正|订正|扩写|缩写|精简|简化|续写|完善|更新|重写|纠正|错别字|語病|语病)`,
	`^(?:以下|こちら|下記|次)(?:が|は|に|の).{0,40}(?:です|ます|ました|した|文|版|文章|リスト|通り|とおり)[:：。]?$`,
	`(?:修正|訂正|添削|校正|翻訳|推敲|書き直|改善|要約|編集)(?:した|済み|後|版|版です|しました|された).{0,20}[:：。]$`,
	`^(?:다음은|아래는|여기).{0,60}(?:입니다|습니다|드립니다)?[:：.]?$`,
	`(?:수정|교정|번역|개선|편집)(?:된|한|본|했습니다).{0,30}[:：.]$`,
	`^(?:hier (?:ist|sind|kommt)|hier,|der |die |das )?.{0,20}(?:korrigiert|überarbeitet|verbessert|übersetz|gekürzt|umformuliert|bereinigt).{0,60}:$`,
	`^hier (?:ist|sind|kommt|hast du|haben sie|der|die|das)\b.{0,60}:$`,
	`^(?:voici|voilà|ci-dessous|le texte|la version|texte|version).{0,80}:$`,
	`^(?:aquí|a continuación|este es|esta es|el texto|la versión|texto|versión).{0,80}:$`,
	`^(?:aqui|segue|a seguir|abaixo|este é|esta é|o texto|a versão|texto|versão).{0,80}:$`,
	`^(?:ecco|di seguito|questo è|questa è|il testo|la versione|testo|versione).{0,80}:$`,
	`^(?:вот|ниже|далее|исправленн|отредактированн|переработанн|перевод).{0,80}:$`,
	`^(?:hier is|hieronder|dit is|de gecorrigeerde|de verbeterde).{0,80}:$`,
	`^(?:oto|poniżej|här är|nedan|her er|tässä|işte|aşağıda|zde je|iată|íme|đây là|dưới đây|berikut|ini).{0,80}:$`,
)

// openingNod is a short word of assent, which by itself or before clear talk is
// talk.
var openingNod = compileAll(
	`^(?:sure(?: thing)?|certainly|of course|absolutely|definitely|ok(?:ay)?|great|gladly|no problem|got it|understood|alright|right|with pleasure|happy to help|i(?:'d| would) be (?:happy|glad) to(?: help| assist)?(?: you)?(?: with (?:that|this|it))?|thank you|thanks|yes|hello|hi)(?:[,!.]? (?:here (?:you go|it is)|happy to help|no problem|i can (?:do|help(?: you)? with) that|let me .{0,40}|i'll .{0,40}|i can .{0,40}))?[.!,:…]*$`,
	`^(?:当然|當然|好的|好|没问题|沒問題|可以|明白|明白了|收到|没有问题|当然可以|當然可以|乐意效劳|您好|你好|嗯|行)(?:[，,、]?(?:没问题|可以|当然|这就.{0,8}|我来.{0,12}))?[！!。.，,：:～~]*$`,
	`^(?:はい|承知(?:いた)?しました|わかりました|分かりました|かしこまりました|もちろん(?:です)?|了解(?:です|しました)?|네|물론(?:입니다|이죠)?|알겠습니다)[、，,。.！!]*$`,
	`^(?:natürlich|gerne|klar|selbstverständlich|sicher|bien sûr|certainement|d'accord|avec plaisir|claro(?: que sí)?|por supuesto|desde luego|com certeza|certo|certamente|naturalmente|volentieri|конечно|хорошо|разумеется|natuurlijk|oczywiście|jasne|självklart|selvfølgelig|tabii|elbette)[.!,:]*$`,
)

// The forms of talk after a text, tried on the start of a passage.
var closingClear = compileAll(
	`^(?:please )?(?:let me know|tell me|feel free|do(?:n't| not) hesitate|reach out|just (?:let me know|ask|say))\b.{0,120}(?:if|whether|should|what|which|any|to ask|help|chang|adjust|else|tone|version|edit|tweak|further)`,
	`^(?:i've|i have|i|we've|we) (?:have )?(?:also |just |only |mainly |mostly |simply |otherwise |then |did |didn't |did not |not )*(?:`+edited+`|made|kept|keep|left|leave|removed|replaced|added|used|preserved|retained|maintained|tried|turned|broke|split|merged|moved|aimed|chose|touched|alter(?:ed)?)\b.*(?:`+edited+`|`+matter+`|tone|meaning|style|structure|format(?:ting)?|verb|words?|links?|names?|rest|everything|original|voice|flow|markers?|quotes?|it\b|[“"'`+"`"+`→])`,
	`^i? ?(?:hope|trust) (?:this|that|it|the above)\b.{0,40}(?:helps?|works?|useful|better|fits|meets|what you)`,
	`^(?:if you(?:'d| would)? (?:like|need|want|prefer|have)|would you like|do you want|shall i|should i|want me to|is there anything|anything else|need anything|happy to|i can also|i'm happy to|i'd be happy)\b.{0,160}(?:chang|adjust|revis|version|edit|tone|formal|casual|short|long|help|else|tweak|different|further|more|again|other|rest|style|question|let me know|know|translat|explain)`,
	`^(?:please )?note(?: that)?\b[:,]?.*(?:`+edited+`|`+matter+`|\bi\b|kept|left)`,
	`^(?:this|the|my) (?:new |above |`+edited+` )?(?:version|revision|rewrite|edit|correction|translation|text|wording)s? (?:now )?(?:keeps?|fixes|corrects?|improves?|maintains?|uses?|makes?|preserves?|is|has|should|reads?|sounds?)\b.*(?:`+edited+`|tone|meaning|original|flow|clear|read|style|natural|concise)`,
	`^(?:these|the|my|main|key|summary of(?: the)?|list of(?: the)?|here (?:are|is) (?:the|a|what)|what i|notes? on(?: the)?|explanation of(?: the)?|a few|some|other|no other|no further|only|all|both) .{0,30}(?:changes|corrections?|edits|fixes|modifications|improvements|adjustments|changed|corrected|fixed|mistakes|typos|errors)\b`,
	`^(?:changes|corrections?|edits|fixes|modifications|improvements|adjustments|explanations?|summary|notes?|what changed|key points|rationale)(?: made| applied| explained| summary| of changes| below)?\s*:?$`,
	`^(?:changes|corrections?|edits|fixes|modifications|explanations?|notes?)(?: made)?\s*:\s.*`,
	`^(?:everything else|the rest|nothing else|all else|other than that)\b.{0,80}(?:same|unchanged|as it was|as is|as before|untouched|alone|changed|kept|left|original)`,
	`^(?:fixed|corrected|changed|replaced|removed|added|adjusted|rephrased|reworded) ['"“‘`+"`"+`*]?.{1,120}(?:→|->|\bto\b|\bwith\b|\bfrom\b|typos?|spelling|grammar|agreement|punctuation)`,
	`^(?:great job|well done|good luck|best of luck|happy writing|good work|nice work|enjoy|all set|done)[.! ]*$`,
	`^(?:the|a|an|each|both|all|one|two|three)\b.{0,40}\b(?:verbs?|subjects?|plurals?|commas?|apostrophes?|tenses?|articles?|typos?|spellings?|misspell\w*|capitali[sz]\w+|hyphens?|agreement)\b.{0,60}\b(?:agrees?|matche?s?|corrected|fixed|added|removed|changed|replaced|consistent|needed|was|were|is|are|now)\b`,
	`^以上(?:です|になります|でした)?[。.]?$`,
	`^(?:希望|期待)(?:这|這|以上|对|對|能|上述|可以|此|它|我).{0,40}(?:帮助|幫助|要求|满意|滿意|有用|需要|喜欢|喜歡|期望|帮到|幫到|合适|合適)`,
	`^(?:如果|若|如|要是|假如)(?:您|你|还|還|有|需|想|对|對|觉得|希望).{0,60}(?:修改|调整|調整|需要|告诉|告訴|问题|問題|其他|其它|随时|隨時|联系|聯繫|要求|意见|意見|帮助|不满意|润色|风格|语气|版本|吩咐|说明|继续)`,
	`^(?:如有|如需|若有|若需|有任何|还有什么|還有什麼|还需要|還需要|需要我|是否需要|要不要|请随时|請隨時|请告诉我|請告訴我|欢迎|歡迎|随时|隨時).{0,60}`,
	`^(?:以上|上述|上面|本次|此次|这次|這次|其中|共|总共|一共|主要|主要是|仅|僅|只|另外|此外|文中|原文|这里|這裡|其余|其餘|其他|其它|另|注意|说明|說明)?.{0,16}(?:修改|修正|更正|润色|優化|优化|改写|校对|调整|調整|改正|订正|改动|改動|更改|纠正|替换|替換|保留|保持|未改|未作|没有改|未做|不变|不變|错别字|錯別字|语病|錯字|错字)(?:了|的|说明|說明|如下|处|處|之处|要点|点|內容|内容|原|过|為|为|成|在|其|好|完|是|有|部分|均|全部|一|两|兩|二|三|四|五|六|七|八|九|十|\d|[:：。！]|$)`,
	`^(?:说明|說明|注|注释|备注|備註|修改说明|改动说明|修改内容|修改之处|修改要点|主要改动|主要修改|变更|變更)\s*[:：]`,
	`^(?:我)(?:已|已经|已經|只|仅|僅|主要|将|將|把|对|對|保留|没有|沒有|在|还|還|也).{0,40}(?:修改|修正|更正|润色|优化|改写|校对|调整|整理|改正|订正|改为|改成|替换|错别字|语病|标点|标點|格式|原文|语气|原意|错误)`,
	`^[-*•]?\s*(?:将|將|把)?[“"「『'].{1,40}[”"」』'](?:改为|改為|改成|更正为|应为|應為|替换为|→|->)`,
	`^(?:修正|変更|訂正|直し)(?:した|点|箇所|内容|について).{0,60}`,
	`^(?:ご確認|ご不明|ご要望|ご希望|他に|ほかに|お役に|必要(?:であれば|でしたら|があれば)|何か|さらに).{0,60}(?:ください|下さい|ます|です|ば)[。！]?`,
	`^(?:도움이|추가|다른|필요하|수정한|변경).{0,60}(?:요|다)[.!]?$`,
	`^(?:ich (?:habe|hoffe)|wenn (?:sie|du)|falls|lass(?:en sie)? (?:es )?mich|die (?:wichtigsten )?änderungen|änderungen|gib mir bescheid)\b.{0,160}(?:korrigier|änder|verbesser|hilft|wissen|weitere|anpass|fehler|ton|bescheid|formulier)`,
	`^(?:j'ai|j’ai|n'hésitez|n’hésitez|si vous|si tu|faites-moi|dites-moi|modifications|j'espère|j’espère)\b.{0,160}(?:corrig|modifi|chang|aide|savoir|faute|ton|besoin|autre|amélior|gardé|conserv)`,
	`^(?:he |si (?:necesitas|quieres|deseas|necesita|desea)|espero|avísame|dime|cambios|házmelo|no dudes)\b?.{0,160}(?:correg|cambi|ayud|ajust|error|tono|otro|otra|más|manten|saber|cualquier)`,
	`^(?:espero|se (?:precisar|quiser|desejar)|fiz|corrigi|mantive|alterações|me avise|avise)\b.{0,160}`,
	`^(?:ho |spero|se (?:vuoi|hai bisogno|desideri)|fammi sapere|modifiche)\b?.{0,160}(?:corrett|modific|aiut|cambi|errori|tono|altr|sapere|mantenut)`,
	`^(?:я |если (?:нужно|хотите|вам|что)|надеюсь|дайте знать|изменения|исправлен).{0,160}(?:исправ|измен|помо|ошиб|тон|знать|ещё|другие|правк|сохран|внес)`,
)

var closingWeak = compileAll(
	`^(?:please )?let me know\b`,
	`^i? ?hope (?:this|that|it)\b`,
	`^(?:hope|glad|happy) .{0,40}(?:helps?|help)`,
	`^(?:希望)(?:这|對|对|以上|能)`,
	`^(?:请|請)(?:查收|过目|過目|确认|確認|参考|參考)`,
)

// aboutEdits marks talk about the work on a text; talk without it may as well
// be the close of a letter or a notice.
var aboutEdits = compileAll(`(?:` + edited + `|\b(?:text|version|draft|wording|tone|style|format(?:ting)?|paragraphs?|sentences?|verbs?|original|meaning|markdown)\b|→|->|` +
	`修改|修正|更正|润色|潤色|优化|優化|改写|校对|调整|調整|整理|改正|订正|改动|改為|改为|改成|替换|错别字|錯字|错字|语病|标点|文本|版本|语气|語氣|风格|原文|应为|` +
	`修正|変更|訂正|수정|변경|korrigier|änder|version|corrig|modif|correg|cambi|alter|исправ|измен|правк|версия)`)

// setPhrases are closes that only an assistant says.
var setPhrases = compileAll(
	`\b(?:hope|trust) (?:this|that|it|the above)\b.{0,30}(?:helps?|works?|useful|meets|fits)`,
	`\b(?:need|want|like|there)\b.{0,20}\b(?:anything|something) else\b`, `\bfurther (?:help|assistance)\b`,
	`^(?:great job|well done|good luck|best of luck|happy writing|good work|nice work|enjoy|all set|done)\b`,
	`^希望.{0,20}(?:帮助|幫助|满意|滿意|有用|帮到|要求)`, `(?:其他|其它|别的|还有什么|還有什麼).{0,12}(?:需要|需求|帮您|帮你|帮忙|帮助|幫)`, `^以上(?:です)?[。.]?$`,
	`お役に立`, `他に.{0,20}(?:ありましたら|あれば)`, `도움이 되`, `hilft (?:ihnen|dir|das)`, `(?:espero|spero|j.espère).{0,30}(?:aid|ayud|sirva|utile|útil|aiut)`, `надеюсь`,
	`(?:дайте знать|faites-le-moi savoir|fammi sapere|avísame|me avise|lassen sie es mich wissen|sag bescheid)`,
)

// strictlyAboutEdits is what first-person talk must have where the text itself
// speaks in the first person.
var strictlyAboutEdits = compileAll(`(?:\b(?:grammar|grammatical|typos?|spelling|wording|punctuation|verb|tense|tone|rephras|reword|proofread|corrected|paragraphs?|sentences?)|错别字|语病|标点|润色|修改|修正|更正|语气)`)

var (
	firstPerson  = compileAll(`(?:\bI\b|\bmy\b|\bwe\b|我|私|僕)`)
	speaksOfSelf = compileAll(`^[-*• (（]*(?:I\b|I'|we\b|we'|我)`)
)

// letterOpening is how a letter begins.
var letterOpening = compileAll(`^(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|to whom|greetings|尊敬的|亲爱的|親愛的|敬爱的|您好|你好|各位|拝啓|.{1,20}(?:様|さん|さま)$|sehr geehrte|liebe|hallo|cher|chère|bonjour|estimad|querid|hola|prezad|car[oa]\b|gentile|уважаем|дорог)`)

// A refusal says that its speaker is sorry or is a program, and that it will
// not do the work.
var refusalForms = compileAll(
	`^(?:i'm |i am |i |we're |we are |we )?(?:very |truly |so |really |deeply |do )?(?:sorry|apologi[sz]e|afraid)\b.{0,60}\b(?:can't|cannot|can not|won't|will not|unable|not able|not comfortable|couldn't|could not|must decline|have to decline)\b.{0,80}\b(?:help|assist|comply|fulfil|provide|create|generate|writ|rewrit|edit|translat|process|discuss|engage|support|continue|expand|do that|do this|request|that|this|content|with)`,
	`^(?:i |unfortunately,? i |i'm |i am )(?:can't|cannot|can not|won't|will not|unable to|am unable to|not able to|am not able to|not comfortable|must decline to|have to decline to|decline to|do not|don't)\b.{0,40}\b(?:help|assist|comply|fulfil|provide|create|generate|writ|rewrit|edit|translat|process|discuss|engage|support|continue|expand|do that|do this)\w*\b.{0,200}`,
	`^(?:as an ai|as a language model|i'm just an ai|i am an ai)\b.{0,120}\b(?:can't|cannot|won't|unable|not able|must|do not|don't)\b`,
	`^(?:this|that|the|your) (?:request|content|text|topic|instruction)\b.{0,80}\b(?:can't|cannot|goes against|violat|not allowed|against my|not permitted|inappropriate)`,
	`^(?:sorry|apologies)\b[,.!]?.{0,40}\b(?:can't|cannot|won't|unable)\b.{0,40}\b(?:help|assist|that|this|request|do|with)`,
	`^(?:(?:很|非常|十分|真)?(?:抱歉|对不起|對不起|遗憾|遺憾|不好意思)|作为(?:一个|一名)?(?:AI|人工智能|语言模型|助手)|作為(?:一個)?(?:AI|人工智慧)|我(?:不能|无法|無法|不可以|没办法|沒辦法|拒绝)|这个请求|该请求|此请求|您的请求|這個請求)[^。！!\n]{0,40}(?:无法|無法|不能|不可以|没办法|沒辦法|不便|拒绝|拒絕|帮助|協助|协助|帮您|帮你)[^。！!\n]{0,60}`,
	`(?:申し訳(?:ありません|ございません)|すみません|恐れ入りますが|残念ながら).{0,60}(?:できません|出来ません|いたしかねます|お手伝い|対応|お応え|お答え).{0,30}`,
	`^(?:죄송|미안).{0,80}(?:없습니다|않습니다|어렵습니다)`,
	`^(?:es tut mir leid|tut mir leid|leider|entschuldigung)\b.{0,60}(?:kann|darf|möchte|werde)\b.{0,60}(?:nicht|keine)\b.{0,60}(?:helfen|unterstützen|bearbeiten|erstellen|schreiben|anfrage|dabei|inhalt)`,
	`^(?:je suis désolé|désolé|je regrette|malheureusement)\b?.{0,60}(?:ne peux|ne puis|ne suis)\b.{0,80}(?:aider|assister|répondre|demande|écrire|créer|fournir|cela)`,
	`^(?:lo siento|lamentablemente|disculpa)\b.{0,60}no (?:puedo|es posible)\b.{0,80}(?:ayudar|asistir|solicitud|escribir|crear|eso|esto|hacer)`,
	`^(?:desculpe|sinto muito|lamento|infelizmente)\b.{0,60}não posso\b.{0,80}`,
	`^(?:mi dispiace|spiacente|purtroppo)\b.{0,60}non posso\b.{0,80}`,
	`^(?:извините|простите|к сожалению|мне жаль).{0,60}не (?:могу|смогу)\b?.{0,80}(?:помочь|выполнить|запрос|создать|написать|с этим|это)`,
)

// refusalWords mark a text that itself refuses or regrets something.
var refusalWords = compileAll(
	`(?:sorry|can't|cannot|can not|unable|won't|decline|regret|refuse|unfortunately|apolog)`,
	`(?:抱歉|对不起|對不起|无法|無法|不能|遗憾|遺憾|拒绝|拒絕|不好意思)`,
	`(?:申し訳|できません|すみません|残念|죄송|leid|leider|désolé|siento|desculp|dispiace|сожалению|извините)`,
)

func compileAll(forms ...string) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(forms))
	for i, f := range forms {
		out[i] = regexp.MustCompile(`(?is)` + f)
	}
	return out
}

func matchesAny(s string, forms []*regexp.Regexp) bool {
	for _, f := range forms {
		if f.MatchString(s) {
			return true
		}
	}
	return false
}

// sayable returns a passage as phrases are looked for in it: straight quotes,
// no emphasis or heading marks.
func sayable(s string) string {
	s = trimmed(foldText(s))
	label := strings.HasPrefix(s, "#") || strings.HasPrefix(s, "**") && strings.HasSuffix(s, "**")
	s = trimmed(strings.Trim(strings.ReplaceAll(s, "*", ""), "#_> "))
	if label && !endsInColon(s) && !strings.ContainsAny(s, ".!?。！？\n") {
		s += ":" // A label in bold or as a heading announces what follows.
	}
	return s
}

// sentences splits a passage behind its sentence marks.
func sentences(s string) []string {
	var out []string
	start := 0
	for i, r := range s {
		end := i + utf8.RuneLen(r)
		if !strings.ContainsRune(".!?:。！？：\n", r) {
			continue
		}
		if strings.ContainsRune(".!?:", r) && end < len(s) && s[end] != ' ' && s[end] != '\n' {
			continue
		}
		if p := trimmed(s[start:end]); p != "" {
			out = append(out, p)
		}
		start = end
	}
	if p := trimmed(s[start:]); p != "" {
		out = append(out, p)
	}
	return out
}

// opensTalk says whether a passage is talk as it comes before a text.
func opensTalk(passage string) strength {
	if len(passage) > maxTalk || structured(passage) {
		return noTalk
	}
	said := sayable(passage)
	clear, nods := false, 0
	all := sentences(said)
	for _, s := range all {
		if matchesAny(s, openingNod) {
			nods++
		} else if matchesAny(s, openingClear) {
			clear = true
		}
	}
	switch {
	case clear || matchesAny(said, openingClear):
		return clearTalk
	case nods == len(all) && nods > 0:
		return clearTalk
	case nods > 0 && endsInColon(said):
		return clearTalk
	case endsInColon(said) && strings.IndexByte(passage, '\n') < 0:
		return weakTalk
	}
	return noTalk
}

// closesTalk says whether a passage is talk as it comes after a text.
func closesTalk(passage string) strength {
	if len(passage) > 2*maxTalk {
		return noTalk
	}
	said := sayable(strings.TrimLeft(trimmed(firstLine(passage)), "-+• (（[【"))
	switch {
	case matchesAny(said, setPhrases):
		return clearTalk
	case matchesAny(said, closingClear):
		if matchesAny(said, aboutEdits) || matchesAny(passage, aboutEdits) {
			return clearTalk
		}
		return weakTalk
	case matchesAny(said, closingWeak):
		return weakTalk
	}
	return noTalk
}

func endsInColon(s string) bool {
	s = strings.TrimRightFunc(s, isBlank)
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")
}

// structured reports whether a passage is a block that talk never is: a list, a
// quote, a table, a fence, HTML.
func structured(passage string) bool {
	l := parseLead(passage)
	if l.list != "" || l.quotes > 0 || passage[0] == '|' || passage[0] == '<' {
		return true
	}
	_, isFence := parseFence(passage)
	return isFence || isThematic(firstLine(passage))
}

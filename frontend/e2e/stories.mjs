// What the pictures show: a folder of documents in each language, the words of
// a person and those of a model.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const sample = (name) =>
  readFileSync(resolve(import.meta.dirname, "../../backend/api/sample/Drafts", name), "utf8");

/** Replaces each pair's first by its second; both must be there. */
function replaced(text, pairs) {
  return pairs.reduce((now, [from, to]) => {
    if (!now.includes(from)) throw new Error(`the sample no longer says: ${from}`);
    return now.replace(from, to);
  }, text);
}

/** The first `share` of a text in pieces, as a model sends them. */
function begun(text, share) {
  return text.slice(0, Math.round(text.length * share)).match(/[\s\S]{1,6}/gu);
}

const english = {
  month: [
    [
      "For a month I kept a notebook on the lower deck, most nights beside",
      "I kept a notebook on the lower deck for a month, beside",
    ],
    ["because it was warm there and because nobody asks", "where it is warm and nobody asks"],
  ],
  rest: [
    ["whatever the weather", "in any weather"],
    ["carries about 1,240 passengers", "carries some 1,420 passengers"],
    ["before I came for the story", "first and the story second"],
    ["by the north window", "by the cold north window"],
  ],
};

const chinese = {
  month: [
    ["记了整整一个月的笔记", "记了整月的笔记"],
    ["因为那里非常暖和，也因为没有人会去问", "那里暖和，也没有人会问"],
  ],
  rest: [
    ["风雨无阻", "风雨不停"],
    ["大约有 1,240 名乘客", "载客约 1,420 人"],
    ["没有人坐在", "谁也不坐"],
  ],
};

/** What two people did to one text while neither saw the other: pairs of words, each once in the text. */
const conflicts = {
  en: {
    mine: [
      ["about 1,240 passengers", "about 1,280 passengers"],
      ["For a month I kept", "Once, as the ferry turned, Lin rang the bell twice.\n\nFor a month I kept"],
    ],
    theirs: [
      ["about 1,240 passengers", "about 1,300 passengers"],
      ["For a month I kept", "Lin rang the second bell four minutes early.\n\nFor a month I kept"],
      ["on the lower deck, most", "on the lower deck, by the north window, most"],
    ],
  },
  zh: {
    mine: [
      ["大约有 1,240 名", "大约有 1,280 名"],
      ["我在下层甲板", "有一次渡轮掉头时，小林敲了两遍铃。\n\n我在下层甲板"],
    ],
    theirs: [
      ["大约有 1,240 名", "大约有 1,300 名"],
      ["我在下层甲板", "小林把第二遍铃早敲了四分钟。\n\n我在下层甲板"],
      ["坐在咖啡壶旁边", "坐在北窗下的咖啡壶旁边"],
    ],
  },
};

/** A conversation: what a person asks, and for each request that follows what the model says and calls. */
const talks = {
  en: {
    question: "Do my passenger numbers agree with the timetable?",
    answer: [
      {
        calls: [
          { name: "readDocument", input: { path: "Timetable 2026.md" } },
          { name: "searchWorkspace", input: { query: "passengers" } },
        ],
      },
      {
        text: "Almost. Seven nights at 177 make **1,239**, and you write “about 1,240”, which is right. One sentence says it less well than it could:",
        calls: [
          {
            name: "proposePatch",
            input: {
              oldText: "whatever the weather",
              newText: "in any weather",
              summary: "Says the same in three words",
            },
          },
        ],
      },
      { text: "I can note both figures in a new document." },
    ],
    reply: "Yes, next to the essay.",
    create: {
      dir: "Drafts",
      name: "Timetable check.md",
      text: "# Timetable check\n\n- Night: 177 × 7 = 1,239. Stands.\n- Noon: 288 is from 2025. Ask.\n",
    },
  },
  zh: {
    question: "我写的乘客人数和时刻表对得上吗？",
    answer: [
      {
        calls: [
          { name: "readDocument", input: { path: "2026 年时刻表.md" } },
          { name: "searchWorkspace", input: { query: "乘客" } },
        ],
      },
      {
        text: "差不多。七个晚上、每晚 177 人，共 **1,239** 人，你写“大约 1,240”，没有问题。另有一处可以更精练：",
        calls: [
          {
            name: "proposePatch",
            input: { oldText: "风雨无阻", newText: "风雨不停", summary: "换一个更平实的说法" },
          },
        ],
      },
      { text: "我可以把这两个数字记到一份新文档里。" },
    ],
    reply: "好，放在这篇文章旁边。",
    create: {
      dir: "草稿",
      name: "核对时刻表.md",
      text: "# 核对时刻表\n\n- 夜班：177 × 7 = 1,239，属实。\n- 午班：288 是 2025 年的数字，待核实。\n",
    },
  },
};

/** By language: files, where the caret is, what is selected, what is asked and what comes back. */
export const stories = {
  en: {
    folder: "Harbour essays",
    file: "Drafts/The Night Ferry.md",
    files: {
      "Drafts/The Night Ferry.md": sample("The Night Ferry.md"),
      "Drafts/Salt and Paper.md": "# Salt and Paper\n",
      "Drafts/The Second Bell.md": "# The Second Bell\n",
      "Interviews/Lin, purser.md": "# Lin\n",
      "Research/Ledger.md": "# Ledger\n",
      "Style sheet.md": "# Style sheet\n",
      "Timetable 2026.md": "# Timetable\n\nNight: 177 passengers.\n\nNoon: 288 passengers.\n",
      "README.md": "# Harbour essays\n",
    },
    caret: "only hour of the day",
    passage: ["For a month", "For a month"],
    whole: ["The last boat", "- [ ] Ask Lin"],
    wish: "Keep the coffee urn",
    remark: "Tighten, keep the voice",
    pieces: (text) => begun(replaced(text, english.month), 0.72),
    rewritten: (text) => replaced(text, [...english.rest, ...english.month]),
    mine: conflicts.en.mine,
    theirs: (text) => replaced(text, conflicts.en.theirs),
    talk: talks.en,
  },
  zh: {
    folder: "港口随笔",
    file: "草稿/夜航船.md",
    files: {
      "草稿/夜航船.md": sample("夜航船.md"),
      "草稿/盐与纸.md": "# 盐与纸\n",
      "草稿/第二遍铃.md": "# 第二遍铃\n",
      "访谈/林师傅，事务长.md": "# 林师傅\n",
      "资料/账簿.md": "# 账簿\n",
      "体例.md": "# 体例\n",
      "2026 年时刻表.md": "# 时刻表\n\n夜班：177 名乘客。\n\n午班：288 名乘客。\n",
      "README.md": "# 港口随笔\n",
    },
    caret: "缆绳的声音",
    passage: ["我在下层甲板", "我在下层甲板"],
    whole: ["末班船", "- 要问问小林"],
    wish: "咖啡壶要留着",
    remark: "收紧文字，保留语气",
    pieces: (text) => begun(replaced(text, chinese.month), 0.72),
    rewritten: (text) => replaced(text, [...chinese.rest, ...chinese.month]),
    mine: conflicts.zh.mine,
    theirs: (text) => replaced(text, conflicts.zh.theirs),
    talk: talks.zh,
  },
};

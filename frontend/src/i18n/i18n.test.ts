import { afterEach, describe, expect, it } from "vitest";
import { faultCodes } from "../backend/gen";
import { en, type MessageKey } from "./en";
import {
  formatDay,
  formatNumber,
  formatTime,
  language,
  localeTag,
  pickLanguage,
  setLanguage,
  t,
} from "./index";
import { createFormatter, placeholders } from "./message";
import { pseudo } from "./pseudo";
import { zh } from "./zh";

const keys = Object.keys(en) as MessageKey[];
const han = "\\p{Script=Han}";

afterEach(() => setLanguage("en"));

// covers: E6 K6 (the words: complete, in both languages)
describe("the tables", () => {
  it("hold the same keys in the same order", () => {
    expect(Object.keys(zh)).toEqual(keys);
  });

  it.each(keys)("%s has the same placeholders and marks in both", (key) => {
    expect(placeholders(zh[key])).toEqual(placeholders(en[key]));
    const marks = (message: string): readonly string[] => message.match(/<\/?\w+\/?>/g) ?? [];
    expect(marks(zh[key])).toEqual(marks(en[key]));
  });

  it.each(faultCodes)("have a title and a text for the fault %s", (code) => {
    for (const messages of [en, zh] as readonly Readonly<Record<string, string>>[]) {
      expect(messages[`faults.${code}.title`]).toMatch(/\S/);
      expect(messages[`faults.${code}.text`]).toMatch(/\S/);
    }
  });

  it("name no fault that does not exist", () => {
    const known = new Set<string>(faultCodes);
    const named = keys.flatMap((key) => /^faults\.(\w+)\.(title|text)$/.exec(key)?.[1] ?? []);
    expect(named.filter((code) => !known.has(code))).toEqual([]);
    expect(new Set(named).size).toBe(faultCodes.length);
  });

  it("write Chinese with full-width punctuation", () => {
    const slip = new RegExp(`${han}[,.;:!?()]|[,;:!?()]${han}|["'](?=${han})|(?<=${han})["']`, "u");
    expect(keys.filter((key) => slip.test(zh[key]))).toEqual([]);
    expect(keys.filter((key) => /[哦呢]|您/.test(zh[key]))).toEqual([]);
  });

  it("write English without exclamation, apology or praise", () => {
    expect(keys.filter((key) => /!|\b(please|oops|sorry|successfully)\b/i.test(en[key]))).toEqual([]);
    expect(
      keys.filter(
        (key) =>
          /^[a-z]/.test(en[key]) &&
          !/^(tabs|provider|editor\.find|compare\.(mine|theirs|merged)|panel\.(look|reason|verdict))\./.test(
            key,
          ),
      ),
    ).toEqual([]);
  });
});

describe("t", () => {
  it("fills in values and counts", () => {
    expect(t("status.saved", { time: "14:06" })).toBe("Saved 14:06");
    expect(t("status.words", { n: 1 })).toBe("1 word");
    expect(t("status.words", { n: 1204 })).toBe("1,204 words");
    expect(t("status.selectedWords", { some: 46, n: 1204 })).toBe("46 of 1,204 words");
    expect(t("provider.test.good", { n: 0 })).toBe("Connected.");
  });

  it("quotes a detail when there is one", () => {
    expect(t("faults.bad_key.title", { provider: "DeepSeek", detail: "401" })).toBe(
      "DeepSeek refused the key (401).",
    );
    expect(t("faults.bad_key.title", { provider: "DeepSeek", detail: "" })).toBe("DeepSeek refused the key.");
  });

  it("never takes a value for a message", () => {
    expect(t("tabs.close", { name: "{n, plural, one {x}} #" })).toBe("Close {n, plural, one {x}} #");
  });

  it("follows a switch of language", () => {
    expect(t("status.words", { n: 1846 })).toBe("1,846 words");
    setLanguage("zh");
    expect(language.value).toBe("zh");
    expect(localeTag.value).toBe("zh-CN");
    expect(t("status.characters", { n: 1846 })).toBe("1,846 字");
    expect(t("faults.rate_limited.title", { provider: "Anthropic", seconds: 42 })).toBe(
      "Anthropic 要求等待 42 秒。",
    );
  });
});

describe("createFormatter", () => {
  const format = createFormatter("en");

  it("takes an exact count before a plural class", () => {
    expect(format("{n, plural, =1 {just {who}} one {one} other {# of {who}}}", { n: 1, who: "A" })).toBe(
      "just A",
    );
    expect(format("{n, plural, =1 {just {who}} one {one} other {# of {who}}}", { n: 1200, who: "A" })).toBe(
      "1,200 of A",
    );
  });

  it("shows a placeholder without a value as it is written", () => {
    expect(format("Saved {time}")).toBe("Saved {time}");
  });

  it.each(["{", "}", "{n", "{n, plural}", "{n, plural, one {x}}", "{n, plural, other {x}", "{n, date, x}"])(
    "refuses %j",
    (message) => expect(() => format(message, { n: 1 })).toThrow(SyntaxError),
  );
});

describe("pickLanguage", () => {
  it.each([
    ["en", ["zh-CN"], "en"],
    ["zh", ["en-GB"], "zh"],
    ["system", ["zh-Hans-CN", "en"], "zh"],
    ["system", ["de-DE", "zh-TW"], "zh"],
    ["system", ["de-DE", "fr"], "en"],
    ["system", [], "en"],
    ["klingon", ["zh"], "zh"],
  ] as const)("gives for %s and %j: %s", (setting, system, expected) => {
    expect(pickLanguage(setting, system)).toBe(expected);
  });
});

describe("dates and numbers", () => {
  const ms = new Date(2026, 10, 12, 14, 6).getTime();

  it("are written by the language", () => {
    expect([formatTime(ms), formatDay(ms), formatNumber(5210)]).toEqual(["14:06", "12 Nov", "5,210"]);
    setLanguage("zh");
    expect([formatTime(ms), formatDay(ms), formatNumber(5210)]).toEqual(["14:06", "11月12日", "5,210"]);
  });
});

describe("the pseudo locale", () => {
  it("changes words, keeps placeholders and marks, and is longer", () => {
    const table = pseudo(en);
    expect(table["start.aiOff"]).toContain("<a>àdd à přövîdéř</a>".replaceAll("ř", "r"));
    expect(table["tree.more"]).toContain(
      "{n, plural, one {1 möré îš ñöt šhöwñ} other {# möré àré ñöt šhöwñ}}",
    );
    for (const key of keys) {
      expect(placeholders(table[key])).toEqual(placeholders(en[key]));
      expect(table[key].length).toBeGreaterThan(en[key].length);
    }
  });

  it("can be switched to", () => {
    setLanguage("pseudo");
    expect(t("status.saved", { time: "14:06" })).toMatch(/^\[.*14:06~+\]$/);
  });
});

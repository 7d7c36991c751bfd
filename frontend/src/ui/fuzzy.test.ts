import { describe, expect, it } from "vitest";
import { fuzzyMatch } from "./fuzzy";

describe("fuzzyMatch", () => {
  const hit = (query: string, text: string): string | null => {
    const found = fuzzyMatch(query, text);
    return found?.ranges.map(([from, to]) => text.slice(from, to)).join("|") ?? null;
  };

  it("finds letters in order, best where words begin", () => {
    expect(hit("re", "Review: accept")).toBe("Re");
    expect(hit("ra", "Review: accept")).toBe("R|a");
    expect(hit("re", "Summarise this document")).toBe("r|e");
    expect(hit("改写", "改写选中的文字")).toBe("改写");
    expect(hit("er", "Review")).toBeNull();
    expect(hit("", "Review")).toBe("");
  });

  it("puts a word's beginning before its middle", () => {
    const score = (text: string): number => fuzzyMatch("re", text)?.score ?? Number.NaN;
    expect(score("Rewrite selection")).toBeGreaterThan(score("Open recent workspace"));
    expect(score("Open recent workspace")).toBeGreaterThan(score("Summarise this document"));
  });

  it("keeps places right where lower case is longer", () => {
    expect(hit("i", "İstanbul i")).toBe("i");
  });
});

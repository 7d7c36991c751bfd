import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const names = ["light", "dark", "sepia", "contrast"] as const;
type Colours = ReadonlyMap<string, string>;

function readTheme(name: string): Colours {
  const css = readFileSync(new URL(`./themes/${name}.css`, import.meta.url), "utf8");
  return new Map([...css.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})\b/g)].map((m) => [m[1] ?? "", m[2] ?? ""]));
}

/** Relative luminance of a colour, as WCAG 2 defines it. */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function ratio(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

const surfaces = ["page", "chrome", "raised", "sunk", "hover", "active"];
const markSurfaces = ["page", "raised", "chrome"];

/** What may lie on what, and the least ratio: 4.5 for text, 3 for lines. */
const pairs: readonly (readonly [string, readonly string[], number])[] = [
  ["ink", [...surfaces, "select"], 4.5],
  ["ink-2", surfaces, 4.5],
  ["ink-3", surfaces, 4.5],
  ["accent-ink", surfaces, 4.5],
  ["on-accent", ["accent", "accent-hover"], 4.5],
  ["ins", ["ins-bg", ...markSurfaces], 4.5],
  ["del", ["del-bg", ...markSurfaces], 4.5],
  ["lock", ["lock-bg", ...markSurfaces, "active"], 4.5],
  ["bad", ["bad-bg", ...markSurfaces, "active"], 4.5],
  ["good", [...markSurfaces, "active"], 4.5],
  ["hit-ink", ["hit"], 4.5],
  ["ink-2", ["lock-bg", "bad-bg", "code-bg"], 4.5],
  ["ink", ["lock-bg", "bad-bg", "code-bg", "ins-bg"], 4.5],
  ["code-key", ["code-bg"], 4.5],
  ["code-str", ["code-bg"], 4.5],
  ["code-num", ["code-bg"], 4.5],
  ["code-note", ["code-bg"], 4.5],
  ["edge", surfaces.filter((s) => s !== "active"), 3],
  ["focus", surfaces, 3],
  ["accent", surfaces, 3],
  ["ins-line", ["page", "ins-bg"], 3],
  ["del-line", ["page", "del-bg"], 3],
  ["lock-line", ["page", "lock-bg", "chrome"], 3],
];

// covers: E7 (contrast of each theme)
describe.each(names)("the %s theme", (name) => {
  const theme = readTheme(name);
  const colour = (role: string): string => theme.get(role) ?? expect.unreachable(`no colour for ${role}`);

  it.each(pairs)("keeps %s legible on %j, at least %d to 1", (role, on, least) => {
    // In high contrast text holds 7 to 1.
    const needed = name === "contrast" && least === 4.5 ? 7 : least;
    const misses = on
      .map((surface) => ({ surface, ratio: ratio(colour(role), colour(surface)) }))
      .filter((pair) => pair.ratio < needed);
    expect(misses).toEqual([]);
  });

  it("names the same colours as the light theme", () => {
    expect([...theme.keys()].sort()).toEqual([...readTheme("light").keys()].sort());
  });
});

describe("ratio", () => {
  it("is 21 for black on white and 1 for equal colours", () => {
    expect(ratio("#000000", "#ffffff")).toBeCloseTo(21, 5);
    expect(ratio("#123456", "#123456")).toBe(1);
  });
});

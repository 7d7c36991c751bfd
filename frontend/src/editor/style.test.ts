import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const css = readFileSync(new URL("../style/editor.css", import.meta.url), "utf8").replace(
  /\/\*.*?\*\//gs,
  "",
);

describe("the editor's style sheet", () => {
  test("decorates text by longhands only: WebKit drops the shorthand whole", () => {
    expect(css).not.toMatch(/text-decoration\s*:/);
    expect(css).toMatch(/\.g-ins[^}]*text-decoration-line: underline/);
    expect(css).toMatch(/\.g-del[^}]*text-decoration-line: line-through/);
  });

  test("takes colours from tokens only, and uses no physical sides", () => {
    expect(css).not.toMatch(/#[0-9a-f]{3,8}\b|rgb\(|hsl\(/i);
    expect(css).not.toMatch(
      /(margin|padding|border)-(left|right|top|bottom)\b|[;{\s](left|right|top|bottom)\s*:/,
    );
  });
});

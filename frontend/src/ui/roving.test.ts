import { describe, expect, it } from "vitest";
import { rovingIndex, typedIndex } from "./roving";

describe("moving in a list", () => {
  it("moves along its axis and stops or goes round at the ends", () => {
    expect(rovingIndex("ArrowDown", 0, 3, "vertical")).toBe(1);
    expect(rovingIndex("ArrowDown", 2, 3, "vertical")).toBe(2);
    expect(rovingIndex("ArrowDown", 2, 3, "vertical", true)).toBe(0);
    expect(rovingIndex("ArrowLeft", 0, 3, "horizontal", true)).toBe(2);
    expect(rovingIndex("ArrowLeft", 0, 3, "vertical")).toBe(-1);
    expect(rovingIndex("End", 0, 3, "vertical")).toBe(2);
    expect(rovingIndex("Home", 0, 0, "vertical")).toBe(-1);
  });

  it("jumps to the next label with a letter, going round", () => {
    const labels = ["Drafts", "Interviews", "Research", "README"];
    expect(typedIndex("r", 0, labels)).toBe(2);
    expect(typedIndex("r", 2, labels)).toBe(3);
    expect(typedIndex("D", 3, labels)).toBe(0);
    expect(typedIndex("x", 0, labels)).toBe(-1);
    expect(typedIndex("Enter", 0, labels)).toBe(-1);
  });
});

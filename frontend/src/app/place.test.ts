import { Text } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import { findPlace, type Place } from "./place";

const place: Place = {
  path: "/w/a.md",
  from: 4,
  words: ["boat"],
  before: "the ",
  after: " left",
};

function find(text: string, change: Partial<Place> = {}) {
  const { from, to } = findPlace(Text.of(text.split("\n")), { ...place, ...change });
  return [from, text.slice(from, to)];
}

// covers: F9 (a hit opens where its words are now)
describe("findPlace", () => {
  it.each([
    ["where it was", "the boat left\n", {}, [4, "boat"]],
    ["moved by lines above it", "new\n\nthe boat left\n", {}, [9, "boat"]],
    [
      "by the line around it, though the words are nearer elsewhere",
      "a boat b\nthe boat left\n",
      {},
      [13, "boat"],
    ],
    ["by the words alone", "one boat, another boat\n", { from: 5 }, [4, "boat"]],
    ["by what has come in its place", "the ferry left\n", { words: ["boat", "ferry"] }, [4, "ferry"]],
    ["at its place when its words are gone", "the ship left\n", {}, [4, ""]],
    ["at the end of a text that is shorter now", "ab", {}, [2, ""]],
    ["between words", "the boat left\n", { words: ["", "x"] }, [4, ""]],
  ] as const)("finds it %s", (_, text, change, found) => {
    expect(find(text, change)).toEqual(found);
  });
});

// @vitest-environment jsdom
import { undo } from "@codemirror/commands";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ReviewHunk, ReviewInput } from "./index";
import { acceptHunk, closeReview, focusToolbar, nextHunk, openReview, rejectHunk, reviewOf } from "./index";
import type { Desk } from "./view.testing";
import { desk, hunk, proposal } from "./view.testing";

const open: Desk[] = [];

function show(doc: string, hunks: readonly ReviewHunk[], more: Partial<ReviewInput> = {}): Desk {
  const d = desk(doc);
  open.push(d);
  openReview(d.view, proposal(doc, hunks, more));
  return d;
}

afterEach(() => {
  vi.useRealTimers();
  for (const { view } of open.splice(0)) view.destroy();
});

function all(d: Desk, selector: string): readonly HTMLElement[] {
  return [...d.view.contentDOM.querySelectorAll<HTMLElement>(selector)];
}

function texts(d: Desk, selector: string): readonly (string | null)[] {
  return all(d, selector).map((node) => node.textContent);
}

// covers: P8
describe("marks", () => {
  test("a replacement strikes the old words and puts the new ones behind them", () => {
    const d = show("one two three", [hunk("1", 4, 7, "2")]);
    expect(texts(d, "del")).toEqual(["two"]);
    expect(texts(d, "ins")).toEqual(["2"]);
    expect(texts(d, "sup")).toEqual(["1"]);
    const line = d.view.contentDOM.querySelector(".cm-line");
    expect(line?.textContent).toBe("one deleted, change 1 of 1: twoinserted, change 1 of 1: 21 three");
    expect(d.text()).toBe("one two three");
  });

  test("screen readers are told kind, place and warnings, not the number again", () => {
    const d = show("one two three", [hunk("1", 4, 7, "2", "number")]);
    expect(texts(d, ".vh")).toEqual([
      "deleted, change 1 of 1, number changes: ",
      "inserted, change 1 of 1, number changes: ",
    ]);
    expect(all(d, "sup")[0]?.getAttribute("aria-hidden")).toBe("true");
  });

  test("a pure deletion and a pure insertion", () => {
    const d = show("one two three", [hunk("1", 0, 4, ""), hunk("2", 13, 13, " four")]);
    expect(texts(d, "del")).toEqual(["one"]);
    expect(texts(d, "ins")).toEqual(["four"]);
    expect(texts(d, "sup")).toEqual(["1", "2"]);
  });

  test("blanks at the ends of a change are shown but not marked; blanks alone are", () => {
    const d = show("ab", [hunk("1", 1, 1, "  x y "), hunk("2", 2, 2, " ")]);
    expect(texts(d, "ins")).toEqual(["x y", " "]);
    expect(all(d, ".g-hk")[0]?.textContent).toBe("inserted, change 1 of 2:   x y1 ");
    const gone = show("a b  c", [hunk("1", 1, 4, ""), hunk("2", 4, 5, "")]);
    expect(texts(gone, "del")).toEqual(["b", " "]);
    // The number stands at the word, before the blank that goes with it.
    expect(gone.view.contentDOM.textContent).toContain("b1 ");
  });

  test("line breaks are struck and put in as ¶, and the lines of an insertion are lines", () => {
    const d = show("one\ntwo\n\nthree", [hunk("1", 2, 9, "x\n\ny")]);
    expect(texts(d, "del")).toEqual(["e¶", "two¶", "¶"]);
    expect(texts(d, "ins")).toEqual(["x", "¶", "¶", "y"]);
    expect(all(d, ".g-hk br")).toHaveLength(2);
  });

  test("one hunk of several edits has one number", () => {
    const two: ReviewHunk = {
      id: "1",
      edits: [
        { from: 0, to: 3, insert: "1" },
        { from: 8, to: 13, insert: "" },
      ],
      warnings: [],
    };
    const d = show("one two three", [two]);
    expect(texts(d, "del")).toEqual(["one", "three"]);
    expect(texts(d, "sup")).toEqual(["1"]);
  });

  test("the current hunk and locked ones are outlined, the rail follows the lines", () => {
    const d = show("one two\nthree\nfour", [hunk("1", 0, 3, "1"), hunk("2", 8, 13, "3", "number")]);
    expect(all(d, "del.is-current").map((n) => n.textContent)).toEqual(["one"]);
    expect(all(d, "del.is-locked").map((n) => n.textContent)).toEqual(["three"]);
    expect(all(d, ".cm-line").map((n) => n.className.includes("g-rail"))).toEqual([true, true, false]);
    nextHunk(d.view);
    expect(all(d, "del.is-current").map((n) => n.textContent)).toEqual(["three"]);
    expect(all(d, ".g-rail.is-current.is-locked")).toHaveLength(1);
    expect(all(d, ".g-hk.is-locked use")[0]?.getAttribute("href")).toBe("#i-lock");
  });

  test("structure has a sign of its own", () => {
    const d = show("# one", [hunk("1", 0, 1, "##", "heading_level")]);
    expect(all(d, "sup use")[0]?.getAttribute("href")).toBe("#i-list-tree");
  });

  test("a stale hunk gives way to the person's words", () => {
    const d = show("Small red box", [hunk("1", 6, 9, "blue")]);
    d.edit(7, 9, "aw");
    expect(texts(d, "ins, del")).toEqual([]);
    expect(texts(d, ".g-stale")).toEqual(["raw"]);
    expect(all(d, ".is-stale use")[0]?.getAttribute("href")).toBe("#i-triangle-alert");
    expect(all(d, ".g-rail")).toHaveLength(0);
    undo(d.view);
    expect(texts(d, "del")).toEqual(["red"]);
  });

  test("a stale hunk whose words are all gone keeps its sign", () => {
    const d = show("Small red box", [hunk("1", 6, 9, "blue")]);
    d.edit(5, 13, "");
    expect(all(d, ".g-stale")).toHaveLength(0);
    expect(texts(d, "sup")).toEqual(["1"]);
  });

  test("a moved hunk says so", () => {
    const d = show("one two", [hunk("1", 4, 7, "2")]);
    d.type(0, ">");
    expect(all(d, "sup")[0]?.title).toBe("Moved with your typing");
    expect(all(d, "sup use")[0]?.getAttribute("href")).toBe("#i-corner-down-right");
  });

  test("a cut-off answer is torn at its last hunk only", () => {
    const d = show("one two", [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2")], { cutOff: true });
    expect(all(d, ".is-torn").map((n) => n.getAttribute("data-hunk"))).toEqual(["2"]);
    expect(all(d, ".is-torn use")[0]?.getAttribute("href")).toBe("#i-scissors");
  });

  test("what was accepted is plain text, what was rejected is gone", () => {
    const d = show("one two", [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2")]);
    acceptHunk(d.view);
    expect(texts(d, ".g-fresh")).toEqual(["1"]);
    expect(texts(d, "del")).toEqual(["two"]);
    rejectHunk(d.view);
    expect(texts(d, "ins, del, sup")).toEqual([]);
    expect(d.text()).toBe("1 two");
  });

  test("no mark carries a style of its own, for the CSP's sake", () => {
    const d = show("one\ntwo three", [hunk("1", 2, 5, "2\n3", "number"), hunk("2", 6, 7, "x")]);
    d.edit(6, 7, "y");
    expect(
      all(d, "ins[style], del[style], sup[style], .g-hk[style], .g-stale[style], .g-hbar[style]"),
    ).toEqual([]);
  });

  test("closing takes everything away", () => {
    const d = show("one two", [hunk("1", 0, 3, "1")]);
    closeReview(d.view);
    expect(all(d, "ins, del, sup, .g-hbar, .g-rail, [data-hunk]")).toEqual([]);
  });

  test("a click on a mark makes its hunk current", () => {
    const d = show("one two", [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2")]);
    all(d, "[data-hunk='2'] ins")[0]?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(reviewOf(d.view.state)?.current).toBe("2");
  });
});

// covers: X4
describe("invisible characters", () => {
  test("are boxed names in a proposal", () => {
    const d = show("ab", [hunk("1", 1, 1, "x\u200by\u202ez", "invisible")]);
    expect(texts(d, "ins .g-unseen")).toEqual(["ZWSP", "RLO"]);
  });

  test("are boxed names in the text", () => {
    const d = show("a\u2066b\u200cc", []);
    expect(texts(d, ".g-unseen")).toEqual(["LRI", "ZWNJ"]);
  });

  test("the joiner of an emoji is not one of them", () => {
    const d = show("ab", [hunk("1", 1, 1, "👩🏽‍💻")]);
    expect(all(d, ".g-unseen")).toHaveLength(0);
  });
});

// covers: P8
describe("the hunk toolbar", () => {
  const bar = (d: Desk): HTMLElement | undefined => all(d, ".g-hbar")[0];
  const actions = (d: Desk): readonly (string | null)[] =>
    all(d, ".g-hbar button").map((node) => node.getAttribute("data-action"));
  const press = (d: Desk, action: string): void => {
    d.view.contentDOM.querySelector<HTMLButtonElement>(`.g-hbar [data-action="${action}"]`)?.click();
  };
  const key = (node: Element | null, init: KeyboardEventInit): void => {
    node?.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...init }));
  };

  test("is a line of the page below the current hunk, with its keys", () => {
    const d = show("one two\nthree", [hunk("1", 0, 3, "1"), hunk("2", 8, 13, "3")]);
    expect(bar(d)?.getAttribute("role")).toBe("toolbar");
    expect(bar(d)?.getAttribute("aria-label")).toBe("Change 1 of 2");
    expect(bar(d)?.textContent).toBe("1 of 2Accept Ctrl+EnterReject Ctrl+Shift+Backspace");
    expect(bar(d)?.parentElement?.previousElementSibling?.textContent).toContain("one");
    expect(bar(d)?.parentElement?.nextElementSibling?.textContent).toContain("three");
  });

  test("says what is locked, what is stale, what was cut off", () => {
    const d = show("one 2 three", [hunk("1", 4, 5, "3", "number"), hunk("2", 6, 11, "x")], {
      requests: ["regenerate"],
    });
    expect(bar(d)?.className).toBe("g-hbar is-locked");
    expect(all(d, ".g-why")[0]?.textContent).toBe("number: 2 to 3");
    expect(actions(d)).toEqual(["accept", "reject", "previous", "next"]);
    d.edit(4, 5, "9");
    expect(all(d, ".g-why")[0]?.textContent).toBe("You changed this text");
    expect(actions(d)).toEqual(["regenerate", "reject", "previous", "next"]);
    press(d, "regenerate");
    expect(d.events.at(-1)).toEqual({ type: "requested", id: "p1", hunk: "1", request: "regenerate" });
    const e = show("one", [hunk("1", 0, 3, "1")], { cutOff: true, requests: ["continue"] });
    expect(all(e, ".g-why")[0]?.textContent).toBe("The answer was cut off");
    expect(actions(e)).toEqual(["continue", "reject", "previous", "next"]);
  });

  test("its buttons do what their keys do, and it moves on", () => {
    const d = show("one two", [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2")]);
    press(d, "next");
    expect(bar(d)?.getAttribute("aria-label")).toBe("Change 2 of 2");
    press(d, "accept");
    expect(d.text()).toBe("one 2");
    press(d, "reject");
    expect(bar(d)).toBeUndefined();
  });

  test("the focus stays in it until the last hunk, then goes to the text", () => {
    const d = show("one two", [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2")]);
    expect(focusToolbar(d.view, "reject")).toBe(true);
    expect(document.activeElement?.getAttribute("data-action")).toBe("reject");
    key(document.activeElement, { key: "a", code: "KeyA" });
    expect(d.text()).toBe("1 two");
    expect(document.activeElement?.getAttribute("data-action")).toBe("reject");
    // The letter of another layout counts by where it is.
    key(document.activeElement, { key: "к", code: "KeyR" });
    expect(reviewOf(d.view.state)?.finished).toBe(true);
    expect(document.activeElement).toBe(d.view.contentDOM);
  });

  test("Esc goes back to the text; keys with modifiers and of a composition are left alone", () => {
    const d = show("one two", [hunk("1", 0, 3, "1")]);
    focusToolbar(d.view);
    key(document.activeElement, { key: "a", code: "KeyA", ctrlKey: true });
    key(document.activeElement, { key: "a", code: "KeyA", isComposing: true });
    expect(d.text()).toBe("one two");
    key(document.activeElement, { key: "Escape", code: "Escape" });
    expect(document.activeElement).toBe(d.view.contentDOM);
  });
});

// covers: P8
describe("D11: while composing", () => {
  const start = (d: Desk): void => {
    d.view.contentDOM.dispatchEvent(new CompositionEvent("compositionstart"));
  };
  const end = (d: Desk): void => {
    d.view.contentDOM.dispatchEvent(new CompositionEvent("compositionend"));
    vi.advanceTimersByTime(100);
  };
  const compose = (d: Desk, from: number, to: number, insert: string, event: string): void => {
    d.view.dispatch({ changes: { from, to, insert }, userEvent: event });
  };

  test("marks at the edge of the composed text are not redrawn before its end", () => {
    vi.useFakeTimers();
    const d = show("one two three", [hunk("1", 4, 7, "2"), hunk("2", 8, 13, "3")]);
    const before = all(d, "del, .g-hk, .g-hbar");
    start(d);
    compose(d, 7, 7, "に", "input.type.compose.start");
    compose(d, 7, 8, "日", "input.type.compose");
    expect(all(d, "del, .g-hk, .g-hbar")).toEqual(before);
    expect(all(d, "sup").every((sup) => sup.title === "")).toBe(true);
    expect(reviewOf(d.view.state)?.hunks.map((h) => h.status)).toEqual(["clean", "moved"]);
    expect(d.text()).toBe("one two日 three");
    end(d);
    expect(all(d, "sup").map((sup) => sup.title)).toEqual(["", "Moved with your typing"]);
    acceptHunk(d.view);
    expect(d.text()).toBe("one 2日 three");
  });

  test("a proposal that arrives then is shown afterwards", () => {
    vi.useFakeTimers();
    const d = desk("one two");
    open.push(d);
    start(d);
    openReview(d.view, proposal("one two", [hunk("1", 4, 7, "2")]));
    expect(all(d, "ins, del")).toHaveLength(0);
    expect(reviewOf(d.view.state)?.hunks).toHaveLength(1);
    end(d);
    expect(texts(d, "ins, del")).toEqual(["two", "2"]);
  });
});

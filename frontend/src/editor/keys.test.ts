// @vitest-environment jsdom
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  isComposingEvent,
  keyFor,
  keyLabel,
  openReview,
  reviewKeys,
  reviewListAction,
  reviewOf,
  watchComposition,
} from "./index";
import type { Desk } from "./view.testing";
import { desk, hunk, proposal } from "./view.testing";

const open: Desk[] = [];

afterEach(() => {
  vi.useRealTimers();
  for (const { view } of open.splice(0)) view.destroy();
});

const base = "one two three";

function reviewing(): Desk {
  const d = desk(base);
  open.push(d);
  openReview(d.view, proposal(base, [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2"), hunk("3", 8, 13, "3")]));
  return d;
}

interface Key {
  readonly key: string;
  readonly keyCode: number;
  readonly ctrlKey?: boolean;
  readonly shiftKey?: boolean;
  readonly isComposing?: boolean;
}

const accept: Key = { key: "Enter", keyCode: 13, ctrlKey: true };
const reject: Key = { key: "Backspace", keyCode: 8, ctrlKey: true, shiftKey: true };
const acceptAll: Key = { key: "Enter", keyCode: 13, ctrlKey: true, shiftKey: true };
const next: Key = { key: "F8", keyCode: 119 };
const previous: Key = { key: "F8", keyCode: 119, shiftKey: true };

function press(d: Desk, key: Key): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...key });
  d.view.contentDOM.dispatchEvent(event);
  return event;
}

// covers: P8
describe("the chords of a review, in the text", () => {
  test("next, previous, accept, reject, accept all ticked", () => {
    const d = reviewing();
    const current = (): string | null | undefined => reviewOf(d.view.state)?.current;
    expect(press(d, next).defaultPrevented).toBe(true);
    expect(current()).toBe("2");
    press(d, previous);
    expect(current()).toBe("1");
    press(d, accept);
    expect(d.text()).toBe("1 two three");
    press(d, reject);
    expect(current()).toBe("3");
    press(d, acceptAll);
    expect(d.text()).toBe("1 two 3");
  });

  test("are nobody's without a review, and Mod-Enter inserts no line", () => {
    const d = desk(base);
    open.push(d);
    for (const key of [next, accept, acceptAll]) press(d, key);
    expect(d.text()).toBe(base);
  });

  test("do nothing while an input method is at work", () => {
    vi.useFakeTimers();
    const d = reviewing();
    for (const key of [next, accept, reject, acceptAll]) {
      press(d, { ...key, isComposing: true });
      press(d, { ...key, keyCode: 229 });
    }
    d.view.contentDOM.dispatchEvent(new CompositionEvent("compositionstart"));
    for (const key of [next, accept, reject, acceptAll]) press(d, key);
    expect(d.text()).toBe(base);
    expect(reviewOf(d.view.state)?.current).toBe("1");
    d.view.contentDOM.dispatchEvent(new CompositionEvent("compositionend"));
    vi.advanceTimersByTime(200);
    press(d, accept);
    expect(d.text()).toBe("1 two three");
  });

  test("each action has its keys on each platform, none twice", () => {
    for (const platform of ["mac", "windows", "linux"] as const) {
      const keys = reviewKeys(platform).map(({ key }) => key);
      expect(new Set(keys).size).toBe(keys.length);
    }
    expect(keyFor("next", "mac")).toBe("⌃⌘↓");
    expect(keyFor("accept", "mac")).toBe("⌘⏎");
    expect(keyFor("reject", "mac")).toBe("⌘⇧⌫");
    expect(keyFor("reject", "linux")).toBe("Ctrl+Shift+Backspace");
    expect(keyFor("previous", "windows")).toBe("Shift+F8");
    expect(keyFor("leave", "linux")).toBeNull();
    expect(keyLabel("Mod-j", "linux")).toBe("Ctrl+J");
    expect(keyLabel("Ctrl-Cmd-r", "mac")).toBe("⌃⌘R");
  });
});

// covers: P8
describe("letters in lists and toolbars", () => {
  const ask = (key: string, code: string, more: Partial<KeyboardEventInit> = {}) =>
    reviewListAction(new KeyboardEvent("keydown", { key, code, ...more }));

  test.each([
    ["j", "KeyJ", "next"],
    ["K", "KeyK", "previous"],
    ["ArrowDown", "ArrowDown", "next"],
    ["a", "KeyA", "accept"],
    ["Enter", "Enter", "accept"],
    ["r", "KeyR", "reject"],
    ["Delete", "Delete", "reject"],
    ["g", "KeyG", "regenerate"],
    ["f", "KeyF", "next_version"],
    ["ArrowLeft", "ArrowLeft", "previous_version"],
    [" ", "Space", "toggle_tick"],
    ["Escape", "Escape", "leave"],
    ["ф", "KeyA", "accept"],
    ["ㅁ", "KeyA", "accept"],
    ["q", "KeyA", null],
    ["x", "KeyX", null],
  ])("%s (%s) is %s", (key, code, action) => expect(ask(key, code)).toBe(action));

  test("with Shift they are the ones for all", () => {
    expect(ask("A", "KeyA", { shiftKey: true })).toBe("accept_ticked");
    expect(ask("R", "KeyR", { shiftKey: true })).toBe("reject_all");
    expect(ask("J", "KeyJ", { shiftKey: true })).toBeNull();
    expect(ask("Enter", "Enter", { shiftKey: true })).toBeNull();
  });

  test("not with other modifiers, not while composing", () => {
    expect(ask("a", "KeyA", { ctrlKey: true })).toBeNull();
    expect(ask("a", "KeyA", { metaKey: true })).toBeNull();
    expect(ask("a", "KeyA", { isComposing: true })).toBeNull();
    expect(ask("Process", "KeyA", { keyCode: 229 })).toBeNull();
  });
});

/** A field that sends on Enter, as the rewrite box does. */
function field(): {
  readonly node: HTMLInputElement;
  readonly sent: string[];
  key(init: KeyboardEventInit, at: number): void;
  compose(type: "compositionstart" | "compositionend", at: number): void;
} {
  const node = document.createElement("input");
  const sent: string[] = [];
  const watch = watchComposition(node);
  const stamped = <E extends Event>(event: E, at: number): E => {
    Object.defineProperty(event, "timeStamp", { value: at });
    return event;
  };
  node.addEventListener("keydown", (event) => {
    if (!watch.claims(event)) sent.push(event.key);
  });
  return {
    node,
    sent,
    key: (init, at) => void node.dispatchEvent(stamped(new KeyboardEvent("keydown", init), at)),
    compose: (type, at) => void node.dispatchEvent(stamped(new CompositionEvent(type), at)),
  };
}

// covers: P8
describe("D10: the key that ends a composition", () => {
  for (const key of ["Enter", "Escape", "Tab"]) {
    test(`${key} with isComposing, and with key code 229, sends nothing; the next one does`, () => {
      const f = field();
      f.key({ key, isComposing: true, keyCode: 13 }, 10);
      f.key({ key, keyCode: 229 }, 20);
      expect(f.sent).toEqual([]);
      f.key({ key, keyCode: 13 }, 30);
      expect(f.sent).toEqual([key]);
    });

    test(`${key} right after compositionend, as WebKit has it, sends nothing; the next one does`, () => {
      const f = field();
      f.compose("compositionstart", 0);
      f.compose("compositionend", 100);
      f.key({ key, keyCode: 13 }, 101);
      expect(f.sent).toEqual([]);
      f.key({ key, keyCode: 13 }, 120);
      expect(f.sent).toEqual([key]);
    });
  }

  test("where the key came before the end, its keyup ends the claim", () => {
    const f = field();
    f.compose("compositionstart", 0);
    f.key({ key: "Enter", keyCode: 229, isComposing: true }, 99);
    f.compose("compositionend", 100);
    f.node.dispatchEvent(new KeyboardEvent("keyup", { key: "Enter" }));
    f.key({ key: "Enter", keyCode: 13 }, 110);
    expect(f.sent).toEqual(["Enter"]);
  });

  test("a composition ended by the mouse claims no later key", () => {
    const f = field();
    f.compose("compositionstart", 0);
    f.compose("compositionend", 100);
    f.key({ key: "Enter", keyCode: 13 }, 1000);
    expect(f.sent).toEqual(["Enter"]);
  });

  test("while one is open every key is claimed", () => {
    const f = field();
    f.compose("compositionstart", 0);
    f.key({ key: "Enter", keyCode: 13 }, 5);
    expect(f.sent).toEqual([]);
  });

  test("an event says it of itself by isComposing or 229", () => {
    expect(isComposingEvent({ isComposing: true, keyCode: 13 })).toBe(true);
    expect(isComposingEvent({ isComposing: false, keyCode: 229 })).toBe(true);
    expect(isComposingEvent({ isComposing: false, keyCode: 13 })).toBe(false);
  });
});

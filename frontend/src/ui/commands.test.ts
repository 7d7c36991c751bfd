import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { createBoard } from "./board";
import { type Command, commands, isCommandId } from "./commands";
import {
  gtkKey,
  type KeyPress,
  keyLabel,
  keysOn,
  matchesKey,
  type Platform,
  platformOf,
  writeKey,
} from "./keys";

function press(key: string, init: Partial<KeyPress> = {}): KeyPress {
  return {
    key,
    code: "",
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    isComposing: false,
    keyCode: 0,
    ...init,
  };
}

function command(id: string): Command {
  return commands.find((row) => row.id === id) ?? expect.unreachable(id);
}

// covers: E5 (one table of commands; keys without clashes)
describe("the table of commands", () => {
  it.each(["mac", "win", "linux"] as const)("gives no key to two commands on %s", (platform) => {
    const keys = commands.flatMap((row) => keysOn(row.keys, platform).map((key) => writeKey(key, platform)));
    expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([]);
  });

  it("keeps clear of what input methods and the system use", () => {
    const taken = /^(Ctrl\+Space|Shift\+Space|Ctrl\+[.;]|Ctrl\+Shift\+F|Alt\+.*|Ctrl\+Alt\+.*|F7)$/;
    const keys = commands.flatMap((row) => keysOn(row.keys, "linux").map((key) => writeKey(key, "linux")));
    expect(keys.filter((key) => taken.test(key))).toEqual([]);
  });

  it("knows its own ids", () => {
    expect(isCommandId("ai.rewrite")).toBe(true);
    expect(isCommandId("toString")).toBe(false);
    expect(isCommandId("ai")).toBe(false);
  });
});

describe("keys", () => {
  it.each([
    ["file.open", "mac", "⇧⌘O"],
    ["file.open", "linux", "Ctrl+Shift+O"],
    ["ai.review.accept", "mac", "⌘⏎"],
    ["ai.review.reject", "win", "Ctrl+Shift+Backspace"],
    ["ai.review.next", "mac", "⌃⌘↓"],
    ["ai.review.next", "linux", "F8"],
    ["ai.regenerate", "linux", "Shift+F9"],
    ["view.sidebar", "linux", "Ctrl+\\"],
    ["ai.review.rejectAll", "mac", ""],
    ["file.trash", "linux", "Delete"],
    ["file.trash", "mac", "⌘⌫"],
    ["view.nextTab", "win", "Ctrl+Tab"],
    ["view.nextTab", "mac", "⌃⇥"],
  ] as const)("writes %s on %s as %s", (id, platform, label) => {
    expect(keyLabel(command(id), platform)).toBe(label);
  });

  it.each([
    ["Mod-Shift-Enter", "<Control><Shift>Return"],
    ["Mod-Shift-Backspace", "<Control><Shift>BackSpace"],
    ["Mod-,", "<Control>comma"],
    ["Mod-\\", "<Control>backslash"],
    ["Shift-F8", "<Shift>F8"],
    ["Mod-s", "<Control>s"],
  ])("writes %s in GTK's form as %s", (key, written) => {
    expect(gtkKey(key, "linux")).toBe(written);
  });

  it.each([
    ["darwin", "mac"],
    ["windows", "win"],
    ["linux", "linux"],
    ["freebsd", "linux"],
  ])("takes %s for %s", (os, platform) => {
    expect(platformOf(os)).toBe(platform);
  });

  it("takes Mod for Cmd on macOS and for Ctrl elsewhere, with exactly its modifiers", () => {
    expect(matchesKey(press("j", { metaKey: true }), "Mod-j", "mac")).toBe(true);
    expect(matchesKey(press("j", { ctrlKey: true }), "Mod-j", "mac")).toBe(false);
    expect(matchesKey(press("j", { ctrlKey: true }), "Mod-j", "linux")).toBe(true);
    expect(matchesKey(press("J", { ctrlKey: true, shiftKey: true }), "Mod-j", "linux")).toBe(false);
    expect(matchesKey(press("P", { ctrlKey: true, shiftKey: true }), "Mod-Shift-p", "linux")).toBe(true);
  });

  it("goes by the place on the keyboard where the layout has no Latin letters", () => {
    const cyrillic = press("о", { code: "KeyJ", ctrlKey: true });
    expect(matchesKey(cyrillic, "Mod-j", "linux")).toBe(true);
    // On a Dvorak layout the letter counts, not the place.
    expect(matchesKey(press("h", { code: "KeyJ", ctrlKey: true }), "Mod-j", "linux")).toBe(false);
  });

  it("knows Tab with Shift, for which WebKitGTK has no name", () => {
    const tab = press("Unidentified", { code: "Tab", ctrlKey: true, shiftKey: true });
    expect(matchesKey(tab, "Ctrl-Shift-Tab", "linux")).toBe(true);
    expect(matchesKey(tab, "Ctrl-Tab", "linux")).toBe(false);
  });

  it("does nothing while an input method composes", () => {
    expect(matchesKey(press("j", { ctrlKey: true, isComposing: true }), "Mod-j", "linux")).toBe(false);
    expect(matchesKey(press("j", { ctrlKey: true, keyCode: 229 }), "Mod-j", "linux")).toBe(false);
  });
});

describe("the board", () => {
  const make = (platform: Platform = "linux") => createBoard(signal(platform));

  it("runs what is bound, and only that", () => {
    const board = make();
    const ran: string[] = [];
    const off = board.bind({ "file.new": { run: () => ran.push("new") } });
    expect(board.run("file.new")).toBe(true);
    expect(board.run("file.open")).toBe(false);
    expect(board.run("not.a.command")).toBe(false);
    expect(board.bound().map((row) => row.id)).toEqual(["file.new"]);
    off();
    expect(board.run("file.new")).toBe(false);
    expect(board.offReason("file.new")).toBeNull();
    expect(ran).toEqual(["new"]);
  });

  it("does not run what is off, and says why", () => {
    const open = signal(false);
    const board = make();
    let ran = 0;
    board.bind({
      "file.save": {
        off: () => (open.value ? "" : "off.noDocument"),
        run: () => {
          ran += 1;
        },
      },
    });
    expect(board.run("file.save")).toBe(false);
    expect(board.offReason("file.save")).toBe("off.noDocument");
    open.value = true;
    expect(board.run("file.save")).toBe(true);
    expect(ran).toBe(1);
  });

  it("lets a later binding stand over an earlier one until it is taken off", () => {
    const board = make();
    const ran: string[] = [];
    board.bind({ "file.new": { run: () => ran.push("first") } });
    const off = board.bind({ "file.new": { run: () => ran.push("second") } });
    board.run("file.new");
    off();
    board.run("file.new");
    expect(ran).toEqual(["second", "first"]);
  });

  it("uses up a press only when something ran", () => {
    const board = make();
    board.bind({
      "file.new": { run: () => {} },
      "ai.review.accept": { run: () => {}, off: () => "off.noReview" },
      "edit.undo": { run: () => expect.unreachable("undo belongs to the text") },
    });
    expect(board.press(press("n", { ctrlKey: true }))).toBe(true);
    expect(board.press(press("Enter", { ctrlKey: true }))).toBe(false);
    expect(board.press(press("z", { ctrlKey: true }))).toBe(false);
    expect(board.press(press("n"))).toBe(false);
  });

  it("takes each of a command's keys", () => {
    const board = make("mac");
    let ran = 0;
    board.bind({
      "ai.review.next": {
        run: () => {
          ran += 1;
        },
      },
    });
    expect(board.press(press("ArrowDown", { ctrlKey: true, metaKey: true }))).toBe(true);
    expect(board.press(press("F8"))).toBe(true);
    expect(ran).toBe(2);
  });
});

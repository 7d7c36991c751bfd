// @vitest-environment jsdom
import { undo } from "@codemirror/commands";
import { EditorView } from "@codemirror/view";
import { render } from "preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createFakeBackend, type FakeBackend, type FakeOptions } from "../backend/fake";
import { boot } from "./boot";

const base = "# The Night Ferry\n\nIt carries about 1,200 passengers.\n\nThe lower deck is quiet.\n\nEnd.\n";

let root: HTMLElement;

beforeEach(() => {
  // jsdom has neither; both are the engine's.
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => {} }));
  Range.prototype.getClientRects = () => [] as unknown as DOMRectList;
  root = document.createElement("div");
  root.id = "app";
  document.body.append(root);
});

afterEach(() => {
  render(null, root);
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

async function started(options: FakeOptions = {}): Promise<FakeBackend> {
  const backend = createFakeBackend({
    files: { "/w/a.md": base, "/w/b.md": "Second.\n" },
    workspace: "/w",
    open: ["/w/a.md"],
    now: () => new Date(2026, 10, 12, 14, 4).getTime(),
    ...options,
  });
  await boot(backend, root);
  return backend;
}

const until = <T>(what: () => T): Promise<T> => vi.waitFor(what, { timeout: 3000, interval: 5 });

function editor(): EditorView {
  const dom = root.querySelector<HTMLElement>(".cm-editor");
  return (dom && EditorView.findFromDOM(dom)) ?? expect.unreachable("no editor");
}

const text = (): string => editor().state.doc.toString();

function change(from: string, to: string): void {
  const at = text().indexOf(from);
  expect(at).toBeGreaterThanOrEqual(0);
  editor().dispatch({ changes: { from: at, to: at + from.length, insert: to }, userEvent: "input.type" });
}

function words(selector: string): readonly string[] {
  return [...document.querySelectorAll(selector)].map((e) => e.textContent?.trim() ?? "");
}

async function clickButton(label: string): Promise<void> {
  await until(() => {
    const found = [...document.querySelectorAll("button")].find((b) => b.textContent?.trim() === label);
    (
      found ?? expect.unreachable(`no button says ${label}; there are ${words("button").join(" | ")}`)
    ).click();
  });
}

function press(key: string, init: KeyboardEventInit = {}): void {
  const at = document.activeElement ?? document.body;
  at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...init }));
}

function choose(backend: FakeBackend, command: string): void {
  backend.emit("menu.invoked", { command });
}

const status = (): string => words(".status > span")[0] ?? "";

// covers: F5 out-2
describe("a file that changes while nothing is unsaved", () => {
  it("is taken over, with the caret at its words, and said with its time", async () => {
    const backend = await started();
    editor().dispatch({ selection: { anchor: base.indexOf("lower") } });
    backend.changeOutside("/w/a.md", base.replace("# The", "# At last: the").replace("End.", "The end."));
    await until(() => expect(text()).toContain("At last"));
    const { state } = editor();
    expect(state.sliceDoc(state.selection.main.head).startsWith("lower")).toBe(true);
    await until(() => expect(status()).toBe("Reloaded, changed on disk at 14:04"));
    await until(() => expect(document.querySelectorAll(".tab .dot")).toHaveLength(0));
    undo(editor());
    expect(text()).toBe(base);
    await until(() => expect(status()).toBe("Unsaved"));
    choose(backend, "file.save");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe(base));
  });

  it("shows what the reload has changed, and leaves the text as it is", async () => {
    const backend = await started();
    backend.changeOutside("/w/a.md", base.replace("quiet", "loud"));
    await until(() => expect(status()).toMatch(/^Reloaded/));
    await clickButton("Compare");
    await until(() => expect(words(".cm-content ins")).toEqual(["quiet"]));
    expect(words(".cm-content del")).toEqual(["loud"]);
    expect(text()).toContain("loud");
  });

  it("waits for a composition, which makes it a conflict", async () => {
    const backend = await started();
    const content = editor().contentDOM;
    content.dispatchEvent(new CompositionEvent("compositionstart", { bubbles: true }));
    backend.changeOutside("/w/a.md", "theirs\n");
    expect(backend.calls).not.toContain("Documents.Reload");
    change("End.", "字");
    content.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true }));
    await until(() => expect(words(".note h2")).toEqual(["Changed on disk while you were editing."]));
    expect(text()).toContain("字");
    expect(backend.calls).not.toContain("Documents.Reload");
  });

  it("is taken over when a composition ends that leaves nothing", async () => {
    const backend = await started();
    const content = editor().contentDOM;
    content.dispatchEvent(new CompositionEvent("compositionstart", { bubbles: true }));
    backend.changeOutside("/w/a.md", "theirs\n");
    content.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true }));
    await until(() => expect(text()).toBe("theirs\n"));
  });

  it("is taken over behind another tab, which stays in front", async () => {
    const backend = await started({ open: ["/w/a.md", "/w/b.md"] });
    expect(text()).toBe(base);
    backend.changeOutside("/w/b.md", "Second, again.\n");
    await until(() => expect(backend.textOf("d2")).toBe("Second, again.\n"));
    expect(text()).toBe(base);
    [...document.querySelectorAll<HTMLElement>(".tab")][1]?.click();
    await until(() => expect(text()).toBe("Second, again.\n"));
    undo(editor());
    expect(text()).toBe("Second.\n");
  });

  it("keeps what is typed while the file is read", async () => {
    const backend = await started();
    const reading = backend.getText;
    let typed = false;
    Object.assign(backend, {
      getText: async (url: string) => {
        const answer = await reading(url);
        if (!typed && text() === base) {
          typed = true;
          change("quiet", "very quiet");
        }
        return answer;
      },
    });
    backend.changeOutside("/w/a.md", base.replace("End.", "The end."));
    await until(() => expect(text()).toBe(base.replace("End.", "The end.").replace("quiet", "very quiet")));
    choose(backend, "file.save");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe(text()));
  });

  it("is taken over once an undo has made the text clean", async () => {
    const backend = await started();
    change("End.", "Ende.");
    backend.changeOutside("/w/a.md", base.replace("quiet", "loud"));
    await until(() => expect(words(".note h2")).toHaveLength(1));
    undo(editor());
    await until(() => expect(text()).toBe(base.replace("quiet", "loud")));
    await until(() => expect(words(".note h2")).toEqual([]));
  });
});

// covers: F5 out-1 out-3
describe("a file that changes while text is unsaved", () => {
  async function conflict(options: FakeOptions = {}): Promise<FakeBackend> {
    const backend = await started(options);
    change("1,200", "1,240");
    backend.changeOutside("/w/a.md", base.replace("1,200", "1,300").replace("quiet.", "quiet, by the urn."));
    await until(() => expect(words(".note h2")).toEqual(["Changed on disk while you were editing."]));
    return backend;
  }

  it("marks the tab and offers three ways", async () => {
    await conflict();
    expect(words(".note button")).toEqual(["Keep mine", "Take theirs", "Compare"]);
    expect(words(".tab .vh")).toEqual(["changed on disk"]);
  });

  it("keeps mine, and theirs in history", async () => {
    const backend = await conflict();
    await clickButton("Keep mine");
    expect(document.activeElement?.classList).toContain("cm-content");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe(base.replace("1,200", "1,240")));
    await until(() => expect(words(".note h2")).toEqual([]));
    const { versions } = await backend.documents.History("d1");
    expect(versions.map((v) => v.reason)).toEqual(["saved", "overwritten"]);
  });

  it("takes theirs, and mine comes back by an undo", async () => {
    const backend = await conflict();
    await clickButton("Take theirs");
    await until(() => expect(text()).toBe(backend.disk.get("/w/a.md")));
    expect((await backend.documents.History("d1")).versions.map((v) => v.reason)).toEqual(["discarded"]);
    undo(editor());
    expect(text()).toContain("1,240");
  });

  it("merges: one-sided changes are taken, the rest is chosen by keys, and the merge is one edit", async () => {
    const backend = await conflict();
    await clickButton("Compare");
    await until(() => expect(words(".compare-head .num")).toEqual(["Difference 1 of 2"]));
    expect(words(".compare h2")).toEqual(["a changed on disk while you were editing"]);
    expect(words(".compare-foot [role=status]")).toEqual(["1 difference is open"]);
    expect(words(".compare-row:not(.compare-names) ins")).toEqual(["1,240", "1,300", ", by the urn"]);
    choose(backend, "file.save");
    expect(backend.calls).not.toContain("Documents.Save");
    press("2");
    await until(() => expect(words(".compare-foot [role=status]")).toEqual(["Nothing is open"]));
    press("1");
    await until(() => expect(document.querySelector('[aria-pressed="true"]')?.textContent).toContain("Mine"));
    choose(backend, "file.save");
    const merged = base.replace("1,200", "1,240").replace("quiet.", "quiet, by the urn.");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe(merged));
    await until(() => expect(document.querySelector(".compare")).toBeNull());
    expect(text()).toBe(merged);
    await until(() => expect(status()).toMatch(/^Saved/));
    undo(editor());
    expect(text()).toBe(base.replace("1,200", "1,240"));
    expect((await backend.documents.History("d1")).versions.map((v) => v.reason)).toEqual([
      "saved",
      "overwritten",
    ]);
  });

  it("writes what a person wrote for both", async () => {
    const backend = await conflict();
    await clickButton("Compare");
    await until(() => expect(document.querySelector(".compare-row[aria-current]")).not.toBeNull());
    press("e");
    const field = await until(
      () => document.querySelector<HTMLTextAreaElement>("textarea") ?? expect.unreachable("no field"),
    );
    expect(field.value).toBe("It carries about 1,240 passengers.");
    field.value = "It carries many.";
    await clickButton("Done");
    await until(() => expect(words(".compare-foot [role=status]")).toEqual(["Nothing is open"]));
    choose(backend, "file.save");
    await until(() =>
      expect(backend.disk.get("/w/a.md")).toContain("\n\nIt carries many.\n\nThe lower deck is quiet, by"),
    );
  });

  it("keeps each line's ending where it comes from", async () => {
    const crlf = (s: string): string => s.replaceAll("\n", "\r\n");
    const backend = await started({ files: { "/w/a.md": base } });
    change("End.", "The end.");
    backend.changeOutside("/w/a.md", crlf(base.replace("1,200", "1,300")));
    await until(() => expect(words(".note h2")).toHaveLength(1));
    await clickButton("Compare");
    await until(() => expect(words(".compare-foot [role=status]")).toEqual(["Nothing is open"]));
    choose(backend, "file.save");
    const whole = crlf(base.replace("1,200", "1,300")).replace("End.\r\n", "The end.\n");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe(whole));
  });

  it("looks at the file again before it saves, says that it changed, and keeps the choices that apply", async () => {
    const backend = await conflict();
    await clickButton("Compare");
    await until(() => expect(document.querySelector(".compare-row[aria-current]")).not.toBeNull());
    press("1");
    await until(() => expect(words(".compare-foot [role=status]")).toEqual(["Nothing is open"]));
    // Not told: found when it is looked at.
    const again = base.replace("1,200", "1,300").replace("End.", "The very end.");
    backend.disk.set("/w/a.md", again);
    choose(backend, "file.save");
    await until(() =>
      expect(words(".compare-head .badge")).toEqual([
        "The file changed again. Choices that still apply were kept.",
      ]),
    );
    expect(backend.disk.get("/w/a.md")).toBe(again);
    expect(words(".compare-foot [role=status]")).toEqual(["Nothing is open"]);
    choose(backend, "file.save");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe(again.replace("1,300", "1,240")));
  });

  it("takes the merge back and compares anew when the file changes in the last moment", async () => {
    const backend = await conflict();
    await clickButton("Compare");
    await until(() => expect(document.querySelector(".compare-row[aria-current]")).not.toBeNull());
    press("2");
    await until(() => expect(words(".compare-foot [role=status]")).toEqual(["Nothing is open"]));
    backend.refuse("Documents.Save", "changed_on_disk");
    choose(backend, "file.save");
    await until(() => expect(backend.calls.filter((c) => c === "Documents.Compare").length).toBe(3));
    await until(() => expect(words(".compare-foot [role=status]")).toEqual(["Nothing is open"]));
    expect(text()).toBe(base.replace("1,200", "1,240"));
  });

  it("Esc leaves the comparison, and nothing has changed", async () => {
    const backend = await conflict();
    await clickButton("Compare");
    await until(() => expect(document.querySelector(".compare-row[aria-current]")).not.toBeNull());
    press("Escape");
    await until(() => expect(document.querySelector(".compare")).toBeNull());
    expect(text()).toBe(base.replace("1,200", "1,240"));
    expect(backend.calls).not.toContain("Documents.Save");
    await until(() => expect(document.activeElement?.classList.contains("cm-content")).toBe(true));
  });

  it("says why when the file cannot be shown beside it", async () => {
    const backend = await conflict();
    backend.refuse("Documents.Compare", "unsupported_encoding", "a.md");
    await clickButton("Compare");
    await until(() => expect(words(".compare .note h2")).toEqual(["The encoding of a.md is not known."]));
  });
});

// covers: F5 out-3
describe("a file that is deleted or moved", () => {
  it("strikes the tab, offers to write it again, and forgets all when it comes back", async () => {
    const backend = await started();
    backend.changeOutside("/w/a.md", null);
    await until(() => expect(words(".note h2")).toEqual(["a was deleted on disk."]));
    expect(words(".tab.missing .clip")).toEqual(["a"]);
    backend.changeOutside("/w/a.md", base);
    await until(() => expect(words(".note h2")).toEqual([]));
    expect(words(".tab.missing")).toEqual([]);
    backend.changeOutside("/w/a.md", null);
    await clickButton("Save again");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe(base));
    await until(() => expect(words(".note h2")).toEqual([]));
  });

  it("gives the tab the new name", async () => {
    const backend = await started();
    const info = await backend.documents.Open("/w/a.md");
    backend.emit("document.disk_changed", {
      documentId: "d1",
      state: "moved",
      document: { ...info, path: "/w/new.md", name: "new.md" },
      atMs: 0,
    });
    await until(() => expect(words(".tab .clip")).toEqual(["new"]));
  });
});

// covers: F6
describe("a draft that was restored", () => {
  it("says when it is from, and can be compared with the file or given up", async () => {
    const draft = {
      id: "x",
      path: "/w/a.md",
      name: "a.md",
      savedAtMs: new Date(2026, 10, 12, 14, 6).getTime(),
      length: 0,
      preview: "",
      conflict: false,
      text: base.replace("End.", "The end."),
    };
    const backend = await started({ open: [], drafts: [draft] });
    await clickButton("Restore");
    await until(() => expect(words(".note h2")).toEqual(["Unsaved text of 14:06 was restored."]));
    await clickButton("Compare with file");
    await until(() => expect(words(".compare-row:not(.compare-names) ins")).toEqual(["The end"]));
    expect(words(".compare h2")).toEqual(["a, compared with its file"]);
    press("Escape");
    await clickButton("Discard");
    await until(() => expect(text()).toBe(base));
    await until(() => expect(words(".note h2")).toEqual([]));
    undo(editor());
    expect(text()).toContain("The end.");
    expect(backend.disk.get("/w/a.md")).toBe(base);
  });
});

// covers: F6
describe("history", () => {
  async function saved(...texts: readonly string[]): Promise<FakeBackend> {
    const backend = await started();
    for (const next of texts) {
      editor().dispatch({ changes: { from: 0, to: text().length, insert: next }, userEvent: "input.type" });
      choose(backend, "file.save");
      await until(() => expect(backend.disk.get("/w/a.md")).toBe(next));
      await until(() => expect(status()).toMatch(/^Saved/));
    }
    choose(backend, "view.history");
    document.querySelector<HTMLElement>('button[aria-label="History"]')?.click();
    await until(() => expect(words(".version").length).toBe(texts.length + 1));
    return backend;
  }

  it("lists what was kept, newest first, under its day", async () => {
    await saved("One.\n", "Two.\n");
    expect(words(".versions h2")).toEqual(["12 Nov"]);
    expect(words(".version")).toEqual([
      "14:04Saved0.1 KB",
      "14:04Saved0.1 KB",
      "14:04As it was opened0.1 KB",
    ]);
  });

  it("shows a version as marks, restores it as one edit with its endings, and Esc leaves", async () => {
    const backend = await saved(base.replace("quiet", "loud"));
    document.querySelectorAll<HTMLElement>(".version")[1]?.click();
    await until(() => expect(words(".cm-content ins")).toEqual(["quiet"]));
    expect(text()).toContain("loud");
    expect(words(".panel .foot .meta")).toEqual(["1 change back to it, marked in the text"]);
    editor().contentDOM.focus();
    press("Escape");
    await until(() => expect(words(".cm-content ins")).toEqual([]));
    expect(words(".panel .foot")).toEqual([]);
    document.querySelectorAll<HTMLElement>(".version")[1]?.click();
    await until(() => expect(words(".cm-content ins")).toEqual(["quiet"]));
    await clickButton("Restore");
    await until(() => expect(text()).toBe(base));
    expect(words(".cm-content ins")).toEqual([]);
    choose(backend, "file.save");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe(base));
    undo(editor());
    expect(text()).toBe(base.replace("quiet", "loud"));
  });

  it("takes single changes back, and tells no agent of it", async () => {
    const backend = await saved(base.replace("quiet", "loud").replace("1,200", "1,240"));
    document.querySelectorAll<HTMLElement>(".version")[1]?.click();
    await until(() => expect(words(".cm-content ins")).toEqual(["1,200", "quiet"]));
    editor().contentDOM.focus();
    press("Enter", { ctrlKey: true });
    expect(text()).toBe(base.replace("quiet", "loud"));
    press("F8");
    press("Backspace", { ctrlKey: true, shiftKey: true });
    await until(() => expect(words(".cm-content ins")).toEqual([]));
    expect(text()).toBe(base.replace("quiet", "loud"));
    expect(backend.calls).not.toContain("Agent.Decide");
  });

  it("says that nothing differs, and why a version cannot be shown", async () => {
    const backend = await saved(base.replace("quiet", "loud"));
    document.querySelectorAll<HTMLElement>(".version")[0]?.click();
    await until(() => expect(words(".panel .foot .meta")).toEqual(["Nothing differs from the text now."]));
    Object.assign(backend, {
      readText: () =>
        Promise.reject(Object.assign(new Error(), { code: "unsupported_encoding", detail: "" })),
    });
    document.querySelectorAll<HTMLElement>(".version")[1]?.click();
    await until(() => expect(words(".panel .foot .note h2")).toHaveLength(1));
  });

  it("says that it starts with the first save", async () => {
    const backend = await started();
    choose(backend, "file.new");
    choose(backend, "view.history");
    await until(() =>
      expect(words(".panel .empty")).toEqual(["Not saved yetHistory starts with the first save."]),
    );
  });
});

// covers: F2
describe("a document that cannot be edited", () => {
  it("says why, and what can be done", async () => {
    const backend = await started({
      open: ["/w/a.md", "/w/b.md"],
      readOnly: { "/w/a.md": "unsupported_encoding", "/w/b.md": "too_large" },
    });
    await until(() =>
      expect(words(".note h2")).toEqual(["Read-only: the encoding of this file is not known."]),
    );
    await clickButton("Show in folder");
    await until(() => expect(backend.revealed).toEqual(["/w/a.md"]));
    [...document.querySelectorAll<HTMLElement>(".tab")][1]?.click();
    await until(() => expect(words(".note h2")).toEqual(["Read-only: over 50 MB."]));
  });

  it("follows its file all the same, and sends nothing", async () => {
    const backend = await started({ readOnly: { "/w/a.md": "unsupported_encoding" } });
    backend.changeOutside("/w/a.md", "theirs\n");
    await until(() => expect(text()).toBe("theirs\n"));
    expect(backend.calls).not.toContain("Documents.Sync");
    expect(editor().state.readOnly).toBe(true);
  });
});

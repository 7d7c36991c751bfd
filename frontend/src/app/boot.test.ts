// @vitest-environment jsdom
import { EditorView } from "@codemirror/view";
import { render } from "preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createFakeBackend, type FakeBackend, type FakeOptions } from "../backend/fake";
import { boot } from "./boot";

const files = { "/w/a.md": "The last boat leaves.\n", "/w/b.md": "Second.\n" };

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
  const backend = createFakeBackend({ files, workspace: "/w", open: ["/w/a.md"], pieceMs: 0, ...options });
  await boot(backend, root);
  return backend;
}

const until = <T>(what: () => T): Promise<T> => vi.waitFor(what, { timeout: 3000, interval: 5 });

function editor(): EditorView {
  const dom = root.querySelector<HTMLElement>(".cm-editor");
  return (dom && EditorView.findFromDOM(dom)) ?? expect.unreachable("no editor");
}

function typeText(text: string): void {
  editor().dispatch({ changes: { from: 0, insert: text }, userEvent: "input.type" });
}

function words(selector: string): readonly string[] {
  return [...document.querySelectorAll(selector)].map((e) => e.textContent?.trim() ?? "");
}

async function clickButton(label: string): Promise<void> {
  await until(() => {
    const found = [...document.querySelectorAll("button")].find((b) => b.textContent?.trim() === label);
    (found ?? expect.unreachable(`no button says ${label}`)).click();
  });
}

function tabs(): readonly string[] {
  return words(".tab > .clip");
}

/** Chooses in the native menu. */
function choose(backend: FakeBackend, command: string): void {
  backend.emit("menu.invoked", { command });
}

// covers: F10 (tabs) E5 (the menu runs the table's commands)
describe("boot", () => {
  it("shows what the host has open, and its folder", async () => {
    await started({ open: ["/w/a.md", "/w/b.md"] });
    await until(() => expect(tabs()).toEqual(["a", "b"]));
    await until(() => expect(words("[role=treeitem]")).toEqual(["a", "b"]));
    expect(editor().state.doc.toString()).toBe("The last boat leaves.\n");
    await until(() => expect(words(".status > span")).toContain("4 words"));
  });

  it("opens what the host was handed", async () => {
    const backend = await started();
    backend.emit("document.opened", {
      document: await backend.documents.Open("/w/b.md"),
      background: false,
    });
    await until(() => expect(tabs()).toEqual(["a", "b"]));
    expect(editor().state.doc.toString()).toBe("Second.\n");
  });

  it("opens a restored tab behind the one in front, and puts clean tabs away with their folder", async () => {
    const backend = await started();
    const b = await backend.documents.Open("/w/b.md");
    backend.emit("document.opened", { document: b, background: true });
    await until(() => expect(tabs()).toEqual(["a", "b"]));
    expect(editor().state.doc.toString()).toBe("The last boat leaves.\n");
    typeText("Now: ");
    const a = await backend.documents.Open("/w/a.md");
    backend.emit("workspace.opened", {
      workspace: { path: "/v", name: "v" },
      putAway: [a.id, b.id],
    });
    // The one that was typed into stays.
    await until(() => expect(tabs()).toEqual(["a"]));
    expect(editor().state.doc.toString()).toBe("Now: The last boat leaves.\n");
  });

  it("names the document in the window's title, with a mark while it is unsaved", async () => {
    const backend = await started({ files: { "/w/a\nb.md": "one\n" }, open: ["/w/a\nb.md"] });
    await until(() => expect(backend.title()).toBe("a\ufffdb.md \u2013 Galley"));
    typeText("Now: ");
    await until(() => expect(backend.title()).toBe("\u25cf a\ufffdb.md \u2013 Galley"));
    choose(backend, "file.save");
    await until(() => expect(backend.title()).toBe("a\ufffdb.md \u2013 Galley"));
    choose(backend, "file.close");
    await until(() => expect(backend.title()).toBe("Galley"));
  });

  it("saves by the menu, and says when", async () => {
    const backend = await started();
    typeText("Now: ");
    await until(() => expect(words(".status > span")[0]).toBe("Unsaved"));
    choose(backend, "file.save");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe("Now: The last boat leaves.\n"));
    await until(() => expect(words(".status > span")[0]).toMatch(/^Saved \d\d:\d\d$/));
  });

  it("asks before it closes unsaved text, and keeps it when the person backs out", async () => {
    const backend = await started();
    typeText("x");
    choose(backend, "file.close");
    await until(() => expect(words(".dialog h2")).toEqual(["Save a?"]));
    await clickButton("Cancel Esc");
    await until(() => expect(words(".dialog")).toEqual([]));
    expect(tabs()).toEqual(["a"]);
    choose(backend, "file.close");
    await clickButton("Save");
    await until(() => expect(tabs()).toEqual([]));
    expect(backend.disk.get("/w/a.md")).toBe("xThe last boat leaves.\n");
  });

  // covers: F5 (the page's part: refused, with both ways out)
  it("offers both ways out when the file changed meanwhile", async () => {
    const backend = await started();
    typeText("mine ");
    backend.disk.set("/w/a.md", "theirs\n");
    choose(backend, "file.save");
    await until(() => expect(words(".above h2")).toEqual(["Changed on disk while you were editing."]));
    expect(backend.disk.get("/w/a.md")).toBe("theirs\n");
    expect(document.querySelector(".tab use[href='#i-triangle-alert']")).not.toBeNull();
    await clickButton("Keep mine");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe("mine The last boat leaves.\n"));
    await until(() => expect(words(".above h2")).toEqual([]));
  });

  it("takes theirs as one undoable edit", async () => {
    const backend = await started();
    typeText("mine ");
    backend.disk.set("/w/a.md", "theirs\n");
    choose(backend, "file.save");
    await clickButton("Take theirs");
    await until(() => expect(editor().state.doc.toString()).toBe("theirs\n"));
    choose(backend, "edit.undo");
    await until(() => expect(editor().state.doc.toString()).toBe("mine The last boat leaves.\n"));
  });

  it("says that the disk is full, and saves elsewhere", async () => {
    const backend = await started({ dialogs: { saveAs: "/w/copy.md" } });
    typeText("x");
    backend.refuse("Documents.Save", "disk_full");
    choose(backend, "file.save");
    await until(() => expect(words(".above h2")).toEqual(["Not saved: the disk is full."]));
    await clickButton("Save elsewhere");
    await until(() => expect(backend.disk.get("/w/copy.md")).toBe("xThe last boat leaves.\n"));
  });

  it("asks where to save a document that has no place, also when it is closed", async () => {
    const backend = await started({ dialogs: { saveAs: "/w/new.md" } });
    choose(backend, "file.new");
    await until(() => expect(tabs()).toEqual(["a", "Untitled"]));
    typeText("first");
    choose(backend, "file.save");
    await until(() => expect(backend.disk.get("/w/new.md")).toBe("first"));
    await until(() => expect(tabs()).toEqual(["a", "new"]));
    expect(words(".above h2")).toEqual([]);
  });

  it("keeps a document that has no place when the person backs out of the dialog", async () => {
    const backend = await started();
    choose(backend, "file.new");
    await until(() => expect(tabs()).toEqual(["a", "Untitled"]));
    typeText("first");
    choose(backend, "file.close");
    await until(() => expect(words(".dialog h2")).toEqual(["Save Untitled?"]));
    await clickButton("Save");
    await until(() => expect(words(".dialog")).toEqual([]));
    expect(tabs()).toEqual(["a", "Untitled"]);
    expect(editor().state.doc.toString()).toBe("first");
  });

  // covers: F6 (the page's part: found text is offered)
  it("offers unsaved text of an earlier start", async () => {
    const draft = {
      id: "d",
      path: "/w/b.md",
      name: "b.md",
      savedAtMs: 0,
      length: 5,
      preview: "",
      conflict: true,
    };
    await started({ drafts: [{ ...draft, text: "draft" }] });
    await until(() =>
      expect(words(".above p")).toEqual(["The file changed since then; restoring does not overwrite it."]),
    );
    await clickButton("Restore");
    await until(() => expect(tabs()).toEqual(["a", "b"]));
    expect(editor().state.doc.toString()).toBe("draft");
    await until(() => expect(words(".above h2")).toEqual([]));
  });

  it("asks before it quits with unsaved text, and discards only when told", async () => {
    const backend = await started();
    typeText("x");
    backend.emit("window.close_requested", { unsaved: ["d1"], runs: [] });
    await clickButton("Cancel Esc");
    await until(() => expect(words(".dialog")).toEqual([]));
    expect(backend.hasQuit()).toBe(false);
    backend.emit("window.close_requested", { unsaved: ["d1"], runs: [] });
    await clickButton("Discard");
    await until(() => expect(backend.hasQuit()).toBe(true));
    expect(backend.disk.get("/w/a.md")).toBe(files["/w/a.md"]);
  });

  it("names running tasks before it quits", async () => {
    const backend = await started();
    backend.emit("window.close_requested", { unsaved: [], runs: ["r1", "r2"] });
    await until(() => expect(words(".dialog h2")).toEqual(["2 AI tasks are still working."]));
    await clickButton("Stop and quit");
    await until(() => expect(backend.hasQuit()).toBe(true));
  });

  it("becomes inert when a newer page attaches", async () => {
    const backend = await started();
    await backend.documents.Attach();
    await until(() => expect(words(".plate h1")).toEqual(["This page is no longer in use"]));
    expect(document.querySelector(".win")).toBeNull();
  });

  // covers: E6 (switch without restart, native menu too)
  it("switches language and theme by command, without a reload", async () => {
    const backend = await started();
    const help = () => backend.menu().find((label) => label.id === "menu.help")?.label;
    await until(() => expect(help()).toBe("Help"));
    choose(backend, "view.language.zh");
    await until(() => expect(words(".seg [role=tab]")).toEqual(["文件", "搜索"]));
    await until(() => expect(help()).toBe("帮助"));
    expect(document.documentElement.lang).toBe("zh-CN");
    choose(backend, "view.theme.dark");
    await until(() => expect(document.documentElement.dataset).toMatchObject({ theme: "dark" }));
    choose(backend, "view.language.en");
    await until(() => expect(words(".seg [role=tab]")).toEqual(["Files", "Search"]));
  });

  // covers: K8 (everything but AI works)
  it("works without AI when the agent host does not answer", async () => {
    const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
    const backend = createFakeBackend({ files, workspace: "/w", open: ["/w/a.md"] });
    backend.refuse("Agent.Attach", "runner_gone");
    await boot(backend, root);
    typeText("x");
    choose(backend, "file.save");
    await until(() => expect(backend.disk.get("/w/a.md")).toBe("xThe last boat leaves.\n"));
    quiet.mockRestore();
  });
});

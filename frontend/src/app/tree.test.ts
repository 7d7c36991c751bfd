// @vitest-environment jsdom
import { EditorView } from "@codemirror/view";
import { render } from "preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createFakeBackend, type FakeBackend, type FakeOptions } from "../backend/fake";
import { boot } from "./boot";

const files = {
  "/w/a.md": "The last boat leaves.\n",
  "/w/b.md": "Second.\n",
  "/w/Drafts/c.md": "Third.\n",
};

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

const until = <T>(what: () => T): Promise<T> => vi.waitFor(what, { timeout: 5000, interval: 5 });

async function started(options: FakeOptions = {}): Promise<FakeBackend> {
  const backend = createFakeBackend({ files, workspace: "/w", open: ["/w/a.md"], pieceMs: 0, ...options });
  await boot(backend, root);
  if ((options.workspace ?? "/w") !== "") {
    await until(() => expect(labels().length).toBeGreaterThan(0));
  }
  return backend;
}

function words(selector: string): readonly string[] {
  return [...document.querySelectorAll(selector)].map((e) => e.textContent?.trim() ?? "");
}

const labels = (): readonly string[] => words("[role=treeitem]");
const tabs = (): readonly string[] => words(".tab > .clip");
const front = (): readonly string[] => words(".tab[aria-selected=true] > .clip");

function editor(): EditorView {
  const dom = root.querySelector<HTMLElement>(".cm-editor");
  return (dom && EditorView.findFromDOM(dom)) ?? expect.unreachable("no editor");
}

function choose(backend: FakeBackend, command: string): void {
  backend.emit("menu.invoked", { command });
}

/** Puts the focus on a row of the tree. */
function focusRow(label: string): void {
  const row = [...document.querySelectorAll<HTMLElement>("[role=treeitem]")].find(
    (other) => other.textContent === label,
  );
  (row ?? expect.unreachable(`no row says ${label}`)).focus();
}

function press(key: string, init: KeyboardEventInit = {}): void {
  document.activeElement?.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...init }),
  );
}

/** Types into the field of the tree, and takes the name. */
async function name(text: string): Promise<void> {
  const field = await until(
    () => document.querySelector<HTMLInputElement>(".tree input") ?? expect.unreachable("no field"),
  );
  field.value = text;
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  press("Enter");
}

async function clickButton(label: string): Promise<void> {
  await until(() => {
    const found = [...document.querySelectorAll("button")].find((b) => b.textContent?.trim() === label);
    (found ?? expect.unreachable(`no button says ${label}`)).click();
  });
}

// covers: F8 (create, rename, duplicate, move, trash, reveal)
describe("the tree", () => {
  it("makes a document in the folder of the one in front, and opens it", async () => {
    const backend = await started({ open: ["/w/Drafts/c.md"] });
    choose(backend, "file.newInFolder");
    await name("Night");
    await until(() => expect(backend.disk.get("/w/Drafts/Night.md")).toBe(""));
    await until(() => expect(tabs()).toEqual(["c", "Night"]));
    await until(() => expect(labels()).toContain("Night"));
  });

  it("says when the name is taken, is reserved or names a path, and makes nothing", async () => {
    const backend = await started();
    const before = [...backend.disk.keys()];
    const plus = document.querySelector<HTMLElement>("[aria-label='New document']");
    (plus ?? expect.unreachable()).click();
    await name("b");
    await until(() =>
      expect(words(".tree [role=alert]")).toEqual(["b exists already. Choose another name."]),
    );
    await name("con");
    await until(() => expect(words(".tree [role=alert]")[0]).toMatch(/^This name does not work/));
    await name("x/y");
    await until(() => expect(words(".tree [role=alert]")).toEqual(["A name has no slashes."]));
    expect([...backend.disk.keys()]).toEqual(before);
  });

  it("makes a folder, and puts the focus on it", async () => {
    const backend = await started();
    choose(backend, "file.newFolder");
    await name("Notes");
    await until(() => expect(backend.folders.has("/w/Notes")).toBe(true));
    await until(() => expect(document.activeElement?.textContent).toBe("Notes"));
  });

  it("renames in place and keeps the ending; the open document follows", async () => {
    const backend = await started();
    focusRow("a");
    press("F2");
    await name("Ferry");
    await until(() => expect([...backend.disk.keys()]).toContain("/w/Ferry.md"));
    await until(() => expect(document.activeElement?.textContent).toBe("Ferry"));
    expect(backend.disk.has("/w/a.md")).toBe(false);
    await until(() => expect(tabs()).toEqual(["Ferry"]));
    press("F2");
    await name("b");
    await until(() =>
      expect(words(".tree [role=alert]")).toEqual(["b exists already. Choose another name."]),
    );
    press("Escape");
    await until(() => expect(document.activeElement?.textContent).toBe("Ferry"));
  });

  it("moves by cut and paste, and keeps the folder it is in open", async () => {
    const backend = await started();
    focusRow("b");
    press("x", { ctrlKey: true });
    focusRow("Drafts");
    press("v", { ctrlKey: true });
    await until(() => expect(backend.disk.get("/w/Drafts/b.md")).toBe("Second.\n"));
    await until(() => expect(labels()).toEqual(["Drafts", "b", "c", "a"]));
    expect(document.activeElement?.textContent).toBe("b");
  });

  it("hands the link changes of a move to be reviewed, and moves nothing", async () => {
    const backend = createFakeBackend({ files, workspace: "/w", open: ["/w/a.md"] });
    const entry = { name: "", path: "", folder: false, ignored: false };
    const edit = { from: 0, to: 1, insert: "", old: "", line: 1, before: "", after: "" };
    const file = {
      path: "/w/a.md",
      name: "a.md",
      documentId: "",
      version: 0,
      edits: [edit],
      problem: "",
      left: 0,
    };
    const set = { id: "s", kind: "move", from: "/w/b.md", to: "/w/B2.md", state: "open", cut: false };
    const workspace = new Proxy(backend.workspace, {
      get: (target, method) =>
        method === "Move"
          ? async () => ({ moved: false, entry, set: { ...set, files: [file] } })
          : Reflect.get(target, method),
    });
    await boot({ ...backend, workspace }, root);
    await until(() => expect(labels()).toContain("b"));
    focusRow("b");
    press("F2");
    await name("B2");
    await until(() => expect(root.textContent).toContain("Rename b → B2"));
    await until(() => expect(document.querySelector(".tree")).toBeNull());
    expect(backend.disk.has("/w/b.md")).toBe(true);
  });

  it("duplicates, shows in the file manager, and copies paths", async () => {
    const backend = await started();
    focusRow("b");
    choose(backend, "file.duplicate");
    await until(() => expect(backend.disk.get("/w/b 2.md")).toBe("Second.\n"));
    await until(() => expect(document.activeElement?.textContent).toBe("b 2"));
    choose(backend, "file.reveal");
    await until(() => expect(backend.revealed).toEqual(["/w/b 2.md"]));
    choose(backend, "file.copyPath");
    await until(async () => expect(await backend.readClipboard()).toBe("/w/b 2.md"));
    choose(backend, "file.copyRelativePath");
    await until(async () => expect(await backend.readClipboard()).toBe("b 2.md"));
    await until(() => expect(words(".toast")).toEqual(["Copied: b 2.md"]));
  });

  it("asks before it trashes, closes the tab, and goes on to the next row", async () => {
    const backend = await started();
    focusRow("a");
    press("Delete");
    await until(() => expect(words(".dialog h2")).toEqual(["Move a to the trash?"]));
    await until(() => expect(document.activeElement?.textContent).toBe("Cancel Esc"));
    press("Escape");
    await until(() => expect(words(".dialog")).toEqual([]));
    expect(backend.disk.has("/w/a.md")).toBe(true);
    focusRow("a");
    press("Delete");
    await clickButton("Move to trash");
    await until(() => expect(backend.trash.get("/w/a.md")).toBe(files["/w/a.md"]));
    await until(() => expect(tabs()).toEqual([]));
    await until(() => expect(labels()).toEqual(["Drafts", "b"]));
    await until(() => expect(document.activeElement?.textContent).toBe("b"));
  });

  it("names unsaved text before it trashes, and keeps its tab", async () => {
    const backend = await started();
    editor().dispatch({ changes: { from: 0, insert: "Now: " } });
    await until(() => focusRow("aUnsaved"));
    press("Delete");
    await until(() => expect(words(".dialog p")[0]).toMatch(/^This document has unsaved text/));
    press("Escape");
    await until(() => expect(words(".dialog")).toEqual([]));
    backend.emit("document.opened", {
      document: await backend.documents.Open("/w/Drafts/c.md"),
      background: false,
    });
    await until(() => expect(front()).toEqual(["c"]));
    editor().dispatch({ changes: { from: 0, insert: "And: " } });
    await until(() => focusRow("Drafts"));
    press("Delete");
    await until(() => expect(words(".dialog .names li")).toEqual(["c"]));
    press("Escape");
    await until(() => expect(words(".dialog")).toEqual([]));
    focusRow("aUnsaved");
    press("Delete");
    await clickButton("Move to trash");
    await until(() => expect(backend.trash.has("/w/a.md")).toBe(true));
    await until(() => expect(labels()).toEqual(["Drafts", "cUnsaved", "b"]));
    expect(tabs()).toEqual(["a", "c"]);
    choose(backend, "view.previousTab");
    await until(() => expect(editor().state.doc.toString()).toBe("Now: The last boat leaves.\n"));
  });

  it("says what a refused change was refused for", async () => {
    const backend = await started();
    backend.refuse("Workspace.Trash", "read_only", "b.md");
    focusRow("b");
    press("Delete");
    await clickButton("Move to trash");
    await until(() => expect(words(".above h2")).toEqual(["b.md cannot be written."]));
    expect(labels()).toContain("b");
  });

  // covers: F8 (follows outside changes)
  it("follows what something else does to the folder, and says when it is gone", async () => {
    const backend = await started();
    backend.disk.set("/w/new.md", "");
    backend.emit("workspace.changed", { folders: ["/w"], all: false, gone: false });
    await until(() => expect(labels()).toEqual(["Drafts", "a", "b", "new"]));
    backend.emit("workspace.changed", { folders: [], all: false, gone: true });
    await until(() => expect(words(".above h2")).toEqual(["The folder w is no longer there."]));
    backend.answerDialogs({ folder: "/w/Drafts" });
    await clickButton("Open a folder");
    await until(() => expect(labels()).toEqual(["c"]));
    expect(words(".above h2")).toEqual([]);
  });

  it("says what of a drop or another start could not be opened", async () => {
    const backend = await started();
    backend.emit("open.failed", { path: "/elsewhere/x.bin", code: "not_found" });
    await until(() => expect(words(".above h2")).toEqual(["x.bin is no longer there."]));
  });
});

// covers: F10 (quick open, recent files and workspaces, tabs)
describe("finding and coming back", () => {
  it("opens a file by a part of its name", async () => {
    const backend = await started();
    choose(backend, "file.quickOpen");
    const field = await until(
      () => document.querySelector<HTMLInputElement>(".palette input") ?? expect.unreachable(),
    );
    field.value = "drc";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await until(() => expect(words(".palette [role=option]")).toEqual(["cDrafts"]));
    press("Enter");
    await until(() => expect(front()).toEqual(["c"]));
    expect(words(".palette")).toEqual([]);
    expect(backend.calls).toContain("Workspace.QuickOpen");
  });

  it("lists what was opened of late on the first window, and forgets it when told", async () => {
    const recent = { workspaces: [{ path: "/w", name: "w" }], files: [] };
    const backend = await started({ workspace: "", open: [], recent });
    await until(() => expect(words(".recent li .name")).toEqual(["w"]));
    await clickButton("Clear this list");
    await until(() => expect(words(".recent")).toEqual([]));
    expect(await backend.workspace.Recent()).toEqual({ files: [], workspaces: [] });
  });

  it("opens a recent folder and a recent file, and drops one that is gone from the list", async () => {
    const recent = {
      workspaces: [{ path: "/w", name: "w" }],
      files: [{ path: "/gone.md", name: "gone.md", atMs: 0 }],
    };
    const backend = await started({ workspace: "", open: [], recent });
    choose(backend, "file.quickOpen");
    await until(() => expect(words(".palette [role=option] .name")).toEqual(["w", "gone"]));
    press("ArrowDown");
    await until(() => expect(words(".palette [aria-selected=true] .name")).toEqual(["gone"]));
    press("Enter");
    await until(() => expect(words(".above h2")).toEqual(["gone.md is no longer there."]));
    await clickButton("w");
    await until(() => expect(labels()).toEqual(["Drafts", "a", "b"]));
  });

  it("goes from tab to tab, by number as well, and arranges them", async () => {
    const backend = await started({ open: ["/w/a.md", "/w/b.md", "/w/Drafts/c.md"] });
    await until(() => expect(front()).toEqual(["a"]));
    choose(backend, "view.previousTab");
    await until(() => expect(front()).toEqual(["c"]));
    choose(backend, "view.nextTab");
    await until(() => expect(front()).toEqual(["a"]));
    choose(backend, "view.tab2");
    await until(() => expect(front()).toEqual(["b"]));
    choose(backend, "view.moveTabLeft");
    await until(() => expect(tabs()).toEqual(["b", "a", "c"]));
    choose(backend, "view.tab9");
    await until(() => expect(front()).toEqual(["c"]));
  });

  it("opens what was closed last again, where it was, with its caret", async () => {
    const backend = await started({ open: ["/w/a.md", "/w/b.md"] });
    await until(() => expect(front()).toEqual(["a"]));
    editor().dispatch({ selection: { anchor: 4, head: 8 } });
    choose(backend, "file.close");
    await until(() => expect(tabs()).toEqual(["b"]));
    choose(backend, "file.reopenClosed");
    await until(() => expect(tabs()).toEqual(["a", "b"]));
    await until(() => expect(editor().state.selection.main).toMatchObject({ anchor: 4, head: 8 }));
    expect(front()).toEqual(["a"]);
  });

  // covers: F10 (session restore, the page's part)
  it("tells how the window stands, and puts it back at the next start", async () => {
    const backend = await started({ open: ["/w/a.md", "/w/b.md"] });
    editor().dispatch({ selection: { anchor: 4 } });
    choose(backend, "view.sidebar");
    choose(backend, "view.moveTabRight");
    await until(() =>
      expect(backend.reported()).toMatchObject({
        layout: { sidebar: false, sidebarView: "files", panel: false },
        views: [
          { id: "d2", anchor: 0 },
          { id: "d1", anchor: 4, head: 4 },
        ],
      }),
    );
    const told = backend.calls.filter((call) => call === "Documents.ReportView").length;
    expect(told).toBeLessThan(4);
    render(null, root);
    await started({ layout: { sidebar: true, sidebarWidth: 999, panel: true, panelWidth: 400 } });
    const side = document.querySelector<HTMLElement>(".side");
    expect(side?.style.getPropertyValue("--side-now")).toBe("420px");
    const panel = document.querySelector<HTMLElement>(".panel");
    expect(panel?.style.getPropertyValue("--panel-now")).toBe("400px");
  });

  it("tells what is left to tell before it quits", async () => {
    const backend = await started();
    editor().dispatch({ selection: { anchor: 7 } });
    choose(backend, "app.quit");
    await until(() => expect(backend.hasQuit()).toBe(true));
    expect(backend.reported()?.views).toMatchObject([{ anchor: 7 }]);
  });
});

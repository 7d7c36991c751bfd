// @vitest-environment jsdom
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Entry, Listing } from "../backend";
import { click, one, press, settle, show, type } from "./stage.testing";
import { type TreeHandlers, TreeView } from "./tree";
import { createTree } from "./tree-model";

function entry(path: string, folder = false): Entry {
  return { name: path.slice(path.lastIndexOf("/") + 1), path, folder, ignored: false };
}

/** A disk of folders, and which of them were asked for. */
function makeDisk() {
  const folders: Record<string, Entry[]> = {
    "/w": [entry("/w/Drafts", true), entry("/w/Old", true), entry("/w/Ledger.md"), entry("/w/README.md")],
    "/w/Drafts": [entry("/w/Drafts/a.md"), entry("/w/Drafts/b.md")],
    "/w/Old": [],
  };
  const asked: string[] = [];
  const list = async (path: string): Promise<Listing> => {
    asked.push(path);
    return { path, entries: folders[path] ?? [], more: 0 };
  };
  return { folders, asked, list };
}

async function staged(handlers: Partial<TreeHandlers> = {}) {
  const { folders, asked, list } = makeDisk();
  const tree = createTree(list);
  tree.setRoot("/w");
  const did: string[] = [];
  const all: TreeHandlers = {
    open: (path) => did.push(`open ${path}`),
    run: (id, path) => did.push(`${id} ${path}`),
    menu: () => [
      { id: "file.rename", label: "Rename" },
      { id: "file.trash", label: "Move to trash" },
    ],
    submit: async () => "",
    move: (path, folder) => did.push(`move ${path} to ${folder}`),
    ...handlers,
  };
  const root = await show(
    <TreeView tree={tree} label="w" current="" marks={new Map()} platform="linux" handlers={all} />,
  );
  await settle();
  asked.length = 0;
  return { folders, asked, tree, did, root };
}

const labels = (root: HTMLElement) =>
  [...root.querySelectorAll("[role=treeitem]")].map((row) => row.textContent);

function rowOf(root: HTMLElement, label: string): HTMLElement {
  const found = [...root.querySelectorAll<HTMLElement>("[role=treeitem]")].find(
    (row) => row.textContent === label,
  );
  return found ?? expect.unreachable(`no row says ${label}`);
}

const field = (root: HTMLElement) => one<HTMLInputElement>(root, ".tree input");

// covers: F8 (rename and create in place) E7 (by keyboard)
describe("a name in the tree", () => {
  it("is asked for in place, without its ending selected", async () => {
    const { tree, root } = await staged();
    await act(() => tree.startRename("/w/Ledger.md"));
    expect(document.activeElement).toBe(field(root));
    expect(field(root).value).toBe("Ledger.md");
    expect([field(root).selectionStart, field(root).selectionEnd]).toEqual([0, "Ledger".length]);
    await act(() => tree.startRename("/w/Drafts"));
    expect([field(root).selectionStart, field(root).selectionEnd]).toEqual([0, "Drafts".length]);
  });

  it("is dropped by Escape, which gives the row the focus back, and by an unchanged Enter", async () => {
    const submit = vi.fn(async () => "");
    const { tree, root } = await staged({ submit });
    await act(() => tree.startRename("/w/Ledger.md"));
    await press("Escape");
    expect(root.querySelector("input")).toBeNull();
    expect(document.activeElement?.textContent).toBe("Ledger");
    await act(() => tree.startRename("/w/Ledger.md"));
    await press("Enter");
    expect(root.querySelector("input")).toBeNull();
    expect(submit).not.toHaveBeenCalled();
  });

  it("says below the field what is wrong, until it is typed on", async () => {
    const said: string[] = [];
    const { tree, root } = await staged({
      submit: async (_, name) => {
        said.push(name);
        return "Taken.";
      },
    });
    await act(() => tree.startRename("/w/Ledger.md"));
    await type(field(root), " README ");
    await press("Enter");
    await settle();
    expect(said).toEqual(["README"]);
    expect(one(root, "[role=alert]").textContent).toBe("Taken.");
    expect(field(root).getAttribute("aria-invalid")).toBe("true");
    expect(field(root).getAttribute("aria-describedby")).toBe(one(root, "[role=alert]").id);
    await type(field(root), "READ");
    expect(root.querySelector("[role=alert]")).toBeNull();
  });

  it("is left to the input method while it composes", async () => {
    const submit = vi.fn(async () => "");
    const { tree, root } = await staged({ submit });
    await act(() => tree.startRename("/w/Ledger.md"));
    await type(field(root), "账");
    await press("Enter", { isComposing: true });
    await press("Escape", { keyCode: 229 });
    expect(submit).not.toHaveBeenCalled();
    expect(field(root).value).toBe("账");
  });

  it("is dropped when another place in the window is chosen, not when another window is", async () => {
    const { tree, root } = await staged();
    await act(() => tree.startRename("/w/Ledger.md"));
    const elsewhere = vi.spyOn(document, "hasFocus").mockReturnValue(false);
    await act(() => void field(root).dispatchEvent(new FocusEvent("blur")));
    expect(root.querySelector("input")).not.toBeNull();
    elsewhere.mockReturnValue(true);
    await act(() => void field(root).dispatchEvent(new FocusEvent("blur")));
    expect(root.querySelector("input")).toBeNull();
    elsewhere.mockRestore();
  });

  it("has a row where the new document or folder will stand, in a folder that is opened for it", async () => {
    const { tree, root } = await staged();
    await act(() => tree.startCreate("/w", false));
    expect(labels(root)).toEqual(["Drafts", "Old", "", "Ledger", "README"]);
    await press("Escape");
    await act(() => tree.startCreate("/w/Drafts", true));
    await settle();
    expect(labels(root)).toEqual(["Drafts", "", "a", "b", "Old", "Ledger", "README"]);
    expect(field(root).getAttribute("aria-label")).toBe("Name of the new folder in Drafts");
    await press("Escape");
    expect(document.activeElement?.textContent).toBe("Drafts");
    await act(() => tree.startCreate("/w/Old", false));
    await settle();
    expect(labels(root)).toEqual(["Drafts", "a", "b", "Old", "", "Ledger", "README"]);
  });

  it("keeps what is typed while the folder is listed again, and ends when its document is gone", async () => {
    const { folders, tree, root } = await staged();
    await act(() => tree.startRename("/w/Ledger.md"));
    await type(field(root), "Accounts");
    const before = field(root);
    folders["/w"]?.unshift(entry("/w/Another", true));
    await act(() => tree.relist(["/w"]));
    await settle();
    expect(labels(root)[0]).toBe("Another");
    expect(field(root)).toBe(before);
    expect(before.value).toBe("Accounts");
    expect(document.activeElement).toBe(before);
    folders["/w"] = folders["/w"]?.filter((other) => other.name !== "Ledger.md") ?? [];
    await act(() => tree.relist(["/w"]));
    await settle();
    expect(root.querySelector("input")).toBeNull();
  });
});

// covers: F8 (move by drag and by keys)
describe("moving in the tree", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  const drag = (name: string, row: Element): Promise<void> =>
    act(() => {
      const event = new MouseEvent(name, { bubbles: true, cancelable: true });
      row.dispatchEvent(Object.assign(event, { dataTransfer: null }));
    });

  it("drops on a folder, and on the folder of the document it is dropped on", async () => {
    const { root, did } = await staged();
    await click(rowOf(root, "Drafts"));
    await settle();
    await drag("dragstart", rowOf(root, "Ledger"));
    await drag("dragover", rowOf(root, "Old"));
    expect(rowOf(root, "Old").classList).toContain("drop");
    await drag("drop", rowOf(root, "Old"));
    expect(root.querySelector(".drop")).toBeNull();
    await drag("dragstart", rowOf(root, "README"));
    await drag("dragover", rowOf(root, "a"));
    expect(rowOf(root, "Drafts").classList).toContain("drop");
    await drag("drop", rowOf(root, "a"));
    await drag("dragstart", rowOf(root, "a"));
    await drag("dragover", one(root, "[role=tree]"));
    expect(one(root, "[role=tree]").classList).toContain("drop");
    await drag("drop", one(root, "[role=tree]"));
    expect(did).toEqual([
      "move /w/Ledger.md to /w/Old",
      "move /w/README.md to /w/Drafts",
      "move /w/Drafts/a.md to /w",
    ]);
  });

  it("does not drop a folder into itself, nor anything where it is", async () => {
    const { root, did } = await staged();
    await click(rowOf(root, "Drafts"));
    await settle();
    await drag("dragstart", rowOf(root, "Drafts"));
    for (const label of ["Drafts", "a", "README"]) {
      await drag("dragover", rowOf(root, label));
      expect(root.querySelector(".drop")).toBeNull();
      await drag("drop", rowOf(root, label));
      await drag("dragstart", rowOf(root, "Drafts"));
    }
    await drag("dragend", rowOf(root, "Drafts"));
    // Nothing is dragged any more.
    await drag("dragover", rowOf(root, "Old"));
    await drag("drop", rowOf(root, "Old"));
    expect(did).toEqual([]);
  });

  it("opens a folder that it rests on for 600 ms", async () => {
    const { tree, root } = await staged();
    await drag("dragstart", rowOf(root, "Ledger"));
    await drag("dragover", rowOf(root, "Drafts"));
    await act(async () => void (await vi.advanceTimersByTimeAsync(599)));
    expect(labels(root)).not.toContain("a");
    await act(async () => void (await vi.advanceTimersByTimeAsync(1)));
    await settle();
    expect(labels(root)).toContain("a");
    await act(() => tree.collapse("/w/Drafts"));
    await drag("dragover", rowOf(root, "Old"));
    await drag("dragend", rowOf(root, "Ledger"));
    await act(async () => void (await vi.advanceTimersByTimeAsync(1000)));
    expect(rowOf(root, "Old").getAttribute("aria-expanded")).toBe("false");
  });

  it("marks what is cut, and Escape takes the mark off", async () => {
    const { tree, root, did } = await staged();
    rowOf(root, "Ledger").focus();
    await press("x", { ctrlKey: true });
    await press("v", { ctrlKey: true });
    expect(did).toEqual(["edit.cut /w/Ledger.md", "edit.paste /w/Ledger.md"]);
    await act(() => {
      tree.cut.value = "/w/Ledger.md";
    });
    expect(rowOf(root, "LedgerCut").classList).toContain("cut");
    await press("Escape");
    expect(rowOf(root, "Ledger").classList).not.toContain("cut");
  });
});

// covers: E7 (by keyboard)
describe("the tree's commands", () => {
  it("are run on the row by its own keys, and only without an input method", async () => {
    const { root, did } = await staged();
    rowOf(root, "Ledger").focus();
    expect((await press("F2")).defaultPrevented).toBe(true);
    await press("Delete");
    await press("Delete", { keyCode: 229 });
    expect(did).toEqual(["file.rename /w/Ledger.md", "file.trash /w/Ledger.md"]);
  });

  it("are in a menu, which gives the focus back to the row", async () => {
    const { root, did } = await staged();
    rowOf(root, "Ledger").focus();
    await press("F10", { shiftKey: true });
    expect(document.activeElement?.textContent).toBe("Rename");
    await press("Escape");
    expect(root.querySelector("[role=menu]")).toBeNull();
    expect(document.activeElement?.textContent).toBe("Ledger");
    await press("ContextMenu");
    await press("ArrowDown");
    await press("Enter");
    expect(document.activeElement?.textContent).toBe("Ledger");
    expect(did).toEqual(["file.trash /w/Ledger.md"]);
  });

  it("are in a menu under the pointer, also below the rows, and a press elsewhere shuts it", async () => {
    const paths: string[] = [];
    const { root } = await staged({
      menu: (path) => {
        paths.push(path);
        return [{ id: "file.newFolder", label: "New folder" }];
      },
    });
    const open = (on: Element): Promise<void> =>
      act(() => {
        on.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true, clientX: 9 }));
      });
    await open(rowOf(root, "Drafts"));
    await act(() => void document.body.dispatchEvent(new Event("pointerdown", { bubbles: true })));
    expect(root.querySelector("[role=menu]")).toBeNull();
    await open(one(root, "[role=tree]"));
    expect([...new Set(paths)]).toEqual(["/w/Drafts", ""]);
  });
});

// covers: F8 (follows outside changes)
describe("a folder that something else changes", () => {
  it("lists only what is shown again, and keeps what is open, the focus and the rest", async () => {
    const { folders, asked, tree, root } = await staged();
    await click(rowOf(root, "Drafts"));
    await settle();
    rowOf(root, "b").focus();
    asked.length = 0;
    folders["/w/Drafts"]?.push(entry("/w/Drafts/c.md"));
    await act(() => tree.relist(["/w/Drafts", "/w/Old", "/elsewhere", ""]));
    await settle();
    expect(asked).toEqual(["/w/Drafts"]);
    expect(labels(root)).toEqual(["Drafts", "a", "b", "c", "Old", "Ledger", "README"]);
    expect(document.activeElement?.textContent).toBe("b");
  });

  it("does not show what a shut folder held when it is opened again", async () => {
    const { folders, asked, tree, root } = await staged();
    await click(rowOf(root, "Drafts"));
    await settle();
    await act(() => tree.collapse("/w/Drafts"));
    folders["/w/Drafts"] = [entry("/w/Drafts/new.md")];
    asked.length = 0;
    await act(() => tree.relist(["/w/Drafts"]));
    expect(asked).toEqual([]);
    await act(() => tree.expand("/w/Drafts"));
    expect(labels(root)).not.toContain("a");
    await settle();
    expect(labels(root)).toContain("new");
  });

  it("keeps folders open that were moved, and follows the focus", async () => {
    const { folders, tree, root } = await staged();
    await click(rowOf(root, "Drafts"));
    await settle();
    rowOf(root, "b").focus();
    folders["/w"] = [entry("/w/Essays", true)];
    folders["/w/Essays"] = [entry("/w/Essays/a.md"), entry("/w/Essays/b.md")];
    await act(() => {
      tree.follow("/w/Drafts", "/w/Essays");
      tree.relist(["/w"]);
    });
    await settle();
    expect(labels(root)).toEqual(["Essays", "a", "b"]);
    expect(rowOf(root, "b").tabIndex).toBe(0);
  });

  it("collapses everything, and keeps the focus on the folder it was in", async () => {
    const { tree, root } = await staged();
    await click(rowOf(root, "Drafts"));
    await settle();
    rowOf(root, "b").focus();
    await act(() => tree.collapseAll());
    expect(labels(root)).toEqual(["Drafts", "Old", "Ledger", "README"]);
    expect(rowOf(root, "Drafts").tabIndex).toBe(0);
  });
});

describe("a folder of 5,000", () => {
  it("draws a few rows, and End still reaches the last", async () => {
    const entries = Array.from({ length: 5000 }, (_, i) => entry(`/w/n${String(i).padStart(4, "0")}.md`));
    const tree = createTree(async (path) => ({ path, entries, more: 0 }));
    tree.setRoot("/w");
    const idle = { open: () => {}, run: () => {}, menu: () => [], submit: async () => "", move: () => {} };
    const root = await show(
      <TreeView tree={tree} label="w" current="" marks={new Map()} platform="linux" handlers={idle} />,
    );
    await settle();
    expect(root.querySelectorAll("[role=treeitem]").length).toBeLessThan(100);
    const first = rowOf(root, "n0000");
    expect([first.getAttribute("aria-posinset"), first.getAttribute("aria-setsize")]).toEqual(["1", "5000"]);
    first.focus();
    await press("End");
    expect(document.activeElement?.textContent).toBe("n4999");
    await press("ArrowUp");
    expect(document.activeElement?.textContent).toBe("n4998");
    await press("Home");
    expect(document.activeElement?.textContent).toBe("n0000");
  });
});

// @vitest-environment jsdom
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Entry, Listing } from "../backend";
import { BackendError } from "../backend";
import { click, press, settle, show } from "./stage.testing";
import { type TreeHandlers, TreeView } from "./tree";
import { createTree, documentLabel } from "./tree-model";

function entry(path: string, folder = false, ignored = false): Entry {
  return { name: path.slice(path.lastIndexOf("/") + 1), path, folder, ignored };
}

const folders: Readonly<Record<string, readonly Entry[]>> = {
  "/w": [
    entry("/w/Drafts", true),
    entry("/w/build", true, true),
    entry("/w/README.md"),
    entry("/w/Ledger.md"),
  ],
  "/w/Drafts": [entry("/w/Drafts/a.md"), entry("/w/Drafts/b.md")],
  "/w/build": [],
};

const idle: TreeHandlers = {
  open: () => {},
  run: () => {},
  menu: () => [],
  submit: async () => "",
  move: () => {},
};

function lister() {
  const asked: string[] = [];
  const list = async (path: string): Promise<Listing> => {
    asked.push(path);
    return { path, entries: folders[path] ?? [], more: 0 };
  };
  return { asked, list };
}

/** The rows as they are drawn: depth, mark of a folder, label, mark of the one in the tab order. */
function drawn(root: HTMLElement): readonly string[] {
  return [...root.querySelectorAll<HTMLElement>("[role=treeitem]")].map((row) => {
    const expanded = row.getAttribute("aria-expanded");
    const folder = expanded === "true" ? "v " : expanded === "false" ? "> " : "";
    return `${row.getAttribute("aria-level")} ${folder}${row.textContent}${row.tabIndex === 0 ? " *" : ""}`;
  });
}

// covers: F8 (tree, in first form) E7 (by keyboard)
describe("TreeView", () => {
  async function staged(current = "", unsaved: readonly string[] = []) {
    const { asked, list } = lister();
    const tree = createTree(list);
    tree.setRoot("/w");
    const opened: string[] = [];
    const root = await show(
      <TreeView
        tree={tree}
        label="w"
        current={current}
        marks={new Map(unsaved.map((path) => [path, "unsaved"]))}
        platform="linux"
        handlers={{ ...idle, open: (p) => opened.push(p) }}
      />,
    );
    await settle();
    return { asked, tree, opened, root };
  }

  it("lists a folder only when it is opened", async () => {
    const { asked, root } = await staged();
    expect(asked).toEqual(["/w"]);
    expect(drawn(root)).toEqual(["1 > Drafts *", "1 > build", "1 README", "1 Ledger"]);
    const [drafts] = root.querySelectorAll("[role=treeitem]");
    await click(drafts ?? expect.unreachable());
    await settle();
    expect(asked).toEqual(["/w", "/w/Drafts"]);
    expect(drawn(root)).toEqual(["1 v Drafts *", "2 a", "2 b", "1 > build", "1 README", "1 Ledger"]);
  });

  it("moves, opens and shuts by arrows", async () => {
    const { root, opened } = await staged();
    root.querySelector<HTMLElement>("[tabindex='0']")?.focus();
    await press("ArrowRight");
    await settle();
    await press("ArrowRight");
    await press("ArrowDown");
    expect(document.activeElement?.textContent).toBe("b");
    await press("Enter");
    expect(opened).toEqual(["/w/Drafts/b.md"]);
    await press("ArrowLeft");
    expect(document.activeElement?.textContent).toBe("Drafts");
    await press("ArrowLeft");
    expect(drawn(root)).toEqual(["1 > Drafts *", "1 > build", "1 README", "1 Ledger"]);
    await press("End");
    expect(document.activeElement?.textContent).toBe("Ledger");
    await press("Home");
    expect(document.activeElement?.textContent).toBe("Drafts");
    await press("r");
    expect(document.activeElement?.textContent).toBe("README");
  });

  it("leaves keys with Ctrl and keys of an input method alone", async () => {
    const { root } = await staged();
    root.querySelector<HTMLElement>("[tabindex='0']")?.focus();
    expect((await press("ArrowDown", { ctrlKey: true })).defaultPrevented).toBe(false);
    expect((await press("ArrowDown", { isComposing: true })).defaultPrevented).toBe(false);
    expect(document.activeElement?.textContent).toBe("Drafts");
  });

  it("shows which document is in front and which has unsaved text", async () => {
    const { root } = await staged("/w/README.md", ["/w/Ledger.md"]);
    const rows = [...root.querySelectorAll("[role=treeitem]")];
    expect(rows.map((row) => row.getAttribute("aria-selected"))).toEqual([null, null, "true", null]);
    expect(drawn(root)[2]).toBe("1 README *");
    expect(rows[3]?.querySelector(".dot")).not.toBeNull();
    expect(rows[3]?.textContent).toBe("LedgerUnsaved");
    expect(rows[1]?.classList).toContain("ignored");
  });

  it("opens the folders on the way to the document in front", async () => {
    const { asked, tree, root } = await staged("/w/Drafts/b.md");
    for (const path of ["/elsewhere/b.md", "", "/w/README.md", "/w/Drafts/b.md", "/w/Drafts/b.md"]) {
      tree.reveal(path);
    }
    await settle();
    expect(asked).toEqual(["/w", "/w/Drafts"]);
    expect(drawn(root)[2]).toBe("2 b *");
  });

  it("says that a folder is empty, and what of a large one is not shown", async () => {
    const tree = createTree(async (path) => ({
      path,
      entries: path === "/e" ? [] : [entry("/m/a.md")],
      more: 7,
    }));
    const root = await show(
      <TreeView tree={tree} label="" current="" marks={new Map()} platform="linux" handlers={idle} />,
    );
    await act(() => tree.setRoot("/e"));
    await settle();
    expect(root.textContent).toBe("No documents in this folder");
    await act(() => tree.setRoot("/m"));
    await settle();
    expect(drawn(root)).toEqual(["1 a *", "1 7 more are not shown"]);
  });

  it("offers to try again where a folder could not be read", async () => {
    let refuse = true;
    const tree = createTree(async (path) => {
      if (refuse) {
        throw new BackendError("not_granted");
      }
      return { path, entries: [entry("/w/a.md")], more: 0 };
    });
    tree.setRoot("/w");
    const root = await show(
      <TreeView tree={tree} label="" current="" marks={new Map()} platform="linux" handlers={idle} />,
    );
    await settle();
    expect(root.textContent).toBe("w could not be read. Retry");
    refuse = false;
    root.querySelector<HTMLElement>("[role=treeitem]")?.focus();
    await press("Enter");
    await settle();
    expect(root.textContent).toBe("a");
  });
});

describe("createTree", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("shows that it is loading after 300 ms, not before", async () => {
    const tree = createTree(() => new Promise(() => {}));
    tree.setRoot("/w");
    await vi.advanceTimersByTimeAsync(299);
    expect(tree.rows.value).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(tree.rows.value).toMatchObject([{ type: "told", what: "loading", name: "w" }]);
  });

  it("drops an answer that is no longer wanted", async () => {
    const answers = new Map<string, (listing: Listing) => void>();
    const tree = createTree((path) => new Promise((resolve) => answers.set(path, resolve)));
    tree.setRoot("/old");
    tree.setRoot("/new");
    answers.get("/new")?.({ path: "/new", entries: [entry("/new/n.md")], more: 0 });
    await vi.advanceTimersByTimeAsync(0);
    answers.get("/old")?.({ path: "/old", entries: [entry("/old/o.md")], more: 0 });
    await vi.advanceTimersByTimeAsync(0);
    expect(tree.rows.value).toMatchObject([{ label: "n" }]);
  });

  it("drops an answer that a newer one of the same folder has overtaken", async () => {
    const answers: ((listing: Listing) => void)[] = [];
    const tree = createTree(() => new Promise((resolve) => answers.push(resolve)));
    tree.setRoot("/w");
    tree.refresh();
    answers[1]?.({ path: "/w", entries: [entry("/w/new.md")], more: 0 });
    await vi.advanceTimersByTimeAsync(0);
    answers[0]?.({ path: "/w", entries: [entry("/w/old.md")], more: 0 });
    await vi.advanceTimersByTimeAsync(0);
    expect(tree.rows.value).toMatchObject([{ label: "new" }]);
  });

  it("keeps what it shows while it lists again", async () => {
    let name = "a";
    const tree = createTree(async (path) => ({ path, entries: [entry(`/w/${name}.md`)], more: 0 }));
    tree.setRoot("/w");
    await vi.advanceTimersByTimeAsync(0);
    name = "b";
    tree.refresh();
    expect(tree.rows.value).toMatchObject([{ label: "a" }]);
    await vi.advanceTimersByTimeAsync(0);
    expect(tree.rows.value).toMatchObject([{ label: "b" }]);
  });

  it("hides .md and nothing else", () => {
    expect(["a.md", "a.MD", "a.markdown", "a.txt", ".md", "a.md.md"].map(documentLabel)).toEqual([
      "a",
      "a",
      "a",
      "a.txt",
      ".md",
      "a.md",
    ]);
  });
});

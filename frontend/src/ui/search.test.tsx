// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BackendError, type ReviewedSet, type SearchEnded, type SearchRequest } from "../backend";
import { setLanguage } from "../i18n";
import { tailOf } from "./excerpt";
import { type PreviewState, SearchView } from "./search";
import { createSearch, type Search, type SearchRow } from "./search-model";
import { type SetActions, SetReview } from "./set";
import { reviewSet, type SetView, tickEdit, tickFile, ticksOf } from "./set-model";
import { button, click, one, press, settle, show, type as typeInto } from "./stage.testing";

afterEach(() => setLanguage("en"));

const end: SearchEnded = {
  id: "",
  code: "",
  searched: 48,
  files: 2,
  hits: 3,
  pastLimit: 0,
  tooLarge: 0,
  unread: 0,
  tooDeep: 0,
  tookMs: 3,
};

let requests: SearchRequest[];
let search: Search;
let opened: (string | boolean)[][];
let left: number;
let refusal: BackendError | null;

beforeEach(() => {
  requests = [];
  opened = [];
  left = 0;
  refusal = null;
  search = createSearch({
    start: async (request) => {
      requests.push(request);
      if (refusal !== null) {
        throw refusal;
      }
    },
    cancel: async () => {},
  });
});

const preview = signal<PreviewState>({ busy: false, told: "" });
const focus = signal(false);

async function staged(hasFolder = true): Promise<HTMLElement> {
  return show(
    <SearchView
      search={search}
      hasFolder={hasFolder}
      review={null}
      preview={preview}
      focus={focus}
      onOpenFolder={() => {}}
      onPreview={() => {}}
      onStopPreview={() => {}}
      onOpen={(row: SearchRow, toText) => opened.push([row.key, toText])}
      onLeave={() => {
        left += 1;
      }}
    />,
  );
}

const field = (root: ParentNode, label: string) =>
  one<HTMLInputElement>(root, `input[aria-label="${label}"]`);
const rows = (root: ParentNode) => [...root.querySelectorAll<HTMLElement>("[role=treeitem]")];
const current = (root: ParentNode) => root.querySelector("[aria-current]")?.textContent;

async function found(root: ParentNode, hits = 2): Promise<void> {
  await typeInto(field(root, "Search in folder"), "boat");
  const id = requests.at(-1)?.id ?? expect.unreachable("no search");
  const hit = (line: number) => ({
    from: line,
    to: line + 4,
    line,
    before: "the ",
    match: "boat",
    after: " left",
  });
  await act(() => {
    search.found({
      id,
      files: [
        {
          path: "/w/Drafts/Ferry.md",
          name: "Drafts/Ferry.md",
          unsaved: true,
          hits: Array.from({ length: hits }, (_, i) => hit(i + 1)),
          more: 4,
        },
        { path: "/w/b.md", name: "b.md", unsaved: false, hits: [hit(9)], more: 0 },
      ],
    });
    search.ended({ ...end, id, tooLarge: 1 });
  });
  await settle();
}

// covers: F9 (what was cut is said, unsaved text is named) E7
describe("SearchView", () => {
  it("shows files and hits, says counts and what was cut, and reads the end out once", async () => {
    const root = await staged();
    await found(root);
    expect(rows(root).map((row) => row.textContent)).toEqual([
      "Ferry DraftsUnsaved2+",
      "1the boat left",
      "2the boat left",
      "2 hits shown; there are 4 more",
      "b 1",
      "9the boat left",
    ]);
    expect([...root.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual([
      "boat",
      "boat",
      "boat",
    ]);
    expect(one(root, ".counts").textContent).toBe("3 hits in 2 of 48 files1 file over 4 MB skipped");
    expect(one(root, ".vh[role=status]").textContent).toBe("3 hits in 2 of 48 files");
  });

  it("has pressed states for case, whole word and regular expression", async () => {
    const root = await staged();
    await found(root);
    const toggles = [...root.querySelectorAll<HTMLButtonElement>(".tog")];
    expect(toggles.map((b) => b.getAttribute("aria-label"))).toEqual([
      "Match case",
      "Whole word",
      "Regular expression",
    ]);
    for (const toggle of toggles) {
      expect(toggle.getAttribute("aria-pressed")).toBe("false");
      await click(toggle);
      await settle();
      expect(toggle.getAttribute("aria-pressed")).toBe("true");
    }
    expect(requests.at(-1)).toMatchObject({ case: true, word: true, regexp: true });
  });

  it("says under the field what is wrong with a regular expression", async () => {
    const root = await staged();
    refusal = new BackendError("invalid_input", "missing closing ): (");
    await act(() => search.fill({ regexp: true }));
    await typeInto(field(root, "Search in folder"), "(");
    await settle();
    expect(one(root, ".err").textContent).toBe("Not a regular expression: missing closing ): (");
    expect(field(root, "Search in folder").getAttribute("aria-invalid")).toBe("true");
  });

  it("folds out a replacement and the files, by buttons that say so", async () => {
    const root = await staged();
    expect(root.querySelectorAll("input")).toHaveLength(1);
    await click(button(root, "Replace"));
    await click(button(root, "Files"));
    expect(button(root, "Files").getAttribute("aria-expanded")).toBe("true");
    await typeInto(field(root, "Only in"), "Drafts/**");
    await typeInto(field(root, "Search in folder"), "x");
    expect(requests.at(-1)?.include).toEqual(["Drafts/**"]);
    expect(button(root, "Preview changes").disabled).toBe(true);
  });

  it("goes through the rows by arrows, shuts and opens, opens hits, and leaves", async () => {
    const root = await staged();
    await found(root);
    field(root, "Search in folder").focus();
    await press("ArrowDown");
    const list = one(root, "[role=tree]");
    expect(document.activeElement).toBe(list);
    expect(current(root)).toContain("Ferry");
    await press("ArrowDown");
    await press("Enter");
    expect(opened).toEqual([["/w/Drafts/Ferry.md\n0", true]]);
    expect(document.getElementById(list.getAttribute("aria-activedescendant") ?? "")).toBe(
      root.querySelector("[aria-current]"),
    );
    await press("ArrowLeft");
    expect(current(root)).toContain("Ferry");
    await press("ArrowLeft");
    expect(rows(root)).toHaveLength(3);
    await press("ArrowRight");
    expect(rows(root)).toHaveLength(6);
    await press("End");
    expect(current(root)).toBe("9the boat left");
    await press("Escape");
    expect(left).toBe(1);
    await click(rows(root)[5] ?? expect.unreachable());
    expect(opened.at(-1)).toEqual(["/w/b.md\n0", false]);
  });

  it("keeps only the rows in sight in the page, and the current one", async () => {
    const root = await staged();
    await found(root, 5000);
    expect(rows(root).length).toBeLessThan(120);
    const list = one(root, "[role=tree]");
    list.focus();
    await press("End");
    expect(current(root)).toBe("9the boat left");
    expect(one(root, ".sizer").style.blockSize).toBe(`${5004 * 26}px`);
  });

  it("leaves Enter and Esc to an input method", async () => {
    const root = await staged();
    const query = field(root, "Search in folder");
    query.focus();
    query.dispatchEvent(new CompositionEvent("compositionstart", { bubbles: true }));
    query.value = "夜";
    await act(() => void query.dispatchEvent(new InputEvent("input", { bubbles: true, isComposing: true })));
    await press("Escape", { isComposing: true });
    expect([requests.length, left]).toEqual([0, 0]);
    await act(() => void query.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true })));
    expect(requests.map((r) => r.query)).toEqual(["夜"]);
    // WebKit sends the Esc that ended the composition only now.
    await press("Escape");
    expect(left).toBe(0);
  });

  it("asks for a folder when none is open", async () => {
    const root = await staged(false);
    expect(root.textContent).toContain("No folder is open");
    expect(root.querySelectorAll("input")).toHaveLength(0);
  });

  it("puts the focus into what is unfolded", async () => {
    const root = await staged();
    await click(button(root, "Replace"));
    expect(document.activeElement).toBe(field(root, "Replace with"));
    await click(button(root, "Files"));
    expect(document.activeElement).toBe(field(root, "Only in"));
    await click(button(root, "Replace"));
    expect(root.querySelector("input[aria-label='Replace with']")).toBeNull();
  });

  it("takes the focus once when it is asked to, not each time it is shown", async () => {
    focus.value = true;
    const root = await staged();
    expect(document.activeElement).toBe(field(root, "Search in folder"));
    (document.activeElement as HTMLElement).blur();
    const again = await staged();
    expect(again.contains(document.activeElement)).toBe(false);
  });

  it("is in Chinese", async () => {
    setLanguage("zh");
    const root = await staged();
    await typeInto(field(root, "在文件夹中搜索"), "船");
    await act(() => search.ended({ ...end, id: requests.at(-1)?.id ?? "", hits: 0, files: 0, searched: 3 }));
    await settle();
    expect(root.textContent).toContain("没有找到搜索了 3 份文档。");
  });
});

function edit(line: number, old = "boat", insert = "ferry") {
  return { from: line * 10, to: line * 10 + old.length, insert, old, line, before: "the ", after: " left" };
}

const set: ReviewedSet = {
  id: "set1",
  kind: "replace",
  from: "boat",
  to: "ferry",
  state: "open",
  files: [
    {
      path: "/w/a.md",
      name: "a.md",
      documentId: "",
      version: 0,
      edits: [edit(1), edit(2)],
      problem: "",
      left: 0,
    },
    { path: "/w/b.md", name: "b.md", documentId: "", version: 0, edits: [edit(3)], problem: "", left: 0 },
    { path: "/w/c.md", name: "c.md", documentId: "", version: 0, edits: [], problem: "read_only", left: 0 },
  ],
  cut: false,
};

const move: ReviewedSet = {
  ...set,
  kind: "move",
  from: "/w/Drafts/Ferry.md",
  to: "/w/Drafts/Night boat.md",
  files: set.files.slice(0, 2),
};

async function reviewed(start: SetView) {
  const view = signal(start);
  const done: string[] = [];
  const told = (what: string) => () => void done.push(what);
  const actions: SetActions = {
    tickEdit: (path, index, on) => {
      view.value = tickEdit(view.value, path, index, on);
    },
    tickFile: (path, on) => {
      view.value = tickFile(view.value, path, on);
    },
    apply: told("apply"),
    moveOnly: told("moveOnly"),
    undo: told("undo"),
    again: told("again"),
    close: told("close"),
    open: (row) => void done.push(`open ${row.key}`),
    leave: told("leave"),
  };
  const at = signal("");
  const collapsed = signal<ReadonlySet<string>>(new Set());
  const Shown = () => <SetReview view={view.value} at={at} collapsed={collapsed} actions={actions} />;
  const root = await show(<Shown />);
  return { root, view, done };
}

const checks = (root: ParentNode) => rows(root).map((row) => row.getAttribute("aria-checked"));

// covers: F9 (replace shows a preview) F8 (a rename's link changes are reviewed) E7
describe("SetReview", () => {
  it("shows what would change, with ticks of three states", async () => {
    const { root, view } = await reviewed(reviewSet(set, new Map()));
    expect([...root.querySelectorAll("del")].map((e) => e.textContent)).toEqual(["boat", "boat", "boat"]);
    expect([...root.querySelectorAll("ins")].map((e) => e.textContent)).toEqual(["ferry", "ferry", "ferry"]);
    expect(rows(root)[1]?.getAttribute("aria-description")).toBe("Line 1: “boat” becomes “ferry”");
    expect(checks(root)).toEqual(["true", "true", "true", "true", "true", null, null]);
    one(root, "[role=tree]").focus();
    await press("ArrowDown");
    await press(" ");
    expect(checks(root).slice(0, 3)).toEqual(["mixed", "false", "true"]);
    expect(rows(root)[0]?.textContent).toBe("a 1 of 2");
    button(root, "Replace 2 in 2 files");
    await press("Home");
    await press(" ");
    expect(checks(root).slice(0, 3)).toEqual(["true", "true", "true"]);
    await click(root.querySelectorAll(".check")[3] ?? expect.unreachable());
    expect(ticksOf(view.value)).toEqual([{ path: "/w/a.md", edits: [0, 1] }]);
    button(root, "Replace 2 in 1 file");
    await press(" ");
  });

  it("shows of a link only the part that changes, and says all of it", async () => {
    const links = [
      edit(1, "Drafts/Night%20Ferry.md", "../Drafts/Night%20Ferry.md"),
      edit(2, "ferry.md#quay", "night ferry.md#quay"),
    ];
    const file = { ...(move.files[0] ?? expect.unreachable()), edits: links };
    const { root } = await reviewed(reviewSet({ ...move, files: [file] }, new Map()));
    expect(root.querySelectorAll("del")).toHaveLength(0);
    expect([...root.querySelectorAll("ins")].map((e) => e.textContent)).toEqual(["../", "night "]);
    expect(rows(root)[1]?.textContent).toBe("1the ../Drafts/Night%20Ferry.md left");
    expect(rows(root)[1]?.getAttribute("aria-description")).toBe(
      "Line 1: “Drafts/Night%20Ferry.md” becomes “../Drafts/Night%20Ferry.md”",
    );
  });

  it("says of a move with too many links what becomes of the others", async () => {
    const { root } = await reviewed(reviewSet({ ...move, cut: true }, new Map()));
    expect(root.textContent).toContain(
      "Only the first 10,000 links are here. The others are left as they are.",
    );
  });

  it("has the focus when what had it is gone, and gives it to Done at the end", async () => {
    const { root, view } = await reviewed(reviewSet(set, new Map()));
    expect(document.activeElement).toBe(one(root, "[role=tree]"));
    const apply = button(root, "Replace 3 in 2 files");
    apply.focus();
    await act(() => {
      view.value = { ...view.value, status: "applied", receipt: { edits: 3, files: 2, gaveWay: 0 } };
    });
    expect(document.activeElement).toBe(button(root, "Done"));
  });

  it("names the files that are left out, and why", async () => {
    const { root } = await reviewed(reviewSet(set, new Map()));
    expect(rows(root).at(-1)?.textContent).toBe("Left out. c cannot be written.");
  });

  it("says what was changed since the preview, and does not tick it", async () => {
    const { root } = await reviewed(reviewSet(set, new Map([["/w/a.md", new Set([0])]])));
    expect(rows(root)[1]?.textContent).toContain("Changed since the preview");
    expect(checks(root).slice(0, 3)).toEqual(["mixed", "false", "true"]);
  });

  it("opens an edit, applies, and backs out", async () => {
    const { root, done } = await reviewed(reviewSet(set, new Map()));
    await click(rows(root)[1] ?? expect.unreachable());
    await click(button(root, "Replace 3 in 2 files"));
    await click(button(root, "Cancel"));
    expect(done).toEqual(["open /w/a.md\n0", "apply", "close"]);
  });

  it("cannot be applied with nothing ticked", async () => {
    const { root } = await reviewed(
      tickFile(tickFile(reviewSet(set, new Map()), "/w/a.md", false), "/w/b.md", false),
    );
    expect(button(root, "Replace 0 in 0 files").disabled).toBe(true);
  });

  it("renames with the links or without them", async () => {
    const { root, done } = await reviewed(reviewSet(move, new Map()));
    expect(one(root, "h2").textContent).toBe("Rename Ferry → Night boat");
    await click(button(root, "Rename and update 3 links"));
    await click(button(root, "Rename without changing links"));
    expect(done).toEqual(["apply", "moveOnly"]);
  });

  it("names the links that stay as they are", async () => {
    const left = {
      path: "/w/d.md",
      name: "d.md",
      documentId: "",
      version: 0,
      edits: [],
      problem: "",
      left: 2,
    };
    const { root } = await reviewed(reviewSet({ ...move, files: [...move.files, left] }, new Map()));
    expect(rows(root).at(-1)?.textContent).toBe("2 more links are left as they are");
    expect(one(root, ".set-head p").textContent).toContain("3 links in 2 files");
    expect(checks(root).at(-2)).toBeNull();
  });

  it("moves, and says where to", async () => {
    const { root } = await reviewed(reviewSet({ ...move, to: "/w/Old/Ferry.md" }, new Map()));
    expect(one(root, "h2").textContent).toBe("Move Ferry → Old");
    button(root, "Move and update 3 links");
  });

  it("ends in a receipt with Undo, and lists what was done", async () => {
    const { root, view, done } = await reviewed(tickEdit(reviewSet(set, new Map()), "/w/a.md", 0, false));
    await act(() => {
      view.value = { ...view.value, status: "applied", receipt: { edits: 2, files: 2, gaveWay: 0 } };
    });
    expect(one(root, ".receipt").textContent).toBe("2 changed in 2 files.");
    expect(rows(root).map((row) => row.textContent)).toEqual([
      "a 1",
      "2the boat ferry left",
      "b 1",
      "3the boat ferry left",
    ]);
    await click(button(root, "Undo"));
    await act(() => {
      view.value = { ...view.value, takenBack: new Set(["/w/a.md"]) };
    });
    expect(one(root, ".receipt").textContent).toBe("2 changed in 2 files.Undone in a already.");
    expect(rows(root)[0]?.textContent).toBe("a Undone1");
    await act(() => {
      view.value = { ...view.value, status: "undone", takenBack: new Set() };
    });
    expect(one(root, ".receipt").textContent).toBe("Undone. Every file is as it was.");
    await click(button(root, "Done"));
    expect(done).toEqual(["undo", "close"]);
  });

  it.each([
    ["changed_on_disk", false, "b changed on disk after the preview.", "Nothing was written."],
    ["stale", false, "b was changed after the preview.", "Nothing was written."],
    ["changed_on_disk", true, "b changed on disk since.", "Nothing was undone."],
    ["stale", true, "You changed replaced text in b.", "Nothing was undone."],
    ["disk_full", false, "Not saved: the disk is full.", "Nothing was written."],
  ] as const)("says why not: %s, undoing %s", async (code, undoing, title, text) => {
    const start = reviewSet(set, new Map());
    const error = new BackendError(code, "b.md");
    const { root, done } = await reviewed({
      ...start,
      status: undoing ? "applied" : "review",
      receipt: { edits: 3, files: 2, gaveWay: 0 },
      refusal: { error, undoing },
    });
    const notice = one(root, ".note[role=alert]");
    expect([one(notice, "h2").textContent, one(notice, "p").textContent]).toEqual([title, text]);
    if (!undoing) {
      await click(button(root, "Search again"));
      expect(done).toEqual(["again"]);
    }
  });
});

describe("tailOf", () => {
  it.each([
    ["short text ", "short text "],
    ["a long line that goes on before the hit ", "…on before the hit "],
    ["\t  indented ", "indented "],
    ["末班船每晚离开北码头，风雨无阻。入冬以后", "…头，风雨无阻。入冬以后"],
  ])("keeps the end of %j", (before, tail) => {
    expect(tailOf(before)).toBe(tail);
  });
});

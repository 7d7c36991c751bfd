// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BackendError, type FileMatch, type QuickOpenResult, type Recent } from "../backend";
import { setLanguage } from "../i18n";
import { type FinderSource, OpenRecent, QuickOpen } from "./finder";
import { one, press, settle, show, type } from "./stage.testing";

function match(name: string, hits: readonly number[] = [], recent = false): FileMatch {
  return { path: `/w/${name}`, name, hits, recent };
}

function result(...files: readonly FileMatch[]): QuickOpenResult {
  return { files, more: 0, cut: false };
}

/** A source whose answers come when the test gives them. */
function makeSource(recent: Recent = { files: [], workspaces: [] }) {
  const asked: { query: string; answer: (r: QuickOpenResult) => void; fail: (e: unknown) => void }[] = [];
  const did: string[] = [];
  const source: FinderSource = {
    recent: signal(recent),
    quickOpen: (query) =>
      new Promise((answer, fail) => {
        asked.push({ query, answer, fail });
      }),
    openFile: (path) => did.push(`open ${path}`),
    openRecentFile: (path) => did.push(`file ${path}`),
    openRecentFolder: (path) => did.push(`folder ${path}`),
    clear: () => did.push("clear"),
  };
  return { asked, did, source };
}

const input = (root: HTMLElement) => one<HTMLInputElement>(root, "input");
const rows = (root: HTMLElement) => [...root.querySelectorAll("[role=option]")].map((row) => row.textContent);
const groups = (root: HTMLElement) => [...root.querySelectorAll(".grp")].map((group) => group.textContent);
const note = (root: HTMLElement) => root.querySelector(".none")?.textContent ?? "";

// covers: F10 (quick open)
describe("QuickOpen", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => {
    vi.useRealTimers();
    setLanguage("en");
  });

  async function staged() {
    const { asked, did, source } = makeSource();
    let closed = 0;
    const root = await show(
      <QuickOpen
        source={source}
        onClose={() => {
          closed += 1;
        }}
      />,
    );
    const answer = async (query: string, ...files: readonly FileMatch[]): Promise<void> => {
      await act(() => asked.find((one) => one.query === query)?.answer(result(...files)));
      await settle();
    };
    return { asked, did, root, answer, closed: () => closed };
  }

  it("asks at once, and shows the recent ones first, each by its name and folder", async () => {
    const { asked, root, answer, did, closed } = await staged();
    expect(asked.map((one) => one.query)).toEqual([""]);
    await answer("", match("Drafts/Ferry.md", [], true));
    expect(groups(root)).toEqual(["Recent"]);
    await type(input(root), "fe");
    await answer("fe", match("fee.txt", [0, 1]), match("Drafts/Ferry.md", [7, 8], true));
    expect(groups(root)).toEqual(["Recent", "Files"]);
    expect(rows(root)).toEqual(["FerryDrafts", "fee.txt"]);
    expect([...root.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual(["Fe", "fe"]);
    await press("ArrowDown");
    await press("Enter");
    await settle();
    expect(did).toEqual(["open /w/fee.txt"]);
    expect(closed()).toBe(1);
  });

  it("marks hits in the folder where they are, and none in the ending that is hidden", async () => {
    const { root, answer } = await staged();
    await type(input(root), "dfmd");
    await answer("dfmd", match("Drafts/Ferry.md", [0, 7, 13, 14]));
    expect([...root.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual(["F", "D"]);
  });

  it("drops an answer that a newer question has overtaken, in whatever order they come", async () => {
    const { root, answer } = await staged();
    await type(input(root), "a");
    await type(input(root), "ab");
    await answer("ab", match("ab.md"));
    await answer("a", match("a.md"));
    await answer("", match("old.md"));
    expect(rows(root)).toEqual(["ab"]);
  });

  it("opens what fits what is typed, not what was shown when Enter was pressed", async () => {
    const { did, root, answer, closed } = await staged();
    await answer("", match("old.md", [], true));
    await type(input(root), "new");
    await press("Enter");
    await settle();
    expect([did, closed()]).toEqual([[], 0]);
    await answer("new", match("new.md"));
    expect(did).toEqual(["open /w/new.md"]);
    expect(closed()).toBe(1);
  });

  it("asks nothing while an input method composes", async () => {
    const { asked, root } = await staged();
    input(root).focus();
    input(root).value = "ye";
    await act(
      () => void input(root).dispatchEvent(new InputEvent("input", { bubbles: true, isComposing: true })),
    );
    await press("Enter", { isComposing: true });
    expect(asked.map((one) => one.query)).toEqual([""]);
    input(root).value = "夜";
    await act(
      () => void input(root).dispatchEvent(new CompositionEvent("compositionend", { bubbles: true })),
    );
    await act(() => void input(root).dispatchEvent(new InputEvent("input", { bubbles: true })));
    expect(asked.map((one) => one.query)).toEqual(["", "夜"]);
  });

  it("says when it takes long, when nothing fits, and what of much is not shown", async () => {
    const { asked, root, answer } = await staged();
    await act(async () => void (await vi.advanceTimersByTimeAsync(299)));
    expect(note(root)).toBe("");
    await act(async () => void (await vi.advanceTimersByTimeAsync(1)));
    expect(note(root)).toBe("Looking");
    await answer("");
    expect(note(root)).toBe("No recent file in this folder. Type to find others.");
    await type(input(root), "x");
    await answer("x");
    expect(note(root)).toBe("No file of that name");
    await type(input(root), "xy");
    await act(() => asked.at(-1)?.answer({ files: [match("xy.md")], more: 12, cut: false }));
    await settle();
    expect(note(root)).toBe("12 more fit. Type on to narrow it down.");
    await type(input(root), "xyz");
    await act(() => asked.at(-1)?.answer({ files: [match("xyz.md")], more: 0, cut: true }));
    await settle();
    expect(note(root)).toBe("This folder has more files than are looked through.");
    await type(input(root), "?");
    await act(() => asked.at(-1)?.fail(new BackendError("not_granted", "w")));
    await settle();
    expect(note(root)).toBe("Galley may not read w.");
    expect(rows(root)).toEqual([]);
  });

  it("speaks Chinese", async () => {
    setLanguage("zh");
    const { root, answer } = await staged();
    await answer("", match("夜航船.md", [], true));
    expect(groups(root)).toEqual(["最近使用"]);
    await type(input(root), "无");
    await answer("无");
    expect(note(root)).toBe("没有这个名称的文件");
  });
});

// covers: F10 (recent files and workspaces)
describe("OpenRecent", () => {
  it("finds folders and documents by their names, each with its place", async () => {
    const { did, source } = makeSource({
      files: [
        { path: "/w/Drafts/Ferry.md", name: "Ferry.md", atMs: 2 },
        { path: "/v/notes.txt", name: "notes.txt", atMs: 1 },
      ],
      workspaces: [{ path: "/home/f", name: "f" }],
    });
    const root = await show(<OpenRecent source={source} onClose={() => did.push("closed")} />);
    expect(groups(root)).toEqual(["Folders", "Files"]);
    expect(rows(root)).toEqual(["f/home", "Ferry/w/Drafts", "notes.txt/v"]);
    await type(input(root), "f");
    expect(rows(root)).toEqual(["f/home", "Ferry/w/Drafts"]);
    await press("Enter");
    await settle();
    await type(input(root), "not");
    await press("Enter");
    await settle();
    expect(did).toEqual(["closed", "folder /home/f", "closed", "file /v/notes.txt"]);
    await type(input(root), "zzz");
    expect(note(root)).toBe("No file of that name");
  });

  it("says that nothing was opened of late", async () => {
    const root = await show(<OpenRecent source={makeSource().source} onClose={() => {}} />);
    expect(note(root)).toBe("Nothing was opened of late");
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BackendError, type SearchEnded, type SearchFile, type SearchRequest } from "../backend";
import { createSearch, type Search } from "./search-model";

let started: SearchRequest[];
let cancelled: string[];
let answers: { readonly ok: () => void; readonly fail: (error: BackendError) => void }[];
let search: Search;

beforeEach(() => {
  vi.useFakeTimers();
  started = [];
  cancelled = [];
  answers = [];
  search = createSearch({
    start: (request) => {
      started.push(request);
      return new Promise((ok, fail) => answers.push({ ok, fail }));
    },
    cancel: async (id) => {
      cancelled.push(id);
    },
  });
});

afterEach(() => void vi.useRealTimers());

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

async function answer(index: number): Promise<void> {
  answers[index]?.ok();
  await settle();
}

function idOf(index: number): string {
  return started[index]?.id ?? expect.unreachable(`no search ${index}`);
}

function file(name: string, hits = 1, more = 0): SearchFile {
  const hit = { from: 0, to: 1, line: 1, before: "", match: "x", after: "" };
  return {
    path: `/w/${name}.md`,
    name: `${name}.md`,
    unsaved: false,
    hits: Array.from({ length: hits }, () => hit),
    more,
  };
}

function ended(id: string, change: Partial<SearchEnded> = {}): SearchEnded {
  return {
    id,
    code: "",
    searched: 9,
    files: 0,
    hits: 0,
    pastLimit: 0,
    tooLarge: 0,
    unread: 0,
    tooDeep: 0,
    tookMs: 1,
    ...change,
  };
}

const names = (): readonly string[] => search.results.value.files.map((f) => f.name);

// covers: F9 (results stream with an id, are cancellable)
describe("a search", () => {
  it("has one call under way, and then searches for what is typed by then", async () => {
    search.fill({ query: "b" });
    search.fill({ query: "bo" });
    search.fill({ query: "boa" });
    expect(started.map((r) => r.query)).toEqual(["b"]);
    await answer(0);
    expect(started.map((r) => r.query)).toEqual(["b", "boa"]);
    await answer(1);
    expect(started).toHaveLength(2);
  });

  it("does not search while an input method composes, but right after", async () => {
    search.fill({ query: "ye" }, true);
    search.fill({ query: "夜" }, true);
    expect(started).toEqual([]);
    search.fill({ query: "夜" });
    expect(started.map((r) => r.query)).toEqual(["夜"]);
  });

  it("adds up what comes, in the order it comes, and leaves other ids alone", async () => {
    search.fill({ query: "x" });
    await answer(0);
    search.found({ id: idOf(0), files: [file("b", 2)] });
    search.found({ id: "another", files: [file("z")] });
    search.found({ id: idOf(0), files: [file("a")] });
    expect(names()).toEqual(["b.md", "a.md"]);
    expect(search.results.value).toMatchObject({ status: "searching", hits: 3 });
    search.ended(ended("another"));
    expect(search.results.value.status).toBe("searching");
    search.ended(ended(idOf(0), { hits: 3, files: 2 }));
    expect(search.results.value).toMatchObject({ status: "done", hits: 3 });
  });

  it("keeps what was found until something new comes, and shows bars after 300 ms", async () => {
    search.fill({ query: "x" });
    await answer(0);
    search.found({ id: idOf(0), files: [file("a")] });
    search.ended(ended(idOf(0)));
    search.fill({ query: "xy" });
    await answer(1);
    expect(names()).toEqual(["a.md"]);
    await vi.advanceTimersByTimeAsync(299);
    expect(names()).toEqual(["a.md"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(search.results.value).toMatchObject({ files: [], slow: true });
    search.found({ id: idOf(1), files: [file("b")] });
    expect(search.results.value).toMatchObject({ slow: false, hits: 1 });
  });

  it("ends with nothing found at once when the host says so", async () => {
    search.fill({ query: "x" });
    await answer(0);
    search.found({ id: idOf(0), files: [file("a")] });
    search.fill({ query: "xyz" });
    await answer(1);
    search.ended(ended(idOf(1)));
    expect(search.results.value).toMatchObject({ status: "done", files: [], hits: 0 });
  });

  it("stops, tells the host, and takes nothing that still comes", async () => {
    search.fill({ query: "x" });
    await answer(0);
    search.found({ id: idOf(0), files: [file("a")] });
    search.stop();
    expect(cancelled).toEqual([idOf(0)]);
    search.found({ id: idOf(0), files: [file("b")] });
    search.ended(ended(idOf(0), { code: "cancelled" }));
    expect(search.results.value).toMatchObject({ status: "stopped", hits: 1 });
  });

  it("says what is wrong with a query, until it is changed", async () => {
    search.fill({ query: "(", regexp: true });
    answers[0]?.fail(new BackendError("invalid_input", "missing closing ): ("));
    await settle();
    expect(search.results.value).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
    search.fill({ query: "()" });
    expect(search.results.value).toMatchObject({ status: "searching", error: null });
  });

  it("drops a late refusal of a search that is no longer wanted", async () => {
    search.fill({ query: "(", regexp: true });
    search.fill({ query: "" });
    answers[0]?.fail(new BackendError("invalid_input"));
    await settle();
    expect(search.results.value).toMatchObject({ status: "none", error: null });
  });

  it("takes an end with a fault for a failure", async () => {
    search.fill({ query: "x" });
    await answer(0);
    search.ended(ended(idOf(0), { code: "not_found" }));
    expect(search.results.value).toMatchObject({ status: "failed", error: { code: "not_found" } });
  });

  it("forgets everything when the query is emptied or the folder is another", async () => {
    search.fill({ query: "x" });
    await answer(0);
    search.found({ id: idOf(0), files: [file("a")] });
    search.reset();
    expect(search.results.value).toMatchObject({ status: "searching", files: [] });
    expect(started).toHaveLength(2);
    await answer(1);
    search.fill({ query: "" });
    expect(search.results.value).toMatchObject({ status: "none", files: [] });
  });

  it("splits globs at commas, and searches anew for them but not for a replacement", async () => {
    search.fill({ query: "x" });
    await answer(0);
    search.fill({ replacement: "y" });
    expect(started).toHaveLength(1);
    search.fill({ include: " Drafts/**, *.md ,", exclude: "assets/**，旧稿" });
    expect(started[1]).toMatchObject({
      include: ["Drafts/**", "*.md"],
      exclude: ["assets/**", "旧稿"],
    });
  });

  it("makes rows of two levels, without those of a file that is shut", async () => {
    search.fill({ query: "x" });
    await answer(0);
    search.found({ id: idOf(0), files: [file("a", 2, 7), file("b")] });
    expect(search.rows.value.map((row) => row.type)).toEqual(["file", "hit", "hit", "more", "file", "hit"]);
    search.toggle("/w/a.md");
    expect(search.rows.value.map((row) => [row.type, row.expanded])).toEqual([
      ["file", false],
      ["file", true],
      ["hit", null],
    ]);
  });

  it("makes rows of 20,000 hits in no time to speak of", async () => {
    search.fill({ query: "x" });
    await answer(0);
    search.found({ id: idOf(0), files: Array.from({ length: 200 }, (_, i) => file(`f${i}`, 100)) });
    expect(search.rows.value).toHaveLength(20_200);
  });
});

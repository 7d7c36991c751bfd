// @vitest-environment jsdom
import { redo, undo } from "@codemirror/commands";
import { EditorView } from "@codemirror/view";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Backend, createEvents, type ReviewedSet, type WorkspaceService } from "../backend";
import { createFakeBackend, type FakeBackend } from "../backend/fake";
import { createDocuments, type Documents } from "../document";
import { editorExtensions } from "../editor";
import { createSets, type Sets, type ShowOptions } from "./sets";

const files = {
  "/w/a.md": "The night boat.\nA night boat again.\n",
  "/w/b.md": "night boat\r\nsecond\r\nthe night boat\r\n",
  "/w/c.md": "One night boat.\n",
};

let backend: FakeBackend;
let documents: Documents;
let sets: Sets;
let view: EditorView;
let shown: ReviewedSet[];
/** What happens right after the host has answered a call. */
let after: Partial<Record<keyof WorkspaceService, () => void>>;
/** What happens before it is asked. */
let before: Partial<Record<keyof WorkspaceService, () => Promise<void>>>;

beforeEach(async () => {
  Range.prototype.getClientRects = () => [] as unknown as DOMRectList;
  backend = createFakeBackend({ files, workspace: "/w", open: ["/w/a.md", "/w/c.md"] });
  after = {};
  before = {};
  view = new EditorView({ parent: document.body });
  const host: Backend = {
    ...backend,
    workspace: new Proxy(backend.workspace, {
      get: (service, method: keyof WorkspaceService) => {
        const call: unknown = Reflect.get(service, method);
        return typeof call === "function"
          ? async (...args: readonly unknown[]) => {
              await before[method]?.();
              const answer: unknown = await call(...args);
              after[method]?.();
              return answer;
            }
          : call;
      },
    }),
  };
  documents = createDocuments({
    backend: host,
    view,
    extensions: (info, version, endings) => [
      editorExtensions({
        platform: "linux",
        lang: "en",
        label: "Text",
        length: info.length,
        version,
        endings,
      }),
      EditorView.updateListener.of((update) => documents.handleUpdate(update)),
    ],
  });
  const events = createEvents({ listen: backend.listen, attach: documents.attach, settleMs: 0 });
  await events.open();
  shown = [];
  sets = createSets({ backend: host, documents, reveal: (set) => shown.push(set) });
  select("a");
});

afterEach(() => {
  view.destroy();
  document.body.replaceChildren();
});

const search = {
  id: "s1",
  query: "night boat",
  case: false,
  word: false,
  regexp: false,
  include: [],
  exclude: [],
};

function tab(name: string) {
  const found = documents.tabs.value.find((t) => t.info.value.path === `/w/${name}.md`);
  return found ?? expect.unreachable(`${name} is not open`);
}

function select(name: string): void {
  documents.select(tab(name).id);
}

function textOf(name: string): string {
  return tab(name).state().doc.toString();
}

function type(from: number, insert: string, to = from): void {
  view.dispatch({ changes: { from, to, insert }, userEvent: "input.type" });
}

const preview = (): Promise<ReviewedSet> => backend.workspace.PreviewReplace({ search, with: "night ferry" });

async function previewed(options: ShowOptions = {}): Promise<ReviewedSet> {
  const set = await preview();
  const flushed = (): Promise<unknown> => Promise.all(documents.tabs.value.map((t) => documents.flush(t.id)));
  sets.show(set, { again: () => flushed().then(preview), ...options });
  return set;
}

function now() {
  return sets.view.value ?? expect.unreachable("no set");
}

const replaced = {
  a: "The night ferry.\nA night ferry again.\n",
  b: "night ferry\r\nsecond\r\nthe night ferry\r\n",
  c: "One night ferry.\n",
};

// covers: F9 (replace: a preview, all or nothing, undone as a set)
describe("a set", () => {
  it("writes nothing until it is applied", async () => {
    const set = await previewed();
    expect(shown).toEqual([set]);
    expect(now()).toMatchObject({ status: "review", refusal: null });
    expect(textOf("a")).toBe(files["/w/a.md"]);
    sets.close();
    expect(sets.view.value).toBeNull();
    await vi.waitFor(() => expect(backend.calls).toContain("Workspace.DropSet"));
    await expect(
      backend.workspace.ApplySet({ page: documents.page.value, id: set.id, ticked: [] }),
    ).rejects.toMatchObject({ code: "not_found" });
    expect(backend.disk.get("/w/b.md")).toBe(files["/w/b.md"]);
  });

  it("changes files on disk, the document in front, and one that is not, and saves what was clean", async () => {
    let changed = 0;
    await previewed({
      onChanged: () => {
        changed += 1;
      },
    });
    select("c");
    type(0, "Typed. ");
    select("a");
    await sets.apply();
    expect(now()).toMatchObject({ status: "applied", receipt: { edits: 5, files: 3, gaveWay: 0 } });
    expect([textOf("a"), textOf("c")]).toEqual([replaced.a, `Typed. ${replaced.c}`]);
    expect(backend.disk.get("/w/b.md")).toBe(replaced.b);
    expect(backend.disk.get("/w/a.md")).toBe(replaced.a);
    // It had unsaved text before, so saving it is left to the person.
    expect(backend.disk.get("/w/c.md")).toBe(files["/w/c.md"]);
    expect(tab("c").dirty.value).toBe(true);
    expect(changed).toBe(1);
  });

  it("leaves out what is not ticked", async () => {
    await previewed();
    sets.tickEdit("/w/a.md", 0, false);
    sets.tickFile("/w/b.md", false);
    await sets.apply();
    expect(textOf("a")).toBe("The night boat.\nA night ferry again.\n");
    expect(backend.disk.get("/w/b.md")).toBe(files["/w/b.md"]);
    expect(now().receipt).toMatchObject({ edits: 2, files: 2 });
  });

  it("is one undo in each document, apart from typing before and after", async () => {
    await previewed();
    type(view.state.doc.length, "before");
    await sets.apply();
    type(view.state.doc.length, " after");
    undo(view);
    expect(textOf("a")).toBe(`${replaced.a}before`);
    undo(view);
    expect(textOf("a")).toBe(`${files["/w/a.md"]}before`);
    undo(view);
    expect(textOf("a")).toBe(files["/w/a.md"]);
    // The other document keeps its part until its own undo.
    expect(textOf("c")).toBe(replaced.c);
    select("c");
    undo(view);
    expect(textOf("c")).toBe(files["/w/c.md"]);
  });

  it("shows which documents have taken their part back, and no longer when they redo it", async () => {
    await previewed();
    await sets.apply();
    undo(view);
    expect(now().takenBack).toEqual(new Set(["/w/a.md"]));
    redo(view);
    expect(now().takenBack).toEqual(new Set());
  });

  it("is undone as a set, with everything typed elsewhere kept", async () => {
    await previewed();
    await sets.apply();
    type(0, "Now: ");
    await sets.undo();
    expect(now()).toMatchObject({ status: "undone", refusal: null });
    expect(textOf("a")).toBe(`Now: ${files["/w/a.md"]}`);
    expect(textOf("c")).toBe(files["/w/c.md"]);
    expect(backend.disk.get("/w/b.md")).toBe(files["/w/b.md"]);
    expect(backend.disk.get("/w/c.md")).toBe(files["/w/c.md"]);
  });

  it("is undone where it still stands when one document has undone it itself", async () => {
    await previewed();
    await sets.apply();
    undo(view);
    await sets.undo();
    expect([textOf("a"), textOf("c")]).toEqual([files["/w/a.md"], files["/w/c.md"]]);
    expect(now().status).toBe("undone");
  });

  it("is undone in a file that was opened after it was written, when that has no unsaved text", async () => {
    await previewed();
    await sets.apply();
    await documents.open("/w/b.md");
    type(0, "x");
    await sets.undo();
    expect(now()).toMatchObject({ status: "applied", refusal: { error: { code: "stale" } } });
    undo(view);
    await sets.undo();
    expect(now()).toMatchObject({ status: "undone", refusal: null });
    expect(backend.disk.get("/w/b.md")).toBe(files["/w/b.md"]);
  });
});

// covers: F9 F5 (what was changed meanwhile is never written over)
describe("a set that something came between", () => {
  it("unticks what was changed in a document since the preview, until that is undone", async () => {
    await previewed();
    type(5, "I");
    expect(now().changed).toEqual(new Map([["/w/a.md", new Set([0])]]));
    undo(view);
    expect(now().changed).toEqual(new Map());
    // Beside it is not in it.
    type(4, "very ");
    expect(now().changed).toEqual(new Map());
  });

  it("takes a document whose version it does not know for changed", async () => {
    const set = await backend.workspace.PreviewReplace({ search, with: "night ferry" });
    type(0, "x");
    sets.show(set);
    expect(now().changed.get("/w/a.md")).toEqual(new Set([0, 1]));
    expect(now().changed.has("/w/c.md")).toBe(false);
  });

  it("moves its edits past what is typed while it is applied, and gives way where that is in them", async () => {
    await previewed();
    after = {
      ApplySet: () => {
        type(0, "Now: ");
        type(view.state.doc.toString().indexOf("night boat again") + 3, "X");
      },
    };
    await sets.apply();
    expect(textOf("a")).toBe("Now: The night ferry.\nA nigXht boat again.\n");
    expect(now().receipt).toEqual({ edits: 4, files: 3, gaveWay: 1 });
    after = {};
    await sets.undo();
    expect(textOf("a")).toBe("Now: The night boat.\nA nigXht boat again.\n");
  });

  it("is made anew when a document was typed in, and applies only what was seen and ticked", async () => {
    await previewed();
    sets.tickEdit("/w/a.md", 0, false);
    sets.tickFile("/w/c.md", false);
    type(0, "Another night boat. ");
    type(view.state.doc.toString().indexOf("again"), "once ");
    await sets.apply();
    expect(now()).toMatchObject({ status: "applied", receipt: { edits: 3, files: 2, gaveWay: 0 } });
    expect(textOf("a")).toBe("Another night boat. The night boat.\nA night ferry once again.\n");
    expect(textOf("c")).toBe(files["/w/c.md"]);
    await sets.undo();
    expect(textOf("a")).toBe("Another night boat. The night boat.\nA night boat once again.\n");
  });

  it("is made anew when typing reaches the host before the set does", async () => {
    await previewed();
    let typed = false;
    before = {
      ApplySet: async () => {
        if (!typed) {
          typed = true;
          type(0, "Now: ");
          await documents.flush(tab("a").id);
        }
      },
    };
    await sets.apply();
    expect(now()).toMatchObject({ status: "applied", receipt: { edits: 5 } });
    expect(textOf("a")).toBe(`Now: ${replaced.a}`);
  });

  it("follows a document that was opened after the preview", async () => {
    await previewed();
    await documents.open("/w/b.md");
    expect(sets.planned(tab("b")).map(({ edit }) => edit.from)).toEqual([0, 22]);
    type(0, "x ");
    type(view.state.doc.length - 3, "X");
    expect(now().changed.get("/w/b.md")).toEqual(new Set([1]));
    expect(sets.planned(tab("b"))).toEqual([
      { key: "/w/b.md\n0", edit: { from: 2, to: 12, insert: "night ferry" } },
    ]);
    await sets.apply();
    expect(textOf("b")).toBe("x night ferry\nsecond\nthe night boXat\n");
  });

  it("gives up, and says so, when nothing that was ticked is left", async () => {
    await previewed();
    for (const path of ["/w/b.md", "/w/c.md"]) {
      sets.tickFile(path, false);
    }
    type(0, "x".repeat(5), view.state.doc.length);
    await sets.apply();
    expect(textOf("a")).toBe("xxxxx");
    expect(now().status).toBe("review");
  });

  it("changes nothing at all when a file changed on disk, and names it", async () => {
    await previewed();
    backend.disk.set("/w/b.md", "theirs\n");
    await sets.apply();
    expect(now()).toMatchObject({
      status: "review",
      refusal: { undoing: false, error: { code: "changed_on_disk", detail: "/w/b.md" } },
    });
    expect([textOf("a"), textOf("c")]).toEqual([files["/w/a.md"], files["/w/c.md"]]);
    expect(backend.disk.get("/w/b.md")).toBe("theirs\n");
  });

  it("undoes nothing when replaced text was changed in a document, before the host is asked", async () => {
    await previewed();
    await sets.apply();
    type(view.state.doc.toString().indexOf("ferry") + 2, "!");
    const calls = backend.calls.length;
    await sets.undo();
    expect(now()).toMatchObject({
      status: "applied",
      refusal: { undoing: true, error: { code: "stale", detail: "a.md" } },
    });
    expect(backend.calls.slice(calls)).not.toContain("Workspace.UndoSet");
    expect(textOf("c")).toBe(replaced.c);
  });

  it("undoes nothing when a file changed on disk since", async () => {
    await previewed();
    await sets.apply();
    backend.disk.set("/w/b.md", "theirs\n");
    await sets.undo();
    expect(now()).toMatchObject({ status: "applied", refusal: { error: { code: "changed_on_disk" } } });
    expect(textOf("a")).toBe(replaced.a);
  });

  it("survives that a document was closed after it was applied", async () => {
    await previewed();
    await sets.apply();
    await documents.close(tab("c").id);
    await sets.undo();
    expect(now().status).toBe("undone");
    expect(textOf("a")).toBe(files["/w/a.md"]);
  });
});

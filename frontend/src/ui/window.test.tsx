// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Recent } from "../backend";
import { defaultSettings } from "../backend/blank";
import { createFakeBackend } from "../backend/fake";
import { setLanguage } from "../i18n";
import { applyLook } from "./appearance";
import { createBoard } from "./board";
import { createDialogs } from "./dialog";
import { Icon, iconNames, iconsWithSource, mountSprite } from "./icon";
import { createLayout, focusPart } from "./layout";
import { createSettings } from "./settings-store";
import { click, one, press, settle, show } from "./stage.testing";
import { StatusBar, type StatusView } from "./status";
import { Tabs, type TabView } from "./tabs";
import { createToasts } from "./toast";
import { createTree } from "./tree-model";
import {
  createSettingsTab,
  createSlots,
  listenForKeys,
  showSettings,
  Window,
  type WindowModel,
} from "./window";

function tab(id: string, change: Partial<TabView> = {}): TabView {
  return {
    id,
    name: `${id}.md`,
    path: `/w/${id}.md`,
    dirty: false,
    readOnly: false,
    conflict: false,
    missing: false,
    ...change,
  };
}

const noRecent: Recent = { files: [], workspaces: [] };

const status: StatusView = {
  save: "saved",
  savedAtMs: new Date(2026, 10, 12, 14, 6).getTime(),
  counts: { words: 1204, characters: 0 },
  selection: null,
  encoding: "utf-8",
  bom: false,
  endings: "lf",
  reloaded: null,
};

afterEach(() => setLanguage("en"));

// covers: E7 (tabs by keyboard)
describe("Tabs", () => {
  async function staged(tabs: readonly TabView[], current: string) {
    const selected: (string | boolean)[][] = [];
    const closed: string[] = [];
    const arranged: (string | number)[][] = [];
    const root = await show(
      <Tabs
        tabs={tabs}
        current={current}
        controls="front"
        onSelect={(id, focusText) => selected.push([id, focusText])}
        onClose={(id) => closed.push(id)}
        onArrange={(id, index) => arranged.push([id, index])}
      />,
    );
    const all = [...root.querySelectorAll<HTMLButtonElement>("[role=tab]")];
    return { root, all, selected, closed, arranged };
  }

  it("moves by arrows, going round, and shows at once", async () => {
    const { all, selected } = await staged([tab("a"), tab("b"), tab("c")], "a");
    expect(all.map((t) => t.tabIndex)).toEqual([0, -1, -1]);
    all[0]?.focus();
    await press("ArrowLeft");
    expect(document.activeElement).toBe(all[2]);
    expect(selected).toEqual([["c", false]]);
    await click(all[1] ?? expect.unreachable());
    expect(selected.at(-1)).toEqual(["b", true]);
  });

  it("closes by Delete, by middle click and by its cross", async () => {
    const { root, all, closed, selected } = await staged([tab("a"), tab("b")], "a");
    all[0]?.focus();
    await press("Delete");
    await act(() => void all[1]?.dispatchEvent(new MouseEvent("auxclick", { button: 1, bubbles: true })));
    await click(root.querySelectorAll(".shut")[1] ?? expect.unreachable());
    expect(closed).toEqual(["a", "b", "b"]);
    expect(selected).toEqual([]);
  });

  // covers: F10 (tabs in an order of one's own)
  it("is dragged to another place, counted without itself", async () => {
    const { all, arranged } = await staged([tab("a"), tab("b"), tab("c")], "a");
    const drag = (type: string, on: Element | undefined, clientX = 0): Promise<void> =>
      act(() => {
        const event = new MouseEvent(type, { bubbles: true, cancelable: true, clientX });
        on?.dispatchEvent(Object.assign(event, { dataTransfer: null }));
      });
    await drag("dragstart", all[0]);
    // Nothing has a width here, so that every place is behind the middle or before it.
    await drag("dragover", all[1], 1);
    expect(all[2]?.classList).toContain("drop-before");
    await drag("drop", all[1]);
    await drag("dragend", all[0]);
    await drag("dragstart", all[2]);
    await drag("dragover", all[0], 0);
    await drag("drop", all[0]);
    await drag("dragend", all[2]);
    await drag("dragover", all[0], 0);
    expect(arranged).toEqual([
      ["a", 1],
      ["c", 0],
    ]);
  });

  it("shows and says what state a document is in", async () => {
    const tabs = [
      tab("a", { dirty: true }),
      tab("b", { readOnly: true }),
      tab("c", { dirty: true, conflict: true }),
      tab("d", { missing: true }),
      tab("e", { name: "" }),
    ];
    const { all } = await staged(tabs, "a");
    expect(all.map((t) => t.textContent)).toEqual([
      "aunsaved",
      "bread-only",
      "cchanged on disk",
      "ddeleted on disk",
      "Untitled",
    ]);
    expect(all[0]?.querySelector(".dot")).not.toBeNull();
    expect(all[2]?.querySelector(".dot")).toBeNull();
    expect(all[3]?.classList).toContain("missing");
  });
});

describe("StatusBar", () => {
  async function shown(view: StatusView | null, run = "") {
    const chosen: string[] = [];
    const root = await show(
      <StatusBar
        view={view}
        run={run}
        language="system"
        theme="system"
        onLanguage={(id) => chosen.push(`language ${id}`)}
        onTheme={(id) => chosen.push(`theme ${id}`)}
      />,
    );
    const items = [...root.querySelectorAll(".status > :not(.grow)")].map((item) => item.textContent);
    return { root, chosen, items };
  }

  it("says save state, words, reading time, encoding and line ends", async () => {
    expect((await shown(status)).items).toEqual(["Saved 14:06", "1,204 words", "5 min", "UTF-8", "LF"]);
  });

  it.each([
    [{ selection: { words: 46, characters: 0 } }, "46 of 1,204 words"],
    [{ counts: { words: 1, characters: 0 } }, "1 word"],
    [{ counts: { words: 2, characters: 1844 } }, "1,846 characters"],
  ])("counts %j as %s", async (change, text) => {
    expect((await shown({ ...status, ...change })).items[1]).toBe(text);
  });

  it.each([
    [{ save: "unsaved" }, 0, "Unsaved"],
    [{ save: "failed" }, 0, "Not saved"],
    [{ save: "readOnly" }, 0, "Read-only"],
    [{ encoding: "utf-8", bom: true }, 3, "UTF-8 BOM"],
    [{ encoding: "utf-16le", bom: true }, 3, "UTF-16 LE"],
    [{ endings: "mixed" }, 4, "Mixed"],
    [{ endings: "crlf" }, 4, "CRLF"],
  ] as const)("says for %j", async (change, at, text) => {
    expect((await shown({ ...status, ...change })).items[at]).toBe(text);
  });

  it("says what AI is doing in place of the save state", async () => {
    expect((await shown(status, "Rewriting, 3 s")).items[0]).toBe("Rewriting, 3 s");
  });

  it("speaks Chinese", async () => {
    setLanguage("zh");
    const view = { ...status, counts: { words: 0, characters: 1846 } };
    expect((await shown(view)).items).toEqual(["14:06 已保存", "1,846 字", "5 分钟", "UTF-8", "LF"]);
  });

  // covers: E6 (language and theme without restart, from the first window on)
  it("lets language and theme be changed while no document is open", async () => {
    const { root, items, chosen } = await shown(null);
    expect(items).toEqual(["English", "System theme"]);
    await click(root.querySelectorAll(".status button")[0] ?? expect.unreachable());
    const chinese = [...root.querySelectorAll("[role=menuitemradio]")].find(
      (i) => i.textContent === "简体中文",
    );
    await click(chinese ?? expect.unreachable());
    expect(chosen).toEqual(["language zh"]);
  });
});

describe("Window", () => {
  async function staged(open: readonly TabView[] = [], folder = "", recent: Recent = noRecent) {
    const backend = createFakeBackend({ files: { "/w/a.md": "" }, workspace: "/w" });
    const settings = createSettings(backend);
    await settings.load();
    const board = createBoard(signal("linux"));
    const tree = createTree((path) => backend.workspace.List(path));
    tree.setRoot(folder);
    const did: string[] = [];
    const inert = signal(false);
    const waiting = signal(false);
    const model: WindowModel = {
      board,
      layout: createLayout(),
      settings,
      settingsTab: createSettingsTab(),
      dialogs: createDialogs(),
      toasts: createToasts(),
      workspace: signal({ path: folder, name: folder.slice(1) }),
      tree,
      treeHandlers: {
        open: (path) => did.push(`open ${path}`),
        run: (id, path) => did.push(`${id} ${path}`),
        menu: () => [],
        submit: async () => "",
        move: () => {},
      },
      finder: {
        recent: signal(recent),
        quickOpen: async () => ({ files: [], more: 0, cut: false }),
        openFile: () => {},
        openRecentFile: (path) => did.push(`recent file ${path}`),
        openRecentFolder: (path) => did.push(`recent folder ${path}`),
        clear: () => did.push("clear recent"),
      },
      documents: {
        tabs: signal(open),
        current: signal(open[0]?.id ?? ""),
        status: signal(open.length > 0 ? status : null),
        mount: (host) => {
          const text = document.createElement("div");
          text.setAttribute("contenteditable", "true");
          text.tabIndex = 0;
          host.append(text);
        },
        focusText: () => did.push("focus text"),
        open: (path) => did.push(`open ${path}`),
        select: (id) => did.push(`select ${id}`),
        arrange: (id, index) => did.push(`arrange ${id} ${index}`),
        close: (id) => did.push(`close ${id}`),
      },
      slots: createSlots(),
      onSample: () => did.push("sample"),
      inert,
      waiting,
      reload: () => did.push("reload"),
    };
    board.bind({
      "file.openFolder": { run: () => did.push("folder") },
      "file.new": { run: () => did.push("new") },
      "file.open": { run: () => did.push("file") },
      "app.settings": { run: () => showSettings(model.settingsTab) },
      "view.palette": {
        run: () => {
          model.layout.paletteOpen.value = true;
        },
      },
    });
    const root = await show(<Window model={model} />);
    await settle();
    const atStart = did.splice(0);
    return { root, model, did, inert, waiting, atStart };
  }

  it("starts with three ways in, two sentences and a sample, and no sidebar", async () => {
    const { root, did } = await staged();
    expect(root.querySelector(".side")).toBeNull();
    const ways = [...root.querySelectorAll(".first li button")];
    expect(ways.map((w) => w.textContent)).toEqual([
      "Open a folderCtrl+O",
      "New documentCtrl+N",
      "Open a fileCtrl+Shift+O",
    ]);
    for (const way of ways) {
      await click(way);
    }
    const links = [...root.querySelectorAll(".linked")];
    expect(links.map((l) => l.textContent)).toEqual(["add a provider", "open the sample folder"]);
    await click(links[1] ?? expect.unreachable());
    expect(did).toEqual(["folder", "new", "file", "sample"]);
    await click(links[0] ?? expect.unreachable());
    expect(one(root, ".set h1").textContent).toBe("AI providers");
  });

  // covers: F10 (recent files and folders, from the first window)
  it("lists what was opened of late on the first window, and clears the list", async () => {
    const { root, did } = await staged([], "", {
      files: [{ path: "/w/Drafts/Ferry.md", name: "Ferry.md", atMs: 0 }],
      workspaces: [{ path: "/w", name: "w" }],
    });
    const rows = [...root.querySelectorAll(".recent li button")];
    expect(rows.map((row) => row.textContent)).toEqual(["w", "FerryDrafts"]);
    for (const row of rows) {
      await click(row);
    }
    await click(one(root, ".recent .linked"));
    expect(did).toEqual(["recent folder /w", "recent file /w/Drafts/Ferry.md", "clear recent"]);
  });

  it("shows the folder's tree, and that no document is open", async () => {
    const { root, did } = await staged([], "/w");
    expect(one(root, ".side-head").textContent).toBe("w");
    expect(one(root, ".nothing").textContent).toContain("No document is open");
    await click(one(root, "[role=treeitem]"));
    expect(did).toEqual(["open /w/a.md"]);
  });

  it("puts the settings into a tab, their nav into the sidebar, and keeps the editor", async () => {
    const { root, model, did } = await staged([tab("a")], "/w");
    const editor = one(root, "[contenteditable]");
    await click(one(root, "[aria-label=Settings]"));
    expect(one(root, "[role=tab][aria-selected=true]").textContent).toBe("Settings");
    expect([...root.querySelectorAll(".set-nav button")].map((b) => b.textContent)).toEqual([
      "General",
      "Files",
      "AI providers",
      "Permissions and limits",
      "Network",
      "Send log",
    ]);
    expect(editor.parentElement?.hidden).toBe(true);
    await click(root.querySelectorAll(".tab")[0] ?? expect.unreachable());
    expect(did.slice(0, 2)).toEqual(["select a", "focus text"]);
    expect(editor.isConnected).toBe(true);
    expect(editor.parentElement?.hidden).toBe(false);
    await act(() => showSettings(model.settingsTab));
    await click(root.querySelectorAll(".tab .shut")[1] ?? expect.unreachable());
    expect(root.querySelectorAll(".tab")).toHaveLength(1);
  });

  it("shows the settings' nav though the sidebar is shut, and leaves it shut for the text", async () => {
    const { root, model } = await staged([tab("a")], "/w");
    await act(() => {
      model.layout.sidebarOpen.value = false;
      showSettings(model.settingsTab);
    });
    expect(root.querySelectorAll(".set-nav button")).toHaveLength(6);
    expect(root.querySelector("[aria-label='Show the sidebar']")).toBeNull();
    await click(root.querySelectorAll(".tab")[0] ?? expect.unreachable());
    expect(root.querySelector(".side")).toBeNull();
  });

  it("gives the text the focus at the start and when the settings that had it are shut", async () => {
    const { root, model, did, atStart } = await staged([tab("a")], "/w");
    expect(atStart).toEqual(["focus text"]);
    await act(() => showSettings(model.settingsTab));
    one<HTMLElement>(root, ".set input").focus();
    did.length = 0;
    await act(() => {
      model.settingsTab.open.value = false;
      model.settingsTab.front.value = false;
    });
    expect(did).toEqual(["focus text"]);
    // Where something else has it, it stays there.
    await act(() => showSettings(model.settingsTab));
    one<HTMLElement>(root, ".tab[aria-selected=true]").focus();
    did.length = 0;
    await act(() => {
      model.settingsTab.front.value = false;
    });
    expect(did).toEqual([]);
  });

  it("shows nothing where what was open last may still come", async () => {
    const { root, waiting } = await staged([], "");
    expect(root.querySelector(".first")).not.toBeNull();
    await act(() => {
      waiting.value = true;
    });
    expect(root.querySelector(".first")).toBeNull();
  });

  it("becomes inert when a newer page has attached", async () => {
    const { root, inert } = await staged([tab("a")], "/w");
    await act(() => {
      inert.value = true;
    });
    expect(root.querySelector(".win")).toBeNull();
    expect(one(root, ".plate h1").textContent).toBe("This page is no longer in use");
  });

  it("says so when drawing it fails, and can be loaded again", async () => {
    const { root, model, did } = await staged([tab("a")], "/w");
    const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
    await act(() => {
      model.slots.above.value = () => {
        throw new Error("mine");
      };
    });
    await settle();
    expect(one(root, ".plate h1").textContent).toBe("The interface stopped");
    await click(one(root, ".plate button"));
    expect(did).toEqual(["reload"]);
    quiet.mockRestore();
  });

  it("hides and shows the sidebar, and gives the panel a button when there is one", async () => {
    const { root, model } = await staged([tab("a")], "/w");
    expect(root.querySelector("[aria-label='AI panel']")).toBeNull();
    await click(one(root, "[aria-label='Hide sidebar']"));
    expect(root.querySelector(".side")).toBeNull();
    await click(one(root, "[aria-label='Show sidebar']"));
    expect(root.querySelector(".side")).not.toBeNull();
    await act(() => {
      model.slots.panel.value = () => "review";
    });
    const toggle = one(root, "button[aria-label='AI panel']");
    expect(root.querySelector("aside")).toBeNull();
    await click(toggle);
    expect(one(root, "aside").textContent).toBe("review");
  });

  it("draws the sidebar's edge by arrows, within its limits", async () => {
    const { root, model } = await staged([tab("a")], "/w");
    one(root, ".side [role=separator]").focus();
    await press("ArrowRight");
    expect(model.layout.sidebarWidth.value).toBe(264);
    for (let i = 0; i < 20; i++) {
      await press("ArrowLeft");
    }
    expect(model.layout.sidebarWidth.value).toBe(200);
    expect(one(root, ".side").style.getPropertyValue("--side-now")).toBe("200px");
  });

  it("runs the page's keymap, but not over a dialog and not what the text has used", async () => {
    const { root, model, did } = await staged([tab("a")], "/w");
    const off = listenForKeys(document, model.board);
    document.body.tabIndex = -1;
    document.body.focus();
    expect((await press("n", { ctrlKey: true })).defaultPrevented).toBe(true);
    const text = one(root, "[contenteditable]");
    text.addEventListener("keydown", (event) => event.preventDefault(), { once: true });
    text.focus();
    await press("n", { ctrlKey: true });
    await press("P", { ctrlKey: true, shiftKey: true });
    expect(root.querySelector(".palette")).not.toBeNull();
    await press("n", { ctrlKey: true });
    expect(did).toEqual(["new"]);
    off();
  });

  it("goes from part to part, each to what is current in it", async () => {
    const { root } = await staged([tab("a")], "/w");
    const visited: (string | undefined)[] = [];
    one(root, ".status").focus();
    for (let i = 0; i < 4; i++) {
      focusPart(document, 1);
      visited.push(
        document.activeElement?.closest<HTMLElement>("[data-part]")?.getAttribute("data-part") ?? undefined,
      );
    }
    expect(visited).toEqual(["strip", "sidebar", "text", "status"]);
    focusPart(document, -1);
    expect(document.activeElement).toBe(one(root, "[contenteditable]"));
    focusPart(document, -1);
    expect(document.activeElement?.getAttribute("role")).toBe("treeitem");
  });
});

// covers: E6 (theme, language and face without a reload)
describe("applyLook", () => {
  it("puts theme, language, system, face and size on the page", () => {
    const root = document.createElement("html");
    const settings = {
      ...defaultSettings,
      theme: "system",
      language: "system",
      face: "serif",
      textSize: 20,
    };
    const state = {
      settings,
      providers: [],
      problems: [],
      file: "",
      keptAside: "",
      version: "",
      os: "windows",
      canMoveKeys: "",
    };
    applyLook(root, state, { dark: true, contrast: false, languages: ["zh-CN"] });
    expect({ ...root.dataset, lang: root.lang }).toEqual({
      theme: "dark",
      os: "win",
      face: "serif",
      lang: "zh-CN",
    });
    expect(root.style.getPropertyValue("--text-size")).toBe("1.3125rem");
  });
});

describe("icons", () => {
  it("have a drawing each, and no drawing is left over", () => {
    expect([...iconsWithSource()].sort()).toEqual([...iconNames].sort());
  });

  it("are put into the page once, as shapes only", async () => {
    mountSprite(document);
    mountSprite(document);
    const symbols = document.querySelectorAll("svg.sprite symbol");
    expect(symbols).toHaveLength(iconNames.length);
    for (const symbol of symbols) {
      expect(symbol.children.length).toBeGreaterThan(0);
      expect(symbol.querySelector("script, style, image, foreignObject")).toBeNull();
    }
    const root = await show(<Icon name="x" small spin />);
    expect(one(root, "use").getAttribute("href")).toBe("#i-x");
    expect(one(root, "svg").getAttribute("aria-hidden")).toBe("true");
  });
});

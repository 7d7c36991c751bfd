import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { WorkspaceInfo } from "../backend";
import { t } from "../i18n";
import type { CommandBoard } from "./board";
import { DialogHost, type Dialogs } from "./dialog";
import { type FinderSource, OpenRecent, QuickOpen } from "./finder";
import { Icon } from "./icon";
import type { Layout } from "./layout";
import { isModalOpen } from "./modal";
import { Palette } from "./palette";
import { rovingIndex } from "./roving";
import { SettingsNav, SettingsPage, type SettingsSection } from "./settings";
import type { SettingsStore } from "./settings-store";
import { Shell } from "./shell";
import { FirstRun, NothingOpen, Plate } from "./start";
import { type StatusAsk, StatusBar, type StatusView } from "./status";
import { Tabs, type TabView } from "./tabs";
import { ToastHost, type Toasts } from "./toast";
import { type TreeHandlers, TreeView } from "./tree";
import { documentLabel, type Tree } from "./tree-model";
import type { RowMark } from "./tree-row";

/** The id of the settings' tab, among the ids of documents. */
const settingsTab = "settings";

/** Where the settings tab is: shut, behind a document, or in front. */
export interface SettingsTab {
  readonly open: Signal<boolean>;
  readonly front: Signal<boolean>;
  readonly section: Signal<SettingsSection>;
  /** The provider that is shown; "" for the first. */
  readonly provider: Signal<string>;
}

/** Makes a settings tab that is shut. */
export function createSettingsTab(): SettingsTab {
  return {
    open: signal(false),
    front: signal(false),
    section: signal<SettingsSection>("general"),
    provider: signal(""),
  };
}

/** Opens the settings tab at a section, and shows a provider there. */
export function showSettings(tab: SettingsTab, section?: SettingsSection, provider?: string): void {
  tab.open.value = true;
  tab.front.value = true;
  if (section !== undefined) {
    tab.section.value = section;
  }
  if (provider !== undefined) {
    tab.provider.value = provider;
  }
}

/** What the window needs of the open documents. `document/` has them; main.ts translates. */
export interface DocumentsView {
  readonly tabs: ReadonlySignal<readonly TabView[]>;
  /** The id of the document in front; "" for none. */
  readonly current: ReadonlySignal<string>;
  readonly status: ReadonlySignal<StatusView | null>;
  /** Puts the editor into the window, once; it stays there while the settings are in front. */
  readonly mount: (host: HTMLElement) => void;
  readonly focusText: () => void;
  readonly open: (path: string) => void;
  readonly select: (id: string) => void;
  /** Gives a tab another place, from 0. */
  readonly arrange: (id: string, index: number) => void;
  /** Closes a document, after asking about unsaved text. */
  readonly close: (id: string) => void;
}

/** The places where AI shows itself. `ai/` fills them; ui knows nothing of it. */
export interface Slots {
  /** The content of the panel; null while there is none. */
  readonly panel: Signal<(() => ComponentChildren) | null>;
  /** What stands in place of the text and all around it, as a comparison does; its answer is null for nothing. */
  readonly front: Signal<(() => ComponentChildren) | null>;
  /** Notices above the text. */
  readonly above: Signal<(() => ComponentChildren) | null>;
  /** What is being done, for the start of the status bar; "" for nothing. */
  readonly run: Signal<string>;
  /** What a conversation says of itself in the status bar; null for nothing. */
  readonly talk: Signal<StatusAsk | null>;
  /** What stands over the window; its answer is null for nothing. */
  readonly over: Signal<(() => ComponentChildren) | null>;
  /** The sidebar's search; null while there is none. */
  readonly search: Signal<(() => ComponentChildren) | null>;
  /** What stands in place of the tree, as the review of a move does; its answer is null for nothing. */
  readonly cover: Signal<(() => ComponentChildren) | null>;
  /** What stands below the tree, as the receipt of a move does. */
  readonly below: Signal<(() => ComponentChildren) | null>;
}

/** Makes empty slots. */
export function createSlots(): Slots {
  return {
    panel: signal(null),
    front: signal(null),
    above: signal(null),
    run: signal(""),
    talk: signal(null),
    over: signal(null),
    search: signal(null),
    cover: signal(null),
    below: signal(null),
  };
}

/** Everything the window shows. */
export interface WindowModel {
  readonly board: CommandBoard;
  readonly layout: Layout;
  readonly settings: SettingsStore;
  readonly settingsTab: SettingsTab;
  readonly dialogs: Dialogs;
  readonly toasts: Toasts;
  readonly workspace: ReadonlySignal<WorkspaceInfo>;
  readonly tree: Tree;
  readonly treeHandlers: TreeHandlers;
  readonly finder: FinderSource;
  readonly documents: DocumentsView;
  readonly slots: Slots;
  readonly onSample: () => void;
  /** True when a newer page has taken over: nothing here can be used any more. */
  readonly inert: ReadonlySignal<boolean>;
  /** What was open at the last end may still come: nothing is shown in its place. */
  readonly waiting: ReadonlySignal<boolean>;
  /** Loads the page anew, after it broke. */
  readonly reload: () => void;
}

/** The window. A failure in drawing it is caught, and said. */
export function Window({ model }: { readonly model: WindowModel }) {
  return (
    <Boundary reload={model.reload}>
      {model.inert.value ? (
        <Plate title={t("window.inert.title")} text={t("window.inert.text")} />
      ) : (
        <Whole model={model} />
      )}
    </Boundary>
  );
}

function Whole({ model }: { readonly model: WindowModel }) {
  const { layout, settings, documents, slots, board, dialogs, workspace } = model;
  const tabs = documents.tabs.value;
  const settingsFront = model.settingsTab.open.value && model.settingsTab.front.value;
  const first = tabs.length === 0 && workspace.value.path === "" && !model.settingsTab.open.value;
  const front = settingsFront ? null : (slots.front.value?.() ?? null);
  const { settings: chosen, providers } = settings.state.value;
  const platform = board.platform.value;
  return (
    <>
      <Shell
        layout={layout}
        sidebar={first || front !== null ? null : <Sidebar model={model} settingsFront={settingsFront} />}
        keepSidebar={settingsFront}
        wideSidebar={!settingsFront && (isSearchShown(model) || isCovered(model))}
        strip={<Strip model={model} settingsFront={settingsFront} />}
        above={settingsFront || front !== null ? null : slots.above.value?.()}
        textOf={documents.current.value ?? ""}
        panel={first || settingsFront || front !== null ? null : (slots.panel.value?.() ?? null)}
        status={
          settingsFront || front !== null ? null : (
            <StatusBar
              view={documents.status.value}
              run={slots.run.value}
              ask={slots.talk.value}
              language={chosen.language}
              theme={chosen.theme}
              onLanguage={(language) => void settings.update({ language })}
              onTheme={(theme) => void settings.update({ theme })}
            />
          )
        }
        toast={<ToastHost toasts={model.toasts} />}
      >
        {!settingsFront && tabs.length > 0 && (
          <h1 class="vh">
            {documentLabel(tabs.find((tab) => tab.id === documents.current.value)?.name ?? "")}
          </h1>
        )}
        <EditorSlot documents={documents} hidden={settingsFront || tabs.length === 0 || front !== null} />
        {front !== null && (
          <div class="slot" id="front" role="tabpanel" aria-label={t("window.text")} data-part="text">
            {front}
          </div>
        )}
        {settingsFront && (
          <div class="slot" id="front" role="tabpanel" aria-label={t("window.settings")} data-part="text">
            <SettingsPage
              settings={settings}
              dialogs={dialogs}
              section={model.settingsTab.section.value}
              provider={model.settingsTab.provider.value}
              onProvider={(id) => {
                model.settingsTab.provider.value = id;
              }}
              onSection={(section) => {
                model.settingsTab.section.value = section;
              }}
            />
          </div>
        )}
        {!settingsFront && tabs.length === 0 && (
          <div class="slot" data-part="text">
            {first && model.waiting.value ? null : first ? (
              <FirstRun
                board={board}
                recent={model.finder}
                aiOff={providers.length === 0}
                onSample={model.onSample}
                onAddProvider={() => showSettings(model.settingsTab, "providers")}
              />
            ) : (
              <NothingOpen board={board} />
            )}
          </div>
        )}
      </Shell>
      {layout.paletteOpen.value && (
        <Palette
          board={board}
          onClose={() => {
            layout.paletteOpen.value = false;
          }}
        />
      )}
      {layout.finder.value === "files" && (
        <QuickOpen source={model.finder} onClose={() => shutFinder(layout)} />
      )}
      {layout.finder.value === "recent" && (
        <OpenRecent source={model.finder} onClose={() => shutFinder(layout)} />
      )}
      {slots.over.value?.()}
      <DialogHost dialogs={dialogs} platform={platform} />
    </>
  );
}

function shutFinder(layout: Layout): void {
  layout.finder.value = "";
}

function Sidebar({ model, settingsFront }: { readonly model: WindowModel; readonly settingsFront: boolean }) {
  const { layout, settingsTab: tab } = model;
  return (
    <>
      <div class="bar">
        <span class="lights" aria-hidden="true" />
        <span class="grow" />
        {!settingsFront && (
          <button
            type="button"
            class="ib"
            aria-label={t("window.hideSidebar")}
            title={t("window.hideSidebar")}
            onClick={() => {
              layout.sidebarOpen.value = false;
            }}
          >
            <Icon name="panel-left" />
          </button>
        )}
      </div>
      {settingsFront ? (
        <SettingsNav
          section={tab.section.value}
          onSection={(section) => {
            tab.section.value = section;
          }}
        />
      ) : (
        <SideViews model={model} />
      )}
    </>
  );
}

function isSearchShown({ layout, slots }: WindowModel): boolean {
  return slots.search.value !== null && layout.sideView.value === "search";
}

function isCovered({ slots }: WindowModel): boolean {
  return (slots.cover.value?.() ?? null) !== null;
}

/** The sidebar's views under their tabs, one at a time. */
function SideViews({ model }: { readonly model: WindowModel }) {
  const { layout, slots, board } = model;
  const tabs = useRef<HTMLDivElement>(null);
  const search = isSearchShown(model);
  const views = [
    { id: "files", label: t("tree.files"), shown: !search },
    ...(slots.search.value === null ? [] : [{ id: "search", label: t("search.tab"), shown: search }]),
  ];
  const onKeyDown = (event: KeyboardEvent, index: number): void => {
    const to = rovingIndex(event.key, index, views.length, "horizontal", true);
    const next = views[to];
    if (next !== undefined && to !== index) {
      event.preventDefault();
      layout.sideView.value = next.id;
      tabs.current?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
    }
  };
  return (
    <>
      <div class="seg" role="tablist" aria-label={t("window.sidebar")} ref={tabs}>
        {views.map(({ id, label, shown }, index) => (
          <button
            type="button"
            role="tab"
            key={id}
            aria-selected={shown}
            aria-controls={shown ? `side-${id}` : undefined}
            tabIndex={shown ? 0 : -1}
            onClick={() => {
              layout.sideView.value = id;
            }}
            onKeyDown={(event) => onKeyDown(event, index)}
          >
            {label}
          </button>
        ))}
      </div>
      {search ? (
        <div class="side-view" role="tabpanel" id="side-search" aria-label={t("search.tab")}>
          {slots.search.value?.()}
        </div>
      ) : (
        <Files model={model} />
      )}
      {/* The search and a review have their own foot. */}
      {!search && !isCovered(model) && (
        <div class="side-foot">
          <button
            type="button"
            class="ib"
            aria-label={t("window.settings")}
            title={t("window.settings")}
            onClick={() => board.run("app.settings")}
          >
            <Icon name="settings" />
          </button>
        </div>
      )}
    </>
  );
}

function Files({ model }: { readonly model: WindowModel }) {
  const { workspace, documents, board, tree, slots } = model;
  const { path, name } = workspace.value;
  const tabs = documents.tabs.value;
  const current = tabs.find((tab) => tab.id === documents.current.value)?.path ?? "";
  const marks = new Map(tabs.flatMap((tab) => markOf(tab)));
  useEffect(() => tree.reveal(current), [tree, path, current]);
  const cover = slots.cover.value?.() ?? null;
  if (cover !== null) {
    return (
      <div class="side-view" role="tabpanel" id="side-files" aria-label={t("tree.files")}>
        {cover}
      </div>
    );
  }
  return (
    <div class="side-view" role="tabpanel" id="side-files" aria-label={t("tree.files")}>
      <div class="side-head">
        <span class="grow clip" title={path || undefined}>
          {name || t("tree.noFolder.title")}
        </span>
        <button
          type="button"
          class="ib sm"
          aria-label={t("tree.newDocument")}
          title={t("tree.newDocument")}
          onClick={() => board.run(path === "" ? "file.new" : "file.newInFolder")}
        >
          <Icon name="plus" />
        </button>
      </div>
      <div class="side-body scrolls">
        {path === "" ? (
          <div class="empty">
            <span>{t("tree.noFolder.text")}</span>
            <button type="button" class="btn" onClick={() => board.run("file.openFolder")}>
              {t("start.openFolder")}
            </button>
          </div>
        ) : (
          <TreeView
            tree={tree}
            label={name}
            current={current}
            marks={marks}
            platform={board.platform.value}
            handlers={model.treeHandlers}
          />
        )}
      </div>
      {slots.below.value?.()}
    </div>
  );
}

/** The mark that an open document gives its row. */
function markOf(tab: TabView): readonly (readonly [string, RowMark])[] {
  const mark = tab.conflict ? "conflict" : tab.missing ? "missing" : tab.dirty ? "unsaved" : null;
  return mark === null || tab.path === "" ? [] : [[tab.path, mark]];
}

function Strip({ model, settingsFront }: { readonly model: WindowModel; readonly settingsFront: boolean }) {
  const { documents, settingsTab: tab } = model;
  const settingsView: TabView = {
    id: settingsTab,
    name: t("window.settings"),
    path: "",
    dirty: false,
    readOnly: false,
    conflict: false,
    missing: false,
  };
  const tabs = tab.open.value ? [...documents.tabs.value, settingsView] : documents.tabs.value;
  if (tabs.length === 0) {
    return null;
  }
  return (
    <Tabs
      tabs={tabs}
      current={settingsFront ? settingsTab : documents.current.value}
      controls="front"
      onSelect={(id, focusText) => {
        tab.front.value = id === settingsTab;
        if (id !== settingsTab) {
          documents.select(id);
          if (focusText) {
            documents.focusText();
          }
        }
      }}
      onArrange={(id, index) => {
        // The settings' tab stays behind the documents'.
        if (id !== settingsTab) {
          documents.arrange(id, Math.min(index, documents.tabs.value.length - 1));
        }
      }}
      onClose={(id) => {
        if (id === settingsTab) {
          tab.open.value = false;
          tab.front.value = false;
        } else {
          documents.close(id);
        }
      }}
    />
  );
}

function EditorSlot({ documents, hidden }: { readonly documents: DocumentsView; readonly hidden: boolean }) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (host.current !== null) {
      documents.mount(host.current);
    }
  }, [documents]);
  // Whatever was here instead may have taken the focus with it.
  useLayoutEffect(() => {
    if (!hidden && document.activeElement === document.body) {
      documents.focusText();
    }
  }, [documents, hidden]);
  return (
    <div
      class="slot"
      id={hidden ? undefined : "front"}
      role="tabpanel"
      aria-label={t("window.text")}
      data-part={hidden ? undefined : "text"}
      hidden={hidden}
      ref={host}
    />
  );
}

/** Runs the page's keymap: presses that nothing on the way has used. Returns what takes it off. */
export function listenForKeys(target: EventTarget, board: CommandBoard): () => void {
  const onKeyDown = (event: Event): void => {
    if (event instanceof KeyboardEvent && !event.defaultPrevented && !isModalOpen() && board.press(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  target.addEventListener("keydown", onKeyDown);
  return () => target.removeEventListener("keydown", onKeyDown);
}

/** Catches what goes wrong while drawing: the text is safe with the host, and that is said. */
class Boundary extends Component<
  { readonly reload: () => void; readonly children: ComponentChildren },
  { readonly broken: boolean }
> {
  override state = { broken: false };

  static override getDerivedStateFromError(): { readonly broken: boolean } {
    return { broken: true };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override render() {
    return this.state.broken ? (
      <Plate
        title={t("window.broken.title")}
        text={t("window.broken.text")}
        action={{ label: t("window.broken.reload"), run: this.props.reload }}
      />
    ) : (
      this.props.children
    );
  }
}

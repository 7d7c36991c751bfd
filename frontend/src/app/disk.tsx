/** Files that change outside: taking them over where nothing is unsaved, and saying so where something is. */

import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { DiskChanged, Document } from "../backend";
import type { Documents, Tab } from "../document";
import { type Endings, endingsOf, isComposing } from "../editor";
import { formatTime, t } from "../i18n";
import { documentLabel, Notice } from "../ui";
import type { Compare } from "./compare";
import type { Files } from "./files";

/** A file that was taken over by itself. */
export interface Reloaded {
  /** When the file changed, in ms; 0 when that is not known. */
  readonly atMs: number;
  /** The text before. */
  readonly text: string;
  readonly endings: Endings;
}

/** What following files needs. */
export interface DiskConfig {
  readonly documents: Documents;
  readonly files: Files;
  readonly compare: Compare;
  /** Shows how the text differs from an earlier one. */
  readonly showBefore: (tab: Tab, title: string, text: string, endings: Endings) => void;
  /** Shows a file in the system's file manager. */
  readonly onShowFile: (path: string) => void;
}

/** The files of open documents, as they change outside. */
export interface Disk {
  readonly follow: (changed: DiskChanged) => void;
  /** What was taken over by itself and not edited since, by the document's id. */
  readonly reloaded: ReadonlySignal<ReadonlyMap<string, Reloaded>>;
  /** Shows what the last reload of the document in front has changed. */
  readonly showReloaded: () => void;
  /** Notices about the file of the document in front. */
  readonly Notices: () => preact.JSX.Element | null;
}

/** What a composition leaves is in the text this long after its end, in ms. */
const settleMs = 60;

/** Follows the files of the open documents. */
export function followDisk(config: DiskConfig): Disk {
  const { documents, files, compare } = config;
  const { view } = documents;
  const reloaded = signal<ReadonlyMap<string, Reloaded>>(new Map());
  /** When each file changed, as the host told. */
  const changedAt = new Map<string, number>();
  /** Documents that are being reloaded, or could not be in this state of the file. */
  const busy = new Map<string, unknown>();
  /** Counts the compositions that have ended. */
  const composed = signal(0);
  /** Restored drafts whose notice the person has closed. */
  const closed = signal<ReadonlySet<string>>(new Set());

  view.dom.addEventListener("compositionend", () => {
    setTimeout(() => {
      composed.value += 1;
    }, settleMs);
  });

  // Whatever makes a document clean while its file differs: an event, an undo, the start.
  effect(() => {
    composed.value;
    for (const tab of documents.tabs.value) {
      const info = tab.info.value;
      const isIdle = !tab.dirty.value && !tab.saving.value;
      if (info.disk !== "changed") {
        busy.delete(tab.id);
      } else if (isIdle && busy.get(tab.id) !== info && !(isFront(tab) && isComposing(view))) {
        busy.set(tab.id, info);
        // Not within the effect: it changes what this one reads.
        queueMicrotask(() => void take(tab));
      }
    }
  });

  documents.watch((tab, tr) => {
    if (reloaded.peek().has(tab.id) && !tr.isUserEvent("input.reload")) {
      forget(tab);
    }
  });

  function isFront(tab: Tab): boolean {
    return documents.current.value === tab;
  }

  function forget(tab: Tab): void {
    const rest = new Map(reloaded.peek());
    rest.delete(tab.id);
    reloaded.value = rest;
  }

  /** Takes over a file, where nothing is unsaved. */
  async function take(tab: Tab): Promise<void> {
    const state = tab.state();
    if (tab.dirty.peek() || tab.saving.peek() || (documents.current.peek() === tab && isComposing(view))) {
      busy.delete(tab.id);
      return;
    }
    try {
      await documents.reload(tab.id);
      const text = state.doc.toString();
      if (text !== tab.state().doc.toString()) {
        const atMs = changedAt.get(tab.id) ?? 0;
        reloaded.value = new Map(reloaded.peek()).set(tab.id, { atMs, text, endings: endingsOf(state) });
      }
    } catch {
      // The file is not as it was when it was told of; what it is now is told as well.
    }
  }

  // The notice goes, with the button that was pressed: the focus is the text's again.
  function writeMine(tab: Tab): void {
    compare.leave(tab);
    void files.save(tab, true);
    documents.view.focus();
  }

  function takeTheirs(tab: Tab): void {
    compare.leave(tab);
    files.attempt(() => documents.reload(tab.id));
    documents.view.focus();
  }

  function DiskNotices() {
    const tab = documents.current.value;
    if (tab === null) {
      return null;
    }
    const info = tab.info.value;
    const conflict = info.disk === "changed" && tab.dirty.value;
    const restored =
      info.restoredAtMs > 0 && tab.dirty.value && !closed.value.has(tab.id) && info.readOnly === "";
    return (
      <>
        {conflict && (
          <Notice
            kind="warn"
            title={t("faults.changed_on_disk.title")}
            text={t("faults.changed_on_disk.text")}
            actions={
              <>
                <Step label={t("action.keepMine")} run={() => writeMine(tab)} />
                <Step label={t("action.takeTheirs")} run={() => takeTheirs(tab)} />
                <Step label={t("action.compare")} run={() => void compare.open(tab)} />
              </>
            }
          />
        )}
        {info.disk === "missing" && (
          <Notice
            kind="warn"
            title={t("disk.missing.title", { name: documentLabel(info.name) })}
            text={t("disk.missing.text")}
            actions={
              <>
                <Step label={t("disk.missing.save")} run={() => writeMine(tab)} />
                <Step label={t("disk.missing.close")} run={() => files.view.close(tab.id)} quiet />
              </>
            }
          />
        )}
        {info.readOnly !== "" && <ReadOnly info={info} onShow={config.onShowFile} />}
        {restored && (
          <Notice
            icon="clock"
            title={t("disk.restored.title", { time: formatTime(info.restoredAtMs) })}
            text={t(info.path === "" ? "disk.restored.untitled" : "disk.restored.text")}
            actions={
              <>
                {info.path !== "" && info.disk !== "missing" && !conflict && (
                  <>
                    <Step label={t("disk.restored.compare")} run={() => void compare.open(tab)} />
                    <Step label={t("dialogs.draft.discard")} run={() => takeTheirs(tab)} quiet bad />
                  </>
                )}
                <Step
                  label={t("action.dismiss")}
                  run={() => {
                    closed.value = new Set(closed.peek()).add(tab.id);
                    documents.view.focus();
                  }}
                  quiet
                />
              </>
            }
          />
        )}
      </>
    );
  }

  return {
    follow: (changed) => {
      changedAt.set(changed.documentId, changed.atMs);
      documents.followFile(changed.document);
      const tab = documents.tabs.peek().find((other) => other.id === changed.documentId);
      if (tab !== undefined) {
        void compare.refresh(tab);
      }
    },
    reloaded,
    showReloaded: () => {
      const tab = documents.current.peek();
      const before = reloaded.peek().get(tab?.id ?? "");
      if (tab !== null && before !== undefined) {
        config.showBefore(tab, t("disk.before"), before.text, before.endings);
      }
    },
    Notices: DiskNotices,
  };
}

function Step({
  label,
  run,
  quiet = false,
  bad = false,
}: {
  readonly label: string;
  readonly run: () => void;
  readonly quiet?: boolean;
  readonly bad?: boolean;
}) {
  return (
    <button type="button" class={`btn sm${quiet ? " quiet" : ""}${bad ? " bad" : ""}`} onClick={run}>
      {label}
    </button>
  );
}

/** Why a document cannot be edited, and what can be done about it. */
function ReadOnly({ info, onShow }: { readonly info: Document; readonly onShow: (path: string) => void }) {
  const large = info.readOnly === "too_large";
  return (
    <Notice
      icon="lock"
      title={t(large ? "disk.readOnly.large" : "disk.readOnly.encoding")}
      text={t(large ? "disk.readOnly.large.text" : "disk.readOnly.encoding.text")}
      actions={info.path !== "" && <Step label={t("disk.readOnly.show")} run={() => onShow(info.path)} />}
    />
  );
}

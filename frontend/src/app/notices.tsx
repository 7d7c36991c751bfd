/** What is said above the text: failures, drafts that were found, conflicts. */

import { signal } from "@preact/signals";
import type { BackendError, Draft } from "../backend";
import type { Documents, Tab } from "../document";
import { formatTime, t } from "../i18n";
import { documentLabel, FaultNotice, Notice } from "../ui";
import type { Compare } from "./compare";
import type { Disk } from "./disk";
import type { Files } from "./files";

/** Makes what is shown above the text. */
export function createNotices(documents: Documents, files: Files, compare: Compare, disk: Disk) {
  /** The last problem of a tab that the person has closed. */
  const closed = signal<BackendError | null>(null);

  function TabProblem({ tab, error }: { readonly tab: Tab; readonly error: BackendError }) {
    const close = (): void => {
      closed.value = error;
    };
    const conflict = error.code === "changed_on_disk";
    return (
      <FaultNotice
        fault={{ code: error.code, detail: error.detail, retryAfterMs: error.retryAfterMs }}
        actions={{
          retry: () => void files.save(tab),
          saveElsewhere: () => void files.saveAs(tab),
          ...(conflict && {
            keepMine: () => void files.save(tab, true),
            takeTheirs: () => files.attempt(() => documents.reload(tab.id)),
            compare: () => void compare.open(tab),
          }),
          dismiss: close,
        }}
      />
    );
  }

  return function Notices() {
    const tab = documents.current.value;
    const problem = tab?.problem.value ?? null;
    const failure = files.failure.value;
    const fallback = files.fallback.value;
    return (
      <>
        {failure && (
          <FaultNotice
            fault={{
              code: failure.error.code,
              detail: failure.error.detail,
              retryAfterMs: failure.error.retryAfterMs,
            }}
            actions={{
              ...(failure.retry && { retry: failure.retry }),
              openFolder: () => files.actions["file.openFolder"]?.run(),
              dismiss: files.dismiss,
            }}
          />
        )}
        {files.gone.value !== "" && <FolderGone files={files} />}
        {tab && problem && problem !== closed.value && !isSaidOfFile(tab, problem) && (
          <TabProblem tab={tab} error={problem} />
        )}
        <disk.Notices />
        {fallback && (
          <Notice
            kind="warn"
            title={t("editor.fallback.title")}
            text={t("editor.fallback.text", { path: fallback.path })}
            actions={
              <button type="button" class="btn sm" onClick={files.dismiss}>
                {t("action.dismiss")}
              </button>
            }
          />
        )}
        {documents.drafts.value.map((draft) => (
          <FoundDraft key={draft.id} draft={draft} documents={documents} files={files} />
        ))}
      </>
    );
  };
}

/** Whether the notice about the file says it already. */
function isSaidOfFile(tab: Tab, { code }: BackendError): boolean {
  const { disk } = tab.info.value;
  return (code === "changed_on_disk" && disk === "changed") || (code === "not_found" && disk === "missing");
}

/** The open folder is not there any more. */
function FolderGone({ files }: { readonly files: Files }) {
  return (
    <Notice
      kind="warn"
      title={t("tree.gone.title", { name: files.gone.value })}
      text={t("tree.gone.text")}
      actions={
        <>
          <button type="button" class="btn sm" onClick={() => files.actions["file.openFolder"]?.run()}>
            {t("action.openFolder")}
          </button>
          <button
            type="button"
            class="btn sm quiet"
            onClick={() => {
              files.gone.value = "";
            }}
          >
            {t("action.dismiss")}
          </button>
        </>
      }
    />
  );
}

function FoundDraft({
  draft,
  documents,
  files,
}: {
  readonly draft: Draft;
  readonly documents: Documents;
  readonly files: Files;
}) {
  return (
    <Notice
      icon="clock"
      title={t("dialogs.draft.title", { time: formatTime(draft.savedAtMs), name: documentLabel(draft.name) })}
      text={t(draft.conflict ? "dialogs.draft.conflict" : "dialogs.draft.text")}
      actions={
        <>
          <button
            type="button"
            class="btn sm"
            data-action="restore-draft"
            onClick={() => files.attempt(() => documents.restoreDraft(draft.id))}
          >
            {t("dialogs.draft.restore")}
          </button>
          <button
            type="button"
            class="btn sm quiet bad"
            onClick={() => files.attempt(() => documents.discardDraft(draft.id))}
          >
            {t("dialogs.draft.discard")}
          </button>
        </>
      }
    />
  );
}

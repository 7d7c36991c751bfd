import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ReviewedSet, SetEdit } from "../backend";
import { isFaultCode } from "../backend";
import { t } from "../i18n";
import { coreOf, shorten, tailOf, visible } from "./excerpt";
import { describeFault } from "./fault";
import { Icon } from "./icon";
import { LongTree } from "./long-tree";
import { Notice } from "./notice";
import { fileTick, type SetRefusal, type SetRow, type SetView, setRows, ticksOf } from "./set-model";
import { documentLabel } from "./tree-model";

/** What can be done with a set. */
export interface SetActions {
  readonly tickEdit: (path: string, edit: number, on: boolean) => void;
  readonly tickFile: (path: string, on: boolean) => void;
  readonly apply: () => void;
  readonly moveOnly: () => void;
  readonly undo: () => void;
  readonly again: () => void;
  readonly close: () => void;
  /** Opens a document where an edit is. */
  readonly open: (row: SetRow, toText: boolean) => void;
  readonly leave: () => void;
}

/** Props of SetReview. */
export interface SetReviewProps {
  readonly view: SetView;
  readonly at: Signal<string>;
  readonly collapsed: Signal<ReadonlySet<string>>;
  readonly actions: SetActions;
}

/**
 * The review of a set: what would change in which file, each with a tick, and
 * the one button that does all of it. After it was applied the list stays, with
 * the receipt and Undo in the button's place.
 */
export function SetReview({ view, at, collapsed, actions }: SetReviewProps) {
  const { set, status } = view;
  const rows = setRows(view, collapsed.value, spokenEdit);
  const ticked = ticksOf(view);
  const n = ticked.reduce((sum, file) => sum + file.edits.length, 0);
  const able = set.files.filter((file) => file.problem === "" && file.edits.length > 0);
  const total = able.reduce((sum, file) => sum + file.edits.length, 0);
  const ticking = status === "review" || status === "applying";
  const toggle = (path: string): void => {
    const next = new Set(collapsed.peek());
    if (!next.delete(path)) {
      next.add(path);
    }
    collapsed.value = next;
  };
  return (
    <>
      <div class="set-head">
        {set.kind === "move" && <h2 class="p-title">{titleOf(set)}</h2>}
        {set.kind === "move" && <p class="meta">{t("set.links", { n: total, files: able.length })}</p>}
        <div class="meta num">{ticking ? t("set.counts", { n, total }) : t("set.some", { n, total })}</div>
        {set.cut && <div class="meta">{t(set.kind === "move" ? "set.cut.move" : "set.cut")}</div>}
      </div>
      {rows.length === 0 ? (
        <div class="hits">
          <div class="empty pad">
            <b>{t("set.nothing")}</b>
          </div>
        </div>
      ) : (
        <LongTree
          rows={rows}
          label={t("set.changes")}
          at={at}
          draw={(row) => <SetRowContent row={row} view={view} />}
          onOpen={(row, toText) => actions.open(row, toText)}
          onToggle={(row) => toggle(row.file.path)}
          {...(status === "review" && {
            onTick: (row: SetRow) => {
              if (row.type === "edit") {
                actions.tickEdit(row.file.path, row.index, row.tick !== "all");
              } else if (row.type === "file") {
                actions.tickFile(row.file.path, row.tick !== "all");
              }
            },
          })}
          onLeave={actions.leave}
          takesLostFocus
        />
      )}
      <SetFoot view={view} n={n} files={ticked.length} actions={actions} />
    </>
  );
}

function SetFoot({
  view,
  n,
  files,
  actions,
}: {
  readonly view: SetView;
  readonly n: number;
  readonly files: number;
  readonly actions: SetActions;
}) {
  const { set, status, refusal } = view;
  if (status === "applied" || status === "undoing" || status === "undone") {
    return (
      <div class="foot">
        <SetReceipt view={view} actions={actions} />
      </div>
    );
  }
  const busy = status === "applying";
  const move = set.kind === "move";
  return (
    <div class="foot">
      {refusal && <Refusal refusal={refusal} set={set} actions={actions} />}
      <div class="acts">
        <button
          type="button"
          class="btn primary grow"
          disabled={busy || (n === 0 && !move)}
          onClick={n === 0 ? actions.moveOnly : actions.apply}
        >
          {busy && <Icon name="loader-circle" small spin />}
          <span class="clip">{busy ? busyLabel(set) : applyLabel(set, n, files)}</span>
        </button>
        <button type="button" class="btn" disabled={busy} onClick={actions.close}>
          {t("dialogs.cancel")}
        </button>
      </div>
      {move && n > 0 && (
        <button type="button" class="btn quiet start" disabled={busy} onClick={actions.moveOnly}>
          {t(isRename(set) ? "set.renameOnly" : "set.moveOnly")}
        </button>
      )}
      <div class="meta">{t("set.promise")}</div>
    </div>
  );
}

/** What an applied set has done, with Undo; or that it was undone. */
export function SetReceipt({
  view,
  actions,
}: {
  readonly view: SetView;
  readonly actions: Pick<SetActions, "undo" | "again" | "close">;
}) {
  const { status, refusal, set } = view;
  const undone = status === "undone";
  const done = useRef<HTMLButtonElement>(null);
  // The button that was pressed is gone; this one does no harm.
  useEffect(() => {
    if (document.activeElement === document.body) {
      done.current?.focus();
    }
  }, [status]);
  return (
    <>
      {refusal && <Refusal refusal={refusal} set={set} actions={actions} />}
      <div class="receipt" role="status">
        <Icon name={undone ? "undo-2" : "check"} small />
        <div class="grow">
          {(undone ? [t("set.undone")] : receiptOf(view)).map((sentence) => (
            <div key={sentence}>{sentence}</div>
          ))}
        </div>
      </div>
      <div class="acts">
        {!undone && (
          <button type="button" class="btn" disabled={status === "undoing"} onClick={actions.undo}>
            {status === "undoing" && <Icon name="loader-circle" small spin />}
            {t(status === "undoing" ? "set.undoing" : "set.undo")}
          </button>
        )}
        <button
          type="button"
          class="btn quiet"
          ref={done}
          disabled={status === "undoing"}
          onClick={actions.close}
        >
          {t("set.done")}
        </button>
      </div>
    </>
  );
}

function Refusal({
  refusal,
  set,
  actions,
}: {
  readonly refusal: SetRefusal;
  readonly set: ReviewedSet;
  readonly actions: Pick<SetActions, "again">;
}) {
  const { title, text, again } = refusalText(refusal);
  return (
    <Notice
      kind="warn"
      title={title}
      text={text}
      actions={
        again && (
          <button type="button" class="btn sm" onClick={actions.again}>
            {t(set.kind === "move" ? "set.lookAgain" : "search.again")}
          </button>
        )
      }
    />
  );
}

function refusalText({ error, undoing }: SetRefusal): {
  readonly title: string;
  readonly text: string;
  readonly again: boolean;
} {
  const { code, detail } = error;
  const name = baseOf(detail);
  if (code === "changed_on_disk") {
    return undoing
      ? { title: t("set.refused.undoDisk", { name }), text: t("set.refused.undoNothing"), again: false }
      : { title: t("set.refused.disk", { name }), text: t("set.refused.nothing"), again: true };
  }
  if (code === "stale" || code === "unknown_base") {
    return undoing
      ? { title: t("set.refused.undoTyped", { name }), text: t("set.refused.undoNothing"), again: false }
      : { title: t("set.refused.typed", { name }), text: t("set.refused.nothing"), again: true };
  }
  const { title } = describeFault(error);
  return {
    title,
    text: t(undoing ? "set.refused.undoNothing" : "set.refused.nothing"),
    again: !undoing,
  };
}

function SetRowContent({ row, view }: { readonly row: SetRow; readonly view: SetView }) {
  switch (row.type) {
    case "file": {
      const { file } = row;
      const ticked = file.edits.length - untickedIn(view, file.path);
      const some = view.status === "review" && fileTick(view, file.path) === "some";
      return (
        <FileLabel name={file.name}>
          {view.takenBack.has(file.path) && <span class="meta">{t("set.undone.file")}</span>}
          {file.problem === "" && file.edits.length > 0 && (
            <span class="meta num">
              {some ? t("set.some", { n: ticked, total: file.edits.length }) : row.edits}
            </span>
          )}
          {file.problem !== "" && <Icon name="triangle-alert" small />}
        </FileLabel>
      );
    }
    case "left":
      return (
        <span class="clip" title={t("set.left.why")}>
          {t("set.left", { n: row.file.left })}
        </span>
      );
    case "problem":
      return (
        <span class="clip">{t("set.problem", { reason: problemText(row.file.problem, row.file.name) })}</span>
      );
    case "edit": {
      const { edit, file, index } = row;
      const changed = view.changed.get(file.path)?.has(index) === true;
      // A link's new target differs from the old one in a part, which a row has room for.
      const { before, old, insert, after } = view.set.kind === "move" ? coreOf(edit) : edit;
      return (
        <>
          <span class="n">{edit.line}</span>
          <span class="clip grow">
            {tailOf(before)}
            {old !== "" && <del>{shorten(old)}</del>}
            {old !== "" && insert !== "" && " "}
            {insert !== "" && <ins>{shorten(insert)}</ins>}
            {visible(after)}
          </span>
          {changed && (
            <span class="badge" title={t("set.changed")}>
              <Icon name="triangle-alert" />
              {t("set.changed")}
            </span>
          )}
        </>
      );
    }
  }
}

/** A file's row: its name, and the folder it is in. */
export function FileLabel({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}) {
  const at = name.lastIndexOf("/");
  return (
    <>
      <span class="clip grow" title={name}>
        {documentLabel(name.slice(at + 1))} {at > 0 && <span class="dir">{name.slice(0, at)}</span>}
      </span>
      {children}
    </>
  );
}

function untickedIn(view: SetView, path: string): number {
  return new Set([...(view.unticked.get(path) ?? []), ...(view.changed.get(path) ?? [])]).size;
}

function problemText(code: string, name: string): string {
  return describeFault({
    code: isFaultCode(code) ? code : "internal",
    detail: documentLabel(name.slice(name.lastIndexOf("/") + 1)),
    retryAfterMs: 0,
  }).title;
}

function spokenEdit(edit: SetEdit): string {
  const { line } = edit;
  const [old, insert] = [shorten(edit.old), shorten(edit.insert)];
  return insert === ""
    ? t("set.row.deleted", { line, old })
    : old === ""
      ? t("set.row.inserted", { line, insert })
      : t("set.row", { line, old, insert });
}

/** The sentences of a receipt. */
function receiptOf({ set, receipt, takenBack }: SetView): readonly string[] {
  const { edits: n, files, gaveWay } = receipt ?? { edits: 0, files: 0, gaveWay: 0 };
  const key = set.kind !== "move" ? "set.receipt" : isRename(set) ? "set.receipt.rename" : "set.receipt.move";
  const [first] = takenBack;
  const name = first === undefined ? "" : baseOf(first);
  return [
    t(key, { n, files }),
    ...(gaveWay > 0 ? [t("set.gaveWay", { n: gaveWay })] : []),
    ...(takenBack.size > 0 ? [t("set.takenBack", { n: takenBack.size, name })] : []),
  ];
}

function applyLabel(set: ReviewedSet, n: number, files: number): string {
  if (set.kind !== "move") {
    return t("set.replace", { n, files });
  }
  return t(isRename(set) ? "set.renameWith" : "set.moveWith", { n });
}

function busyLabel(set: ReviewedSet): string {
  return t(set.kind !== "move" ? "set.replacing" : isRename(set) ? "set.renaming" : "set.moving");
}

function titleOf({ from, to, ...set }: ReviewedSet): string {
  if (isRename({ from, to, ...set })) {
    return t("set.rename", { from: baseOf(from), to: baseOf(to) });
  }
  const folder = folderOf(to);
  return t("set.move", { name: baseOf(from), folder: folder.slice(separatorAt(folder) + 1) });
}

function isRename({ from, to }: Pick<ReviewedSet, "from" | "to">): boolean {
  return folderOf(from) === folderOf(to);
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, separatorAt(path)));
}

function baseOf(path: string): string {
  return documentLabel(path.slice(separatorAt(path) + 1));
}

function separatorAt(path: string): number {
  return Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
}

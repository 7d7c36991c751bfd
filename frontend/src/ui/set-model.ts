/** A reviewed set as it is shown: what is ticked, what was changed since, how it stands. */

import type { BackendError, ReviewedSet, SetEdit, SetFile, SetTicks } from "../backend";
import type { LongRow } from "./long-tree";

/** How a set stands. `applied` and `undone` are the end of its review. */
export type SetStatus = "review" | "applying" | "applied" | "undoing" | "undone";

/** Indices of edits, by the path of their file. */
export type EditsByPath = ReadonlyMap<string, ReadonlySet<number>>;

/** What came of applying or undoing, in numbers. */
export interface SetReceipt {
  readonly edits: number;
  readonly files: number;
  /** Edits that gave way to what was typed while the set was applied. */
  readonly gaveWay: number;
}

/** Why a set was not applied or not undone; nothing was changed then. */
export interface SetRefusal {
  readonly error: BackendError;
  readonly undoing: boolean;
}

/** A set under review or at its end. */
export interface SetView {
  readonly set: ReviewedSet;
  readonly status: SetStatus;
  /** The edits that the person took the tick from. */
  readonly unticked: EditsByPath;
  /** The edits whose text was changed since the preview: they cannot be ticked. */
  readonly changed: EditsByPath;
  /** The paths of documents whose part was taken back by their own undo. */
  readonly takenBack: ReadonlySet<string>;
  readonly refusal: SetRefusal | null;
  readonly receipt: SetReceipt | null;
}

/** Starts the review of a set: everything is ticked that can be. */
export function reviewSet(set: ReviewedSet, changed: EditsByPath): SetView {
  return {
    set,
    status: "review",
    unticked: new Map(),
    changed,
    takenBack: new Set(),
    refusal: null,
    receipt: null,
  };
}

/** Whether an edit is ticked. */
export function isTicked(view: SetView, path: string, edit: number): boolean {
  return view.unticked.get(path)?.has(edit) !== true && view.changed.get(path)?.has(edit) !== true;
}

/** The ticked edits of each file that has one. Files with a problem have none. */
export function ticksOf(view: SetView): readonly SetTicks[] {
  return view.set.files.flatMap((file) => {
    const edits =
      file.problem === "" ? [...file.edits.keys()].filter((i) => isTicked(view, file.path, i)) : [];
    return edits.length === 0 ? [] : [{ path: file.path, edits }];
  });
}

/** How a file's own tick stands. */
export function fileTick(view: SetView, path: string): "all" | "some" | "none" {
  const file = view.set.files.find((f) => f.path === path);
  const total = file?.edits.length ?? 0;
  const off = new Set([...(view.unticked.get(path) ?? []), ...(view.changed.get(path) ?? [])]).size;
  return total === 0 || off === total ? "none" : off === 0 ? "all" : "some";
}

/** Ticks or unticks one edit. */
export function tickEdit(view: SetView, path: string, edit: number, on: boolean): SetView {
  const off = new Set(view.unticked.get(path));
  if (on) {
    off.delete(edit);
  } else {
    off.add(edit);
  }
  return { ...view, unticked: new Map(view.unticked).set(path, off) };
}

/** Ticks or unticks all edits of a file. */
export function tickFile(view: SetView, path: string, on: boolean): SetView {
  const file = view.set.files.find((f) => f.path === path);
  const off = new Set(on ? [] : (file?.edits.keys() ?? []));
  return { ...view, unticked: new Map(view.unticked).set(path, off) };
}

/** The key of the row of an edit. */
export function rowKey(path: string, edit: number): string {
  return `${path}\n${edit}`;
}

/** A row of a set's list. */
export type SetRow = LongRow &
  (
    | { readonly type: "file"; readonly file: SetFile; readonly edits: number }
    | { readonly type: "edit"; readonly file: SetFile; readonly edit: SetEdit; readonly index: number }
    | { readonly type: "problem"; readonly file: SetFile }
    | { readonly type: "left"; readonly file: SetFile }
  );

/**
 * The rows of a set. Ticks are there while it is under review. `speak` gives
 * the words for an edit.
 */
export function setRows(
  view: SetView,
  collapsed: ReadonlySet<string>,
  speak: (edit: SetEdit) => string,
): readonly SetRow[] {
  const ticks = view.status === "review" || view.status === "applying";
  // Afterwards only what was done is of interest.
  const done = new Map(ticksOf(view).map(({ path, edits }) => [path, edits]));
  const files = ticks ? view.set.files : view.set.files.filter((file) => done.has(file.path));
  const rows: SetRow[] = [];
  for (const [i, file] of files.entries()) {
    const expanded = !collapsed.has(file.path);
    const isLeftOut = file.problem !== "";
    rows.push({
      type: "file",
      key: file.path,
      level: 1,
      position: i + 1,
      size: files.length,
      expanded,
      tick: ticks && !isLeftOut && file.edits.length > 0 ? fileTick(view, file.path) : null,
      spoken: "",
      off: false,
      file,
      edits: ticks ? file.edits.length : (done.get(file.path)?.length ?? 0),
    });
    if (expanded && isLeftOut) {
      const key = `${file.path}\nproblem`;
      const of = { level: 2, position: 1, size: 1, expanded: null, tick: null } as const;
      rows.push({ ...of, type: "problem", key, spoken: "", off: true, file });
    } else if (expanded) {
      const rest = ticks && file.left > 0 ? 1 : 0;
      const shown = [...file.edits.entries()].filter(([i]) => ticks || done.get(file.path)?.includes(i));
      for (const [at, [index, edit]] of shown.entries()) {
        rows.push({
          type: "edit",
          key: rowKey(file.path, index),
          level: 2,
          position: at + 1,
          size: shown.length + rest,
          expanded: null,
          tick: !ticks ? null : isTicked(view, file.path, index) ? "all" : "none",
          spoken: speak(edit),
          off: false,
          file,
          edit,
          index,
        });
      }
      if (rest > 0) {
        const key = `${file.path}\nleft`;
        const size = shown.length + 1;
        const of = { level: 2, position: size, size, expanded: null, tick: null } as const;
        rows.push({ ...of, type: "left", key, spoken: "", off: true, file });
      }
    }
  }
  return rows;
}

/**
 * Versions and tracked bases. A base is the text that a proposal or a running
 * rewrite was made for, with everything that happened since, composed; it is
 * kept only as long as somebody needs it.
 */

import type { EditorState, Extension, Text } from "@codemirror/state";
import { ChangeSet, StateEffect, StateField } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";

/** A text at one version, and what has changed since. */
export interface Base {
  readonly id: string;
  /** The document's version then. */
  readonly version: number;
  readonly text: Text;
  /** From `text` to the document now. */
  readonly changes: ChangeSet;
}

/** Counts as a version although no text changes, as when only line endings are replaced. */
export const countVersion = StateEffect.define<null>();

const versionField = StateField.define<number>({
  create: () => 1,
  update: (version, tr) =>
    tr.docChanged || tr.effects.some((effect) => effect.is(countVersion)) ? version + 1 : version,
});

const keepBase = StateEffect.define<string>();
const forgetBase = StateEffect.define<string>();

const basesField = StateField.define<ReadonlyMap<string, Base>>({
  create: () => new Map(),
  update: (bases, tr) => {
    let next = bases;
    if (tr.docChanged && bases.size > 0) {
      next = new Map(
        [...bases].map(([id, base]) => [id, { ...base, changes: base.changes.compose(tr.changes) }]),
      );
    }
    for (const effect of tr.effects) {
      if (effect.is(keepBase)) {
        const base: Base = {
          id: effect.value,
          version: tr.state.field(versionField),
          text: tr.newDoc,
          changes: ChangeSet.empty(tr.newDoc.length),
        };
        next = new Map(next).set(effect.value, base);
      } else if (effect.is(forgetBase) && next.has(effect.value)) {
        const rest = new Map(next);
        rest.delete(effect.value);
        next = rest;
      }
    }
    return next;
  },
});

/** Counts versions from `version`, one for each transaction that changes the text, and keeps bases. */
export function versions(version = 1): Extension {
  return [versionField.init(() => version), basesField];
}

/** The version of the document. */
export function versionOf(state: EditorState): number {
  return state.field(versionField);
}

/** Starts to track the text as it is now under `id`, replacing what was there. */
export function startBase(view: EditorView, id: string): Base {
  view.dispatch({ effects: keepBase.of(id) });
  const base = baseOf(view.state, id);
  if (base === null) throw new Error("bases are not kept in this editor");
  return base;
}

/** The base kept under `id`, with all changes since; null when there is none. */
export function baseOf(state: EditorState, id: string): Base | null {
  return state.field(basesField, false)?.get(id) ?? null;
}

/** The changes since the base kept under `id`; null when there is none. */
export function baseChanges(state: EditorState, id: string): ChangeSet | null {
  return baseOf(state, id)?.changes ?? null;
}

/** Stops tracking the base kept under `id`. */
export function dropBase(view: EditorView, id: string): void {
  if (baseOf(view.state, id) !== null) view.dispatch({ effects: forgetBase.of(id) });
}

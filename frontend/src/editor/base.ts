/**
 * Versions and tracked bases. A base is the text that a proposal or a running
 * rewrite was made for, with everything that happened since, composed; it is
 * kept only as long as somebody needs it. While a conversation runs nobody
 * knows yet which version its proposals will be for, so all of them are kept.
 */

import type { EditorState, Extension, Text, Transaction } from "@codemirror/state";
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

/** The effect that starts to track the text under an id, replacing what was there. */
export const keepBase = StateEffect.define<string>();

/** The effect that stops to track the base under an id. */
export const forgetBase = StateEffect.define<string>();

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

/** A version that is kept. */
interface Kept {
  readonly version: number;
  readonly text: Text;
  /** To the next one that is kept; null for the text now. */
  readonly next: ChangeSet | null;
  /** What keeping it costs, in UTF-16 units, roughly: texts share what did not change. */
  readonly cost: number;
}

/** Every version since the oldest that somebody needs, oldest first. Empty when nobody needs any. */
interface Log {
  /** The version from which on each user needs all. */
  readonly users: ReadonlyMap<string, number>;
  readonly kept: readonly Kept[];
}

/** How much a log holds before its oldest versions are thinned out. */
const mostKept = 4096;
const mostCost = 8_000_000;

/** The effect that keeps every version of a document from the one now on, until `user` lets go. */
export const keepVersions = StateEffect.define<string>();

/** The effect that lets go of the versions that were kept for a user. */
export const releaseVersions = StateEffect.define<string>();

const noLog: Log = { users: new Map(), kept: [] };

const logField = StateField.define<Log>({
  create: () => noLog,
  update: (log, tr) => {
    let { users, kept } = log;
    const version = tr.state.field(versionField);
    if (users.size > 0 && version !== tr.startState.field(versionField)) {
      const before = kept.slice(-1).map((one) => ({ ...one, next: tr.changes }));
      kept = thinned([...kept.slice(0, -1), ...before, keptOf(tr, version)], users);
    }
    for (const effect of tr.effects) {
      if (effect.is(keepVersions) && !users.has(effect.value)) {
        users = new Map(users).set(effect.value, version);
        kept = kept.length > 0 ? kept : [{ version, text: tr.newDoc, next: null, cost: 0 }];
      } else if (effect.is(releaseVersions) && users.has(effect.value)) {
        const rest = new Map(users);
        rest.delete(effect.value);
        users = rest;
        const first = Math.min(...rest.values());
        kept = kept.filter((one) => one.version >= first);
      }
    }
    return users === log.users && kept === log.kept ? log : { users, kept };
  },
});

function keptOf(tr: Transaction, version: number): Kept {
  // A changed line is a string of its own, however little of it changed.
  let cost = 64;
  tr.changes.iterChangedRanges((_fromA, _toA, from, to) => {
    cost += tr.newDoc.lineAt(to).to - tr.newDoc.lineAt(from).from;
  });
  return { version, text: tr.newDoc, next: null, cost };
}

/**
 * Keeps a log within its bounds: the oldest versions go first, but those that a
 * user began with stay, since they are what a proposal is most likely for.
 */
function thinned(kept: readonly Kept[], users: ReadonlyMap<string, number>): readonly Kept[] {
  let cost = kept.reduce((sum, one) => sum + one.cost, 0);
  if (kept.length <= mostKept && cost <= mostCost) return kept;
  const needed = new Set(users.values());
  const out: Kept[] = [];
  let over = kept.length - mostKept;
  for (const [i, one] of kept.entries()) {
    const before = out.at(-1);
    const isLast = i === kept.length - 1;
    if ((over <= 0 && cost <= mostCost) || needed.has(one.version) || isLast || !before?.next || !one.next) {
      out.push(one);
      continue;
    }
    out[out.length - 1] = { ...before, next: before.next.compose(one.next) };
    over -= 1;
    cost -= one.cost;
  }
  return out;
}

/** Counts versions from `version`, one for each transaction that changes the text, and keeps bases. */
export function versions(version = 1): Extension {
  return [versionField.init(() => version), basesField, logField];
}

/**
 * The text at a version and everything that changed since, composed; null when
 * that version is not kept.
 */
export function baseAt(state: EditorState, version: number): Base | null {
  const kept = state.field(logField, false)?.kept ?? [];
  const at = kept.findIndex((one) => one.version === version);
  const found = kept[at];
  if (found === undefined) return null;
  const steps = kept.slice(at).flatMap(({ next }) => (next === null ? [] : [next]));
  const changes = composed(steps) ?? ChangeSet.empty(found.text.length);
  return { id: `version ${version}`, version, text: found.text, changes };
}

/** The oldest text that is kept, and everything that changed since, composed; null when none is. */
export function oldestBase(state: EditorState): Base | null {
  const first = state.field(logField, false)?.kept[0];
  return first === undefined ? null : baseAt(state, first.version);
}

/** How many versions of a document are kept. */
export function versionsKept(state: EditorState): number {
  return state.field(logField, false)?.kept.length ?? 0;
}

/** Steps as one, by halves: one after the other a long log would take its square. */
function composed(steps: readonly ChangeSet[]): ChangeSet | null {
  if (steps.length < 2) return steps[0] ?? null;
  const half = steps.length >> 1;
  const first = composed(steps.slice(0, half));
  const second = composed(steps.slice(half));
  return first === null || second === null ? first : first.compose(second);
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

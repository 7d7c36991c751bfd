/** The keys of a review (UI.md section 7): chords in the text, letters in lists and toolbars. */

import type { Extension } from "@codemirror/state";
import { Prec } from "@codemirror/state";
import type { Command, KeyBinding } from "@codemirror/view";
import { EditorView, keymap, runScopeHandlers } from "@codemirror/view";
import type { KeyLike } from "./composition";
import { isComposing, isComposingEvent } from "./composition";
import {
  acceptHunk,
  acceptTicked,
  nextHunk,
  previousHunk,
  rejectAll,
  rejectHunk,
  request,
  toggleTick,
} from "./decide";
import { reviewOf } from "./review";

/** The system whose habits the keys follow. */
export type Platform = "mac" | "windows" | "linux";

/** What a key does in a review. */
export type ReviewAction =
  | "next"
  | "previous"
  | "accept"
  | "reject"
  | "accept_ticked"
  | "reject_all"
  | "toggle_tick"
  | "regenerate"
  | "next_version"
  | "previous_version"
  | "leave";

/** A chord of the text and what it does. `key` is in CodeMirror's notation. */
export interface ReviewKey {
  readonly action: Exclude<ReviewAction, "leave">;
  readonly key: string;
}

const common: readonly ReviewKey[] = [
  { action: "next", key: "F8" },
  { action: "previous", key: "Shift-F8" },
  { action: "accept", key: "Mod-Enter" },
  { action: "reject", key: "Mod-Shift-Backspace" },
  { action: "accept_ticked", key: "Mod-Shift-Enter" },
];

const onMac: readonly ReviewKey[] = [
  { action: "next", key: "Ctrl-Cmd-ArrowDown" },
  { action: "previous", key: "Ctrl-Cmd-ArrowUp" },
  { action: "regenerate", key: "Ctrl-Cmd-r" },
  { action: "next_version", key: "Ctrl-Cmd-ArrowRight" },
  { action: "previous_version", key: "Ctrl-Cmd-ArrowLeft" },
];

const elsewhere: readonly ReviewKey[] = [
  { action: "regenerate", key: "Shift-F9" },
  { action: "next_version", key: "F9" },
  { action: "previous_version", key: "Ctrl-F9" },
];

/** The chords of a platform; where an action has several, the first is the one to show. */
export function reviewKeys(platform: Platform): readonly ReviewKey[] {
  return platform === "mac" ? [...onMac, ...common] : [...common, ...elsewhere];
}

const commands: Readonly<Record<Exclude<ReviewAction, "leave">, Command>> = {
  next: nextHunk,
  previous: previousHunk,
  accept: acceptHunk,
  reject: rejectHunk,
  accept_ticked: acceptTicked,
  reject_all: rejectAll,
  toggle_tick: toggleTick,
  regenerate: (view) => request(view, "regenerate"),
  next_version: (view) => request(view, "next_version"),
  previous_version: (view) => request(view, "previous_version"),
};

/** Does what a key stands for; false when there is no review, or an input method is at work. */
export function runReviewAction(view: EditorView, action: Exclude<ReviewAction, "leave">): boolean {
  return commands[action](view);
}

/** The scope that keeps the chords out of the editor's ordinary key handling. */
const scope = "galley-review";

/**
 * The chords. They exist while a review is open and leave a key alone that
 * belongs to a composition, which the ordinary keymap cannot see.
 */
export function reviewKeymap(platform: Platform): Extension {
  const bindings = reviewKeys(platform).map(
    ({ action, key }): KeyBinding => ({ key, scope, run: commands[action] }),
  );
  return [
    keymap.of(bindings),
    Prec.highest(
      EditorView.domEventHandlers({
        keydown: (event, view) => {
          if (isComposingEvent(event) || isComposing(view) || reviewOf(view.state) === null) return false;
          return runScopeHandlers(view, event, scope);
        },
      }),
    ),
  ];
}

/** What is asked of a keydown in a review list or toolbar. */
export interface ListKey extends KeyLike {
  readonly key: string;
  readonly code: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

const letters: Readonly<Record<string, ReviewAction>> = {
  j: "next",
  k: "previous",
  a: "accept",
  r: "reject",
  g: "regenerate",
  f: "next_version",
};

const shifted: Readonly<Record<string, ReviewAction>> = {
  a: "accept_ticked",
  r: "reject_all",
  f: "previous_version",
};

const named: Readonly<Record<string, ReviewAction>> = {
  ArrowDown: "next",
  ArrowUp: "previous",
  ArrowRight: "next_version",
  ArrowLeft: "previous_version",
  Enter: "accept",
  Delete: "reject",
  " ": "toggle_tick",
  Escape: "leave",
};

/**
 * What a key does with focus in the review list or hunk toolbar: letters by
 * `key`, by `code` where the layout has none of them. Null for all else. The
 * caller asks before it acts on `reject_all`.
 */
export function reviewListAction(event: ListKey): ReviewAction | null {
  if (event.ctrlKey || event.metaKey || event.altKey || isComposingEvent(event)) return null;
  const special = named[event.key];
  if (special !== undefined) return event.shiftKey ? null : special;
  const latin = /^[a-z]$/i.test(event.key);
  const letter = latin
    ? event.key.toLowerCase()
    : (/^Key([A-Z])$/.exec(event.code)?.[1]?.toLowerCase() ?? "");
  return (event.shiftKey ? shifted : letters)[letter] ?? null;
}

const macSigns: Readonly<Record<string, string>> = {
  Mod: "⌘",
  Cmd: "⌘",
  Ctrl: "⌃",
  Shift: "⇧",
  Alt: "⌥",
  Enter: "⏎",
  Backspace: "⌫",
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
};

/** A chord as people read it: "⌘⇧⏎", "Ctrl+Shift+Enter". */
export function keyLabel(key: string, platform: Platform): string {
  const parts = key.split("-");
  if (platform === "mac") return parts.map((part) => macSigns[part] ?? part.toUpperCase()).join("");
  return parts
    .map((part) => (part === "Mod" ? "Ctrl" : part.replace(/^Arrow/, "")))
    .map((part) => (part.length === 1 ? part.toUpperCase() : part))
    .join("+");
}

/** The chord to show for an action; null when it has none. */
export function keyFor(action: ReviewAction, platform: Platform): string | null {
  const found = reviewKeys(platform).find((key) => key.action === action);
  return found === undefined ? null : keyLabel(found.key, platform);
}

/** The toolbar of the current hunk: a line of the page below it, so that it covers no text. */

import { Facet } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { WidgetType } from "@codemirror/view";
import { isComposingEvent } from "./composition";
import { request } from "./decide";
import { icon } from "./icon";
import type { Platform, ReviewAction } from "./keys";
import { keyFor, reviewListAction, runReviewAction } from "./keys";
import type { HunkView, ReviewLabels, ReviewRequest } from "./standing";

/** The platform whose keys the toolbar shows. */
export const reviewPlatform = Facet.define<Platform, Platform>({ combine: (values) => values[0] ?? "linux" });

/** What the toolbar shows; two with the same contents are one. */
export interface ToolbarContents {
  readonly hunk: HunkView;
  readonly labels: ReviewLabels;
  readonly requests: readonly ReviewRequest[];
  readonly platform: Platform;
}

type ButtonAction = Exclude<ReviewAction, "leave"> | "continue";

/** The widget of the toolbar. */
export class Toolbar extends WidgetType {
  constructor(private readonly contents: ToolbarContents) {
    super();
  }

  override eq(other: Toolbar): boolean {
    const a = this.contents;
    const b = other.contents;
    return (
      a.hunk.id === b.hunk.id &&
      a.hunk.number === b.hunk.number &&
      a.hunk.total === b.hunk.total &&
      kind(a) === kind(b) &&
      a.hunk.ticked === b.hunk.ticked &&
      a.labels === b.labels &&
      a.requests === b.requests &&
      a.platform === b.platform
    );
  }

  override get estimatedHeight(): number {
    return 40;
  }

  override toDOM(view: EditorView): HTMLElement {
    const { hunk, labels, platform } = this.contents;
    const what = kind(this.contents);
    const line = document.createElement("div");
    line.className = "g-hbar-line";
    const bar = document.createElement("div");
    bar.className = what === "locked" ? "g-hbar is-locked" : "g-hbar";
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", labels.toolbar(hunk));
    bar.appendChild(reason(this.contents));
    for (const action of buttons(this.contents)) bar.appendChild(button(view, action, labels, platform));
    bar.addEventListener("keydown", (event) => onKey(view, event));
    line.appendChild(bar);
    return line;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

type Kind = "plain" | "locked" | "stale" | "cut_off";

function kind({ hunk }: ToolbarContents): Kind {
  if (hunk.status === "stale") return "stale";
  if (hunk.cutOff && !hunk.ticked) return "cut_off";
  return hunk.warnings.length > 0 ? "locked" : "plain";
}

function reason(contents: ToolbarContents): HTMLElement {
  const { hunk, labels } = contents;
  const why = document.createElement("span");
  why.className = "g-why";
  switch (kind(contents)) {
    case "stale":
      why.append(icon("triangle-alert"), words(labels.stale));
      break;
    case "cut_off":
      why.append(icon("scissors"), words(labels.cutOff));
      break;
    case "locked":
      why.append(icon("lock"), words(labels.reason(hunk, hunk.deleted, hunk.inserted)));
      break;
    case "plain":
      why.append(words(labels.position(hunk)));
      break;
  }
  return why;
}

/** Words that end in an ellipsis where there is no room for them. */
function words(text: string): HTMLElement {
  const node = document.createElement("span");
  node.textContent = text;
  node.title = text;
  return node;
}

function buttons(contents: ToolbarContents): readonly ButtonAction[] {
  const asked = contents.requests;
  const can = (what: "regenerate" | "continue"): readonly ButtonAction[] =>
    asked.includes(what) ? [what] : [];
  switch (kind(contents)) {
    case "stale":
      return [...can("regenerate"), "reject", "previous", "next"];
    case "cut_off":
      return [...can("continue"), "reject", "previous", "next"];
    case "locked":
    case "plain":
      return ["accept", "reject", "previous", "next"];
  }
}

function button(
  view: EditorView,
  action: ButtonAction,
  labels: ReviewLabels,
  platform: Platform,
): HTMLElement {
  const node = document.createElement("button");
  node.type = "button";
  node.setAttribute("data-action", action);
  const key = action === "continue" ? null : keyFor(action, platform);
  if (action === "previous" || action === "next") {
    node.className = "ib sm";
    node.setAttribute("aria-label", action === "next" ? labels.next : labels.previous);
    node.title = key === null ? "" : key;
    node.appendChild(icon(action === "next" ? "chevron-down" : "chevron-up"));
  } else {
    node.className = "btn";
    node.append(word(action, labels));
    if (key !== null) {
      const shown = document.createElement("span");
      shown.className = "key";
      shown.textContent = key;
      node.append(" ", shown);
    }
  }
  // The caret stays where the person left it when the mouse presses a button.
  node.addEventListener("mousedown", (event) => event.preventDefault());
  node.addEventListener("click", () => {
    const inside = document.activeElement === node;
    act(view, action);
    if (inside) focusToolbar(view, action);
  });
  return node;
}

function word(action: ButtonAction, labels: ReviewLabels): string {
  switch (action) {
    case "accept":
      return labels.accept;
    case "regenerate":
      return labels.regenerate;
    case "continue":
      return labels.continue;
    default:
      return labels.reject;
  }
}

function act(view: EditorView, action: ButtonAction): void {
  if (action === "continue" || action === "reject_all") request(view, action);
  else runReviewAction(view, action);
}

function onKey(view: EditorView, event: KeyboardEvent): void {
  if (isComposingEvent(event)) return;
  const onButton = event.target instanceof HTMLButtonElement;
  // Enter and Space press the button they are on.
  if (onButton && (event.key === "Enter" || event.key === " ")) return;
  const action = reviewListAction(event);
  if (action === null) return;
  event.preventDefault();
  if (action === "leave") {
    view.focus();
    return;
  }
  const from = event.target instanceof Element ? event.target.getAttribute("data-action") : null;
  act(view, action);
  focusToolbar(view, from);
}

/**
 * Moves the focus to the toolbar of the current hunk, to the button of that
 * action when it has one; to the text when there is no toolbar. False then.
 */
export function focusToolbar(view: EditorView, action: string | null = null): boolean {
  const all = [...view.dom.querySelectorAll<HTMLButtonElement>(".g-hbar button")];
  const found = all.find((node) => node.getAttribute("data-action") === action) ?? all[0];
  if (found === undefined) view.focus();
  else found.focus();
  return found !== undefined;
}

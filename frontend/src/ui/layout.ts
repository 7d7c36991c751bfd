import { type Signal, signal } from "@preact/signals";

/** What of the window is shown, and how wide. Widths are in CSS pixels. */
export interface Layout {
  readonly sidebarOpen: Signal<boolean>;
  readonly panelOpen: Signal<boolean>;
  /** Null while it is the one of the style sheet. */
  readonly sidebarWidth: Signal<number | null>;
  readonly panelWidth: Signal<number | null>;
  /** The sidebar's width while it shows the search, which needs more. */
  readonly searchWidth: Signal<number | null>;
  readonly paletteOpen: Signal<boolean>;
  /** What the finder looks through; "" while it is shut. */
  readonly finder: Signal<"" | "files" | "recent">;
  /** The id of the sidebar's view. */
  readonly sideView: Signal<string>;
  /** The id of the panel's view. */
  readonly panelView: Signal<string>;
}

/** The widths a person may draw a side part to, in CSS pixels. */
export const widths = {
  sidebar: { usual: 248, min: 200, max: 420 },
  search: { usual: 400, min: 280, max: 640 },
  panel: { usual: 384, min: 320, max: 560 },
} as const;

/** Makes the layout of a window. */
export function createLayout(): Layout {
  return {
    sidebarOpen: signal(true),
    panelOpen: signal(false),
    sidebarWidth: signal<number | null>(null),
    panelWidth: signal<number | null>(null),
    searchWidth: signal<number | null>(null),
    paletteOpen: signal(false),
    finder: signal<"" | "files" | "recent">(""),
    sideView: signal("files"),
    panelView: signal("conversation"),
  };
}

/** The parts that F6 goes through, in order, as `data-part` names them. */
const parts = ["strip", "sidebar", "text", "panel", "status"] as const;

/**
 * Moves the focus to the next part of the window (`step` 1) or the one before
 * (−1). Within a part the element in the tab order gets it: the current tab,
 * the current row of the tree, the text, or what is marked with `data-focus`.
 */
export function focusPart(document: Document, step: 1 | -1): void {
  const shown = parts.flatMap((name) => document.querySelector<HTMLElement>(`[data-part="${name}"]`) ?? []);
  const here = shown.findIndex((part) => part.contains(document.activeElement));
  const count = shown.length;
  for (let i = 1; i <= count; i++) {
    const part = shown[(here + step * i + 2 * count + (here < 0 && step < 0 ? 1 : 0)) % count];
    if (part === undefined) {
      continue;
    }
    const target =
      // The sidebar's own tabs come after what they show.
      part.querySelector<HTMLElement>(
        '[contenteditable="true"], [role="treeitem"][tabindex="0"], [data-focus]',
      ) ??
      part.querySelector<HTMLElement>('[role="tab"][tabindex="0"]') ??
      part.querySelector<HTMLElement>('button:not([disabled]), input, select, [tabindex="0"]') ??
      part;
    target.focus();
    if (part.contains(document.activeElement)) {
      return;
    }
  }
}

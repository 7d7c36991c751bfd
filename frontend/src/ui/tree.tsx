import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { type CommandId, commands, isCommandId } from "./commands";
import { keysOn, matchesKey, type Platform } from "./keys";
import { type MenuItem, PopupMenu } from "./menu";
import { folderOf, isWithin } from "./paths";
import { rovingIndex, typedIndex } from "./roving";
import type { Tree, TreeField, TreeRow } from "./tree-model";
import { NewRowView, type RowMark, RowView, rowLabel } from "./tree-row";

/** What a person does with the tree. */
export interface TreeHandlers {
  readonly open: (path: string) => void;
  /** Runs a command on a row; "" is the folder that the tree shows. */
  readonly run: (id: CommandId, path: string) => void;
  /** The rows of the menu of a row; "" is the folder that the tree shows. */
  readonly menu: (path: string) => readonly MenuItem[];
  /** Takes the name that was typed into the field; gives what is wrong with it, "" when it is done. */
  readonly submit: (field: TreeField, name: string) => Promise<string>;
  /** Moves what was dragged into a folder. */
  readonly move: (path: string, folder: string) => void;
}

/** Props of TreeView. */
export interface TreeViewProps {
  readonly tree: Tree;
  /** What the tree is of, for a screen reader. */
  readonly label: string;
  /** The path of the document in front; "" for none. */
  readonly current: string;
  /** How open documents stand, by path, where that is worth a mark. */
  readonly marks: ReadonlyMap<string, RowMark>;
  readonly platform: Platform;
  readonly handlers: TreeHandlers;
}

/** The height of a row as the style sheet has it, in CSS pixels; rows are drawn by it before one can be measured. */
const usualRow = 28;

/** Rows are drawn in steps of so many, and as many before and after what is seen. */
const step = 16;

/** After how long a folder opens under what is dragged, in ms. */
const openAfterMs = 600;

/** The commands that the tree listens for itself. */
const ownKeys = commands.filter(
  (command) => command.keymap === "tree" || command.id === "edit.cut" || command.id === "edit.paste",
);

/**
 * The tree as a list of rows, of which one is in the tab order. Up and Down
 * move, Right opens a folder or goes into it, Left shuts it or goes to its
 * folder, Home, End and letters jump, Enter and Space open. F2 renames, Delete
 * asks about the trash, the keys of cut and paste move, the menu key opens the
 * row's menu. Only the rows that are seen are drawn, so that a large folder
 * costs no more than a small one.
 */
export function TreeView({ tree, label, current, marks, platform, handlers }: TreeViewProps) {
  const list = useRef<HTMLDivElement>(null);
  const menu = useSignal<{ readonly path: string; readonly x: number; readonly y: number } | null>(null);
  const { first, last, show } = useDrawn(tree, list);
  const drag = useDrag(tree, handlers);
  const rows = tree.rows.value;
  const focused = tree.focused.value;
  const at = Math.max(
    0,
    rows.findIndex((row) => row.key === focused || (focused === "" && row.key === current)),
  );
  const field = tree.field.value;
  const fieldAt = field === null ? -1 : rows.findIndex((row) => isFieldOf(row, field));

  // The row that is wanted is drawn now, or waits for a listing.
  useLayoutEffect(() => {
    const wanted = tree.wanted.peek();
    const index = wanted === "" || field !== null ? -1 : rows.findIndex((row) => row.key === wanted);
    if (index >= 0) {
      tree.wanted.value = "";
      tree.focused.value = wanted;
      show(index);
      list.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)?.focus({ preventScroll: true });
    }
  }, [rows, tree.wanted.value, field]);

  // The document that comes to the front is shown, once.
  const currentAt = current === "" ? -1 : rows.findIndex((row) => row.key === current);
  const shown = useRef("");
  useLayoutEffect(() => {
    if (currentAt >= 0 && shown.current !== current) {
      shown.current = current;
      show(currentAt);
    }
  }, [current, currentAt]);
  useLayoutEffect(() => {
    if (fieldAt >= 0) {
      show(fieldAt);
    }
  }, [field, fieldAt]);

  const focusRow = (index: number): void => {
    const row = rows[index];
    if (row !== undefined) {
      tree.focused.value = row.key;
      tree.wanted.value = row.key;
    }
  };

  const activate = (row: TreeRow): void => {
    if (row.type === "told") {
      if (row.what === "failed") {
        tree.refresh();
      }
    } else if (row.type === "entry" && row.entry.folder) {
      tree.toggle(row.entry.path);
    } else if (row.type === "entry") {
      handlers.open(row.entry.path);
    }
  };

  const openMenu = (path: string, x: number, y: number): void => {
    menu.value = { path, x, y };
  };

  const closeMenu = useCallback((): void => {
    menu.value = null;
    // At once, so that what is chosen finds the focus where it was.
    list.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus({ preventScroll: true });
  }, [menu]);

  const chooserOf =
    (path: string) =>
    (id: string): void => {
      if (isCommandId(id)) {
        handlers.run(id, path);
      }
    };

  const onKeyDown = (event: KeyboardEvent, row: TreeRow, index: number): void => {
    if (event.isComposing || event.keyCode === 229) {
      return;
    }
    const path = row.type === "entry" ? row.entry.path : row.path;
    const command = ownKeys.find(({ keys }) =>
      keysOn(keys, platform).some((key) => matchesKey(event, key, platform)),
    );
    if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
      const box = list.current?.querySelector(`[data-row="${index}"]`)?.getBoundingClientRect();
      openMenu(path, (box?.left ?? 0) + 24, box?.bottom ?? 0);
    } else if (command !== undefined) {
      handlers.run(command.id, path);
      event.stopPropagation();
    } else if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (!moveBy(event.key, row, index)) {
      return;
    }
    event.preventDefault();
  };

  /** Does what a key without modifiers does; false when it does nothing. */
  const moveBy = (key: string, row: TreeRow, index: number): boolean => {
    const to = rovingIndex(key, index, rows.length, "vertical");
    const isFolder = row.type === "entry" && row.expanded !== null;
    if (to >= 0) {
      focusRow(to);
    } else if (key === "ArrowRight" && isFolder && !row.expanded) {
      tree.expand(row.entry.path);
    } else if (key === "ArrowRight" && isFolder) {
      focusRow(index + 1);
    } else if (key === "ArrowLeft" && isFolder && row.expanded) {
      tree.collapse(row.entry.path);
    } else if (key === "ArrowLeft") {
      focusRow(parentIndex(rows, index));
    } else if (key === "Enter" || key === " ") {
      activate(row);
    } else if (key === "Escape" && tree.cut.peek() !== "") {
      tree.cut.value = "";
    } else {
      const typed = typedIndex(key, index, rows.map(rowLabel));
      if (typed < 0) {
        return false;
      }
      focusRow(typed);
    }
    return true;
  };

  const drawn = [...new Set([at, fieldAt, ...range(first, Math.min(last, rows.length - 1))])]
    .filter((index) => index >= 0)
    .sort((a, b) => a - b);

  return (
    <>
      <div
        class={`tree${drag.over.value === tree.root.value && drag.path.value !== "" ? " drop" : ""}`}
        role="tree"
        aria-label={label}
        tabIndex={-1}
        ref={list}
        style={{ "--n": rows.length }}
        onContextMenu={(event) => {
          event.preventDefault();
          openMenu("", event.clientX, event.clientY);
        }}
        {...drag.on("")}
      >
        {drawn.map((index) => {
          const row = rows[index];
          if (row === undefined) {
            return null;
          }
          if (row.type === "new") {
            return <NewRowView key={row.key} row={row} index={index} tree={tree} handlers={handlers} />;
          }
          const path = row.type === "entry" ? row.entry.path : row.path;
          return (
            <RowView
              key={row.key}
              row={row}
              index={index}
              current={row.type === "entry" && path === current}
              tabbable={index === at}
              mark={row.type === "entry" ? marks.get(path) : undefined}
              cut={tree.cut.value !== "" && isWithin(path, tree.cut.value)}
              dropTarget={row.type === "entry" && row.entry.folder && drag.over.value === path}
              inMenu={row.type === "entry" && menu.value?.path === path}
              field={index === fieldAt && field !== null ? field : null}
              tree={tree}
              handlers={handlers}
              on={{
                onClick: () => {
                  tree.focused.value = row.key;
                  activate(row);
                },
                onFocus: () => {
                  tree.focused.value = row.key;
                },
                onKeyDown: (event) => onKeyDown(event, row, index),
                onContextMenu: (event) => {
                  event.preventDefault();
                  event.stopPropagation();
                  tree.focused.value = row.key;
                  openMenu(path, event.clientX, event.clientY);
                },
                ...drag.on(row.type === "entry" ? path : ""),
              }}
            />
          );
        })}
      </div>
      {menu.value !== null && (
        <PopupMenu
          label={t("tree.menu")}
          at={menu.value}
          items={handlers.menu(menu.value.path)}
          onChoose={chooserOf(menu.value.path)}
          onClose={closeMenu}
        />
      )}
    </>
  );
}

/** Which rows are drawn, by how far the tree is scrolled. */
function useDrawn(tree: Tree, list: { readonly current: HTMLDivElement | null }) {
  const from = useSignal(0);
  const count = useSignal(3 * step);

  const scroller = (): HTMLElement | null => list.current?.closest<HTMLElement>(".scrolls") ?? null;
  const rowHeight = (): number =>
    list.current?.querySelector<HTMLElement>("[data-row]")?.offsetHeight || usualRow;
  const measure = (): void => {
    const box = scroller();
    if (box !== null) {
      tree.scroll.value = box.scrollTop;
      from.value = Math.floor(box.scrollTop / rowHeight() / step) * step;
      count.value = Math.max(2 * step, Math.ceil(box.clientHeight / rowHeight() / step) * step + step);
    }
  };

  useLayoutEffect(() => {
    const box = scroller();
    if (box === null) {
      return;
    }
    box.scrollTop = tree.scroll.peek();
    const resized = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(measure);
    resized?.observe(box);
    box.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      resized?.disconnect();
      box.removeEventListener("scroll", measure);
    };
  }, []);

  return {
    first: Math.max(0, from.value - step),
    last: from.value + count.value + step,
    /** Scrolls so far that a row is seen. */
    show: (index: number): void => {
      const box = scroller();
      if (box === null || box.clientHeight === 0) {
        return;
      }
      const top = index * rowHeight();
      if (top < box.scrollTop) {
        box.scrollTop = top;
      } else if (top + rowHeight() > box.scrollTop + box.clientHeight) {
        box.scrollTop = top + rowHeight() - box.clientHeight;
      }
      measure();
    },
  };
}

/** The handlers of a row that can be dragged, and dropped on. */
interface DragHandlers {
  readonly onDragStart: (event: DragEvent) => void;
  readonly onDragOver: (event: DragEvent) => void;
  readonly onDrop: (event: DragEvent) => void;
  readonly onDragLeave: (event: DragEvent) => void;
  readonly onDragEnd: () => void;
}

/** Moving by drag: a row is dropped on a folder, on a document of that folder, or on the tree itself. */
function useDrag(
  tree: Tree,
  handlers: TreeHandlers,
): {
  readonly path: Signal<string>;
  readonly over: Signal<string>;
  readonly on: (path: string) => DragHandlers;
} {
  const dragged = useSignal("");
  const over = useSignal("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const rest = (): void => {
    clearTimeout(timer.current);
    timer.current = undefined;
    over.value = "";
  };
  useEffect(() => rest, []);

  /** The folder that a row stands for; "" where what is dragged may not go. */
  const target = (path: string): string => {
    const folder = path === "" ? tree.root.peek() : tree.entryOf(path)?.folder ? path : folderOf(path);
    const from = dragged.peek();
    return from === "" || isWithin(folder, from) || folder === folderOf(from) ? "" : folder;
  };

  const on = (path: string): DragHandlers => ({
    onDragStart: (event) => {
      event.stopPropagation();
      if (path === "" || tree.field.peek() !== null) {
        event.preventDefault();
        return;
      }
      dragged.value = path;
      if (event.dataTransfer !== null) {
        event.dataTransfer.effectAllowed = "move";
        // Firefox and WebKit drag nothing without data; no path of the disk leaves the page.
        event.dataTransfer.setData("application/x-galley-row", "");
      }
    },
    onDragOver: (event) => {
      event.stopPropagation();
      if (dragged.peek() === "") {
        return;
      }
      // Also where it may not go: else the one below is asked.
      event.preventDefault();
      const folder = target(path);
      if (event.dataTransfer !== null) {
        event.dataTransfer.dropEffect = folder === "" ? "none" : "move";
      }
      if (over.peek() !== folder) {
        rest();
        over.value = folder;
        if (folder !== "" && folder === path) {
          timer.current = setTimeout(() => tree.expand(folder), openAfterMs);
        }
      }
    },
    onDragLeave: (event) => {
      const to = event.relatedTarget;
      if (
        !(to instanceof Node) ||
        !(event.currentTarget instanceof Node) ||
        !event.currentTarget.contains(to)
      ) {
        rest();
      }
    },
    onDrop: (event) => {
      event.stopPropagation();
      const from = dragged.peek();
      if (from === "") {
        return;
      }
      event.preventDefault();
      const folder = target(path);
      rest();
      dragged.value = "";
      if (folder !== "") {
        handlers.move(from, folder);
      }
    },
    onDragEnd: () => {
      rest();
      dragged.value = "";
    },
  });
  return { path: dragged, over, on };
}

function isFieldOf(row: TreeRow, field: TreeField): boolean {
  return field.type === "create"
    ? row.type === "new" && row.path === field.path
    : row.type === "entry" && row.entry.path === field.path;
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
}

function parentIndex(rows: readonly TreeRow[], index: number): number {
  const level = rows[index]?.level ?? 1;
  for (let i = index - 1; i >= 0; i--) {
    if ((rows[i]?.level ?? 1) < level) {
      return i;
    }
  }
  return index;
}

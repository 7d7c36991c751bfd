import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../i18n";
import { Icon } from "./icon";
import { rovingIndex, typedIndex } from "./roving";
import type { Tree, TreeRow } from "./tree-model";

/** Props of TreeView. */
export interface TreeViewProps {
  readonly tree: Tree;
  /** What the tree is of, for a screen reader. */
  readonly label: string;
  /** The path of the document in front; "" for none. */
  readonly current: string;
  /** The paths of documents with unsaved text. */
  readonly unsaved: ReadonlySet<string>;
  readonly onOpen: (path: string) => void;
}

/**
 * The tree as a list of rows, of which one is in the tab order. Up and Down
 * move, Right opens a folder or goes into it, Left shuts it or goes to its
 * folder, Home, End and letters jump, Enter and Space open.
 */
export function TreeView({ tree, label, current, unsaved, onOpen }: TreeViewProps) {
  const list = useRef<HTMLDivElement>(null);
  const focused = useSignal("");
  const rows = tree.rows.value;
  const at = Math.max(
    0,
    rows.findIndex((row) => row.key === focused.value || (focused.value === "" && row.key === current)),
  );

  const focusRow = (index: number): void => {
    const row = rows[index];
    const element = list.current?.children[index];
    if (row !== undefined && element instanceof HTMLElement) {
      focused.value = row.key;
      element.focus();
    }
  };

  const activate = (row: TreeRow): void => {
    if (row.type === "told") {
      if (row.what === "failed") {
        tree.refresh();
      }
    } else if (row.entry.folder) {
      tree.toggle(row.entry.path);
    } else {
      onOpen(row.entry.path);
    }
  };

  const onKeyDown = (event: KeyboardEvent, row: TreeRow, index: number): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) {
      return;
    }
    const to = rovingIndex(event.key, index, rows.length, "vertical");
    const typed = typedIndex(event.key, index, rows.map(rowLabel));
    if (to >= 0) {
      focusRow(to);
    } else if (event.key === "ArrowRight" && row.type === "entry" && row.expanded === false) {
      tree.expand(row.entry.path);
    } else if (event.key === "ArrowRight" && row.type === "entry" && row.expanded) {
      focusRow(index + 1);
    } else if (event.key === "ArrowLeft" && row.type === "entry" && row.expanded) {
      tree.collapse(row.entry.path);
    } else if (event.key === "ArrowLeft") {
      focusRow(parentIndex(rows, index));
    } else if (event.key === "Enter" || event.key === " ") {
      activate(row);
    } else if (typed >= 0) {
      focusRow(typed);
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <div class="tree" role="tree" aria-label={label} ref={list}>
      {rows.map((row, index) => (
        <div
          key={row.key}
          role="treeitem"
          class={rowClass(row)}
          style={{ "--d": row.level - 1 }}
          tabIndex={index === at ? 0 : -1}
          aria-level={row.level}
          {...(row.type === "entry"
            ? {
                "aria-expanded": row.expanded ?? undefined,
                "aria-selected": row.entry.path === current ? "true" : undefined,
                "aria-current": row.entry.path === current ? "page" : undefined,
                "aria-posinset": row.position,
                "aria-setsize": row.size,
              }
            : { "aria-disabled": row.what === "failed" ? undefined : "true" })}
          onClick={() => {
            focused.value = row.key;
            activate(row);
          }}
          onFocus={() => {
            focused.value = row.key;
          }}
          onKeyDown={(event) => onKeyDown(event, row, index)}
        >
          <RowContent row={row} unsaved={row.type === "entry" && unsaved.has(row.entry.path)} />
        </div>
      ))}
    </div>
  );
}

function RowContent({ row, unsaved }: { readonly row: TreeRow; readonly unsaved: boolean }) {
  if (row.type === "told") {
    if (row.what === "loading") {
      return (
        <span class="skel grow">
          <i />
          <span class="vh">{rowLabel(row)}</span>
        </span>
      );
    }
    return <span class="grow clip">{rowLabel(row)}</span>;
  }
  return (
    <>
      {row.expanded !== null && <Icon name={row.expanded ? "chevron-down" : "chevron-right"} />}
      <span class="grow clip" title={row.label.length > 24 ? row.entry.name : undefined}>
        {row.label}
      </span>
      {unsaved && (
        <>
          <span class="dot" title={t("tree.unsaved")} aria-hidden="true" />
          <span class="vh">{t("tree.unsaved")}</span>
        </>
      )}
    </>
  );
}

function rowLabel(row: TreeRow): string {
  if (row.type === "entry") {
    return row.label;
  }
  switch (row.what) {
    case "loading":
      return t("tree.loading", { name: row.name });
    case "failed":
      return `${t("tree.failed", { name: row.name })} ${t("tree.retry")}`;
    case "empty":
      return t("tree.empty");
    case "more":
      return t("tree.more", { n: row.n });
  }
}

function rowClass(row: TreeRow): string | undefined {
  if (row.type === "told") {
    return "told";
  }
  return row.entry.ignored ? "ignored" : undefined;
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

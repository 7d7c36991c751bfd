import { t } from "../i18n";
import { Icon } from "./icon";
import { baseName } from "./paths";
import type { TreeHandlers } from "./tree";
import { NameField } from "./tree-field";
import type { Tree, TreeField, TreeRow } from "./tree-model";

/** How an open document stands: with unsaved text, changed on disk as well, or gone from there. */
export type RowMark = "unsaved" | "conflict" | "missing";

/** What a row listens for. */
interface RowListeners {
  readonly onClick: () => void;
  readonly onFocus: () => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  readonly onContextMenu: (event: MouseEvent) => void;
  readonly onDragStart: (event: DragEvent) => void;
  readonly onDragOver: (event: DragEvent) => void;
  readonly onDragLeave: (event: DragEvent) => void;
  readonly onDrop: (event: DragEvent) => void;
  readonly onDragEnd: () => void;
}

/** Props of RowView. */
export interface RowViewProps {
  readonly row: Exclude<TreeRow, { readonly type: "new" }>;
  readonly index: number;
  /** It is the document in front. */
  readonly current: boolean;
  readonly tabbable: boolean;
  readonly mark: RowMark | undefined;
  readonly cut: boolean;
  readonly dropTarget: boolean;
  /** The open menu is about it. */
  readonly inMenu: boolean;
  /** The field in place of its name; null for none. */
  readonly field: TreeField | null;
  readonly tree: Tree;
  readonly handlers: TreeHandlers;
  readonly on: RowListeners;
}

/** A row of the tree. */
export function RowView(props: RowViewProps) {
  const { row, index, current, tabbable, mark, field, tree, handlers, on } = props;
  return (
    <div
      role="treeitem"
      data-row={index}
      class={rowClass(props)}
      style={{ "--d": row.level - 1, "--y": index }}
      tabIndex={tabbable ? 0 : -1}
      aria-level={row.level}
      draggable={row.type === "entry" && field === null}
      {...(row.type === "entry"
        ? {
            "aria-expanded": row.expanded ?? undefined,
            "aria-selected": current ? "true" : undefined,
            "aria-current": current ? "page" : undefined,
            "aria-posinset": row.position,
            "aria-setsize": row.size,
          }
        : { "aria-disabled": row.what === "failed" ? undefined : "true" })}
      {...(field === null && on)}
    >
      {row.type === "entry" && row.expanded !== null && (
        <Icon name={row.expanded ? "chevron-down" : "chevron-right"} />
      )}
      {row.type === "told" ? (
        <Told row={row} />
      ) : field === null ? (
        <>
          <span class="grow clip" title={row.label.length > 24 ? row.entry.name : undefined}>
            {row.label}
          </span>
          {props.cut && <span class="vh">{t("tree.isCut")}</span>}
          {mark && <Mark mark={mark} />}
        </>
      ) : (
        <NameField
          label={t("tree.rename", { name: row.label })}
          name={row.entry.name}
          folder={row.entry.folder}
          onSubmit={(name) => handlers.submit(field, name)}
          onDrop={tree.endField}
        />
      )}
    </div>
  );
}

/** The row of something that has no name yet. */
export function NewRowView({
  row,
  index,
  tree,
  handlers,
}: {
  readonly row: Extract<TreeRow, { readonly type: "new" }>;
  readonly index: number;
  readonly tree: Tree;
  readonly handlers: TreeHandlers;
}) {
  return (
    <div
      role="treeitem"
      data-row={index}
      class="naming"
      style={{ "--d": row.level - 1, "--y": index }}
      tabIndex={-1}
      aria-level={row.level}
    >
      {row.folder && <Icon name="chevron-right" />}
      <NameField
        label={t(row.folder ? "tree.nameFolder" : "tree.nameDocument", { folder: baseName(row.path) })}
        name=""
        folder={row.folder}
        onSubmit={(name) => handlers.submit({ type: "create", path: row.path, folder: row.folder }, name)}
        onDrop={tree.endField}
      />
    </div>
  );
}

function Told({ row }: { readonly row: Extract<TreeRow, { readonly type: "told" }> }) {
  return row.what === "loading" ? (
    <span class="skel grow">
      <i />
      <span class="vh">{rowLabel(row)}</span>
    </span>
  ) : (
    <span class="grow clip">{rowLabel(row)}</span>
  );
}

function Mark({ mark }: { readonly mark: RowMark }) {
  const said = t(
    mark === "unsaved" ? "tree.unsaved" : mark === "conflict" ? "tree.conflict" : "tree.missing",
  );
  return (
    <>
      {mark === "conflict" && <Icon name="triangle-alert" small />}
      {mark === "unsaved" && <span class="dot" title={said} aria-hidden="true" />}
      <span class="vh">{said}</span>
    </>
  );
}

/** What a row says, also for finding it by its first letter. */
export function rowLabel(row: TreeRow): string {
  if (row.type === "entry") {
    return row.label;
  }
  if (row.type === "new") {
    return "";
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

function rowClass({ row, mark, cut, dropTarget, inMenu, field }: RowViewProps): string | undefined {
  if (row.type === "told") {
    return "told";
  }
  const names = [
    row.entry.ignored && "ignored",
    mark === "missing" && "missing",
    cut && "cut",
    dropTarget && "drop",
    inMenu && "in-menu",
    field !== null && "naming",
  ].filter((name) => name !== false);
  return names.length > 0 ? names.join(" ") : undefined;
}

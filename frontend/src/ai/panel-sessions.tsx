import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Run } from "../backend";
import { formatDay, formatTime, t } from "../i18n";
import { FaultNotice } from "../ui/fault-notice";
import { Icon } from "../ui/icon";
import { MenuButton } from "../ui/menu";
import { baseName } from "../ui/paths";
import { rovingIndex } from "../ui/roving";
import { type Problem, type SessionRow, timeOf } from "./conversations";

/** Props of SessionList. */
export interface SessionListProps {
  readonly rows: readonly SessionRow[];
  readonly archived: readonly SessionRow[];
  /** The id of the session that is shown; "" for none. */
  readonly current: string;
  /** What the last change of a session came to; null for well. */
  readonly problem: Signal<Problem | null>;
  readonly now: () => number;
  readonly modelName: (row: SessionRow) => string;
  readonly onOpen: (sessionId: string) => void;
  readonly onRename: (sessionId: string, title: string) => void;
  readonly onArchive: (sessionId: string, away: boolean) => void;
  readonly onDelete: (row: SessionRow) => void;
  readonly onLeave: () => void;
}

/** How many sessions of a kind are drawn before one asks for more. */
const page = 100;

/** The sessions there are, those of the open folder first. Arrows move, Enter opens, Esc goes back. */
export function SessionList(props: SessionListProps) {
  const list = useRef<HTMLDivElement>(null);
  const shown = useSignal(page);
  const away = useSignal(false);
  const editing = useSignal("");
  const here = props.rows.filter((row) => row.here);
  const elsewhere = props.rows.filter((row) => !row.here);

  useEffect(() => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>(".session > button") ?? [])];
    (rows.find((row) => row.hasAttribute("aria-current")) ?? rows[0])?.focus();
  }, []);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      event.preventDefault();
      props.onLeave();
      return;
    }
    const rows = [...(list.current?.querySelectorAll<HTMLElement>(".session > button") ?? [])];
    const at = rows.indexOf(document.activeElement as HTMLElement);
    const to = at < 0 ? -1 : rovingIndex(event.key, at, rows.length, "vertical");
    if (to >= 0) {
      event.preventDefault();
      rows[to]?.focus();
    }
  };

  if (props.rows.length === 0 && props.archived.length === 0) {
    return (
      <div class="empty">
        <b>{t("panel.sessions.none")}</b>
        <span>{t("panel.empty.text")}</span>
      </div>
    );
  }
  const group = (title: string, rows: readonly SessionRow[]) =>
    rows.length > 0 && (
      <>
        {title !== "" && <h3>{title}</h3>}
        <ul>
          {rows.slice(0, shown.value).map((row) => (
            <SessionItem key={row.session.id} row={row} editing={editing} {...props} />
          ))}
        </ul>
      </>
    );
  const more = Math.max(here.length, elsewhere.length) > shown.value;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: moves between its buttons
    <div class="sessions scrolls" ref={list} onKeyDown={onKeyDown}>
      <h2 class="vh">{t("panel.sessions")}</h2>
      {props.problem.value?.of === "session" && <Refusal problem={props.problem} />}
      {group(elsewhere.length > 0 ? t("panel.sessions.here") : "", here)}
      {group(here.length > 0 ? t("panel.sessions.elsewhere") : "", elsewhere)}
      {more && (
        <button
          type="button"
          class="btn quiet"
          onClick={() => {
            shown.value += page;
          }}
        >
          {t("panel.sessions.more")}
        </button>
      )}
      {props.archived.length > 0 && (
        <button
          type="button"
          class="fold"
          aria-expanded={away.value}
          onClick={() => {
            away.value = !away.value;
          }}
        >
          <Icon name={away.value ? "chevron-down" : "chevron-right"} small />
          {t("panel.sessions.archived", { n: props.archived.length })}
        </button>
      )}
      {away.value && group("", props.archived)}
    </div>
  );
}

function SessionItem(
  props: SessionListProps & { readonly row: SessionRow; readonly editing: { value: string } },
) {
  const { row, editing } = props;
  const { session } = row;
  const title = session.title || t("panel.session.untitled");
  const current = session.id === props.current;
  const put = session.archivedAtMs > 0;
  if (editing.value === session.id) {
    return (
      <li class="session">
        <Rename
          title={session.title}
          onDone={(next) => {
            editing.value = "";
            if (next !== null && next !== session.title) {
              props.onRename(session.id, next);
            }
          }}
        />
      </li>
    );
  }
  const badge = badgeOf(row);
  return (
    <li class="session">
      <button
        type="button"
        aria-current={current ? "true" : undefined}
        onClick={() => props.onOpen(session.id)}
      >
        <b class="clip" title={title}>
          {title}
        </b>
        {badge !== null && <span class={`badge ${badge.class}`}>{badge.words}</span>}
        <span class="meta clip">{aboutOf(row, props)}</span>
      </button>
      <MenuButton
        class="ib sm"
        label={t("panel.session.menu", { title })}
        items={[
          { id: "rename", label: t("panel.session.rename"), icon: "pencil-line" },
          {
            id: "archive",
            label: t(put ? "panel.session.restore" : "panel.session.archive"),
            icon: put ? "undo-2" : "folder",
          },
          { id: "delete", label: t("panel.session.delete"), icon: "trash-2", apart: true },
        ]}
        onChoose={(id) => {
          if (id === "rename") {
            editing.value = session.id;
          } else if (id === "archive") {
            props.onArchive(session.id, !put);
          } else {
            props.onDelete(row);
          }
        }}
        end
      >
        <Icon name="ellipsis" small />
      </MenuButton>
    </li>
  );
}

function Refusal({ problem }: { readonly problem: Signal<Problem | null> }) {
  const refused = problem.value;
  const dismiss = (): void => {
    problem.value = null;
  };
  return (
    refused && (
      <FaultNotice
        fault={{ code: refused.error.code, detail: refused.error.detail, retryAfterMs: 0 }}
        actions={{
          retry: () => {
            dismiss();
            refused.again();
          },
          dismiss,
        }}
      />
    )
  );
}

/** When it was, and which model or which folder. */
function aboutOf(row: SessionRow, props: SessionListProps): string {
  const at = timeOf(row);
  const when = isSameDay(at, props.now()) ? formatTime(at) : formatDay(at);
  const folder = row.here || row.session.workspaceId === "" ? "" : baseName(row.session.workspaceId);
  const what = folder || props.modelName(row);
  return what === "" ? when : t("panel.session.about", { when, what });
}

function isSameDay(a: number, b: number): boolean {
  return new Date(a).toDateString() === new Date(b).toDateString();
}

function badgeOf(row: SessionRow): { readonly class: string; readonly words: string } | null {
  if (row.waiting) {
    return { class: "acc", words: t("panel.state.waiting") };
  }
  return row.run === null ? null : runBadge(row.run.state);
}

function runBadge(state: Run["state"]): { readonly class: string; readonly words: string } | null {
  switch (state) {
    case "queued":
      return { class: "", words: t("panel.state.queued") };
    case "running":
    case "waiting_for_approval":
      return { class: "", words: t("panel.state.running") };
    case "cancelling":
      return { class: "", words: t("panel.state.stopping") };
    case "interrupted":
      return { class: "bad", words: t("panel.state.interrupted") };
    case "failed":
      return { class: "bad", words: t("panel.state.failed") };
    case "cancelled":
    case "succeeded":
      return null;
  }
}

function Rename({
  title,
  onDone,
}: {
  readonly title: string;
  readonly onDone: (title: string | null) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  const done = useRef(false);
  useEffect(() => field.current?.select(), []);
  const finish = (next: string | null): void => {
    if (!done.current) {
      done.current = true;
      onDone(next?.trim() === "" ? null : (next?.trim() ?? null));
    }
  };
  return (
    <div class="field">
      <input
        ref={field}
        type="text"
        autocomplete="off"
        aria-label={t("panel.session.title")}
        maxLength={120}
        defaultValue={title}
        onKeyDown={(event) => {
          if (event.isComposing || event.keyCode === 229) {
            return;
          }
          if (event.key === "Enter" || event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            finish(event.key === "Enter" ? event.currentTarget.value : null);
          } else {
            event.stopPropagation();
          }
        }}
        onBlur={(event) => finish(event.currentTarget.value)}
      />
    </div>
  );
}

/** The kept versions of a document, as a view of the side panel. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { BackendError, HistoryVersion } from "../backend";
import { type ReviewAction, reviewListAction } from "../editor";
import { formatBytes, formatDay, formatTime, type MessageKey, t } from "../i18n";
import { FaultNotice } from "./fault-notice";
import { Icon } from "./icon";
import { rovingIndex } from "./roving";

/** The list of a document's versions, and the one that is shown. */
export interface HistoryView {
  readonly list:
    | { readonly status: "noDocument" | "untitled" | "loading" }
    | { readonly status: "failed"; readonly error: BackendError }
    | {
        readonly status: "ready";
        readonly versions: readonly HistoryVersion[];
        readonly folder: string;
        readonly broken: number;
      };
  /** The version whose difference is in the text; null for none. */
  readonly shown: ShownVersion | null;
  /** The document cannot be changed, so nothing can be restored. */
  readonly readOnly: boolean;
}

/** The version that is shown. */
export interface ShownVersion {
  /** As in the list; "" for one that is not in it, as the text before a reload. */
  readonly id: string;
  readonly title: string;
  readonly state:
    | { readonly status: "loading" | "same" }
    | { readonly status: "failed"; readonly error: BackendError }
    /** How many of its changes are still there, and which is current. */
    | { readonly status: "open"; readonly open: number; readonly number: number; readonly total: number };
}

/** Props of HistoryPanel. */
export interface HistoryPanelProps {
  readonly view: HistoryView;
  readonly now: () => number;
  readonly onShow: (version: HistoryVersion) => void;
  readonly onLeave: () => void;
  readonly onRestore: () => void;
  readonly onRetry: () => void;
  readonly onAction: (action: Exclude<ReviewAction, "leave">) => void;
}

/** How many versions are drawn before one asks for more. */
const page = 200;

/** The list, and below it what can be done with the version that is shown. */
export function HistoryPanel(props: HistoryPanelProps) {
  const { list } = props.view;
  switch (list.status) {
    case "noDocument":
      return <Nothing title="history.noDocument" text="history.noDocument.text" />;
    case "untitled":
      return <Nothing title="history.untitled" text="history.untitled.text" />;
    case "loading":
      return <Loading />;
    case "failed":
      return (
        <div class="pad">
          <FaultNotice
            fault={{ code: list.error.code, detail: list.error.detail, retryAfterMs: 0 }}
            actions={{ retry: props.onRetry }}
          />
        </div>
      );
    case "ready":
      return (
        <>
          {list.versions.length === 0 ? (
            <Nothing title="history.empty" text="history.empty.text" />
          ) : (
            <Versions {...props} list={list} />
          )}
          {props.view.shown !== null && <Shown {...props} shown={props.view.shown} />}
        </>
      );
  }
}

function Nothing({ title, text }: { readonly title: MessageKey; readonly text: MessageKey }) {
  return (
    <div class="empty">
      <b>{t(title)}</b>
      <span>{t(text)}</span>
    </div>
  );
}

/** What is there at once needs no sign that it is waited for. */
const patienceMs = 300;

function Loading() {
  const late = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      late.value = true;
    }, patienceMs);
    return () => clearTimeout(timer);
  }, [late]);
  return late.value ? (
    <div class="pad skel" role="status" aria-label={t("history.loading")}>
      <i />
      <i />
      <i />
    </div>
  ) : null;
}

function Versions(
  props: HistoryPanelProps & { readonly list: Extract<HistoryView["list"], { readonly status: "ready" }> },
) {
  const { view, onShow, onLeave, onAction } = props;
  const { versions, folder, broken } = props.list;
  const list = useRef<HTMLDivElement>(null);
  const most = useSignal(page);
  const focus = useSignal(-1);
  const drawn = versions.slice(0, most.value);
  const shownAt = drawn.findIndex((version) => version.id === view.shown?.id);
  const reachable = focus.value >= 0 && focus.value < drawn.length ? focus.value : Math.max(shownAt, 0);

  const onKeyDown = (event: KeyboardEvent): void => {
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>(".version") ?? [])];
    const active = document.activeElement;
    const at = active instanceof HTMLElement ? buttons.indexOf(active) : -1;
    if (event.key === "Escape" && view.shown !== null) {
      event.preventDefault();
      onLeave();
      return;
    }
    const to = at < 0 ? -1 : rovingIndex(event.key, at, buttons.length, "vertical");
    if (to >= 0) {
      event.preventDefault();
      focus.value = to;
      buttons[to]?.focus();
      return;
    }
    // The letters of a review, for what is shown in the text; arrows and Enter belong to the list.
    const action = /^[a-z]$/i.test(event.key) && view.shown !== null ? reviewListAction(event) : null;
    if (action !== null && action !== "leave") {
      event.preventDefault();
      onAction(action);
    }
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons within have the focus, and their keys come here
    <div class="versions scrolls" ref={list} onKeyDown={onKeyDown}>
      {byDay(drawn, props.now()).map(({ day, first, items }) => (
        <section key={`${day} ${first}`} aria-label={day}>
          <h2 class="meta">{day}</h2>
          <ul>
            {items.map((version, i) => (
              <li key={version.id}>
                <button
                  type="button"
                  class="version"
                  aria-current={version.id === view.shown?.id ? "true" : undefined}
                  tabIndex={first + i === reachable ? 0 : -1}
                  onFocus={() => {
                    focus.value = first + i;
                  }}
                  onClick={() => onShow(version)}
                >
                  <span class="num">{formatTime(version.atMs)}</span>
                  <span class="grow clip">{t(reasonKey(version.reason))}</span>
                  <span class="meta num">{formatBytes(version.bytes)}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {versions.length > drawn.length && (
        <button
          type="button"
          class="btn quiet"
          onClick={() => {
            most.value += page;
          }}
        >
          {t("history.more", { n: versions.length - drawn.length })}
        </button>
      )}
      {broken > 0 && <p class="meta kept">{t("history.broken", { n: broken })}</p>}
      {folder !== "" && <p class="meta kept">{t("history.folder", { path: folder })}</p>}
    </div>
  );
}

function reasonKey(reason: string): MessageKey {
  switch (reason) {
    case "opened":
      return "history.reason.opened";
    case "replaced":
      return "history.reason.replaced";
    case "overwritten":
      return "history.reason.overwritten";
    case "discarded":
      return "history.reason.discarded";
    default:
      return "history.reason.saved";
  }
}

interface Day {
  readonly day: string;
  /** The place of its first version in the list. */
  readonly first: number;
  readonly items: readonly HistoryVersion[];
}

/** The versions under the days they were kept, in words for the last two. */
function byDay(versions: readonly HistoryVersion[], now: number): readonly Day[] {
  const out: { day: string; first: number; items: HistoryVersion[] }[] = [];
  const today = dayOf(now);
  for (const [i, version] of versions.entries()) {
    const ago = Math.round((today - dayOf(version.atMs)) / 86_400_000);
    const day = ago === 0 ? t("history.today") : ago === 1 ? t("history.yesterday") : formatDay(version.atMs);
    const last = out.at(-1);
    if (last?.day === day) {
      last.items.push(version);
    } else {
      out.push({ day, first: i, items: [version] });
    }
  }
  return out;
}

/** The start of a day on the person's clock, in ms. */
function dayOf(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0);
}

function Shown({
  shown,
  view,
  onLeave,
  onRestore,
  onAction,
}: HistoryPanelProps & { readonly shown: ShownVersion }) {
  const { state } = shown;
  const open = state.status === "open" ? state : null;
  const off = open === null || open.open === 0 || view.readOnly;
  return (
    <div class="foot">
      {state.status === "failed" ? (
        <FaultNotice
          fault={{ code: state.error.code, detail: state.error.detail, retryAfterMs: 0 }}
          actions={{}}
        />
      ) : (
        <div class="line">
          <span class="grow" role="status">
            <b>{shown.title}</b>
            <br />
            <span class="meta">{stateText(shown)}</span>
          </span>
          {open !== null && open.open > 0 && (
            <>
              <button
                type="button"
                class="ib"
                aria-label={t("review.previous")}
                title={t("review.previous")}
                onClick={() => onAction("previous")}
              >
                <Icon name="chevron-up" />
              </button>
              <button
                type="button"
                class="ib"
                aria-label={t("review.next")}
                title={t("review.next")}
                onClick={() => onAction("next")}
              >
                <Icon name="chevron-down" />
              </button>
            </>
          )}
        </div>
      )}
      <div class="acts">
        <button
          type="button"
          class="btn primary grow"
          aria-disabled={off || undefined}
          onClick={() => {
            if (!off) {
              onRestore();
            }
          }}
        >
          {view.readOnly ? t("off.readOnly") : t("history.restore")}
        </button>
        <button type="button" class="btn" onClick={onLeave}>
          {t("history.leave")} <span class="key">Esc</span>
        </button>
      </div>
    </div>
  );
}

function stateText({ state }: ShownVersion): string {
  switch (state.status) {
    case "loading":
      return t("history.loading");
    case "same":
      return t("history.same");
    case "open":
      return t("history.differs", { n: state.open });
    case "failed":
      return "";
  }
}

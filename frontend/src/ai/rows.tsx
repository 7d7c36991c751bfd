import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { formatTime, t } from "../i18n";
import { Icon } from "../ui/icon";
import { ApprovalCard, type CardActions, ProposalCard, UnknownCard } from "./cards";
import { AnswerText, type OpenLink } from "./markdown-lite";
import { CallDetail, Seconds, Skeleton, Visible } from "./panel-parts";
import { callNote, callWords, lookIcon, lookOf, toolIcon } from "./panel-words";
import type {
  AnswerItem,
  AskedItem,
  CallItem,
  ContinuedItem,
  EndItem,
  ModelItem,
  ProposalItem,
  TimelineItem,
} from "./timeline";

/** A row of a conversation: an item, or several that are shown as one. */
export type Row =
  | { readonly type: "asked"; readonly key: string; readonly item: AskedItem }
  | { readonly type: "answer"; readonly key: string; readonly item: AnswerItem }
  | { readonly type: "tools"; readonly key: string; readonly items: readonly CallItem[] }
  | { readonly type: "card"; readonly key: string; readonly item: CallItem }
  | { readonly type: "proposals"; readonly key: string; readonly items: readonly ProposalItem[] }
  | { readonly type: "end"; readonly key: string; readonly item: EndItem }
  | { readonly type: "continued"; readonly key: string; readonly item: ContinuedItem }
  | { readonly type: "model"; readonly key: string; readonly item: ModelItem };

/**
 * The rows of a conversation. Calls that follow each other stand together, and
 * so do the proposals of one run for one document. A call that came to a
 * proposal is shown by that alone.
 */
export function rowsOf(items: readonly TimelineItem[]): readonly Row[] {
  const proposed = new Set<string>();
  for (const item of items) {
    if (item.type === "proposal") {
      proposed.add(item.proposal.toolCallId);
    }
  }
  const rows: Row[] = [];
  for (const item of items) {
    const last = rows.at(-1);
    switch (item.type) {
      case "asked":
        // That a run goes on says the line above it.
        if (last?.type === "continued" && last.item.runId === item.runId) {
          break;
        }
        rows.push({ type: "asked", key: item.key, item });
        break;
      case "answer":
        rows.push({ type: "answer", key: item.key, item });
        break;
      case "call":
        if (item.call.name === "proposePatch" && proposed.has(item.key)) {
          break;
        }
        if (isCard(item)) {
          rows.push({ type: "card", key: item.key, item });
        } else if (last?.type === "tools") {
          rows[rows.length - 1] = { ...last, items: [...last.items, item] };
        } else {
          rows.push({ type: "tools", key: item.key, items: [item] });
        }
        break;
      case "proposal":
        if (
          last?.type === "proposals" &&
          last.items[0]?.runId === item.runId &&
          last.items[0].proposal.docUri === item.proposal.docUri
        ) {
          rows[rows.length - 1] = { ...last, items: [...last.items, item] };
        } else {
          rows.push({ type: "proposals", key: item.key, items: [item] });
        }
        break;
      case "end":
        rows.push({ type: "end", key: item.key, item });
        break;
      case "continued":
        rows.push({ type: "continued", key: item.key, item });
        break;
      case "model":
        rows.push({ type: "model", key: item.key, item });
        break;
    }
  }
  return rows;
}

/** A call that a person is asked about, or that wrote something, has a card; one whose end nobody knows too. */
function isCard({ call, approval }: CallItem): boolean {
  return (
    call.state === "unknown" || approval?.state === "pending" || (approval !== null && call.kind === "write")
  );
}

/** What rows ask of their conversation. */
export interface RowActions extends CardActions {
  readonly onLink: OpenLink;
  readonly onCopy: (text: string) => void;
  /** The text of a message that was left out for its size; `thinking` for what was thought. */
  readonly textOf: (messageId: string) => Promise<{ readonly text: string; readonly thinking: string }>;
  readonly modelName: (item: ModelItem) => string;
}

/** What the person said. */
export function Asked({ item, actions }: { readonly item: AskedItem; readonly actions: RowActions }) {
  const text = useWhole(item, actions);
  return (
    <div class="me">
      <span class="vh">{t("panel.you")}</span>
      <Visible text={text?.text ?? item.text} />
      {text === null && <Skeleton />}
    </div>
  );
}

/** What the model said. */
export function Answered({ item, actions }: { readonly item: AnswerItem; readonly actions: RowActions }) {
  const whole = useWhole(item, actions);
  const text = whole?.text ?? item.text;
  const thinking = whole?.thinking ?? item.thinking;
  return (
    <div class="said">
      {thinking.trim() !== "" && <Thought text={thinking} ms={item.thoughtMs} />}
      {whole === null ? (
        <Skeleton />
      ) : (
        text.trim() !== "" && (
          <>
            <AnswerText text={text} whole onLink={actions.onLink} />
            {item.partial && <div class="meta torn">{t("panel.partial")}</div>}
            <div class="said-foot">
              <button
                type="button"
                class="ib sm"
                aria-label={t("panel.copy")}
                title={t("panel.copy")}
                onClick={() => actions.onCopy(text)}
              >
                <Icon name="copy" small />
              </button>
              <span class="meta num">{formatTime(item.atMs)}</span>
            </div>
          </>
        )
      )}
    </div>
  );
}

/** The text of a message: at once when it is there, fetched when it was left out; null until it is here. */
function useWhole(
  item: AskedItem | AnswerItem,
  actions: RowActions,
): { readonly text: string; readonly thinking: string } | null {
  const fetched = useSignal<{ readonly text: string; readonly thinking: string } | null>(null);
  const { whole, messageId } = item;
  useEffect(() => {
    if (whole) {
      return;
    }
    let current = true;
    actions.textOf(messageId).then(
      (got) => {
        if (current) {
          fetched.value = got;
        }
      },
      () => {
        if (current) {
          fetched.value = { text: t("panel.notFetched"), thinking: "" };
        }
      },
    );
    return () => {
      current = false;
    };
  }, [whole, messageId, actions, fetched]);
  return whole ? { text: item.text, thinking: item.type === "answer" ? item.thinking : "" } : fetched.value;
}

/** A folded line: how long the model thought, and what. */
function Thought({ text, ms }: { readonly text: string; readonly ms: number }) {
  const open = useSignal(false);
  const id = useId();
  const seconds = Math.max(1, Math.round(ms / 1000));
  return (
    <>
      <button
        type="button"
        class="fold"
        aria-expanded={open.value}
        aria-controls={open.value ? id : undefined}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon name={open.value ? "chevron-down" : "chevron-right"} small />
        {ms > 0 ? t("panel.thought", { seconds }) : t("panel.thoughtOnce")}
      </button>
      {open.value && (
        <div class="thought" id={id}>
          <Visible text={text} />
        </div>
      )}
    </>
  );
}

/** Calls that follow each other, a row each. */
export function Tools({
  items,
  actions,
}: {
  readonly items: readonly CallItem[];
  readonly actions: RowActions;
}) {
  return (
    <div class="tools">
      {items.map((item) => (
        <ToolRow key={item.key} item={item} actions={actions} />
      ))}
    </div>
  );
}

/** One call: what it does, how much, how it stands; it opens to its input and result. */
function ToolRow({ item, actions }: { readonly item: CallItem; readonly actions: RowActions }) {
  const open = useSignal(false);
  const id = useId();
  const look = lookOf(item);
  const note = callNote(item, look);
  return (
    <>
      <button
        type="button"
        class="tool"
        aria-expanded={open.value}
        aria-controls={open.value ? id : undefined}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon name={toolIcon(item.call.name)} small />
        <span class="grow clip">{callWords(item, look)}</span>
        {look === "running" && <Seconds sinceMs={item.call.startedAtMs} from={2} />}
        {note !== "" && <span class="num">{note}</span>}
        <Icon name={lookIcon(look)} small spin={look === "running"} />
        {(look === "done" || look === "running") && (
          <span class="vh">{t(look === "done" ? "panel.look.done" : "panel.look.running")}</span>
        )}
      </button>
      {open.value && <CallDetail id={id} item={item} actions={actions} />}
    </>
  );
}

/** A card of a call or of proposals. */
export function Card({ row, actions }: { readonly row: Row; readonly actions: RowActions }) {
  switch (row.type) {
    case "card":
      return row.item.call.state === "unknown" ? (
        <UnknownCard item={row.item} actions={actions} />
      ) : (
        <ApprovalCard item={row.item} actions={actions} />
      );
    case "proposals":
      return <ProposalCard items={row.items} actions={actions} />;
    default:
      return null;
  }
}

/** A line across: something about what follows. */
export function Rule({ words }: { readonly words: string }) {
  return <div class="rule">{words}</div>;
}

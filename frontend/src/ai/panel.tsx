import { type ReadonlySignal, type Signal, useComputed, useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { BackendError, FaultInfo, ModelRef, ProviderState } from "../backend";
import { isFaultCode } from "../backend";
import { formatTime, language, t } from "../i18n";
import { type FaultAction, faultActionLabel } from "../ui/fault";
import { FaultNotice } from "../ui/fault-notice";
import { Icon } from "../ui/icon";
import { kindOf } from "../ui/kinds";
import type { MenuItem } from "../ui/menu";
import { Notice } from "../ui/notice";
import { Composer, type ComposerOff, ContextMeter, isOver, Queue, UsageLine } from "./composer";
import type { Conversation, Conversations } from "./conversations";
import { AnswerText } from "./markdown-lite";
import { Skeleton, useSeconds } from "./panel-parts";
import { callsWrote, endReason, endWords } from "./panel-words";
import { Answered, Asked, Card, type Row, type RowActions, Rule, rowsOf, Tools } from "./rows";
import { activeRun, callsOf, type EndItem, type RunView, type Timeline } from "./timeline";

/** Props of ConversationPanel. */
export interface ConversationPanelProps {
  readonly conversations: Conversations;
  readonly actions: RowActions;
  /** The runs that are looked at after a start, before it is known how they ended. */
  readonly checking: ReadonlySignal<ReadonlySet<string>>;
  /** Why nothing can be sent; null while it can. May read signals. */
  readonly off: () => ComposerOff | null;
  /** More about why it is off; "" for nothing. */
  readonly offText: () => string;
  readonly model: () => string;
  readonly models: () => readonly MenuItem[];
  readonly onModel: (id: string) => void;
  /** The provider that a run asked; null when it is not there any more. */
  readonly provider: (model: ModelRef) => ProviderState | null;
  /** Opens the page where an account is topped up. */
  readonly onBilling: (url: string) => void;
  /** The next steps of a failure that lead out of the panel. */
  readonly steps: Readonly<Partial<Record<FaultAction, () => void>>>;
  /** What the live region says next. */
  readonly said: Signal<string>;
  readonly onLeave: () => void;
}

/** How many rows are drawn at first, and how many more each time. */
const page = 120;

/** Near enough to its end, in CSS pixels, that a list follows what comes. */
const nearEnd = 48;

/** A waiting answer is said to be slow after this time, in seconds (R8). */
const slowAfter = 20;

/** One conversation: what happened, what is happening, and where to write. */
export function ConversationPanel(props: ConversationPanelProps) {
  const conversation = props.conversations.current.value;
  return <Shown key={conversation.id.peek() || "new"} conversation={conversation} {...props} />;
}

function Shown(props: ConversationPanelProps & { readonly conversation: Conversation }) {
  const { conversation, conversations } = props;
  const timeline = conversation.timeline.value;
  const loading = conversation.loading.value;
  const active = activeRun(timeline);
  const off = props.off();
  const over = isOver(timeline.context) && active === null;
  const first = timeline.items.length === 0 && timeline.queue.length === 0;
  // The first of the queue is on its way when nothing is before it.
  const queue = active === null ? timeline.queue.slice(1) : timeline.queue;
  const stopping =
    active !== null && (active.run.state === "cancelling" || conversation.stopping.value.has(active.run.id));
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what its fields leave of Esc goes back to the text
    <div class="talking" onKeyDown={(event) => leaveOnEscape(event, props.onLeave)}>
      <h2 class="vh">{t("panel.conversation")}</h2>
      {loading === "loading" ? (
        <div class="talk">
          <Skeleton />
        </div>
      ) : first && loading === "" ? (
        <div class="talk">
          <div class="empty">
            <b>{t("panel.empty.title")}</b>
            <span>{t("panel.empty.text")}</span>
            <span class="meta may">{t("panel.empty.may")}</span>
          </div>
        </div>
      ) : (
        <Log {...props} timeline={timeline} active={active} stopping={stopping} />
      )}
      <div class="compose">
        {loading !== "" && loading !== "loading" && (
          <FaultNotice
            fault={factsOf(loading)}
            actions={{ ...props.steps, retry: () => void conversations.attach() }}
          />
        )}
        <ProblemNotice {...props} />
        <Queue items={queue} onTakeBack={(runId) => void conversations.stop(runId)} />
        <ContextMeter use={timeline.context} />
        <UsageLine timeline={timeline} provider={props.provider} />
        {props.offText() !== "" && <div class="meta">{props.offText()}</div>}
        <Composer
          draft={conversation.draft}
          off={
            off ??
            (over
              ? {
                  words: t("panel.off.over"),
                  action: { label: t("panel.new"), run: () => conversations.startNew() },
                }
              : null)
          }
          sending={conversation.sending}
          running={active === null ? "" : stopping ? "stopping" : "running"}
          first={first}
          model={props.model()}
          models={props.models()}
          onModel={props.onModel}
          onSend={() => void conversations.send()}
          onStop={() => active !== null && void conversations.stop(active.run.id)}
          onLeave={props.onLeave}
        />
      </div>
      {/* What is settled is said; words as they stream are not. */}
      <div class="vh" role="status" aria-live="polite">
        {props.said.value}
      </div>
    </div>
  );
}

function leaveOnEscape(event: KeyboardEvent, leave: () => void): void {
  if (event.key === "Escape" && !event.defaultPrevented && !event.isComposing && event.keyCode !== 229) {
    event.preventDefault();
    leave();
  }
}

function ProblemNotice({
  conversation,
  steps,
}: ConversationPanelProps & { readonly conversation: Conversation }) {
  const problem = conversation.problem.value;
  if (problem === null) {
    return null;
  }
  const dismiss = (): void => {
    conversation.problem.value = null;
  };
  const again = (): void => {
    dismiss();
    problem.again();
  };
  return (
    <FaultNotice
      fault={factsOf(problem.error)}
      actions={{ ...steps, retry: again, continueRun: again, dismiss }}
    />
  );
}

function factsOf({ code, detail, retryAfterMs }: BackendError) {
  return { code, detail, retryAfterMs };
}

interface LogProps extends ConversationPanelProps {
  readonly conversation: Conversation;
  readonly timeline: Timeline;
  readonly active: RunView | null;
  readonly stopping: boolean;
}

/** What happened. Only the last rows are drawn until one asks for earlier ones. */
function Log(props: LogProps) {
  const { conversation, timeline, active, actions } = props;
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const below = useSignal(false);
  const rows = useMemo(() => rowsOf(timeline.items), [timeline.items]);
  const from = useSignal(Math.max(0, rows.length - page));
  /** How far from its end the list was when earlier rows were asked for, in CSS pixels. */
  const held = useRef<number | null>(null);
  const drawn = useMemo(() => new WeakMap<object, VNode>(), [actions]);

  // While its end is in sight the list holds no more than it needs.
  if (follows.current && rows.length - from.peek() > 2 * page) {
    from.value = rows.length - page;
  }

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) {
      return;
    }
    if (held.current !== null) {
      element.scrollTop = element.scrollHeight - held.current;
      held.current = null;
    } else if (follows.current) {
      element.scrollTop = element.scrollHeight;
    }
  });

  useEffect(() => {
    const element = box.current;
    const inner = content.current;
    if (element === null || inner === null || typeof ResizeObserver === "undefined") {
      return;
    }
    const observer = new ResizeObserver(() => {
      if (follows.current) {
        element.scrollTop = element.scrollHeight;
      } else {
        below.value = true;
      }
    });
    observer.observe(inner);
    observer.observe(element);
    return () => observer.disconnect();
  }, [below]);

  const next = active === null ? timeline.queue[0] : undefined;
  return (
    <>
      <div
        class="talk scrolls"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard too
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t("panel.conversation")}
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          follows.current = scrollHeight - scrollTop - clientHeight < nearEnd;
          if (follows.current) {
            below.value = false;
          }
        }}
      >
        <div class="talk-in" ref={content}>
          {from.value > 0 && (
            <button
              type="button"
              class="btn quiet earlier"
              onClick={() => {
                const element = box.current;
                held.current = element === null ? null : element.scrollHeight - element.scrollTop;
                follows.current = false;
                from.value = Math.max(0, from.value - page);
              }}
            >
              {t("panel.earlier", { n: from.value })}
            </button>
          )}
          {rows.slice(from.value).map((row) => draw(row, drawn, props))}
          {next !== undefined && <Asked key={next.key} item={next} actions={actions} />}
          {active !== null && <Live key="live" {...props} active={active} conversation={conversation} />}
        </div>
      </div>
      {below.value && (
        <button
          type="button"
          class="to-end"
          onClick={() => {
            follows.current = true;
            below.value = false;
            box.current?.scrollTo({ top: box.current.scrollHeight });
          }}
        >
          <Icon name="chevron-down" small />
          {t("panel.toEnd")}
        </button>
      )}
    </>
  );
}

/** A row that is as it was is the same element: its content is not even compared. */
function draw(row: Row, drawn: WeakMap<object, VNode>, props: LogProps): VNode {
  if (row.type === "end" || row.type === "tools" || row.type === "proposals") {
    return drawRow(row, props);
  }
  const known = drawn.get(row.item) ?? drawRow(row, props);
  // An answer to a question is known to the conversation, not to the item.
  if (row.type !== "card") {
    drawn.set(row.item, known);
  }
  return known;
}

function drawRow(row: Row, props: LogProps): VNode {
  const { actions } = props;
  switch (row.type) {
    case "asked":
      return <Asked key={row.key} item={row.item} actions={actions} />;
    case "answer":
      return <Answered key={row.key} item={row.item} actions={actions} />;
    case "tools":
      return <Tools key={row.key} items={row.items} actions={actions} />;
    case "card":
    case "proposals":
      return <Card key={row.key} row={row} actions={actions} />;
    case "end":
      return <Ending key={row.key} item={row.item} {...props} />;
    case "continued":
      return <ContinuedRule key={row.key} />;
    case "model":
      return <ModelRule key={row.key} row={row} actions={actions} />;
  }
}

function ContinuedRule() {
  return <Rule words={t("panel.continued")} />;
}

function ModelRule({
  row,
  actions,
}: {
  readonly row: Extract<Row, { readonly type: "model" }>;
  readonly actions: RowActions;
}) {
  return <Rule words={t("panel.continuedWith", { name: actions.modelName(row.item) })} />;
}

/** What is happening now: the words as they come, or what is waited for. */
function Live(props: LogProps & { readonly active: RunView }) {
  const { active, conversation, stopping, actions } = props;
  const { run } = active;
  const stream = conversation.stream.value;
  const checking = props.checking.value.has(run.id);
  const seconds = useSeconds(active.begunAtMs || run.startedAtMs);
  const thinkingFor = useSeconds(stream?.thinking === true ? stream.thinkingSinceMs : 0);
  const words = stream !== null && !stream.done ? stream.text : "";
  const waits = run.state === "waiting_for_approval";
  const asking =
    words === "" && (active.phase === "prepared" || active.phase === "sent" || active.phase === "");
  return (
    <>
      {words !== "" && (
        <div class="said">
          {stream !== null && stream.missed > 0 && <div class="meta">…</div>}
          <AnswerText text={words} whole={false} live={!stopping} onLink={actions.onLink} />
        </div>
      )}
      <div class="line strip">
        {waits && !stopping ? <Icon name="clock" small /> : <Icon name="loader-circle" small spin />}
        <span class="grow meta num">
          {stopping
            ? t("panel.stopping")
            : checking
              ? t("panel.checking")
              : waits
                ? t("panel.waitsForYou")
                : active.phase === "failed"
                  ? t(active.code === "rate_limited" ? "panel.pausing" : "panel.retrying")
                  : stream?.thinking === true
                    ? t("panel.thinking", { seconds: thinkingFor })
                    : asking && seconds >= slowAfter
                      ? t("panel.stillWaiting", { seconds })
                      : active.step > 1
                        ? t("panel.step", { step: active.step, seconds })
                        : t(words === "" ? "panel.working" : "panel.answering", { seconds })}
        </span>
      </div>
    </>
  );
}

/** How a run ended, and what can be done now. */
/** How a run ended, and that its answer is about a part of what was sent. */
function Ending(props: LogProps & { readonly item: EndItem }) {
  const { item } = props;
  const plain = item.state === "succeeded" && item.fault === null && item.outcome === "";
  return (
    <>
      {item.clipped && <Notice kind="warn" title={t("panel.clipped.title")} text={t("panel.clipped.text")} />}
      {!(item.clipped && plain) && <EndNotice {...props} />}
    </>
  );
}

function EndNotice(props: LogProps & { readonly item: EndItem }) {
  const { item, timeline, conversations, active, conversation } = props;
  const view = timeline.runs.get(item.runId);
  const continued = useComputed(() =>
    [...conversation.timeline.value.runs.values()].some((other) => other.run.parentRunId === item.runId),
  ).value;
  // It is gone on with where nothing came after it; what was taken back is not wanted.
  const isLast = useComputed(() => isNewest(conversation.timeline.value, item.runId)).value;
  const canContinue =
    isLast &&
    !continued &&
    (item.begun || item.state !== "cancelled") &&
    active === null &&
    props.off() === null &&
    !conversation.sending.value;
  const onContinue = (): void => void conversations.continueRun(item.runId);
  const calls = callsOf(timeline, item.runId);
  const button = canContinue && (
    <button type="button" class="btn sm" onClick={onContinue}>
      {t("panel.continue")}
    </button>
  );
  language.value;
  const why = endReason(item.reason);
  if (why !== null) {
    const { openSettings } = props.steps;
    const limit = isLast && item.reason.startsWith("budget_") && item.reason !== "budget_quotes";
    return (
      <Notice
        kind="warn"
        title={why.title}
        text={why.text}
        actions={
          <>
            {button}
            {limit && openSettings !== undefined && (
              <button type="button" class="btn quiet sm" onClick={openSettings}>
                {faultActionLabel("openSettings")}
              </button>
            )}
          </>
        }
      />
    );
  }
  if (item.fault !== null || item.state === "failed" || item.state === "succeeded") {
    return (
      <FaultNotice
        fault={faultOf(item, view, props)}
        actions={{
          ...(isLast && props.steps),
          ...(isLast && billingOf(view, props)),
          ...(canContinue && { retry: onContinue, continueRun: onContinue, continue: onContinue }),
          ...(isLast && { editRequest: () => takeUp(props, item.runId) }),
        }}
      />
    );
  }
  if (item.state === "interrupted") {
    const kept = calls.filter(({ call }) => call.state === "succeeded").length;
    return (
      <Notice
        kind="warn"
        title={t(item.begun ? "panel.interrupted" : "panel.neverStarted", { time: formatTime(item.atMs) })}
        text={
          calls.some(({ call }) => call.state === "unknown")
            ? t("panel.interrupted.unknown")
            : t("panel.interrupted.kept", { n: kept })
        }
        actions={button}
      />
    );
  }
  return (
    <div class="line strip">
      <Icon name="square" small />
      <span class="grow meta">{endWords(item.begun, callsWrote(calls))}</span>
      {button}
    </div>
  );
}

/** Whether no run came after one, but for those that were taken back before they began. */
function isNewest(timeline: Timeline, runId: string): boolean {
  let after = false;
  for (const { run } of timeline.runs.values()) {
    if (run.id === runId) {
      after = true;
    } else if (after && !(run.state === "cancelled" && run.startedAtMs === 0)) {
      return false;
    }
  }
  return true;
}

/** Puts what was asked back into the field, to be changed. */
function takeUp({ timeline, conversation }: LogProps, runId: string): void {
  const asked = timeline.items.find((item) => item.type === "asked" && item.runId === runId);
  if (asked?.type === "asked" && conversation.draft.peek() === "") {
    conversation.draft.value = asked.text;
  }
  document.querySelector<HTMLElement>(".compose textarea")?.focus();
}

/** The step to the page where the account of a run is topped up, where that is known. */
function billingOf(view: RunView | undefined, { provider, onBilling }: LogProps) {
  const asked = view === undefined ? null : provider(view.run.model);
  const billing = asked === null ? "" : kindOf(asked).billing;
  return billing === "" ? null : { openBilling: () => onBilling(billing) };
}

function faultOf(item: EndItem, view: RunView | undefined, props: LogProps) {
  const fault: FaultInfo = item.fault ?? {
    code: item.outcome === "cut_off" || item.outcome === "refused" ? item.outcome : "internal",
    detail: "",
    retryAfterMs: 0,
  };
  return {
    code: isFaultCode(fault.code) ? fault.code : ("internal" as const),
    detail: fault.detail,
    // A pause that was asked for long ago is over.
    retryAfterMs: Math.max(0, fault.retryAfterMs - (Date.now() - item.atMs)),
    ...(view !== undefined && {
      provider: props.provider(view.run.model)?.name,
      model: view.run.model.model,
    }),
  };
}

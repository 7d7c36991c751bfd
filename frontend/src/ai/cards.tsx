import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import type { Approval, BackendError, Proposal, ToolCall } from "../backend";
import { formatTime, localeTag, t } from "../i18n";
import { describeFault } from "../ui/fault";
import { Icon } from "../ui/icon";
import { baseName } from "../ui/paths";
import { documentLabel } from "../ui/tree-model";
import type { Answer } from "./conversations";
import { warningText } from "./labels";
import { CallDetail, useWholeCall, Visible } from "./panel-parts";
import {
  callWords,
  documentOf,
  inputOf,
  isDecided,
  lookOf,
  objectOf,
  questionOf,
  reasonWords,
  toolIcon,
} from "./panel-words";
import type { Standing } from "./review-proposals";
import type { CallItem, ProposalItem } from "./timeline";

/** What cards ask of their conversation. */
export interface CardActions {
  /** Whether an answer is on its way, or what refused it. */
  readonly answerOf: (approvalId: string) => "sending" | BackendError | undefined;
  readonly onAnswer: (approval: Approval, answer: Answer) => void;
  /** Shows a text whole, where it cannot be changed. */
  readonly onShow: (title: string, text: string) => void;
  /** Shows the whole result of a call, which was too large for its row. */
  readonly onShowArtifact: (call: ToolCall) => void;
  /** A call whose input and result were left out for their size. */
  readonly callOf: (callId: string) => Promise<ToolCall>;
  readonly proposalOf: (proposalId: string) => Promise<Proposal>;
  /** Shows the folder that a call was to write to. */
  readonly onLook: (call: ToolCall) => void;
  readonly onReconcile: (callId: string, verdict: "applied" | "absent") => void;
  readonly onReview: (proposals: readonly Proposal[]) => void;
  /** How a proposal stands in its text now; null when that is not known. May read signals. */
  readonly standing: (proposalId: string) => Standing | null;
}

/** How much of a new document's text is shown in its card, in lines. */
const peekLines = 8;

/** A question about a call, or what came of it (T5). */
export function ApprovalCard({ item, actions }: { readonly item: CallItem; readonly actions: CardActions }) {
  const { approval } = item;
  if (approval === null) {
    return null;
  }
  const open = approval.state === "pending" && item.call.state === "waiting_for_approval";
  return open ? (
    <Question item={item} approval={approval} actions={actions} />
  ) : (
    <Outcome item={item} approval={approval} actions={actions} />
  );
}

function Question({
  item,
  approval,
  actions,
}: {
  readonly item: CallItem;
  readonly approval: Approval;
  readonly actions: CardActions;
}) {
  const id = useId();
  const { summary } = approval;
  // A long text is in neither of the two; what is decided on is shown all the same.
  const isThere = summary.text !== "" || summary.bytes === 0;
  const call = useWholeCall(item, isThere || item.call.name !== "createDocument", actions);
  const answer = actions.answerOf(approval.id);
  const busy = answer === "sending";
  const reads = call.kind === "read";
  const text = summary.text || inputOf(call.input)("text");
  const decide = (decision: Answer): void => {
    if (!busy) {
      actions.onAnswer(approval, decision);
    }
  };
  return (
    <section class="card ask" aria-labelledby={id}>
      <h3 id={id}>{questionOf(item, summary)}</h3>
      <Facts item={item} approval={approval} />
      {call.name === "createDocument" && text !== "" && (
        <div class="peek">
          <Visible text={firstLines(text)} />
        </div>
      )}
      {summary.invisible && (
        <div class="badge lock">
          <Icon name="triangle-alert" small />
          {t("panel.ask.invisible")}
        </div>
      )}
      <div class="acts">
        <button
          type="button"
          class="btn primary"
          aria-disabled={busy ? "true" : undefined}
          onClick={() => decide("allow_once")}
        >
          {busy && <Icon name="loader-circle" small spin />}
          {verbOf(call)}
        </button>
        {reads && (
          <button
            type="button"
            class="btn"
            aria-disabled={busy ? "true" : undefined}
            onClick={() => decide("allow_session")}
          >
            {t("panel.allowSession")}
          </button>
        )}
        <button
          type="button"
          class="btn"
          aria-disabled={busy ? "true" : undefined}
          onClick={() => decide("deny")}
        >
          {t("panel.deny")}
        </button>
        {call.name === "createDocument" && text !== "" && (
          <>
            <span class="grow" />
            <button
              type="button"
              class="btn quiet"
              onClick={() => actions.onShow(summary.path || objectOf(call), text)}
            >
              {t("panel.showAll")}
            </button>
          </>
        )}
      </div>
      {answer !== undefined && answer !== "sending" ? (
        <Refused error={answer} />
      ) : (
        <div class="meta">{t(reads ? "panel.ask.readNote" : "panel.ask.writeNote")}</div>
      )}
    </section>
  );
}

function Facts({ item, approval }: { readonly item: CallItem; readonly approval: Approval }) {
  const { summary } = approval;
  const rows: (readonly [string, string])[] = [];
  if (item.call.name === "renameDocument") {
    rows.push([t("panel.fact.from"), summary.path], [t("panel.fact.to"), summary.newPath]);
    if (summary.links > 0) {
      rows.push([t("panel.fact.links"), t("panel.fact.linksStay", { n: summary.links })]);
    }
  } else if (item.call.name === "createDocument") {
    rows.push(
      [t("panel.fact.path"), summary.path],
      [t("panel.fact.size"), t("panel.fact.words", { n: summary.words, bytes: byteCount(summary.bytes) })],
    );
  } else if (summary.path !== "" && item.call.name !== "readDocument") {
    rows.push([t("panel.fact.path"), summary.path]);
  }
  return rows.length === 0 ? null : (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd class="num">
            <Visible text={value} />
          </dd>
        </>
      ))}
    </dl>
  );
}

function byteCount(bytes: number): string {
  return t("panel.bytes", { n: bytes });
}

function verbOf(call: ToolCall): string {
  switch (call.name) {
    case "createDocument":
      return t("panel.create");
    case "renameDocument":
      return t("panel.rename");
    default:
      return t("panel.allowOnce");
  }
}

function firstLines(text: string): string {
  const lines = text.split("\n");
  const head = lines.slice(0, peekLines).join("\n").trimEnd();
  return lines.length > peekLines || head.length > 800 ? `${head.slice(0, 800)}\n…` : head;
}

function Refused({ error }: { readonly error: BackendError }) {
  const { code, detail, retryAfterMs } = error;
  const { title, text } = describeFault({ code, detail, retryAfterMs });
  return (
    <div class="err" role="alert">
      <Icon name="circle-alert" />
      <span>{`${title} ${text}`}</span>
    </div>
  );
}

/** What came of a question: one line, which opens to input and result. */
function Outcome({
  item,
  approval,
  actions,
}: {
  readonly item: CallItem;
  readonly approval: Approval;
  readonly actions: CardActions;
}) {
  const open = useSignal(false);
  const id = useId();
  const { call } = item;
  const look = lookOf(item);
  const name = objectOf(call) || documentLabel(baseName(approval.summary.path));
  const words =
    look === "failed" || look === "denied"
      ? t(call.name === "renameDocument" ? "panel.notRenamed" : "panel.notCreated", { name })
      : callWords(item, look);
  return (
    <div class="card">
      <button
        type="button"
        class="line head"
        aria-expanded={open.value}
        aria-controls={open.value ? id : undefined}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <h3 class="grow">{words}</h3>
        {look === "done" ? (
          <span class="badge good num">
            <Icon name="check" />
            {formatTime(call.endedAtMs)}
          </span>
        ) : look === "running" ? (
          <Icon name="loader-circle" small spin />
        ) : look === "denied" ? (
          <span class="badge">
            <Icon name="x" />
            {t("panel.denied")}
          </span>
        ) : look === "failed" ? (
          <span class="badge bad">
            <Icon name="circle-alert" />
            {reasonWords(call.reason)}
          </span>
        ) : (
          <span class="badge">
            <Icon name="clock" />
            {t("panel.endedFirst")}
          </span>
        )}
      </button>
      {open.value && <CallDetail id={id} item={item} actions={actions} />}
    </div>
  );
}

/** A call whose end nobody saw: said plainly, with what a person can do about it (R6). */
export function UnknownCard({ item, actions }: { readonly item: CallItem; readonly actions: CardActions }) {
  const id = useId();
  const { call, verdict } = item;
  const name = objectOf(call);
  const create = call.name === "createDocument";
  const settled = verdict !== null && verdict.verdict !== "unknown";
  return (
    <section class="card" aria-labelledby={id}>
      <div class="line">
        <Icon name={settled ? toolIcon(call.name) : "circle-question-mark"} />
        <h3 class="grow" id={id}>
          {call.kind === "write"
            ? t(create ? "panel.unknown.create" : "panel.unknown.rename", { name })
            : t("panel.unknown.other", { name: call.name })}
        </h3>
      </div>
      {settled ? (
        <div class="meta">
          {t(
            verdict.verdict === "applied"
              ? create
                ? "panel.said.created"
                : "panel.said.renamed"
              : create
                ? "panel.said.notCreated"
                : "panel.said.notRenamed",
          )}
        </div>
      ) : (
        <>
          <div class="meta">{t("panel.unknown.text")}</div>
          <div class="acts">
            <button type="button" class="btn sm" onClick={() => actions.onLook(call)}>
              {t("panel.look")}
            </button>
            <button
              type="button"
              class="btn quiet sm"
              onClick={() => actions.onReconcile(call.id, "applied")}
            >
              {t(create ? "panel.wasCreated" : "panel.wasRenamed")}
            </button>
            <button type="button" class="btn quiet sm" onClick={() => actions.onReconcile(call.id, "absent")}>
              {t("panel.wasNot")}
            </button>
          </div>
        </>
      )}
    </section>
  );
}

/** What a run proposed for one document: how much, what of it needs care, and the way to it. */
export function ProposalCard({
  items,
  actions,
}: {
  readonly items: readonly ProposalItem[];
  readonly actions: CardActions;
}) {
  const id = useId();
  const proposals = useProposals(items, actions);
  const [first] = proposals;
  if (first === undefined) {
    return null;
  }
  const hunks = proposals.flatMap((proposal) => proposal.hunks);
  const open = proposals.filter((proposal) => !isDecided(proposal.state));
  const summaries = proposals.map((proposal) => proposal.patch.summary).filter((words) => words !== "");
  return (
    <section class="card" aria-labelledby={id}>
      <div class="line top">
        <h3 class="grow" id={id}>
          {t("panel.changes", { n: Math.max(1, hunks.length), name: documentOf(first.docUri) })}
        </h3>
        {open.length > 0 && (
          <button type="button" class="btn sm" onClick={() => actions.onReview(open)}>
            {t("panel.review")}
          </button>
        )}
      </div>
      {summaries.length > 0 && (
        <ul class="sums">
          {summaries.slice(0, 5).map((words) => (
            <li>
              <Visible text={words} />
            </li>
          ))}
          {summaries.length > 5 && <li>{t("panel.more", { n: summaries.length - 5 })}</li>}
        </ul>
      )}
      <div class="meta">{open.length > 0 ? openWords(proposals, actions) : decidedWords(proposals)}</div>
    </section>
  );
}

/** What of the changes needs care, and what became of them by typing. */
function openWords(proposals: readonly Proposal[], actions: CardActions): string {
  const hunks = proposals.flatMap((proposal) => proposal.hunks);
  const marked = hunks.filter((hunk) => hunk.warnings.length > 0);
  const warnings = [...new Set(hunks.flatMap((hunk) => hunk.warnings))];
  const standings = proposals.flatMap((proposal) => actions.standing(proposal.id) ?? []);
  const sum = (of: "moved" | "stale"): number => standings.reduce((n, standing) => n + standing[of], 0);
  if (standings.length > 0 && standings.every((standing) => standing.place === "unplaced")) {
    return t("panel.changes.older");
  }
  return joined([
    marked.length === 0
      ? t("panel.changes.plain")
      : t("panel.changes.marked", {
          plain: hunks.length - marked.length,
          marked: marked.length,
          what: lowerFirst(warningText(warnings)),
        }),
    ...(sum("moved") > 0 ? [t("panel.changes.moved", { n: sum("moved") })] : []),
    ...(sum("stale") > 0 ? [t("panel.changes.stale", { n: sum("stale") })] : []),
  ]);
}

/** The words of a sentence of its own, within another. */
function lowerFirst(words: string): string {
  return words.slice(0, 1).toLocaleLowerCase(localeTag.value) + words.slice(1);
}

function joined(words: readonly string[]): string {
  return new Intl.ListFormat(localeTag.value, { style: "narrow", type: "unit" }).format(words);
}

function decidedWords(proposals: readonly Proposal[]): string {
  const hunks = proposals.flatMap((proposal) => proposal.hunks);
  const of = (outcome: string): number => hunks.filter((hunk) => hunk.outcome === outcome).length;
  const states = proposals.map((proposal) => proposal.state);
  if (states.every((state) => state === "stale" || state === "unknown_base")) {
    return t("panel.changes.older");
  }
  if (states.every((state) => state === "superseded")) {
    return t("panel.changes.superseded");
  }
  const accepted = of("accepted") || states.filter((state) => state === "applied").length;
  const rejected = of("rejected") || states.filter((state) => state === "rejected").length;
  return joined([
    ...(accepted > 0 ? [t("panel.changes.accepted", { n: accepted })] : []),
    ...(rejected > 0 ? [t("panel.changes.rejected", { n: rejected })] : []),
  ]);
}

/** The proposals with their bodies, which are fetched where they were left out. */
function useProposals(items: readonly ProposalItem[], actions: CardActions): readonly Proposal[] {
  const fetched = useSignal<ReadonlyMap<string, Proposal>>(new Map());
  const missing = items.filter((item) => !item.whole).map((item) => item.key);
  const key = missing.join(" ");
  useEffect(() => {
    for (const id of key === "" ? [] : key.split(" ")) {
      actions.proposalOf(id).then(
        (proposal) => {
          fetched.value = new Map(fetched.peek()).set(id, proposal);
        },
        () => {},
      );
    }
  }, [key, actions, fetched]);
  return items.map((item) =>
    item.whole
      ? item.proposal
      : { ...(fetched.value.get(item.key) ?? item.proposal), state: item.proposal.state },
  );
}

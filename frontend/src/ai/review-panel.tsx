import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Proposal } from "../backend";
import type { CompositionWatch, HunkView, ReviewAction, ReviewView } from "../editor";
import { isOpen, reviewListAction, watchComposition } from "../editor";
import { t } from "../i18n";
import { Icon } from "../ui/icon";
import { baseName } from "../ui/paths";
import { presets } from "../ui/presets";
import { warningText } from "./labels";
import { Visible } from "./panel-parts";
import type { OpenProposal, OtherProposal, Proposals } from "./review-proposals";

/** Props of ReviewPanel. */
export interface ReviewPanelProps {
  readonly proposals: Pick<Proposals, "front" | "review" | "others">;
  /** The one that could be asked for anew; null for none. */
  readonly again: ReadonlySignal<OpenProposal | null>;
  /** The shown key of "rewrite selection". */
  readonly rewriteKey: string;
  readonly acceptAllKey: string;
  readonly onGo: (hunk: string) => void;
  readonly onTick: (hunk: string, ticked: boolean) => void;
  readonly onAction: (action: Exclude<ReviewAction, "leave">) => void;
  readonly onRegenerate: (remark: string) => void;
  /** Asks the conversation that made a proposal to make it again; absent while there is none. */
  readonly onAskAgain?: ((proposal: Proposal) => void) | undefined;
  readonly onDismiss: (id: string) => void;
  /** Brings a proposal of another document to the front. */
  readonly onShow: (id: string) => void;
  readonly onLeave: () => void;
}

/** How many proposals of other documents are listed. */
const mostOthers = 20;

/** The list of a review: one row a hunk, decided by single keys (UI.md section 7). */
export function ReviewPanel(props: ReviewPanelProps) {
  const { front, review, others } = props.proposals;
  const unplaced = front.value.filter((open) => !open.placed);
  const shown = review.value;
  if (front.value.length === 0 && others.value.length === 0) {
    return (
      <div class="empty">
        <b>{t("review.none.title")}</b>
        <span>{t("review.none.text", { key: props.rewriteKey })}</span>
      </div>
    );
  }
  return (
    <>
      {shown !== null && (
        <OpenReview {...props} shown={shown} open={front.value.filter((open) => open.placed)} />
      )}
      {(unplaced.length > 0 || others.value.length > 0) && (
        <div class={shown === null ? "off-text" : "off-text is-below"}>
          {unplaced.map((open) => (
            <Unplaced key={open.proposal.id} {...props} open={open} />
          ))}
          {others.value.length > 0 && <Others all={others.value} onShow={props.onShow} />}
        </div>
      )}
    </>
  );
}

/** A proposal that cannot be placed in the text, and what can be done with it. */
function Unplaced(props: ReviewPanelProps & { readonly open: OpenProposal }) {
  const { onAskAgain, onDismiss } = props;
  const { proposal, inText } = props.open;
  const id = useId();
  return (
    <section class="unplaced" aria-labelledby={id}>
      <b class="clip" id={id}>
        <Visible text={titleOf(props.open)} />
      </b>
      <div class="badge">
        <Icon name="clock" small />
        {t("review.unplaced")}
      </div>
      <span>{t(inText ? "review.unplaced.inText" : "review.unplaced.text")}</span>
      <div class="acts">
        {proposal.origin === "tool" && onAskAgain !== undefined && !inText && (
          <button type="button" class="btn sm" onClick={() => onAskAgain(proposal)}>
            {t("review.askAgain")}
          </button>
        )}
        <button type="button" class="btn sm" onClick={() => onDismiss(proposal.id)}>
          {t("review.dismiss")}
        </button>
      </div>
    </section>
  );
}

/** Open proposals of other documents, also of ones that are not open. */
function Others({
  all,
  onShow,
}: {
  readonly all: readonly OtherProposal[];
  readonly onShow: (id: string) => void;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h3 class="meta" id={id}>
        {t("review.others")}
      </h3>
      <ul class="others">
        {all.slice(0, mostOthers).map(({ proposal, path }) => (
          <li key={proposal.id}>
            <button type="button" class="row" onClick={() => onShow(proposal.id)}>
              <span class="clip">
                {path === "" ? t("review.others.untitled") : baseName(path).replace(/\.md$/, "")}
              </span>
              <span class="meta clip">
                <Visible text={summaryOf(proposal)} />
              </span>
            </button>
          </li>
        ))}
      </ul>
      {all.length > mostOthers && (
        <div class="meta">{t("review.others.more", { n: all.length - mostOthers })}</div>
      )}
    </section>
  );
}

function OpenReview(
  props: ReviewPanelProps & { readonly open: readonly OpenProposal[]; readonly shown: ReviewView },
) {
  const { shown } = props;
  const first = ({ proposal }: OpenProposal): number =>
    shown.hunks.find((hunk) => hunk.review === proposal.id)?.number ?? 0;
  // As they are gone through.
  const open = [...props.open].sort((a, b) => first(a) - first(b));
  const list = useRef<HTMLUListElement>(null);
  const asking = useSignal(false);
  const undecided = shown.hunks.filter(isOpen);
  const ticked = undecided.filter((hunk) => hunk.ticked && hunk.status !== "stale");
  const [only] = open;

  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [shown.current]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const action = reviewListAction(event);
    if (action === null) {
      return;
    }
    event.preventDefault();
    switch (action) {
      case "leave":
        props.onLeave();
        return;
      case "reject_all":
        asking.value = true;
        return;
      case "regenerate":
        list.current?.closest(".panel")?.querySelector<HTMLInputElement>(".foot input")?.focus();
        return;
      default:
        props.onAction(action);
    }
  };

  return (
    <>
      <div class="p-head">
        <div class="line">
          <span class="p-title grow clip">
            {open.length > 1 || only === undefined ? (
              t("review.several", { n: open.length })
            ) : (
              <Visible text={titleOf(only)} />
            )}
          </span>
        </div>
        <div class="meta">
          {undecided.length === shown.hunks.length
            ? t("review.counts", { n: shown.hunks.length })
            : t("review.countsOpen", { n: shown.hunks.length, open: undecided.length })}
        </div>
        {shown.cutOff && (
          <div class="badge lock">
            <Icon name="scissors" small />
            {t("review.cutOff")}
          </div>
        )}
      </div>
      <ul
        class="hunks"
        ref={list}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the list takes the focus for its keys
        tabIndex={0}
        aria-label={t("review.title")}
        onKeyDown={onKeyDown}
      >
        {open.map((one) => (
          <Group key={one.proposal.id} {...props} one={one} titled={open.length > 1} />
        ))}
      </ul>
      <div class="foot">
        {props.again.value !== null && <Remark onRegenerate={props.onRegenerate} />}
        {asking.value ? (
          <div class="acts" role="alertdialog" aria-label={t("review.rejectAll")}>
            <span class="grow">{t("review.rejectAll.ask", { n: undecided.length })}</span>
            <button
              type="button"
              class="btn bad"
              onClick={() => {
                asking.value = false;
                props.onAction("reject_all");
              }}
            >
              {t("review.rejectAll")}
            </button>
            <button
              type="button"
              class="btn"
              onClick={() => {
                asking.value = false;
              }}
            >
              {t("dialogs.cancel")}
            </button>
          </div>
        ) : (
          <div class="acts">
            <button
              type="button"
              class="btn primary grow"
              disabled={ticked.length === 0}
              onClick={() => props.onAction("accept_ticked")}
            >
              {t("review.acceptTicked", { n: ticked.length })}
              <span class="key">{props.acceptAllKey}</span>
            </button>
            <button
              type="button"
              class="btn"
              disabled={undecided.length === 0}
              onClick={() => {
                asking.value = true;
              }}
            >
              {t("review.rejectAll")}
            </button>
          </div>
        )}
      </div>
    </>
  );
}

/** The hunks of one proposal, under its summary where there are several. They are numbered as in the text. */
function Group(
  props: ReviewPanelProps & {
    readonly one: OpenProposal;
    readonly titled: boolean;
    readonly shown: ReviewView;
  },
) {
  const { one, shown, titled } = props;
  const hunks = shown.hunks.filter((hunk) => hunk.review === one.proposal.id);
  return (
    <>
      {titled && (
        <li class="of" title={titleOf(one)}>
          <span class="clip">
            <Visible text={titleOf(one)} />
          </span>
        </li>
      )}
      {hunks.map((hunk) => (
        <Row key={hunk.id} hunk={hunk} current={hunk.id === shown.current} {...props} />
      ))}
    </>
  );
}

function Row(props: ReviewPanelProps & { readonly hunk: HunkView; readonly current: boolean }) {
  const { hunk, current } = props;
  const done = hunk.status === "accepted" || hunk.status === "rejected";
  const warning = warningText(hunk.warnings);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
    <li class="hunk" aria-current={current ? "true" : undefined} onClick={() => props.onGo(hunk.id)}>
      {done ? (
        <Icon name={hunk.status === "accepted" ? "check" : "x"} small />
      ) : (
        // biome-ignore lint/a11y/useSemanticElements: drawn like the marks, with the same role and state
        <button
          type="button"
          role="checkbox"
          class={`check${hunk.ticked ? " on" : ""}`}
          aria-checked={hunk.ticked}
          aria-label={t("review.include", { number: hunk.number })}
          disabled={hunk.status === "stale"}
          onClick={(event) => {
            event.stopPropagation();
            props.onTick(hunk.id, !hunk.ticked);
          }}
        >
          {hunk.ticked && <Icon name="check" />}
        </button>
      )}
      <span class="n">{hunk.number}</span>
      <div class="txt">
        {hunk.deleted !== "" && <del>{visible(bare(hunk.deleted))}</del>}
        {hunk.deleted !== "" && hunk.inserted !== "" && " "}
        {hunk.inserted !== "" && <ins>{visible(bare(hunk.inserted))}</ins>}
      </div>
      {hunk.status === "stale" && (
        <span class="badge">
          <Icon name="triangle-alert" small />
          {t("review.stale")}
        </span>
      )}
      {hunk.status === "moved" && (
        <span class="badge">
          <Icon name="corner-down-right" small />
          {t("review.moved")}
        </span>
      )}
      {done && (
        <span class="badge">{t(hunk.status === "accepted" ? "review.accepted" : "review.rejected")}</span>
      )}
      {!done && warning !== "" && (
        <span class="badge lock">
          <Icon name="lock" small />
          {t("review.starts", { reason: warning })}
        </span>
      )}
    </li>
  );
}

/** Without the blanks at its ends, as in the text; blanks alone stay. */
function bare(text: string): string {
  return text.trim() === "" ? text : text.replace(/^[ \t]+|[ \t]+$/g, "");
}

function Remark({ onRegenerate }: { readonly onRegenerate: (remark: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const watch = useRef<CompositionWatch | null>(null);
  useEffect(() => {
    if (input.current === null) {
      return;
    }
    watch.current = watchComposition(input.current);
    return () => watch.current?.stop();
  }, []);
  return (
    <div class="field">
      <Icon name="refresh-cw" small />
      <input
        ref={input}
        type="text"
        autocomplete="off"
        aria-label={t("review.remark")}
        placeholder={t("review.remark")}
        onKeyDown={(event) => {
          if (watch.current?.claims(event) === true || event.key !== "Enter") {
            return;
          }
          event.preventDefault();
          onRegenerate(event.currentTarget.value);
        }}
      />
    </div>
  );
}

/** What was asked for, else what the proposal says of itself. */
function titleOf({ wish, proposal }: OpenProposal): string {
  if (wish === null) {
    return summaryOf(proposal);
  }
  const preset = presets.find((p) => p.id === wish.preset);
  const name = preset === undefined ? t("review.custom") : t(preset.label);
  const words = wish.instruction.trim().replaceAll("\n", ", ");
  return words === "" ? name : preset === undefined ? words : `${name}: ${words}`;
}

function summaryOf({ origin, patch }: Proposal): string {
  const words = visible(patch.summary.trim());
  return words !== "" ? words : t(origin === "rewrite" ? "review.custom" : "review.unnamed");
}

/** Line breaks as a sign, so that a row says that one goes or comes. */
function visible(text: string): string {
  return text.replaceAll("\n", "¶");
}

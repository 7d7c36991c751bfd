import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { CompositionWatch, HunkView, ReviewAction, ReviewView } from "../editor";
import { reviewListAction, watchComposition } from "../editor";
import { t } from "../i18n";
import { Icon } from "../ui/icon";
import { warningText } from "./labels";
import { presets } from "./presets";
import type { OpenProposal } from "./rewrites";

/** Props of ReviewPanel. */
export interface ReviewPanelProps {
  readonly proposal: ReadonlySignal<OpenProposal | null>;
  readonly review: ReadonlySignal<ReviewView | null>;
  /** The shown key of "rewrite selection". */
  readonly rewriteKey: string;
  readonly acceptAllKey: string;
  readonly onGo: (hunk: string) => void;
  readonly onTick: (hunk: string, ticked: boolean) => void;
  readonly onAction: (action: Exclude<ReviewAction, "leave">) => void;
  readonly onRegenerate: (remark: string) => void;
  readonly onDismiss: () => void;
  readonly onLeave: () => void;
}

/** The list of a review: one row a hunk, decided by single keys (UI.md section 7). */
export function ReviewPanel(props: ReviewPanelProps) {
  const open = props.proposal.value;
  const review = props.review.value;
  if (open !== null && !open.placed) {
    return (
      <div class="empty">
        <b>{t("review.unplaced")}</b>
        <span>{t("review.unplaced.text")}</span>
        <button type="button" class="btn" onClick={props.onDismiss}>
          {t("review.dismiss")}
        </button>
      </div>
    );
  }
  if (open === null || review === null) {
    return (
      <div class="empty">
        <b>{t("review.none.title")}</b>
        <span>{t("review.none.text", { key: props.rewriteKey })}</span>
      </div>
    );
  }
  return <OpenReview {...props} open={open} shown={review} />;
}

function OpenReview(props: ReviewPanelProps & { readonly open: OpenProposal; readonly shown: ReviewView }) {
  const { open, shown } = props;
  const list = useRef<HTMLUListElement>(null);
  const asking = useSignal(false);
  const undecided = shown.hunks.filter((hunk) => hunk.status !== "accepted" && hunk.status !== "rejected");
  const ticked = undecided.filter((hunk) => hunk.ticked && hunk.status !== "stale");

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
          <span class="p-title grow clip">{titleOf(open)}</span>
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
        {shown.hunks.map((hunk) => (
          <Row key={hunk.id} hunk={hunk} current={hunk.id === shown.current} {...props} />
        ))}
      </ul>
      <div class="foot">
        {open.wish !== null && <Remark onRegenerate={props.onRegenerate} />}
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

function titleOf({ wish }: OpenProposal): string {
  const preset = presets.find((p) => p.id === wish?.preset);
  const name = preset === undefined ? t("review.custom") : t(preset.label);
  const words = wish?.instruction.trim().replaceAll("\n", ", ") ?? "";
  return words === "" ? name : preset === undefined ? words : `${name}: ${words}`;
}

/** Line breaks as a sign, so that a row says that one goes or comes. */
function visible(text: string): string {
  return text.replaceAll("\n", "¶");
}

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { appendVisibly } from "../editor";
import { t } from "../i18n";
import type { CardActions } from "./cards";
import { helpWords, inputLines } from "./panel-words";
import type { CallItem } from "./timeline";

/** What a call was given and what came of it. */
export function CallDetail({
  id,
  item,
  actions,
}: {
  readonly id: string;
  readonly item: CallItem;
  readonly actions: CardActions;
}) {
  const call = useWholeCall(item, item.whole, actions);
  const input = inputLines(call.input);
  const help = helpWords(call.reason);
  return (
    <div class="detail" id={id}>
      <div class="meta">{t("panel.input")}</div>
      {input === "" ? <div class="meta">{t("panel.input.none")}</div> : <Peek text={input} />}
      {call.result !== "" && (
        <>
          <div class="meta">{t("panel.result")}</div>
          <Peek text={call.result} />
        </>
      )}
      {help !== "" && <div class="meta">{help}</div>}
      {call.truncated && (
        <div class="line meta">
          <span class="grow">{t("panel.result.cut")}</span>
          {call.artifactId !== "" && (
            <button type="button" class="btn quiet sm" onClick={() => actions.onShowArtifact(call)}>
              {t("panel.showAll")}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** A call with its input and result, which are fetched where they were left out for their size. */
export function useWholeCall(item: CallItem, whole: boolean, actions: CardActions): CallItem["call"] {
  const fetched = useSignal<CallItem["call"] | null>(null);
  const { id, state } = item.call;
  useEffect(() => {
    if (!whole) {
      actions.callOf(id).then(
        (call) => {
          fetched.value = call;
        },
        () => {},
      );
    }
  }, [whole, id, state, actions, fetched]);
  return whole ? item.call : (fetched.value ?? item.call);
}

/** How much of a text is drawn in a row, in UTF-16 units. */
const mostPeek = 4000;

/** A text as it is, in a box that scrolls. */
function Peek({ text }: { readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard too
    <div class="peek scrolls" tabIndex={0}>
      <Visible text={text.length > mostPeek ? `${text.slice(0, mostPeek)}…` : text} />
    </div>
  );
}

/** A text in which what cannot be seen is named (X4). */
export function Visible({ text }: { readonly text: string }) {
  const at = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const element = at.current;
    if (element !== null) {
      element.replaceChildren();
      appendVisibly(element, text);
    }
  }, [text]);
  return <span class="words" ref={at} />;
}

/** Whole seconds since a time, from a number of them on. */
export function Seconds({ sinceMs, from = 0 }: { readonly sinceMs: number; readonly from?: number }) {
  const seconds = useSeconds(sinceMs);
  return seconds >= from ? <span class="num">{t("panel.seconds", { n: seconds })}</span> : null;
}

/** Whole seconds since a time in ms; 0 while there is none. */
export function useSeconds(sinceMs: number): number {
  const seconds = useSignal(0);
  useEffect(() => {
    const tick = (): void => {
      seconds.value = sinceMs === 0 ? 0 : Math.max(0, Math.floor((Date.now() - sinceMs) / 1000));
    };
    tick();
    if (sinceMs === 0) {
      return;
    }
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [sinceMs, seconds]);
  return seconds.value;
}

/** Three bars, once something has been awaited for 300 ms. */
export function Skeleton() {
  const late = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      late.value = true;
    }, 300);
    return () => clearTimeout(timer);
  }, [late]);
  return late.value ? (
    <div class="skel" role="img" aria-label={t("panel.loading")}>
      <i />
      <i />
      <i />
    </div>
  ) : null;
}

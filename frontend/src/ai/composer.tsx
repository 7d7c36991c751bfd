import type { ReadonlySignal, Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { ModelRef, ProviderState } from "../backend";
import { type CompositionWatch, watchComposition } from "../editor";
import { formatNumber, t } from "../i18n";
import { priceOf, usageWords } from "../ui/cost";
import { Icon } from "../ui/icon";
import { MenuButton, type MenuItem } from "../ui/menu";
import type { AskedItem, ContextUse, Timeline } from "./timeline";

/** Why nothing can be sent, and what can be done about it. */
export interface ComposerOff {
  readonly words: string;
  /** Null when there is nothing but to wait. */
  readonly action: { readonly label: string; readonly run: () => void } | null;
}

/** Props of Composer. */
export interface ComposerProps {
  readonly draft: Signal<string>;
  /** Null while messages can be sent. */
  readonly off: ComposerOff | null;
  readonly sending: ReadonlySignal<boolean>;
  /** A run of the session is under way; "stopping" once it was asked to stop. */
  readonly running: "" | "running" | "stopping";
  /** Whether this is the first message of a session. */
  readonly first: boolean;
  /** The model that answers; "" for none. */
  readonly model: string;
  /** The models to choose from. */
  readonly models: readonly MenuItem[];
  readonly onModel: (id: string) => void;
  readonly onSend: () => void;
  readonly onStop: () => void;
  /** Back to the text. */
  readonly onLeave: () => void;
}

/** How many lines the field grows to. */
const mostLines = 8;

/**
 * Where a message is written. Enter sends and Shift+Enter breaks the line, but
 * no key does anything while an input method is composing (D10). What is sent
 * while a run is under way waits for it.
 */
export function Composer(props: ComposerProps) {
  const { draft, off, running, sending } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const watch = useRef<CompositionWatch | null>(null);
  const text = draft.value;
  const empty = text.trim() === "";
  const canSend = !empty && off === null && !sending.value;

  useEffect(() => {
    if (field.current === null) {
      return;
    }
    watch.current = watchComposition(field.current);
    return () => watch.current?.stop();
  }, []);

  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) {
      return;
    }
    // Measured from nothing, so that it shrinks too.
    element.style.blockSize = "0";
    const line = Number.parseFloat(getComputedStyle(element).lineHeight) || 20;
    const wanted = Math.min(Math.max(element.scrollHeight, 2 * line), mostLines * line);
    element.style.blockSize = `${wanted}px`;
  }, [text]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (watch.current?.claims(event) === true) {
      return;
    }
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      props.onLeave();
    } else if (
      event.key === "Enter" &&
      !event.shiftKey &&
      !event.ctrlKey &&
      !event.metaKey &&
      !event.altKey
    ) {
      event.preventDefault();
      if (canSend) {
        props.onSend();
      }
    }
  };

  // With nothing typed the field itself says why it is off.
  const shut = off !== null && text === "";
  const hint = shut ? off.words : t(props.first ? "panel.compose.first" : "panel.compose.reply");
  return (
    <div class={`area${shut ? " is-off" : ""}`}>
      <textarea
        ref={field}
        class="in scrolls"
        rows={2}
        data-focus
        aria-label={shut ? off.words : t("panel.compose")}
        placeholder={hint}
        readOnly={shut}
        value={text}
        onInput={(event) => {
          draft.value = event.currentTarget.value;
        }}
        onKeyDown={onKeyDown}
      />
      <div class="line">
        {off !== null && !shut ? (
          <span class="meta why grow clip">{off.words}</span>
        ) : (
          <>
            {props.models.length > 0 && off === null && (
              <MenuButton
                class="btn quiet sm model"
                label={t("panel.model", { name: props.model })}
                items={props.models}
                onChoose={props.onModel}
                up
              >
                <span class="clip">{props.model}</span>
                <Icon name="chevron-down" small />
              </MenuButton>
            )}
            <span class="grow" />
          </>
        )}
        {off?.action && (
          <button type="button" class="btn sm" onClick={off.action.run}>
            {off.action.label}
          </button>
        )}
        {running !== "" && (
          <button
            type="button"
            class="btn sm"
            aria-disabled={running === "stopping" ? "true" : undefined}
            onClick={() => {
              if (running === "running") {
                props.onStop();
              }
            }}
          >
            {running === "stopping" ? <Icon name="loader-circle" small spin /> : <Icon name="square" small />}
            {t(running === "stopping" ? "panel.stopping" : "panel.stop")}
          </button>
        )}
        {off === null && (running === "" || !empty) && (
          <button
            type="button"
            class={`send${canSend ? "" : " idle"}`}
            aria-label={t(running === "" ? "panel.send" : "panel.sendLater")}
            title={t(running === "" ? "panel.send" : "panel.sendLater")}
            aria-disabled={canSend ? undefined : "true"}
            onClick={() => {
              if (canSend) {
                props.onSend();
                field.current?.focus();
              }
            }}
          >
            {sending.value ? (
              <Icon name="loader-circle" small spin />
            ) : (
              <Icon name={running === "" ? "square-arrow-up" : "clock"} small />
            )}
          </button>
        )}
      </div>
    </div>
  );
}

/** Messages that wait for the run before them, each of which can be taken back. */
export function Queue({
  items,
  onTakeBack,
}: {
  readonly items: readonly AskedItem[];
  readonly onTakeBack: (runId: string) => void;
}) {
  return items.length === 0 ? null : (
    <ul class="queue" aria-label={t("panel.queue")}>
      {items.map((item) => (
        <li key={item.key}>
          <Icon name="clock" small />
          <span class="grow clip" title={item.text}>
            {item.text}
          </span>
          <button
            type="button"
            class="ib sm"
            aria-label={t("panel.takeBack", { text: shorten(item.text) })}
            title={t("panel.takeBack.short")}
            onClick={() => onTakeBack(item.runId)}
          >
            <Icon name="x" small />
          </button>
        </li>
      ))}
    </ul>
  );
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** From this part of its size on a context is nearly full. */
const near = 0.85;

/** Whether a request held more than its model takes. */
export function isOver(use: ContextUse | null): boolean {
  return use !== null && use.size > 0 && use.tokens > use.size;
}

/** How much the newest request held of what the model takes. An estimate is called one. */
export function ContextMeter({ use }: { readonly use: ContextUse | null }) {
  if (use === null || use.tokens === 0) {
    return null;
  }
  const { tokens, size, kind } = use;
  const over = isOver(use);
  const full = !over && size > 0 && tokens > near * size;
  const words = over
    ? t("panel.context.over")
    : full
      ? t("panel.context.near")
      : t(kind === "estimated" ? "panel.context.estimated" : "panel.context.measured");
  return (
    <div class="ctx">
      <div class="line meta num">
        <span class="clip">{words}</span>
        <span>
          {size > 0
            ? t("panel.context.of", { tokens: formatNumber(tokens), size: formatNumber(size) })
            : t("panel.context.unknown", { tokens: formatNumber(tokens) })}
        </span>
      </div>
      {size > 0 && (
        <progress
          class={over ? "over" : full ? "near" : undefined}
          max={size}
          value={Math.min(tokens, size)}
          aria-label={words}
        />
      )}
    </div>
  );
}

/**
 * What the newest run that ended has used, and what that cost where the person
 * set a price of its model. Nothing while none has ended.
 */
export function UsageLine({
  timeline,
  provider,
}: {
  readonly timeline: Pick<Timeline, "runs">;
  readonly provider: (model: ModelRef) => ProviderState | null;
}) {
  const ended = [...timeline.runs.values()].filter(({ run }) => run.startedAtMs > 0 && run.endedAtMs > 0);
  const run = ended.at(-1)?.run;
  if (run === undefined) {
    return null;
  }
  const asked = provider(run.model);
  // What works offline uses nothing that is counted.
  if (asked?.kind === "mock") {
    return null;
  }
  return (
    <div class="meta num used" title={t("panel.used.hint")}>
      {usageWords(run.usage, priceOf(asked, run.model.model))}
    </div>
  );
}

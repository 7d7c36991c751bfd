import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { BackendError, type Send } from "../backend";
import { formatNumber, t } from "../i18n";
import { FaultNotice } from "./fault-notice";
import { Icon } from "./icon";
import { Path } from "./key-field";
import { factsOf } from "./provider-model";
import { purposeOf, SendStatus, sizeOf, whenOf } from "./settings-sends";
import type { SettingsStore } from "./settings-store";

/** How much is read by itself, in UTF-16 units; more when a person asks. */
const atOnce = 256 * 1024;

/** What of a body has been read. */
interface Body {
  readonly text: string;
  /** Where the rest begins, in bytes; 0 for none. */
  readonly next: number;
}

/**
 * One request of the send log: what left, to the letter. JSON is laid out for
 * reading unless the raw text is wanted; a long body is read in pieces.
 */
export function SendView({
  settings,
  send,
  onBack,
}: {
  readonly settings: SettingsStore;
  readonly send: Send;
  readonly onBack: () => void;
}) {
  const body = useSignal<Body | null>(null);
  const failed = useSignal<BackendError | null>(null);
  const busy = useSignal(false);
  const raw = useSignal(false);
  const turn = useRef(0);
  const head = useRef<HTMLButtonElement>(null);

  /** Reads on until so much is there. */
  const read = async (enough: number): Promise<void> => {
    turn.current += 1;
    const mine = turn.current;
    busy.value = true;
    failed.value = null;
    try {
      let { text, next } = body.peek() ?? { text: "", next: -1 };
      const goal = text.length + enough;
      while (next !== 0 && text.length < goal) {
        const part = await settings.send(send.id, Math.max(0, next));
        if (mine !== turn.current) {
          return;
        }
        text += part.body;
        next = part.nextOffset;
        body.value = { text, next };
      }
    } catch (error) {
      if (mine !== turn.current) {
        return;
      }
      failed.value = error instanceof BackendError ? error : new BackendError("internal");
    }
    busy.value = false;
  };

  useEffect(() => {
    head.current?.focus();
    if (send.hasBody) {
      void read(atOnce);
    }
    return () => {
      turn.current += 1;
    };
    // Once: what left does not change.
  }, []);

  const whole = body.value !== null && body.value.next === 0;
  const laidOut = useComputed(() =>
    body.value === null || body.value.next !== 0 ? null : prettyJson(body.value.text),
  ).value;
  const text = raw.value ? (body.value?.text ?? "") : (laidOut ?? body.value?.text ?? "");
  return (
    <div class="send-view">
      <button type="button" class="btn quiet back" ref={head} onClick={onBack}>
        <Icon name="chevron-left" small />
        {t("sends.back")}
      </button>
      <dl class="facts">
        <dt>{t("sends.when")}</dt>
        <dd class="num">{whenOf(send.atMs)}</dd>
        <dt>{t("sends.to")}</dt>
        <dd>
          {send.providerName}
          <div class="meta">
            <Path path={`${send.method} ${send.url}`} />
          </div>
          {send.proxy !== "" && <div class="meta">{t("sends.proxy", { proxy: send.proxy })}</div>}
        </dd>
        {send.model !== "" && (
          <>
            <dt>{t("sends.model")}</dt>
            <dd>{send.model}</dd>
          </>
        )}
        <dt>{t("sends.purpose")}</dt>
        <dd>{purposeOf(send.purpose)}</dd>
        <dt>{t("sends.amount")}</dt>
        <dd class="num">
          {t("sends.amounts", { sent: sizeOf(send.sentBytes), received: sizeOf(send.receivedBytes) })}
          {send.endedAtMs > 0 && ` · ${seconds(send.endedAtMs - send.atMs)}`}
        </dd>
        <dt>{t("sends.status")}</dt>
        <dd>
          <SendStatus send={send} />
          {send.status > 0 && <span class="meta num"> HTTP {send.status}</span>}
        </dd>
      </dl>
      <div class="set-line">
        <b class="grow">{t("sends.body")}</b>
        {send.hasBody && (
          // biome-ignore lint/a11y/useSemanticElements: two buttons of a toolbar, not fields of a form
          <div class="two" role="group" aria-label={t("sends.view")}>
            <button
              type="button"
              class="btn sm"
              aria-pressed={!raw.value}
              onClick={() => {
                raw.value = false;
              }}
            >
              {t("sends.view.pretty")}
            </button>
            <button
              type="button"
              class="btn sm"
              aria-pressed={raw.value}
              onClick={() => {
                raw.value = true;
              }}
            >
              {t("sends.view.raw")}
            </button>
          </div>
        )}
      </div>
      {!send.hasBody && <p class="meta">{t(send.sentBytes === 0 ? "sends.body.none" : "sends.body.gone")}</p>}
      {send.hasBody && body.value === null && failed.value === null && (
        <div class="skel" aria-hidden="true">
          <i />
          <i />
          <i />
        </div>
      )}
      {body.value !== null && (
        <section class="body" aria-label={t("sends.body")}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard too */}
          <pre class="scrolls" tabIndex={0}>
            {text}
          </pre>
        </section>
      )}
      {!raw.value && body.value !== null && !whole && <p class="meta">{t("sends.body.partly")}</p>}
      {failed.value !== null && (
        <FaultNotice fault={factsOf(failed.value)} actions={{ retry: () => void read(atOnce) }} />
      )}
      {body.value !== null && body.value.next !== 0 && failed.value === null && (
        <div class="line">
          <button type="button" class="btn" disabled={busy.value} onClick={() => void read(atOnce)}>
            {busy.value && <Icon name="loader-circle" small spin />}
            {t("sends.body.more")}
          </button>
          <span class="meta num">
            {t("sends.body.sofar", { read: sizeOf(body.value.next), all: sizeOf(send.sentBytes) })}
          </span>
        </div>
      )}
      <p class="meta">{t("sends.body.note")}</p>
    </div>
  );
}

/** JSON laid out for reading; null for what is none. */
export function prettyJson(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value, null, 2);
  } catch {
    return null;
  }
}

function seconds(ms: number): string {
  return t("sends.took", { s: formatNumber(Number((ms / 1000).toFixed(ms < 10_000 ? 2 : 1))) });
}

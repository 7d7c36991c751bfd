import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { type BackendError, isFaultCode, type Send, type SendListResult } from "../backend";
import { formatBytes, formatDay, formatNumber, formatTime, type MessageKey, t } from "../i18n";
import type { Dialogs } from "./dialog";
import { describeFault } from "./fault";
import { FaultNotice } from "./fault-notice";
import { Switch } from "./fields";
import { Icon } from "./icon";
import { hostOf } from "./kinds";
import { factsOf } from "./provider-model";
import { SendView } from "./send-view";
import type { SettingsStore } from "./settings-store";

/** Props of SendLog. */
export interface SendLogProps {
  readonly settings: SettingsStore;
  readonly dialogs: Dialogs;
}

/** What of the log is shown. */
interface Shown extends SendListResult {
  /** There are older ones. */
  readonly more: boolean;
}

/** The section of the send log: what left for providers, newest first (K9). */
export function SendLog({ settings, dialogs }: SendLogProps) {
  const id = useId();
  const { sendLog } = settings.state.value.settings;
  const log = useSignal<Shown | null>(null);
  const failed = useSignal<BackendError | null>(null);
  const busy = useSignal(true);
  const opened = useSignal<Send | null>(null);
  const back = useRef(0);
  const table = useRef<HTMLTableElement>(null);

  /** Every answer after this one has been asked for is dropped. */
  const turn = useRef(0);
  const run = async (ask: () => Promise<SendListResult>, before: readonly Send[]): Promise<void> => {
    turn.current += 1;
    const mine = turn.current;
    busy.value = true;
    failed.value = null;
    try {
      const page = await ask();
      if (mine === turn.current) {
        const sends = [...before, ...page.sends];
        log.value = { ...page, sends, more: page.sends.length > 0 && sends.length < page.count };
      }
    } catch (error) {
      if (mine === turn.current && isBackendError(error)) {
        failed.value = error;
      }
    }
    if (mine === turn.current) {
      busy.value = false;
    }
  };
  const load = (): Promise<void> => run(() => settings.sends(0), []);
  const older = (): Promise<void> => {
    const sends = log.peek()?.sends ?? [];
    return run(() => settings.sends(sends.at(-1)?.id ?? 0), sends);
  };

  useEffect(() => {
    void load();
    return () => {
      turn.current += 1;
    };
    // Once: the log is read again when a person asks.
  }, []);

  const clear = async (): Promise<void> => {
    const newest = log.peek()?.sends[0];
    if (newest === undefined) {
      return;
    }
    const answer = await dialogs.ask({
      title: t("sends.clear.title"),
      text: t("sends.clear.text"),
      buttons: [{ id: "clear", label: t("sends.clear.do"), kind: "bad" }],
    });
    if (answer === "clear") {
      // What came since the list was read stays.
      await run(() => settings.clearSends(newest.id), []);
    }
  };

  if (opened.value !== null) {
    return (
      <SendView
        settings={settings}
        send={opened.value}
        onBack={() => {
          const { id } = opened.peek() ?? { id: 0 };
          back.current = id;
          opened.value = null;
          // Back to the row it was opened from, after it is there.
          setTimeout(() => table.current?.querySelector<HTMLElement>(`[data-id="${back.current}"]`)?.focus());
        }}
      />
    );
  }

  const shown = log.value;
  return (
    <div class="sends">
      <div class="form wide">
        <span class="label" id={`${id}-on`}>
          {t("sends.keep")}
        </span>
        <div class="v">
          <Switch
            labelledBy={`${id}-on`}
            on={sendLog}
            words={t("sends.keep.on")}
            onChange={(on) => void settings.update({ sendLog: on })}
          />
          <div class="hint">
            {sendLog
              ? t("sends.kept", { days: shown?.keptDays ?? 30, size: sizeOf(shown?.keptBytes ?? 64 << 20) })
              : t("sends.off")}
          </div>
        </div>
      </div>
      <div class="set-line">
        <span class="meta num grow" role="status">
          {shown !== null &&
            shown.count > 0 &&
            t("sends.count", { n: shown.count, size: formatBytes(shown.bytes) })}
        </span>
        <button
          type="button"
          class="ib"
          aria-label={t("sends.again")}
          title={t("sends.again")}
          disabled={busy.value}
          onClick={() => void load()}
        >
          <Icon name={busy.value ? "loader-circle" : "refresh-cw"} small spin={busy.value} />
        </button>
        <button
          type="button"
          class="btn quiet bad"
          disabled={shown === null || shown.sends.length === 0}
          onClick={() => void clear()}
        >
          {t("sends.clear")}
        </button>
      </div>
      {failed.value !== null && (
        <FaultNotice fault={factsOf(failed.value)} actions={{ retry: () => void load() }} />
      )}
      {shown === null ? (
        failed.value === null && (
          <div class="skel" aria-hidden="true">
            <i />
            <i />
            <i />
          </div>
        )
      ) : shown.sends.length === 0 ? (
        <div class="empty">
          <b>{t("sends.empty.title")}</b>
          <span>{t(sendLog ? "sends.empty.text" : "sends.empty.off")}</span>
        </div>
      ) : (
        <>
          <Table
            sends={shown.sends}
            table={table}
            onOpen={(send) => {
              opened.value = send;
            }}
          />
          {shown.more && (
            <button type="button" class="btn quiet" disabled={busy.value} onClick={() => void older()}>
              {t("sends.older")}
            </button>
          )}
        </>
      )}
    </div>
  );
}

function Table({
  sends,
  table,
  onOpen,
}: {
  readonly sends: readonly Send[];
  readonly table: { readonly current: HTMLTableElement | null };
  readonly onOpen: (send: Send) => void;
}) {
  return (
    <table class="send-log" ref={table}>
      <thead>
        <tr>
          <th scope="col">{t("sends.when")}</th>
          <th scope="col">{t("sends.to")}</th>
          <th scope="col">{t("sends.model")}</th>
          <th scope="col">{t("sends.purpose")}</th>
          <th scope="col" class="n">
            {t("sends.sent")}
          </th>
          <th scope="col" class="n">
            {t("sends.received")}
          </th>
          <th scope="col">{t("sends.status")}</th>
        </tr>
      </thead>
      <tbody>
        {sends.map((send) => (
          // For the pointer; the button in its first cell has the keys.
          <tr key={send.id} onClick={() => onOpen(send)}>
            <td>
              <button
                type="button"
                class="num"
                data-id={send.id}
                aria-label={t("sends.open", { to: send.providerName, when: whenOf(send.atMs) })}
                onClick={(event) => {
                  event.stopPropagation();
                  onOpen(send);
                }}
              >
                {whenOf(send.atMs)}
              </button>
            </td>
            <td>
              <span class="clip">{send.providerName}</span>
              <span class="meta clip">{hostOf(send.url)}</span>
            </td>
            <td>
              <span class="clip">{send.model}</span>
            </td>
            <td>{purposeOf(send.purpose)}</td>
            <td class="n num">{sizeOf(send.sentBytes)}</td>
            <td class="n num">{send.receivedBytes > 0 ? sizeOf(send.receivedBytes) : "–"}</td>
            <td>
              <SendStatus send={send} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How a request ended, in words: its status, or the failure. */
export function SendStatus({ send }: { readonly send: Send }) {
  if (send.endedAtMs === 0 && send.status === 0 && send.code === "") {
    return <span class="badge">{t("sends.status.open")}</span>;
  }
  if (send.code === "cancelled") {
    return <span class="badge">{t("sends.status.stopped")}</span>;
  }
  if (send.code === "" && send.status < 400) {
    return (
      <span class="badge good">
        <Icon name="check" />
        {t("sends.status.good")}
      </span>
    );
  }
  return (
    <span class="badge bad wrap">
      <Icon name="circle-alert" />
      <span>{faultOf(send)}</span>
    </span>
  );
}

/** What went wrong with a request; its status where the failure is none that is known. */
function faultOf(send: Send): string {
  if (!isFaultCode(send.code)) {
    return t("sends.status.bad", { status: send.status });
  }
  return describeFault({
    code: send.code,
    detail: send.status >= 400 ? String(send.status) : "",
    retryAfterMs: 0,
    provider: send.providerName,
    model: send.model,
  }).title;
}

const purposes: Readonly<Record<string, MessageKey>> = {
  conversation: "sends.purpose.conversation",
  rewrite: "sends.purpose.rewrite",
  chat: "sends.purpose.chat",
  test: "sends.purpose.test",
  models: "sends.purpose.models",
  describe: "sends.purpose.describe",
};

/** What a request was for. */
export function purposeOf(purpose: string): string {
  const key = purposes[purpose];
  return key === undefined ? purpose : t(key);
}

/** A moment of this year: "30 Nov 14:06". */
export function whenOf(ms: number): string {
  return `${formatDay(ms)} ${formatTime(ms)}`;
}

/** A size: "512 B", "12 KB". */
export function sizeOf(bytes: number): string {
  return bytes < 1000 ? `${formatNumber(bytes)} B` : formatBytes(bytes);
}

function isBackendError(error: unknown): error is BackendError {
  return error instanceof Error && "code" in error;
}

import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import type { BackendError, Network, NetworkState } from "../backend";
import { isFaultCode } from "../backend";
import { t } from "../i18n";
import type { Dialogs } from "./dialog";
import { describeFault } from "./fault";
import { FaultNotice } from "./fault-notice";
import { ListField, Select, TextField } from "./fields";
import { Icon } from "./icon";
import { KeyField, Path } from "./key-field";
import { hostOf } from "./kinds";
import { Notice } from "./notice";
import { factsOf } from "./provider-model";
import { chosenModel, type SettingsStore } from "./settings-store";

/** How the proxy is chosen. */
const ways = ["system", "none", "manual"] as const;

/** How many hosts may be left out, and how long each may be, in bytes; the host has the same. */
const limits = { bypass: 200, bytes: 255 } as const;

/** Props of NetworkSettings. */
export interface NetworkSettingsProps {
  readonly settings: SettingsStore;
  readonly dialogs: Dialogs;
}

type Found =
  | { readonly status: "asking" }
  | { readonly status: "known"; readonly state: NetworkState }
  | { readonly status: "failed"; readonly error: BackendError };

/** The section of the network: the proxy, the certificates, and what would be used for a provider (K7). */
export function NetworkSettings({ settings, dialogs }: NetworkSettingsProps) {
  const id = useId();
  const { network } = settings.state.value.settings;
  const { providers } = settings.state.value;
  const remote = providers.filter((p) => p.kind !== "mock" && p.problem === "" && p.baseUrl !== "");
  const shown = useSignal("");
  const provider =
    remote.find((p) => p.id === shown.value) ??
    remote.find((p) => p.id === chosenModel(settings.state.value).providerId) ??
    remote[0];
  const found = useSignal<Found>({ status: "asking" });
  const asked = useSignal(0);
  const addressWrong = useSignal(false);
  const userWrong = useSignal(false);
  const refused = useSignal<BackendError | null>(null);

  const about = provider?.id ?? "";
  const times = asked.value;
  useEffect(() => {
    let current = true;
    settings.network(about).then(
      (state) => {
        if (current) {
          found.value = { status: "known", state };
        }
      },
      (error: BackendError) => {
        if (current) {
          found.value = { status: "failed", error };
        }
      },
    );
    return () => {
      current = false;
    };
  }, [about, network, times, settings, found]);

  const set = (change: Partial<Network>): void => {
    const next = { ...network, ...change };
    if (JSON.stringify(next) !== JSON.stringify(network)) {
      void settings.update({ network: next });
    }
  };
  const again = (): void => {
    asked.value += 1;
  };

  const deletePassword = async (): Promise<void> => {
    const answer = await dialogs.ask({
      title: t("network.password.deleteAsk"),
      text: t("network.password.deleteText"),
      buttons: [{ id: "delete", label: t("provider.key.delete"), kind: "bad" }],
    });
    if (answer === "delete") {
      await settings.deleteProxyPassword();
      again();
    }
  };

  const choose = async (): Promise<void> => {
    refused.value = await settings.chooseCertificates();
  };

  const state = found.value.status === "known" ? found.value.state : null;
  return (
    <div class="form wide">
      <label for={`${id}-proxy`}>{t("network.proxy")}</label>
      <div class="v">
        <Select
          id={`${id}-proxy`}
          value={network.proxy}
          choices={ways.map((way) => ({ id: way, label: t(`network.proxy.${way}`) }))}
          onChange={(proxy) => set({ proxy })}
        />
        <div class="hint">{t(`network.proxy.${ways.find((w) => w === network.proxy) ?? "system"}.hint`)}</div>
      </div>

      {network.proxy === "manual" && (
        <>
          <label for={`${id}-address`}>{t("network.address")}</label>
          <div class="v">
            <TextField
              id={`${id}-address`}
              value={network.proxyUrl}
              mode="url"
              example="http://proxy.example.com:3128"
              wrong={addressWrong.value ? t("network.address.wrong") : ""}
              onCommit={(typed) => {
                addressWrong.value = !isProxyAddress(typed.trim());
                if (!addressWrong.value) {
                  set({ proxyUrl: typed.trim() });
                }
              }}
            />
            {!addressWrong.value && network.proxyUrl === "" && (
              <div class="hint">{t("network.address.none")}</div>
            )}
          </div>
          <label for={`${id}-user`}>{t("network.user")}</label>
          <div class="v">
            <TextField
              id={`${id}-user`}
              value={network.proxyUser}
              wrong={userWrong.value ? t("network.user.wrong") : ""}
              onCommit={(typed) => {
                userWrong.value = typed.includes(":");
                if (!userWrong.value) {
                  set({ proxyUser: typed.trim() });
                }
              }}
            />
            {!userWrong.value && <div class="hint">{t("network.user.hint")}</div>}
          </div>
          {network.proxyUser !== "" && state !== null && (
            <KeyField
              key={`${state.password.place} ${state.password.storedAtMs}`}
              id={`${id}-password`}
              held={state.password}
              owner={t("network.proxy")}
              words={{
                label: t("network.password"),
                paste: t("network.password.type"),
                hint: t("provider.key.hint"),
                malformed: t("network.password.wrong"),
              }}
              store={async (password, place) => {
                const failed = await settings.setProxyPassword(password, place);
                if (failed === null) {
                  again();
                }
                return failed;
              }}
              onDelete={() => void deletePassword()}
            />
          )}
          <label for={`${id}-bypass`}>{t("network.bypass")}</label>
          <div class="v">
            <ListField
              id={`${id}-bypass`}
              value={network.bypass}
              rows={3}
              hint={t("network.bypass.hint")}
              wrongIn={wrongIn}
              onList={(bypass) => set({ bypass })}
            />
          </div>
        </>
      )}

      <div class="sep" />

      <span class="label">{t("network.certificates")}</span>
      <div class="v">
        <div class="row">
          <span class="val grow clip" title={network.caFile || undefined}>
            {network.caFile === "" ? t("network.certificates.none") : <Path path={network.caFile} />}
          </span>
          <button type="button" class="btn sm" onClick={() => void choose()}>
            {t(network.caFile === "" ? "network.certificates.choose" : "network.certificates.other")}
          </button>
          {network.caFile !== "" && (
            <button type="button" class="btn quiet bad sm" onClick={() => set({ caFile: "" })}>
              {t("network.certificates.remove")}
            </button>
          )}
        </div>
        {state !== null && state.certificates.length > 0 && (
          <ul class="plain subjects" aria-label={t("network.certificates.in")}>
            {state.certificates.map((subject) => (
              <li key={subject}>
                <Icon name="shield-check" small />
                <span>{subject}</span>
              </li>
            ))}
          </ul>
        )}
        <div class="hint">{t("network.certificates.hint")}</div>
      </div>
      {refused.value !== null && (
        <Notice
          kind="bad"
          title={
            refused.value.code === "invalid_input"
              ? certificateWords(refused.value.detail)
              : describeFault({ ...factsOf(refused.value) }).title
          }
          text={t("network.certificates.kept")}
          actions={
            <button type="button" class="btn sm" onClick={() => void choose()}>
              {t("network.certificates.other")}
            </button>
          }
        />
      )}

      <div class="sep" />

      <label for={`${id}-about`}>{t("network.used")}</label>
      <div class="v">
        {remote.length === 0 ? (
          <span class="val">{t("network.used.nobody")}</span>
        ) : (
          <>
            <Select
              id={`${id}-about`}
              value={about}
              choices={remote.map((p) => ({ id: p.id, label: `${p.name}, ${hostOf(p.baseUrl)}` }))}
              onChange={(next) => {
                shown.value = next;
              }}
            />
            <div class="row used" role="status">
              {found.value.status === "asking" ? (
                <Icon name="loader-circle" small spin />
              ) : (
                <Icon name={state?.proxy ? "globe" : "check"} small />
              )}
              <span>{state === null ? t("network.used.asking") : networkWords(network, state)}</span>
            </div>
          </>
        )}
      </div>
      {state !== null && state.problem !== "" && <Problem state={state} again={again} />}
      {found.value.status === "failed" && (
        <FaultNotice fault={factsOf(found.value.error)} actions={{ retry: again }} />
      )}
    </div>
  );
}

/** What of the network cannot be used, and why. */
function Problem({ state, again }: { readonly state: NetworkState; readonly again: () => void }) {
  const { title, text } = describeFault({
    code: isFaultCode(state.problem) ? state.problem : "internal",
    detail: state.problemDetail,
    retryAfterMs: 0,
  });
  return (
    <Notice
      kind="warn"
      title={t("network.problem")}
      text={problemWords(state) ?? `${title} ${text}`}
      actions={
        <button type="button" class="btn sm" onClick={again}>
          {t("action.lookAgain")}
        </button>
      }
    />
  );
}

/** What is wrong with the certificates or the proxy, where a failure's own words would say too little. */
export function problemWords({
  problem,
  problemDetail,
}: Pick<NetworkState, "problem" | "problemDetail">): string | null {
  switch (problem) {
    case "invalid_input":
      return certificateWords(problemDetail);
    case "timeout":
      return problemDetail === "" ? t("network.problem.late") : null;
    case "proxy":
      if (problemDetail === "") {
        return t("network.address.none");
      }
      if (problemDetail === "pac") {
        return t("network.problem.script");
      }
      return /^\w+_proxy$/i.test(problemDetail)
        ? t("network.problem.variable", { name: problemDetail })
        : null;
    default:
      return null;
  }
}

/** What is wrong with a file of certificates. */
function certificateWords(detail: string): string {
  switch (detail) {
    case "private_key":
      return t("network.certificates.key");
    case "bad_certificate":
      return t("network.certificates.bad");
    default:
      return t("network.certificates.wrong");
  }
}

/** How a provider is reached: the proxy with where it comes from, or none, and the certificates. */
export function networkWords({ proxy, caFile }: Network, state: NetworkState | null): string {
  const extra = caFile === "" ? "" : t("provider.words.extra");
  if (state === null) {
    return t(`network.words.${ways.find((w) => w === proxy) ?? "system"}`, { extra });
  }
  if (state.proxy === "") {
    return t("network.words.direct", { extra });
  }
  return t("network.words.through", { proxy: state.proxy, source: sourceOf(state.source), extra });
}

function sourceOf(source: string): string {
  switch (source) {
    case "environment":
      return t("provider.source.environment");
    case "desktop":
      return t("provider.source.desktop");
    case "manual":
      return t("provider.source.manual");
    default:
      return t("provider.source.system");
  }
}

/** Whether an address can be that of a proxy, or of none yet; the host has the last word. */
export function isProxyAddress(address: string): boolean {
  if (address === "") {
    return true;
  }
  try {
    const url = new URL(address);
    return (
      /^(https?|socks5):\/\/[^/@\s]+\/?$/i.test(address) &&
      url.username === "" &&
      url.password === "" &&
      url.search === "" &&
      url.hash === ""
    );
  } catch {
    return false;
  }
}

/** What is wrong with the hosts that are left out; "" for nothing. */
function wrongIn(hosts: readonly string[]): string {
  const wrong = hosts.find(
    (host) => /[\s@?#]|:\/\//.test(host) || new TextEncoder().encode(host).length > limits.bytes,
  );
  if (wrong !== undefined) {
    return t("network.bypass.wrong", { host: wrong });
  }
  return hosts.length > limits.bypass ? t("network.bypass.many", { n: hosts.length }) : "";
}

import type { ProviderState, TestResult } from "../backend";
import { isFaultCode } from "../backend";
import { formatNumber, t } from "../i18n";
import { priceOf, usageWords } from "./cost";
import { describeFault } from "./fault";
import { FaultNotice } from "./fault-notice";
import { Icon } from "./icon";
import { isReady } from "./provider-list";
import { factsOf } from "./provider-model";
import type { SettingsSection } from "./settings";
import type { SettingsStore } from "./settings-store";

/** Props of ConnectionRow. */
export interface ConnectionRowProps {
  readonly provider: ProviderState;
  readonly settings: SettingsStore;
  readonly onSection: (section: SettingsSection) => void;
  /** Absent for one that cannot be deleted. */
  readonly onDelete?: () => void;
}

/** The test of a connection: a real request, and what came of it. */
export function ConnectionRow({ provider, settings, onSection, onDelete }: ConnectionRowProps) {
  const test = settings.tests.value.get(provider.id);
  const hasAddress = provider.problem === "";
  const ready = isReady(provider);
  const busy = test?.status === "busy";
  const focusOn = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();
  const toModel = (): void => focusOn(".form input[id$=-model]");
  const toAddress = (): void => focusOn(".form input[inputmode=url]");
  const toNetwork = (): void => onSection("network");
  return (
    <>
      <span class="label">{t("provider.connection")}</span>
      <div class="v">
        <div class="row">
          <button
            type="button"
            class="btn"
            disabled={!ready}
            // It keeps the focus while it works.
            aria-disabled={busy || undefined}
            onClick={() => !busy && void settings.test(provider.id)}
          >
            {busy && <Icon name="loader-circle" small spin />}
            {t(busy ? "provider.testing" : "provider.test")}
          </button>
          {busy && (
            <button
              type="button"
              class="btn quiet"
              onClick={(event) => {
                // The button goes; the focus does not.
                event.currentTarget.parentElement?.querySelector("button")?.focus();
                void settings.stopTest(provider.id);
              }}
            >
              {t("provider.test.stop")}
            </button>
          )}
          {!ready && (
            <span class="hint">
              {t(hasAddress ? "provider.test.needsKey" : "provider.test.needsAddress")}
            </span>
          )}
          <span role="status">
            {test?.status === "good" && (
              <span class="ok">
                <Icon name="check" small />
                {t("provider.test.good", { n: test.result.models.length })}
              </span>
            )}
          </span>
          <span class="grow" />
          {onDelete && (
            <button type="button" class="btn quiet bad" onClick={onDelete}>
              {t("provider.delete")}
            </button>
          )}
        </div>
        {test?.status === "good" && <Result provider={provider} result={test.result} />}
      </div>
      {test?.status === "bad" && (
        <FaultNotice
          fault={{ ...factsOf(test.error), provider: provider.name, model: provider.model }}
          actions={{
            retry: () => void settings.test(provider.id),
            replaceKey: () => focusOn(".form [id^=key-], .form .v .btn.sm"),
            addKey: () => focusOn(".form [id^=key-]"),
            openSettings: toAddress,
            networkSettings: toNetwork,
            addCertificate: toNetwork,
            chooseModel: toModel,
            chooseOtherModel: toModel,
          }}
        />
      )}
    </>
  );
}

/** What the model answered, how long it took and what it used; and that the models could not be listed. */
function Result({ provider, result }: { readonly provider: ProviderState; readonly result: TestResult }) {
  const { answer, firstTokenMs, totalMs, modelsCode } = result;
  return (
    <div class="result">
      {totalMs > 0 && (
        <span class="said">
          {answer === "" ? t("provider.test.nothing") : t("provider.test.answer", { answer })}
        </span>
      )}
      <span class="meta num">
        {[
          firstTokenMs > 0 ? t("provider.test.first", { s: secondsOf(firstTokenMs) }) : "",
          totalMs > 0 ? t("provider.test.whole", { s: secondsOf(totalMs) }) : "",
          // Without a model only the list was asked for.
          totalMs > 0 ? usageWords(result.usage, priceOf(provider, provider.model)) : "",
        ]
          .filter((part) => part !== "")
          .join(" · ")}
      </span>
      {isFaultCode(modelsCode) && (
        <span class="hint">
          {t("provider.test.unlisted", {
            why: describeFault({
              code: modelsCode,
              detail: "",
              retryAfterMs: 0,
              provider: provider.name,
              model: provider.model,
            }).title,
          })}
        </span>
      )}
    </div>
  );
}

/** Seconds with two decimals below ten, one from there on. */
function secondsOf(ms: number): string {
  const seconds = ms / 1000;
  return formatNumber(Number(seconds.toFixed(seconds < 10 ? 2 : 1)));
}

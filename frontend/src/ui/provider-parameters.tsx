import { useSignal } from "@preact/signals";
import type { Provider, ProviderState } from "../backend";
import { formatNumber, t } from "../i18n";
import { Disclosure, Select, TextField } from "./fields";
import { NumberField } from "./settings-number";

/** The bounds of the longest answer, in tokens; the host has the same. */
const longest = { min: 1, max: 10_000_000 } as const;

/** How much a model that reasons should; "" leaves it to the provider. */
const efforts = ["", "none", "low", "medium", "high"] as const;

/** Props of Parameters. */
export interface ParametersProps {
  readonly id: string;
  readonly provider: ProviderState;
  readonly save: (change: Partial<Provider>) => void;
}

/** What goes along with every request to a provider, where the person sets it. */
export function Parameters({ id, provider, save }: ParametersProps) {
  const wrong = useSignal(false);
  return (
    <Disclosure label={t("provider.parameters")} summary={summaryOf(provider)}>
      <label for={`${id}-temperature`}>{t("provider.temperature")}</label>
      <div class="v">
        <TextField
          id={`${id}-temperature`}
          value={provider.temperature}
          mode="decimal"
          short
          wrong={wrong.value ? t("provider.temperature.wrong") : ""}
          onCommit={(typed) => {
            const temperature = typed.trim().replace(",", ".");
            wrong.value = !isTemperature(temperature);
            if (!wrong.value) {
              save({ temperature });
            }
          }}
        />
        {!wrong.value && <div class="hint">{t("provider.temperature.hint")}</div>}
      </div>
      <label for={`${id}-longest`}>{t("provider.longest")}</label>
      <div class="v">
        <NumberField
          id={`${id}-longest`}
          value={provider.maxOutputTokens}
          {...longest}
          empty
          hint={t("provider.longest.hint")}
          wrong={t("provider.longest.wrong", longest)}
          onNumber={(maxOutputTokens) => save({ maxOutputTokens })}
        />
      </div>
      <label for={`${id}-effort`}>{t("provider.effort")}</label>
      <div class="v">
        <Select
          id={`${id}-effort`}
          value={provider.effort}
          choices={efforts.map((effort) => ({
            id: effort,
            label: t(effort === "" ? "provider.effort.asIs" : `provider.effort.${effort}`),
          }))}
          onChange={(effort) => save({ effort })}
        />
        <div class="hint">{t("provider.effort.hint")}</div>
      </div>
    </Disclosure>
  );
}

/** A decimal from 0 to 2 with at most two places, or nothing; the host has the same rule. */
export function isTemperature(text: string): boolean {
  return /^([01](\.\d{1,2})?|2(\.0{1,2})?)?$/.test(text);
}

function summaryOf({ temperature, maxOutputTokens, effort }: ProviderState): string {
  const known = efforts.find((e) => e === effort);
  const parts = [
    temperature === "" ? "" : t("provider.parameters.temperature", { temperature }),
    maxOutputTokens === 0 ? "" : t("provider.parameters.longest", { n: formatNumber(maxOutputTokens) }),
    known === undefined || known === ""
      ? ""
      : t("provider.parameters.effort", { effort: t(`provider.effort.${known}`) }),
  ].filter((part) => part !== "");
  return parts.length === 0 ? t("provider.parameters.none") : parts.join(" · ");
}

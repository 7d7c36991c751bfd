import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { BackendError, Fact, ModelDetail, Provider, ProviderState } from "../backend";
import { formatDay, formatNumber, t } from "../i18n";
import { FaultNotice } from "./fault-notice";
import { Icon } from "./icon";
import { ModelField } from "./model-field";
import { isReady } from "./provider-list";
import { NumberField } from "./settings-number";
import { detailKey, type SettingsStore } from "./settings-store";

/** The bounds of the size of a model's context, in tokens; the host has the same. */
const contextSize = { min: 1000, max: 10_000_000 } as const;

/** How many favourites a provider may have; the host has the same. */
const mostFavourites = 50;

/** Props of ModelRows. */
export interface ModelRowsProps {
  /** The beginning of the ids of its fields. */
  readonly id: string;
  readonly provider: ProviderState;
  readonly settings: SettingsStore;
  readonly save: (change: Partial<Provider>) => void;
}

/** The model of a provider, the size of its context with where it comes from, and what was learned of it. */
export function ModelRows({ id, provider, settings, save }: ModelRowsProps) {
  const { model, favourites } = provider;
  const list = settings.models.value.get(provider.id);
  const ref = { providerId: provider.id, model };
  const detail = settings.details.value.get(detailKey(ref));
  const ready = isReady(provider);
  const listed = list?.models.find((m) => m.id === model);
  const known = detail?.capabilities ?? listed;
  const size = provider.contextTokens || (known?.contextTokens ?? 0);
  const starred = favourites.includes(model);

  // The provider is asked for it only after a person has asked it for something.
  const mayAsk = ready && (list?.status === "good" || tested(settings, provider.id));
  useEffect(() => {
    if (model !== "") {
      void settings.describe({ providerId: provider.id, model }, mayAsk);
    }
  }, [mayAsk, provider.id, model, settings]);

  const toggle = (name: string): void => {
    if (favourites.includes(name)) {
      save({ favourites: favourites.filter((other) => other !== name) });
    } else if (favourites.length < mostFavourites && name !== "") {
      save({ favourites: [...favourites, name] });
    }
  };

  return (
    <>
      <label for={`${id}-model`}>{t("provider.model")}</label>
      <div class="v">
        <div class="row">
          <ModelField
            id={`${id}-model`}
            value={model}
            note={size > 0 ? t("provider.context.tokens", { n: size }) : ""}
            list={list}
            favourites={favourites}
            canList={ready}
            onOpen={() => {
              if (ready) {
                void settings.loadModels(provider.id);
              }
            }}
            onCommit={(name) => save({ model: name })}
            onFavourite={toggle}
          />
          <button
            type="button"
            class="ib fav"
            aria-label={t("provider.model.favouriteThis")}
            title={t(starred ? "provider.model.unstar" : "provider.model.star")}
            aria-pressed={starred}
            disabled={model === ""}
            onClick={() => toggle(model)}
          >
            <Icon name="star" small />
          </button>
        </div>
        <div class="hint">
          {modelHint(provider, known?.tools ?? "", list !== undefined)}
          {ready && detail !== undefined && detail.capabilities.contextTokens === 0 && (
            <button type="button" class="linked" onClick={() => void settings.describe(ref, true)}>
              {t("provider.model.lookUp")}
            </button>
          )}
        </div>
      </div>
      {list?.status === "bad" && list.error !== null && (
        <FaultNotice
          fault={{ ...factsOf(list.error), provider: provider.name, model }}
          actions={{ retry: () => void settings.loadModels(provider.id, true) }}
        />
      )}

      <label for={`${id}-context`}>{t("provider.context")}</label>
      <div class="v">
        <NumberField
          id={`${id}-context`}
          value={provider.contextTokens}
          min={contextSize.min}
          max={contextSize.max}
          empty
          hint={contextHint(provider, known)}
          wrong={t("provider.context.wrong", contextSize)}
          onNumber={(contextTokens) => save({ contextTokens })}
        />
      </div>

      {detail !== undefined && detail.facts.length > 0 && (
        <Learned provider={provider} detail={detail} settings={settings} />
      )}
    </>
  );
}

/** Whether a test of a provider went well, so that it has been asked anyway. */
function tested(settings: SettingsStore, id: string): boolean {
  return settings.tests.value.get(id)?.status === "good";
}

function modelHint(provider: ProviderState, tools: string, listed: boolean): string {
  if (provider.model === "") {
    return t(listed || isReady(provider) ? "provider.model.choose.hint" : "provider.model.hint");
  }
  return tools === "no" ? t("provider.model.noTools.hint") : t("provider.model.typed");
}

/** Where the size of the context comes from (K10). */
function contextHint(
  provider: ProviderState,
  known: { readonly contextTokens: number; readonly contextSource: string } | undefined,
): string {
  if (provider.contextTokens > 0) {
    return t("provider.context.set");
  }
  const n = known?.contextTokens ?? 0;
  switch (n === 0 ? "" : (known?.contextSource ?? "")) {
    case "learned":
      return t("provider.context.learned", { n });
    case "asked":
      return t("provider.context.asked", { n });
    case "known":
      return t("provider.context.known", { n });
    default:
      return t("provider.context.hint");
  }
}

/** What was learned from refusals or told by the endpoint, and the way to forget it. */
function Learned({
  provider,
  detail,
  settings,
}: {
  readonly provider: ProviderState;
  readonly detail: ModelDetail;
  readonly settings: SettingsStore;
}) {
  const failed = useSignal<BackendError | null>(null);
  const forget = async (): Promise<void> => {
    failed.value = await settings.forget({ providerId: provider.id, model: provider.model });
  };
  return (
    <>
      <span class="label">{t("provider.learned")}</span>
      <div class="v learned">
        <ul>
          {detail.facts.map((fact) => (
            <li key={`${fact.name} ${fact.source}`}>
              <span>{factWords(fact)}</span>
              <span class="meta">
                {t(fact.source === "asked" ? "provider.learned.asked" : "provider.learned.learned", {
                  day: formatDay(fact.atMs),
                })}
              </span>
            </li>
          ))}
        </ul>
        <button type="button" class="btn sm" onClick={() => void forget()}>
          {t("provider.learned.forget")}
        </button>
      </div>
      {failed.value !== null && (
        <FaultNotice
          fault={{ ...factsOf(failed.value), provider: provider.name }}
          actions={{ retry: () => void forget() }}
        />
      )}
    </>
  );
}

/** A fact of a model in words: "This model does not take temperature." */
function factWords({ name, value }: Fact): string {
  const n = formatNumber(Number(value));
  if (name.startsWith("param:")) {
    return t("provider.fact.param", { name: name.slice("param:".length) });
  }
  switch (name) {
    case "context_tokens":
      return t("provider.fact.context", { n });
    case "max_output_tokens":
      return t("provider.fact.output", { n });
    case "tools":
      return t(value === "no" ? "provider.fact.noTools" : "provider.fact.tools");
    case "streamed_arguments":
      return t(value === "no" ? "provider.fact.noPieces" : "provider.fact.pieces");
    case "reasoning":
      return t(value === "no" ? "provider.fact.noReasoning" : "provider.fact.reasoning");
    default:
      return `${name}: ${value}`;
  }
}

/** What a failure of a call tells, as its notice takes it. */
export function factsOf({ code, detail, retryAfterMs }: BackendError) {
  return { code, detail, retryAfterMs };
}

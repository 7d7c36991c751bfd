import type { ModelRef, SettingsState } from "../backend";
import { t } from "../i18n";
import type { MenuItem } from "./menu";
import { isSame } from "./settings-store";

/** A model that can be chosen without going to the settings. */
export interface ModelChoice extends ModelRef {
  /** "DeepSeek, deepseek-chat"; the provider's name alone where they say the same. */
  readonly label: string;
  /** Its provider has no key, or no address. */
  readonly off: "" | "noKey" | "noAddress";
}

/**
 * The models to choose from, provider by provider: the one that is set, the
 * favourites, and those that were used before.
 */
export function modelChoices(
  { providers }: SettingsState,
  recent: readonly ModelRef[] = [],
): readonly ModelChoice[] {
  return providers.flatMap((provider) => {
    const used = recent.flatMap((ref) => (ref.providerId === provider.id ? [ref.model] : []));
    const models = new Set([provider.model, ...provider.favourites, ...used]);
    if (models.size > 1) {
      models.delete("");
    }
    const off =
      provider.problem !== ""
        ? "noAddress"
        : provider.needsKey && provider.key.place === "none"
          ? "noKey"
          : "";
    return [...models].map((model): ModelChoice => {
      const ref = { providerId: provider.id, model };
      return { ...ref, label: modelLabel(ref, { providers }), off };
    });
  });
}

/** What a model is called with its provider; the id of the provider when it is not there any more. */
export function modelLabel(ref: ModelRef, { providers }: Pick<SettingsState, "providers">): string {
  const provider = providers.find((p) => p.id === ref.providerId);
  if (provider === undefined) {
    return ref.model || ref.providerId;
  }
  return ref.model === "" || provider.kind === "mock" ? provider.name : `${provider.name}, ${ref.model}`;
}

/** The id of a model's row in a menu; `refOfRow` reads it. */
export function rowOfRef({ providerId, model }: ModelRef): string {
  return `model ${providerId} ${model}`;
}

/** The model that a row of a menu stands for; null for another row. */
export function refOfRow(id: string): ModelRef | null {
  const [, providerId, model] = /^model (\S+) (.*)$/s.exec(id) ?? [];
  return providerId === undefined || model === undefined ? null : { providerId, model };
}

/** The rows of a menu of models, with the way to the settings at the end ("manage"). */
export function modelRows(choices: readonly ModelChoice[], chosen: ModelRef | null): readonly MenuItem[] {
  return [
    ...choices.map((choice, index): MenuItem => {
      const before = choices[index - 1];
      const key = choice.off === "" ? "" : t(choice.off === "noKey" ? "off.noKey" : "off.noAddress");
      return {
        id: rowOfRef(choice),
        label: choice.label,
        checked: chosen !== null && isSame(choice, chosen),
        off: choice.off !== "",
        apart: before !== undefined && before.providerId !== choice.providerId,
        ...(key !== "" && { key }),
      };
    }),
    { id: "manage", label: t("panel.model.manage"), icon: "settings", apart: choices.length > 0 },
  ];
}

import type { ModelRef, ProviderState, SettingsState } from "../backend";

/** What a rewrite was asked for. */
export interface Wish {
  /** A preset's id; "" for a custom instruction. */
  readonly preset: string;
  readonly instruction: string;
  /** The model that was chosen for this rewrite alone; absent for that of the preset. */
  readonly model?: ModelRef | undefined;
}

/** The model that a wish goes to. */
export interface Target {
  readonly provider: ProviderState;
  readonly model: string;
  /** It is set for the preset. */
  readonly ofPreset: boolean;
}

/**
 * The model that a wish goes to: the one chosen for it, else that of its
 * preset, else the one that AI uses; null where its provider is not there.
 */
export function targetOf(state: SettingsState | null, wish: Wish): Target | null {
  if (state === null) {
    return null;
  }
  const { providers, settings } = state;
  const find = (id: string): ProviderState | undefined => providers.find((p) => p.id === id);
  const own = wish.model && find(wish.model.providerId);
  if (own !== undefined && wish.model !== undefined) {
    return { provider: own, model: wish.model.model, ofPreset: false };
  }
  const preset = wish.preset === "" ? undefined : settings.presets.find((p) => p.preset === wish.preset);
  const set = preset && find(preset.provider);
  if (set !== undefined && preset !== undefined) {
    return { provider: set, model: preset.model || set.model, ofPreset: true };
  }
  const chosen = find(settings.provider);
  return chosen === undefined ? null : { provider: chosen, model: chosen.model, ofPreset: false };
}

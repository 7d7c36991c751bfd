import { useId } from "preact/hooks";
import type { PresetModel } from "../backend";
import { t } from "../i18n";
import { Select } from "./fields";
import { modelChoices, modelLabel, refOfRow, rowOfRef } from "./model-choices";
import { presets as allPresets } from "./presets";
import type { SettingsStore } from "./settings-store";

/** Which model each preset of a rewrite uses: the one that AI uses, or one of its own. */
export function PresetModels({
  settings,
  presets,
}: {
  readonly settings: SettingsStore;
  readonly presets: readonly PresetModel[];
}) {
  const id = useId();
  const state = settings.state.value;
  const choices = modelChoices(state, settings.recent.value);
  const set = (preset: string, row: string): void => {
    const ref = refOfRow(row);
    const others = presets.filter((p) => p.preset !== preset);
    void settings.update({
      presets: ref === null ? others : [...others, { preset, provider: ref.providerId, model: ref.model }],
    });
  };
  return (
    <>
      <h2>{t("provider.presets")}</h2>
      <p class="lede">{t("provider.presets.lede")}</p>
      <div class="form wide">
        {allPresets.map((preset) => {
          const own = presets.find((p) => p.preset === preset.id);
          const ref = own && { providerId: own.provider, model: own.model };
          const row = ref === undefined ? "" : rowOfRef(ref);
          const known = choices.some((choice) => rowOfRef(choice) === row);
          return [
            <label key={`${preset.id} label`} for={`${id}-${preset.id}`}>
              {t(preset.label)}
            </label>,
            <div class="v" key={preset.id}>
              <Select
                id={`${id}-${preset.id}`}
                value={row}
                choices={[
                  { id: "", label: t("provider.presets.asChosen") },
                  ...choices.map((choice) => ({ id: rowOfRef(choice), label: choice.label })),
                  // It was taken out of the favourites, and is used all the same.
                  ...(ref === undefined || known ? [] : [{ id: row, label: modelLabel(ref, state) }]),
                ]}
                onChange={(next) => set(preset.id, next)}
              />
            </div>,
          ];
        })}
      </div>
    </>
  );
}

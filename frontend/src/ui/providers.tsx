import { t } from "../i18n";
import type { Dialogs } from "./dialog";
import { MoveKeysNotice } from "./move-keys";
import { PresetModels } from "./preset-models";
import { MockForm, ProviderForm } from "./provider-form";
import { inOrder, ProviderList } from "./provider-list";
import type { SettingsSection } from "./settings";
import { chosenModel, type SettingsStore } from "./settings-store";

/** Props of Providers. */
export interface ProvidersProps {
  readonly settings: SettingsStore;
  readonly dialogs: Dialogs;
  /** The id of the provider that is shown; "" for the first. */
  readonly selected: string;
  readonly onSelect: (id: string) => void;
  readonly onSection: (section: SettingsSection) => void;
}

/** The providers: a list, the form of one, and the models that presets use. */
export function Providers({ settings, dialogs, selected, onSelect, onSection }: ProvidersProps) {
  const { providers, settings: chosen } = settings.state.value;
  const current = providers.find((p) => p.id === selected) ?? inOrder(providers)[0];
  const inUse = chosenModel(settings.state.value).providerId;
  const form = current !== undefined && {
    provider: current,
    inUse: current.id === inUse,
    settings,
    dialogs,
    onSelect,
    onSection,
  };

  return (
    <>
      <MoveKeysNotice settings={settings} />
      <div class="cols">
        <ProviderList settings={settings} current={current?.id ?? ""} onSelect={onSelect} dialogs={dialogs} />
        {!form ? (
          <div class="empty">
            <b>{t("provider.empty.title")}</b>
            <span>{t("provider.empty.text")}</span>
          </div>
        ) : form.provider.kind === "mock" ? (
          <MockForm {...form} />
        ) : (
          <ProviderForm key={form.provider.id} {...form} />
        )}
      </div>
      {providers.length > 0 && <PresetModels settings={settings} presets={chosen.presets} />}
    </>
  );
}

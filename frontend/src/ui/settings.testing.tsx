/** Puts the settings on a page in tests. */

import { useSignal } from "@preact/signals";
import { createFakeBackend, type FakeBackend, type FakeOptions } from "../backend/fake";
import { createDialogs, DialogHost, type Dialogs } from "./dialog";
import { SettingsPage, type SettingsSection } from "./settings";
import { createSettings, type SettingsStore } from "./settings-store";
import { settle, show } from "./stage.testing";

/** The settings of a fake backend, as a person sees them. */
export interface SettingsStage {
  readonly backend: FakeBackend;
  readonly settings: SettingsStore;
  readonly root: HTMLElement;
  /** The field of a label. */
  readonly field: (label: string) => HTMLInputElement;
}

/** Shows a section; choosing a provider or another section works as in the window. */
export async function stageSettings(
  section: SettingsSection,
  options: FakeOptions = {},
): Promise<SettingsStage> {
  const now = () => new Date(2026, 10, 12, 14, 6).getTime();
  const backend = createFakeBackend({ now, ...options });
  const settings = createSettings(backend);
  await settings.load();
  const dialogs = createDialogs();
  const root = await show(<Staged settings={settings} dialogs={dialogs} first={section} />);
  await settle();
  return {
    backend,
    settings,
    root,
    field: (words) => {
      const label = [...root.querySelectorAll("label")].find((l) => l.textContent === words);
      const found = label && document.getElementById(label.htmlFor);
      if (!(found instanceof HTMLInputElement)) {
        throw new Error(`no field is called ${words}`);
      }
      return found;
    },
  };
}

function Staged({
  settings,
  dialogs,
  first,
}: {
  readonly settings: SettingsStore;
  readonly dialogs: Dialogs;
  readonly first: SettingsSection;
}) {
  const section = useSignal(first);
  const provider = useSignal("");
  return (
    <>
      <div class="win">
        <SettingsPage
          settings={settings}
          dialogs={dialogs}
          section={section.value}
          provider={provider.value}
          onProvider={(id) => {
            provider.value = id;
          }}
          onSection={(next) => {
            section.value = next;
          }}
        />
      </div>
      <DialogHost dialogs={dialogs} platform="linux" />
    </>
  );
}

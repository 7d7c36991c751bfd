import { useId } from "preact/hooks";
import { type MessageKey, t } from "../i18n";
import { faceChoices, languageChoices, themeChoices } from "./choices";
import type { Dialogs } from "./dialog";
import { describeFault } from "./fault";
import { Select } from "./fields";
import { Icon, type IconName } from "./icon";
import { Notice } from "./notice";
import { Providers } from "./providers";
import { FileSettings } from "./settings-files";
import { NetworkSettings } from "./settings-network";
import { NumberField } from "./settings-number";
import { PermissionSettings } from "./settings-permissions";
import { SendLog } from "./settings-sends";
import type { SettingsStore } from "./settings-store";

/** A section of the settings. */
export type SettingsSection = "general" | "files" | "providers" | "permissions" | "network" | "sends";

const sections: readonly {
  readonly id: SettingsSection;
  readonly label: MessageKey;
  readonly icon: IconName;
}[] = [
  { id: "general", label: "settings.general", icon: "sliders-horizontal" },
  { id: "files", label: "settings.files", icon: "folder" },
  { id: "providers", label: "settings.providers", icon: "server" },
  { id: "permissions", label: "settings.permissions", icon: "shield-check" },
  { id: "network", label: "settings.network", icon: "globe" },
  { id: "sends", label: "settings.sends", icon: "list-tree" },
];

/** The settings' nav: it stands in the sidebar's place. */
export function SettingsNav({
  section,
  onSection,
}: {
  readonly section: SettingsSection;
  readonly onSection: (section: SettingsSection) => void;
}) {
  return (
    <ul class="set-nav">
      {sections.map(({ id, label, icon }) => (
        <li key={id}>
          <button
            type="button"
            aria-current={id === section ? "page" : undefined}
            onClick={() => onSection(id)}
          >
            <Icon name={icon} />
            <span>{t(label)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Props of SettingsPage. */
export interface SettingsPageProps {
  readonly settings: SettingsStore;
  readonly dialogs: Dialogs;
  readonly section: SettingsSection;
  /** The provider that is shown; "" for the first. */
  readonly provider: string;
  readonly onProvider: (id: string) => void;
  readonly onSection: (section: SettingsSection) => void;
}

/** The content of the settings tab. */
export function SettingsPage(props: SettingsPageProps) {
  const { settings, dialogs, section, provider, onProvider, onSection } = props;
  return (
    <div class="set scrolls" tabIndex={-1}>
      <div class="set-in">
        <h1>{t(`settings.${section}`)}</h1>
        <p class="lede">{t(`settings.${section}.lede`)}</p>
        <Told settings={settings} />
        {section === "general" && <General settings={settings} />}
        {section === "files" && <FileSettings settings={settings} />}
        {section === "providers" && (
          <Providers
            settings={settings}
            dialogs={dialogs}
            selected={provider}
            onSelect={onProvider}
            onSection={onSection}
          />
        )}
        {section === "permissions" && <PermissionSettings settings={settings} />}
        {section === "network" && <NetworkSettings settings={settings} dialogs={dialogs} />}
        {section === "sends" && <SendLog settings={settings} dialogs={dialogs} />}
      </div>
    </div>
  );
}

/** What there is to say of the settings as a whole. */
function Told({ settings }: { readonly settings: SettingsStore }) {
  const { problems, file, keptAside } = settings.state.value;
  const refused = settings.refused.value;
  return (
    <div class="told">
      {refused && (
        <Notice
          kind="bad"
          title={t("settings.refused")}
          text={
            describeFault({
              code: refused.code,
              detail: refused.detail,
              retryAfterMs: refused.retryAfterMs,
            }).title
          }
        />
      )}
      {keptAside !== "" && (
        <Notice
          kind="warn"
          title={t("settings.keptAside.title")}
          text={t("settings.keptAside.text", { path: keptAside })}
        />
      )}
      {problems.length > 0 && (
        <Notice
          kind="warn"
          title={t("settings.problems.title", { n: problems.length, keys: problems.join(", ") })}
          text={t("settings.problems.text", { path: file })}
        />
      )}
    </div>
  );
}

function General({ settings }: { readonly settings: SettingsStore }) {
  const id = useId();
  const { settings: now, file, version } = settings.state.value;
  return (
    <>
      <div class="form">
        <label for={`${id}-language`}>{t("settings.language")}</label>
        <div class="v">
          <Select
            id={`${id}-language`}
            value={now.language}
            choices={languageChoices()}
            onChange={(language) => void settings.update({ language })}
          />
        </div>
        <label for={`${id}-theme`}>{t("settings.theme")}</label>
        <div class="v">
          <Select
            id={`${id}-theme`}
            value={now.theme}
            choices={themeChoices()}
            onChange={(theme) => void settings.update({ theme })}
          />
        </div>
        <label for={`${id}-face`}>{t("settings.face")}</label>
        <div class="v">
          <Select
            id={`${id}-face`}
            value={now.face}
            choices={faceChoices()}
            onChange={(face) => void settings.update({ face })}
          />
          <div class="hint">{t("settings.face.hint")}</div>
        </div>
        <label for={`${id}-size`}>{t("settings.textSize")}</label>
        <div class="v">
          <NumberField
            id={`${id}-size`}
            value={now.textSize}
            min={sizes.min}
            max={sizes.max}
            hint={t("settings.textSize.hint")}
            wrong={t("settings.textSize.wrong")}
            onNumber={(textSize) => void settings.update({ textSize })}
          />
        </div>
      </div>
      <div class="set-end">
        {file !== "" && <span>{t("settings.file", { path: file })}</span>}
        {version !== "" && <span>{t("settings.version", { version })}</span>}
      </div>
    </>
  );
}

/** The smallest and the largest text size, in CSS pixels. */
const sizes = { min: 13, max: 28 } as const;

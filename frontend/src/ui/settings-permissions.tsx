import { useId } from "preact/hooks";
import { type MessageKey, t } from "../i18n";
import type { Choice } from "./choices";
import { Select } from "./fields";
import { NumberField } from "./settings-number";
import type { SettingsStore } from "./settings-store";

/** The bounds of the limits of a run; the host has the same. */
const bounds = {
  minutes: { min: 1, max: 240 },
  steps: { min: 1, max: 200 },
  tokens: { min: 1000, max: 10_000_000 },
} as const;

/** The values of the two permissions that can be set; no value lets AI write unasked. */
const reads = ["allow", "confirm", "deny"] as const;
const writes = ["confirm", "deny"] as const;

/** The section that says what a run may touch and how long it may go on, and lets it be tightened. */
export function PermissionSettings({ settings }: { readonly settings: SettingsStore }) {
  const id = useId();
  const { permissions, limits } = settings.state.value.settings;
  const limit = (name: keyof typeof bounds) => (
    <>
      <label for={`${id}-${name}`}>{t(`settings.limits.${name}`)}</label>
      <div class="v">
        <NumberField
          id={`${id}-${name}`}
          value={limits[name]}
          {...bounds[name]}
          hint={t(`settings.limits.${name}.hint`, bounds[name])}
          wrong={t("settings.limits.wrong", bounds[name])}
          onNumber={(value) => void settings.update({ limits: { ...limits, [name]: value } })}
        />
      </div>
    </>
  );
  return (
    <>
      <div class="form wide">
        <Fixed what="settings.permissions.document" how="settings.permissions.document.how" />
        <label for={`${id}-read`}>{t("settings.permissions.read")}</label>
        <div class="v">
          <Select
            id={`${id}-read`}
            value={permissions.workspaceRead}
            choices={choicesOf(reads)}
            onChange={(workspaceRead) =>
              void settings.update({ permissions: { ...permissions, workspaceRead } })
            }
          />
          <div class="hint">{t("settings.permissions.read.hint")}</div>
        </div>
        <Fixed what="settings.permissions.change" how="settings.permissions.change.how" />
        <label for={`${id}-write`}>{t("settings.permissions.write")}</label>
        <div class="v">
          <Select
            id={`${id}-write`}
            value={permissions.notesWrite}
            choices={choicesOf(writes)}
            onChange={(notesWrite) => void settings.update({ permissions: { ...permissions, notesWrite } })}
          />
          <div class="hint">{t("settings.permissions.write.hint")}</div>
        </div>
        <Fixed what="settings.permissions.rest" how="settings.permissions.rest.how" />
      </div>
      <h2>{t("settings.limits")}</h2>
      <div class="form wide">
        {limit("minutes")}
        {limit("steps")}
        {limit("tokens")}
      </div>
      <div class="set-end">
        <span>{t("settings.permissions.fence")}</span>
        <span>{t("settings.permissions.when")}</span>
      </div>
    </>
  );
}

/** A row that says what holds and cannot be set. */
function Fixed({ what, how }: { readonly what: MessageKey; readonly how: PlainKey }) {
  return (
    <>
      <span class="label">{t(what)}</span>
      <div class="v">
        <span class="val">{t(how)}</span>
        <div class="hint">{t(`${how}.hint`)}</div>
      </div>
    </>
  );
}

type PlainKey =
  | "settings.permissions.document.how"
  | "settings.permissions.change.how"
  | "settings.permissions.rest.how";

function choicesOf(values: readonly (typeof reads)[number][]): readonly Choice[] {
  return values.map((id) => ({ id, label: t(`settings.permissions.${id}`) }));
}

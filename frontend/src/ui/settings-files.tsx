import { useId } from "preact/hooks";
import { t } from "../i18n";
import { ListField, Switch } from "./fields";
import type { SettingsStore } from "./settings-store";

/** How many names may be left out, and how long each may be, in bytes; the host has the same. */
const limits = { names: 200, bytes: 255 } as const;

/** The section of the files: what the search, quick opening and the tree set aside. */
export function FileSettings({ settings }: { readonly settings: SettingsStore }) {
  const id = useId();
  const { showHidden, ignored } = settings.state.value.settings;
  return (
    <div class="form">
      <span class="label" id={`${id}-hidden`}>
        {t("settings.hidden")}
      </span>
      <div class="v">
        <Switch
          labelledBy={`${id}-hidden`}
          on={showHidden}
          words={t("settings.hidden.on")}
          onChange={(on) => void settings.update({ showHidden: on })}
        />
      </div>
      <label for={`${id}-ignored`}>{t("settings.ignored")}</label>
      <div class="v">
        <ListField
          id={`${id}-ignored`}
          value={ignored}
          rows={6}
          hint={t("settings.ignored.hint")}
          wrongIn={wrongIn}
          onList={(names) => void settings.update({ ignored: names })}
        />
      </div>
    </div>
  );
}

/** What is wrong with some names; "" for nothing. */
function wrongIn(names: readonly string[]): string {
  const name = names.find(
    (name) =>
      name === "." ||
      name === ".." ||
      /[/\\\p{Cc}]/u.test(name) ||
      new TextEncoder().encode(name).length > limits.bytes,
  );
  if (name !== undefined) {
    return t("settings.ignored.wrong", { name });
  }
  return names.length > limits.names ? t("settings.ignored.many", { n: names.length }) : "";
}

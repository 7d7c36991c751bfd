import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { t } from "../i18n";
import { Icon } from "./icon";
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
        <button
          type="button"
          class="row tick"
          role="switch"
          aria-checked={showHidden}
          aria-describedby={`${id}-hidden`}
          onClick={() => void settings.update({ showHidden: !showHidden })}
        >
          <span class={`check${showHidden ? " on" : ""}`}>{showHidden && <Icon name="check" />}</span>
          {t("settings.hidden.on")}
        </button>
      </div>
      <label for={`${id}-ignored`}>{t("settings.ignored")}</label>
      <div class="v">
        <NamesField
          id={`${id}-ignored`}
          value={ignored}
          onNames={(names) => void settings.update({ ignored: names })}
        />
      </div>
    </div>
  );
}

/** A list of names, one a line. It is taken when the field is left. */
function NamesField({
  id,
  value,
  onNames,
}: {
  readonly id: string;
  readonly value: readonly string[];
  readonly onNames: (names: readonly string[]) => void;
}) {
  const kept = value.join("\n");
  const draft = useSignal(kept);
  useEffect(() => {
    draft.value = kept;
  }, [kept, draft]);
  const names = namesIn(draft.value);
  const wrong = wrongIn(names);
  return (
    <>
      <div class={`field area${wrong === "" ? "" : " is-bad"}`}>
        <textarea
          id={id}
          rows={Math.min(16, Math.max(6, draft.value.split("\n").length))}
          spellcheck={false}
          autocomplete="off"
          value={draft.value}
          aria-invalid={wrong === "" ? undefined : "true"}
          aria-describedby={`${id}-hint`}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onChange={() => {
            if (wrong !== "") {
              return;
            }
            draft.value = names.join("\n");
            if (draft.value !== kept) {
              onNames(names);
            }
          }}
        />
      </div>
      <div class={wrong === "" ? "hint" : "err"} id={`${id}-hint`}>
        {wrong !== "" && <Icon name="circle-alert" />}
        {wrong === "" ? t("settings.ignored.hint") : wrong}
      </div>
    </>
  );
}

/** The names in a text, each once; blanks around a name are not of it. */
function namesIn(text: string): readonly string[] {
  const names = text.split("\n").map((line) => line.trim());
  return [...new Set(names)].filter((name) => name !== "");
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

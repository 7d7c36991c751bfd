import { type ReadonlySignal, signal } from "@preact/signals";
import type { SettingsState } from "../backend";
import { localeTag, pickLanguage, setLanguage } from "../i18n";
import { platformOf } from "./keys";

/** A theme that can be drawn. */
export type Theme = "light" | "dark" | "sepia" | "contrast";

/** What the system asks for. */
export interface SystemLook {
  readonly dark: boolean;
  readonly contrast: boolean;
  readonly languages: readonly string[];
}

/** The theme for a setting: `system` takes what the system asks for. */
export function pickTheme(setting: string, system: SystemLook): Theme {
  if (setting === "light" || setting === "dark" || setting === "sepia" || setting === "contrast") {
    return setting;
  }
  return system.contrast ? "contrast" : system.dark ? "dark" : "light";
}

/** Follows what the system asks for; `stop` ends it. */
export function followSystem(window: Window): {
  readonly look: ReadonlySignal<SystemLook>;
  readonly stop: () => void;
} {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const contrast = window.matchMedia("(prefers-contrast: more)");
  const read = (): SystemLook => ({
    dark: dark.matches,
    contrast: contrast.matches,
    languages: window.navigator.languages,
  });
  const look = signal(read());
  const update = (): void => {
    look.value = read();
  };
  const stop = new AbortController();
  dark.addEventListener("change", update, { signal: stop.signal });
  contrast.addEventListener("change", update, { signal: stop.signal });
  window.addEventListener("languagechange", update, { signal: stop.signal });
  return { look, stop: () => stop.abort() };
}

/** Puts the settings' look on the page: theme, language, system, text face and size. */
export function applyLook(root: HTMLElement, { settings, os }: SettingsState, system: SystemLook): void {
  setLanguage(pickLanguage(settings.language, system.languages));
  // Peeked at: an effect that runs this would else run itself.
  root.lang = localeTag.peek();
  Object.assign(root.dataset, {
    theme: pickTheme(settings.theme, system),
    os: platformOf(os),
    face: settings.face,
  });
  // The faces have sizes of their own: the setting is that of the sans face.
  const step = settings.face === "serif" ? 1 : settings.face === "mono" ? -1 : 0;
  root.style.setProperty("--text-size", `${(settings.textSize + step) / 16}rem`);
}

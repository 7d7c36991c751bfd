import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { en, type MessageKey, type Messages } from "./en";
import { createFormatter, type Params } from "./message";
import { pseudo } from "./pseudo";
import { zh } from "./zh";

export type { MessageKey } from "./en";
export type { Params } from "./message";

/** A language of the interface. `pseudo` is for tests: English, lengthened and marked. */
export type Language = "en" | "zh" | "pseudo";

interface Locale {
  readonly messages: () => Messages;
  /** For `Intl` and for the page's `lang`. */
  readonly tag: string;
  readonly format: (message: string, params?: Params) => string;
}

const locales: Readonly<Record<Language, Locale>> = {
  en: { messages: () => en, tag: "en", format: createFormatter("en") },
  zh: { messages: () => zh, tag: "zh-CN", format: createFormatter("zh-CN") },
  pseudo: { messages: once(() => pseudo(en)), tag: "en", format: createFormatter("en") },
};

const current = signal<Language>("en");

/** The language of the interface; whatever reads it in a component follows a switch. */
export const language: ReadonlySignal<Language> = computed(() => current.value);

/** The BCP 47 tag of the language of the interface. */
export const localeTag: ReadonlySignal<string> = computed(() => locales[current.value].tag);

/** Switches the language; no reload is needed. */
export function setLanguage(next: Language): void {
  current.value = next;
}

/**
 * Picks the language for a setting: `en` and `zh` are themselves; for anything
 * else, the first of the system's languages that there is a table for, or English.
 */
export function pickLanguage(setting: string, system: readonly string[]): Language {
  for (const tag of setting === "en" || setting === "zh" ? [setting] : system) {
    const primary = tag.toLowerCase().split("-")[0];
    if (primary === "en" || primary === "zh") {
      return primary;
    }
  }
  return "en";
}

/** The sentence behind a key, in the language of the interface. */
export function t(key: MessageKey, params?: Params): string {
  const { messages, format } = locales[current.value];
  return format(messages()[key], params);
}

/** A time of day: "14:06". `ms` counts from 1970. */
export function formatTime(ms: number): string {
  return dates({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(ms);
}

/** A day without its year: "12 Nov", 11月12日. `ms` counts from 1970. */
export function formatDay(ms: number): string {
  // British order in English: day before month, as in the rest of the interface.
  return dates({ day: "numeric", month: "short" }).format(ms);
}

/** A number with the language's separators. */
export function formatNumber(value: number): string {
  return new Intl.NumberFormat(localeTag.value).format(value);
}

/** A size in KB or MB: "0.8 KB", "12 KB". What is smaller than a tenth counts as one. */
export function formatBytes(bytes: number): string {
  const [value, unit] = bytes < 1_000_000 ? [Math.max(bytes / 1000, 0.1), "KB"] : [bytes / 1_000_000, "MB"];
  const digits = value < 10 ? 1 : 0;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${new Intl.NumberFormat(localeTag.value, options).format(value)} ${unit}`;
}

function dates(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(localeTag.value === "en" ? "en-GB" : localeTag.value, options);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

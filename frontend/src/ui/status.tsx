import { formatTime, language as spoken, t } from "../i18n";
import { languageChoices, themeChoices } from "./choices";
import { type Counts, isCountedByCharacter, readingMinutes, totalOf } from "./count";
import { MenuButton } from "./menu";

/** What became of a document's text, as the status bar says it. */
export type SaveState = "saved" | "saving" | "unsaved" | "draft" | "failed" | "readOnly" | "unchanged";

/** What the status bar says of the document in front. */
export interface StatusView {
  readonly save: SaveState;
  /** When it was saved, in ms; 0 when that is not known. */
  readonly savedAtMs: number;
  readonly counts: Counts;
  /** Null when nothing is selected. */
  readonly selection: Counts | null;
  /** As the host names it: `utf-8`. */
  readonly encoding: string;
  readonly bom: boolean;
  /** lf, crlf or cr; `mixed`; "" for a document of one line. */
  readonly endings: string;
  /** The file was taken over by itself, and nothing was edited since; null else. */
  readonly reloaded: {
    /** When the file changed, in ms; 0 when that is not known. */
    readonly atMs: number;
    readonly onCompare: () => void;
  } | null;
}

/** Something that is under way or waits, and where to go for it. */
export interface StatusAsk {
  readonly text: string;
  /** A person is asked. */
  readonly asks: boolean;
  readonly run: () => void;
}

/** Props of StatusBar. */
export interface StatusBarProps {
  /** Null when no document is in front: language and theme are shown then. */
  readonly view: StatusView | null;
  /** What AI is doing, shown in place of the save state; "" for nothing. */
  readonly run: string;
  /** Null for nothing. */
  readonly ask?: StatusAsk | null;
  readonly language: string;
  readonly theme: string;
  readonly onLanguage: (language: string) => void;
  readonly onTheme: (theme: string) => void;
}

/** The line at the bottom of the window. */
export function StatusBar({ view, run, ask = null, language, theme, onLanguage, onTheme }: StatusBarProps) {
  return (
    <section class="status" aria-label={t("window.status")} data-part="status" tabIndex={-1}>
      {run !== "" ? <span>{run}</span> : view && <SaveItem view={view} />}
      {ask !== null && (
        <button type="button" class={`asks${ask.asks ? "" : " is-quiet"}`} onClick={ask.run}>
          {ask.text}
        </button>
      )}
      <span class="grow" />
      {view ? (
        <DocumentItems view={view} />
      ) : (
        <>
          <MenuButton
            class="num"
            label={`${t("status.language")}: ${languageName(language)}`}
            items={languageChoices().map((c) => ({ ...c, checked: c.id === language }))}
            onChoose={onLanguage}
            up
            end
          >
            {languageName(language)}
          </MenuButton>
          <MenuButton
            class="num"
            label={`${t("status.theme")}: ${labelOf(themeChoices(), theme)}`}
            items={themeChoices().map((c) => ({ ...c, checked: c.id === theme }))}
            onChoose={onTheme}
            up
            end
          >
            {labelOf(themeChoices(), theme)}
          </MenuButton>
        </>
      )}
    </section>
  );
}

function SaveItem({ view }: { readonly view: StatusView }) {
  const { reloaded } = view;
  return (
    <>
      <span class={view.save === "failed" ? "bad" : undefined} role="status">
        {reloaded === null
          ? saveText(view)
          : reloaded.atMs > 0
            ? t("status.reloaded", { time: formatTime(reloaded.atMs) })
            : t("status.reloadedLater")}
      </span>
      {reloaded !== null && (
        <button type="button" class="step" onClick={reloaded.onCompare}>
          {t("action.compare")}
        </button>
      )}
    </>
  );
}

function saveText(view: StatusView): string {
  switch (view.save) {
    case "saved":
      return view.savedAtMs > 0
        ? t("status.saved", { time: formatTime(view.savedAtMs) })
        : t("status.unchanged");
    case "saving":
      return t("status.saving");
    case "unsaved":
      return t("status.unsaved");
    case "draft":
      return t("status.draft");
    case "failed":
      return t("status.saveFailed");
    case "readOnly":
      return t("status.readOnly");
    case "unchanged":
      return t("status.unchanged");
  }
}

function DocumentItems({ view }: { readonly view: StatusView }) {
  return (
    <>
      <span>{countText(view)}</span>
      <span class="spare" title={t("status.readingTime")}>
        {t("status.minutes", { n: readingMinutes(view.counts) })}
      </span>
      <span class="spare" title={t("status.encoding")}>
        {encodingName(view)}
      </span>
      {view.endings !== "" && (
        <span class="spare" title={t("status.endings")}>
          {view.endings === "mixed" ? t("status.mixed") : view.endings.toUpperCase()}
        </span>
      )}
    </>
  );
}

function countText({ counts, selection }: StatusView): string {
  const n = totalOf(counts);
  if (isCountedByCharacter(counts)) {
    return selection
      ? t("status.selectedCharacters", { some: totalOf(selection), n })
      : t("status.characters", { n });
  }
  return selection ? t("status.selectedWords", { some: totalOf(selection), n }) : t("status.words", { n });
}

function encodingName({ encoding, bom }: StatusView): string {
  const name = encoding
    .toUpperCase()
    .replace(/^UTF-?16-?(LE|BE)$/, "UTF-16 $1")
    .replace("UTF8", "UTF-8");
  return bom && name === "UTF-8" ? "UTF-8 BOM" : name;
}

/** The language that is spoken now, where the setting leaves it to the system. */
function languageName(setting: string): string {
  return labelOf(languageChoices(), setting === "system" ? spoken.value : setting);
}

function labelOf(choices: readonly { readonly id: string; readonly label: string }[], id: string): string {
  return choices.find((choice) => choice.id === id)?.label ?? id;
}

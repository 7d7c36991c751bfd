/** The editing surface: one CodeMirror view that the open documents share. */

import type { Extension } from "@codemirror/state";
import { EditorState } from "@codemirror/state";
import { EditorView, type ViewUpdate } from "@codemirror/view";
import type { Document } from "../backend";
import { type Endings, editorExtensions, plannedEdits, type ReviewEvent, setLang, setWords } from "../editor";
import { localeTag, t } from "../i18n";
import { countText, isCountedByCharacter, type Platform } from "../ui";

/** What the editors of documents need of the page. */
export interface SurfaceConfig {
  readonly platform: () => Platform;
  readonly onReview: (event: ReviewEvent, view: EditorView) => void;
}

/** Makes the view, without a document. */
export function createSurface(): EditorView {
  return new EditorView({ state: EditorState.create({ extensions: nonce() }) });
}

/** The extensions of a document's editor. */
export function surfaceExtensions(
  config: SurfaceConfig,
  info: Document,
  version: number,
  endings: Endings,
): Extension {
  const platform = config.platform();
  const cspNonce = pageNonce();
  const surface = editorExtensions({
    ...words(),
    ...(cspNonce !== "" && { cspNonce }),
    platform: platform === "win" ? "windows" : platform,
    version,
    endings,
    lang: localeTag.peek(),
    readOnly: info.readOnly !== "",
    length: info.length,
    onReview: config.onReview,
  });
  // Said aloud, since not every tool takes an editable element for one that can have the focus.
  return [surface, plannedEdits(), EditorView.contentAttributes.of({ tabindex: "0" })];
}

/** Gives the view's panels and name the words of the interface's language. */
export function translateSurface(view: EditorView): void {
  setWords(view, words());
}

/** Gives the document in the view the language of its text, for faces and line breaks. */
export function followTextLanguage(view: EditorView): void {
  setLang(view, textLanguage(view.state.sliceDoc(0, 8000)));
}

/**
 * The language of a text by its beginning: what its front matter says, else
 * what it is written in, else that of the interface.
 */
function textLanguage(head: string): string {
  const said = /^---\n(?:(?!---\n).*\n)*?lang:[ \t]*["']?([A-Za-z][\w-]*)/.exec(head)?.[1];
  if (said !== undefined) {
    return said;
  }
  const counts = countText(head.slice(0, 4000));
  if (counts.words + counts.characters === 0) {
    return localeTag.peek();
  }
  return isCountedByCharacter(counts) ? "zh-CN" : "en";
}

function nonce(): Extension {
  const value = pageNonce();
  return value === "" ? [] : EditorView.cspNonce.of(value);
}

/** The nonce that the host wrote into the page; "" without a host. */
function pageNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
}

function words() {
  return {
    label: t("editor.documentText"),
    phrases: {
      Find: t("editor.find.find"),
      Replace: t("editor.find.replaceWith"),
      next: t("editor.find.next"),
      previous: t("editor.find.previous"),
      all: t("editor.find.all"),
      "match case": t("editor.find.matchCase"),
      "by word": t("editor.find.byWord"),
      regexp: t("editor.find.regexp"),
      replace: t("editor.find.replace"),
      "replace all": t("editor.find.replaceAll"),
      close: t("editor.find.close"),
      "current match": t("editor.find.current"),
      "on line": t("editor.find.onLine"),
    },
  };
}

/** Tells of each update of the view. */
export function surfaceListener(onUpdate: (update: ViewUpdate) => void): Extension {
  return EditorView.updateListener.of(onUpdate);
}

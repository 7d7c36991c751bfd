/** The editor as a whole: everything an editing surface of a document has. */

import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import type { Extension, StateEffect } from "@codemirror/state";
import { Compartment, EditorState } from "@codemirror/state";
import type { KeyBinding } from "@codemirror/view";
import { drawSelection, dropCursor, EditorView, keymap, placeholder } from "@codemirror/view";
import { documentLanguage } from "../markdown";
import { versions } from "./base";
import { boxes } from "./box";
import type { Endings } from "./endings";
import { endings } from "./endings";
import { invisibleCharacters } from "./invisible";
import type { Platform } from "./keys";
import { markdownLook } from "./look";
import { review } from "./marks";
import { focusGuard } from "./outside";
import type { ReviewEvent } from "./review";
import { surrogateFilter } from "./surrogates";

/** What an editor needs to know. */
export interface EditorOptions {
  readonly platform: Platform;
  /** The nonce of the page's CSP for the style sheets that CodeMirror adds; none in tests. */
  readonly cspNonce?: string;
  /** The document's version when it is opened; 1 when absent. */
  readonly version?: number;
  /** The document's line endings and their majority; all LF when absent. */
  readonly endings?: Endings;
  /** BCP 47 language of the text, for fonts and line breaking. */
  readonly lang: string;
  /** Shown in an empty document. */
  readonly placeholder?: string;
  /** The accessible name of the editing surface. */
  readonly label: string;
  /** The words of CodeMirror's own panels, by its English phrases. */
  readonly phrases?: Readonly<Record<string, string>>;
  readonly readOnly?: boolean;
  /** The document's length in UTF-16 units: a large one is plain source from the start. */
  readonly length: number;
  readonly onReview?: (event: ReviewEvent, view: EditorView) => void;
}

/** Documents longer than this are shown as plain source, in UTF-16 units (E9). */
const largeDocument = 2_000_000;

/** Whether a document of this length is shown as plain source. */
function isLarge(length: number): boolean {
  return length > largeDocument;
}

const language = new Compartment();
const locale = new Compartment();
const words = new Compartment();
const writable = new Compartment();

/** Everything an editing surface has. The caller adds its own listeners. */
export function editorExtensions(options: EditorOptions): Extension {
  return [
    options.cspNonce === undefined ? [] : EditorView.cspNonce.of(options.cspNonce),
    versions(options.version),
    options.endings === undefined ? [] : endings(options.endings.table, options.endings.majority),
    surrogateFilter(),
    focusGuard(),
    history({ minDepth: 500 }),
    drawSelection(),
    dropCursor(),
    invisibleCharacters(),
    EditorView.lineWrapping,
    EditorState.allowMultipleSelections.of(true),
    indentUnit.of("  "),
    bracketMatching(),
    highlightSelectionMatches({ minSelectionLength: 3 }),
    search({ top: true }),
    review(
      options.onReview === undefined ? options : { platform: options.platform, onReview: options.onReview },
    ),
    boxes(),
    language.of(isLarge(options.length) ? [] : rich()),
    sizeGuard,
    locale.of(langOf(options.lang)),
    words.of(wordsOf(options)),
    writable.of(readOnlyOf(options.readOnly === true)),
    EditorView.editorAttributes.of({ class: "g-editor" }),
    EditorView.contentAttributes.of({ spellcheck: "true", autocorrect: "off", autocapitalize: "off" }),
    keymap.of([...indentKeys, ...searchKeymap, ...historyKeymap, ...ordinaryKeys()]),
  ];
}

/** Changes the language of the text. */
export function setLang(view: EditorView, lang: string): void {
  view.dispatch({ effects: locale.reconfigure(langOf(lang)) });
}

/** Changes the words of the surface and its panels, as when the interface changes its language. */
export function setWords(
  view: EditorView,
  options: Pick<EditorOptions, "label" | "placeholder" | "phrases">,
): void {
  view.dispatch({ effects: words.reconfigure(wordsOf(options)) });
}

/** Makes the document read-only or writable. */
export function setReadOnly(view: EditorView, readOnly: boolean): void {
  view.dispatch({ effects: makingReadOnly(readOnly) });
}

/** The effect that makes a document read-only or writable, in any state. */
export function makingReadOnly(readOnly: boolean): StateEffect<unknown> {
  return writable.reconfigure(readOnlyOf(readOnly));
}

function rich(): Extension {
  return [documentLanguage(), markdownLook()];
}

/** Steps back to plain source when a document grows past the limit. */
const sizeGuard = EditorState.transactionExtender.of((tr) => {
  const grows = tr.docChanged && !isLarge(tr.startState.doc.length) && isLarge(tr.changes.newLength);
  return grows ? { effects: language.reconfigure([]) } : null;
});

function langOf(lang: string): Extension {
  return EditorView.contentAttributes.of({ lang });
}

function wordsOf(options: Pick<EditorOptions, "label" | "placeholder" | "phrases">): Extension {
  return [
    EditorView.contentAttributes.of({ "aria-label": options.label }),
    options.placeholder === undefined ? [] : placeholder(options.placeholder),
    options.phrases === undefined ? [] : EditorState.phrases.of(options.phrases),
  ];
}

function readOnlyOf(readOnly: boolean): Extension {
  return EditorState.readOnly.of(readOnly);
}

/** Tab leaves the editor only by the keyboard's own way (Esc, then Tab). */
const indentKeys: readonly KeyBinding[] = [{ key: "Tab", run: indentMore, shift: indentLess }];

/** CodeMirror's default keys but Mod-Enter, which a review needs and Galley binds to nothing else. */
function ordinaryKeys(): readonly KeyBinding[] {
  return defaultKeymap.filter((binding) => binding.key !== "Mod-Enter");
}

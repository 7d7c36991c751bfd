import { type ReadonlySignal, signal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { t } from "../i18n";
import type { Platform } from "./keys";
import { useModal } from "./modal";

/** A button of a dialog. */
export interface DialogButton<Id extends string> {
  readonly id: Id;
  readonly label: string;
  /** main: the harmless default, which Enter takes; bad: destroys something. */
  readonly kind: "main" | "plain" | "bad";
}

/** A question put to the person. */
export interface Question<Id extends string> {
  readonly title: string;
  readonly text: string;
  /** What it is about, one name a line. */
  readonly names?: readonly string[];
  readonly buttons: readonly DialogButton<Id>[];
  /** The label of the button that does nothing; "Cancel" by default. */
  readonly cancel?: string;
}

/** What the person decided about unsaved text. */
export type UnsavedDecision = "save" | "discard" | "cancel";

interface Asked {
  readonly question: Question<string>;
  readonly answer: (id: string) => void;
}

/** The dialogs of the page: one is shown at a time, others wait. */
export interface Dialogs {
  /** Asks; resolves with a button's id, or `cancel`. */
  readonly ask: <Id extends string>(question: Question<Id>) => Promise<Id | "cancel">;
  /** Asks what to do with the unsaved text of the named documents. */
  readonly askUnsaved: (names: readonly string[]) => Promise<UnsavedDecision>;
  readonly current: ReadonlySignal<Asked | null>;
}

/** Makes the dialogs of a page. */
export function createDialogs(): Dialogs {
  const queue = signal<readonly Asked[]>([]);
  const current = signal<Asked | null>(null);
  const next = (): void => {
    current.value = queue.value[0] ?? null;
  };
  const dialogs: Dialogs = {
    current,
    ask: <Id extends string>(question: Question<Id>) =>
      new Promise<Id | "cancel">((resolve) => {
        const asked: Asked = {
          question,
          answer: (id) => {
            queue.value = queue.value.filter((other) => other !== asked);
            next();
            resolve(question.buttons.find((button) => button.id === id)?.id ?? "cancel");
          },
        };
        queue.value = [...queue.value, asked];
        next();
      }),
    askUnsaved: (names) =>
      dialogs.ask({
        title: t("dialogs.unsaved.title", { n: names.length, name: names[0] ?? "" }),
        text: t("dialogs.unsaved.text"),
        ...(names.length > 1 && { names }),
        buttons: [
          { id: "discard", label: t("dialogs.unsaved.discard"), kind: "bad" },
          {
            id: "save",
            label: t(names.length > 1 ? "dialogs.unsaved.saveAll" : "dialogs.unsaved.save"),
            kind: "main",
          },
        ],
      }),
  };
  return dialogs;
}

/** Shows the dialog that is asked now. */
export function DialogHost({
  dialogs,
  platform,
}: {
  readonly dialogs: Dialogs;
  readonly platform: Platform;
}) {
  const asked = dialogs.current.value;
  return asked && <Dialog key={asked} asked={asked} platform={platform} />;
}

function Dialog({ asked, platform }: { readonly asked: Asked; readonly platform: Platform }) {
  const { question, answer } = asked;
  const id = useId();
  const ref = useRef<HTMLElement>(null);
  useModal(ref, () => answer("cancel"));

  const cancel = (
    <button
      type="button"
      class="btn"
      key="cancel"
      onClick={() => answer("cancel")}
      data-first={!hasMain(question) || undefined}
    >
      {question.cancel ?? t("dialogs.cancel")} <span class="key">Esc</span>
    </button>
  );
  const others = question.buttons.map((button) => (
    <button
      type="button"
      key={button.id}
      class={`btn${button.kind === "main" ? " primary" : button.kind === "bad" ? " bad" : ""}`}
      data-first={button.kind === "main" || undefined}
      onClick={() => answer(button.id)}
    >
      {button.label}
    </button>
  ));
  // Cancel stands first on macOS and Linux, last on Windows.
  const row = platform === "win" ? [...others.reverse(), cancel] : [cancel, ...others];
  return (
    <>
      <div class="scrim" />
      <section
        class="pop dialog"
        role="alertdialog"
        aria-modal="true"
        aria-labelledby={`${id}-title`}
        aria-describedby={`${id}-text`}
        tabIndex={-1}
        ref={ref}
      >
        <h2 id={`${id}-title`}>{question.title}</h2>
        {question.names && (
          <ul class="names scrolls">
            {question.names.map((name, i) => (
              // Two documents can have one name.
              <li class="clip" key={`${i} ${name}`}>
                {name}
              </li>
            ))}
          </ul>
        )}
        <p class="meta" id={`${id}-text`}>
          {question.text}
        </p>
        <div class="acts">{row}</div>
      </section>
    </>
  );
}

function hasMain(question: Question<string>): boolean {
  return question.buttons.some((button) => button.kind === "main");
}

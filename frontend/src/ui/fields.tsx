import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId } from "preact/hooks";
import { Icon } from "./icon";

/** Props of TextField. */
export interface TextFieldProps {
  readonly id: string;
  readonly value: string;
  readonly mode?: "text" | "url" | "decimal";
  /** Shown while nothing is typed. */
  readonly example?: string;
  /** A few characters wide. */
  readonly short?: boolean;
  /** What would be right, when it is wrong; "" when it is not. */
  readonly wrong: string;
  /** Called when the field is left, or Enter is pressed. */
  readonly onCommit: (value: string) => void;
}

/** A field of one line. It is taken when it is left or Enter is pressed. */
export function TextField({
  id,
  value,
  mode = "text",
  example = "",
  short = false,
  wrong,
  onCommit,
}: TextFieldProps) {
  const draft = useSignal(value);
  useEffect(() => {
    draft.value = value;
  }, [value, draft]);
  return (
    <>
      <div class={`field ${short ? "short" : "grow"}${wrong !== "" ? " is-bad" : ""}`}>
        <input
          id={id}
          type="text"
          inputMode={mode}
          value={draft.value}
          placeholder={example || undefined}
          autocomplete="off"
          spellcheck={false}
          aria-invalid={wrong !== "" ? "true" : undefined}
          aria-describedby={wrong !== "" ? `${id}-wrong` : undefined}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onBlur={() => onCommit(draft.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.isComposing && event.keyCode !== 229) {
              onCommit(draft.value);
            }
          }}
        />
      </div>
      {wrong !== "" && (
        <div class="err" id={`${id}-wrong`}>
          <Icon name="circle-alert" />
          {wrong}
        </div>
      )}
    </>
  );
}

/** Props of Select. */
export interface SelectProps {
  readonly id: string;
  readonly value: string;
  readonly choices: readonly { readonly id: string; readonly label: string }[];
  readonly onChange: (id: string) => void;
}

/** A field of which one of several values is chosen: the system's own, in our dress. */
export function Select({ id, value, choices, onChange }: SelectProps) {
  return (
    <div class="field">
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map((choice) => (
          <option key={choice.id} value={choice.id} selected={choice.id === value}>
            {choice.label}
          </option>
        ))}
      </select>
      <span class="thru">
        <Icon name="chevrons-up-down" small />
      </span>
    </div>
  );
}

/** Props of ListField. */
export interface ListFieldProps {
  readonly id: string;
  readonly value: readonly string[];
  /** How many lines it shows at least. */
  readonly rows: number;
  readonly hint: string;
  /** What is wrong with a list; "" for nothing. */
  readonly wrongIn: (list: readonly string[]) => string;
  readonly onList: (list: readonly string[]) => void;
}

/** A list, one entry a line, each once. It is taken when the field is left. */
export function ListField({ id, value, rows, hint, wrongIn, onList }: ListFieldProps) {
  const kept = value.join("\n");
  const draft = useSignal(kept);
  useEffect(() => {
    draft.value = kept;
  }, [kept, draft]);
  const list = entriesIn(draft.value);
  const wrong = wrongIn(list);
  return (
    <>
      <div class={`field area${wrong === "" ? "" : " is-bad"}`}>
        <textarea
          id={id}
          rows={Math.min(16, Math.max(rows, draft.value.split("\n").length))}
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
            draft.value = list.join("\n");
            if (draft.value !== kept) {
              onList(list);
            }
          }}
        />
      </div>
      <div class={wrong === "" ? "hint" : "err"} id={`${id}-hint`}>
        {wrong !== "" && <Icon name="circle-alert" />}
        {wrong === "" ? hint : wrong}
      </div>
    </>
  );
}

/** The lines of a text, each once; blanks around an entry are not of it. */
function entriesIn(text: string): readonly string[] {
  const entries = text.split("\n").map((line) => line.trim());
  return [...new Set(entries)].filter((entry) => entry !== "");
}

/** Props of Disclosure. */
export interface DisclosureProps {
  readonly label: string;
  /** What is in it, said while it is shut. */
  readonly summary: string;
  readonly children: ComponentChildren;
}

/** Rows of a form that most people leave alone: shut until one asks. */
export function Disclosure({ label, summary, children }: DisclosureProps) {
  const id = useId();
  const open = useSignal(false);
  return (
    <>
      <button
        type="button"
        class="more full"
        aria-expanded={open.value}
        aria-controls={open.value ? id : undefined}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon name={open.value ? "chevron-down" : "chevron-right"} small />
        <span>{label}</span>
        <span class="meta clip">{summary}</span>
      </button>
      {open.value && (
        <div class="form inner full" id={id}>
          {children}
        </div>
      )}
    </>
  );
}

/** Props of Switch. */
export interface SwitchProps {
  /** The id of the label before it. */
  readonly labelledBy: string;
  readonly on: boolean;
  readonly words: string;
  readonly onChange: (on: boolean) => void;
}

/** Something that is on or off. */
export function Switch({ labelledBy, on, words, onChange }: SwitchProps) {
  return (
    <button
      type="button"
      class="row tick"
      role="switch"
      aria-checked={on}
      aria-describedby={labelledBy}
      onClick={() => onChange(!on)}
    >
      <span class={`check${on ? " on" : ""}`}>{on && <Icon name="check" />}</span>
      {words}
    </button>
  );
}

import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { Icon } from "./icon";

/** Props of NameField. */
export interface NameFieldProps {
  /** What it names, for a screen reader. */
  readonly label: string;
  /** The name at the start; "" for something new. */
  readonly name: string;
  /** Whether it is a folder's: another name then has no ending to leave alone. */
  readonly folder: boolean;
  /** Takes the name; gives what is wrong with it, "" when it is done. */
  readonly onSubmit: (name: string) => Promise<string>;
  readonly onDrop: () => void;
}

/**
 * The field of a row: Enter takes the name, Escape drops it, as does leaving
 * the field for another place in the window. What is wrong is said below it.
 */
export function NameField({ label, name, folder, onSubmit, onDrop }: NameFieldProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const problem = useSignal("");
  const busy = useSignal(false);

  useLayoutEffect(() => {
    const field = input.current;
    field?.focus({ preventScroll: true });
    field?.setSelectionRange(0, folder ? name.length : stemLength(name));
    // Once: what the person has selected since then is theirs.
  }, []);

  const submit = async (): Promise<void> => {
    const typed = input.current?.value.trim() ?? "";
    if (typed === "" || typed === name) {
      onDrop();
      return;
    }
    busy.value = true;
    const wrong = await onSubmit(typed);
    busy.value = false;
    problem.value = wrong;
    if (wrong !== "") {
      input.current?.focus();
    }
  };

  return (
    <span class={`name-field${problem.value === "" ? "" : " is-bad"}`}>
      <input
        type="text"
        ref={input}
        aria-label={label}
        aria-invalid={problem.value === "" ? undefined : "true"}
        aria-describedby={problem.value === "" ? undefined : id}
        defaultValue={name}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        readOnly={busy.value}
        onInput={() => {
          problem.value = "";
        }}
        onKeyDown={(event) => {
          // The keys of the tree are letters here.
          event.stopPropagation();
          if (event.isComposing || event.keyCode === 229) {
            return;
          }
          if (event.key === "Enter") {
            event.preventDefault();
            if (!busy.peek()) {
              void submit();
            }
          } else if (event.key === "Escape") {
            event.preventDefault();
            onDrop();
          }
        }}
        onBlur={(event) => {
          // Another window in front is no decision; nor is the field that the tree draws anew.
          if (
            event.currentTarget.ownerDocument.hasFocus() &&
            event.currentTarget.isConnected &&
            !busy.peek()
          ) {
            onDrop();
          }
        }}
        onClick={(event) => event.stopPropagation()}
        onContextMenu={(event) => event.stopPropagation()}
      />
      {problem.value !== "" && (
        <span class="pop err" id={id} role="alert">
          <Icon name="circle-alert" />
          <span>{problem.value}</span>
        </span>
      )}
      {busy.value && <span class="vh">{t("tree.naming")}</span>}
    </span>
  );
}

/** How much of a name stands before its ending; all of it where there is none. */
function stemLength(name: string): number {
  const at = name.lastIndexOf(".");
  return at > 0 ? at : name.length;
}

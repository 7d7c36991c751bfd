import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { BackendError, KeyState } from "../backend";
import { formatDay, type MessageKey, t } from "../i18n";
import { describeFault } from "./fault";
import { Icon } from "./icon";
import { Notice } from "./notice";
import { rich } from "./rich";
import type { KeyPlace } from "./settings-store";

/** What a field for a secret is called, and what is said of it. */
export interface KeyWords {
  readonly label: string;
  /** Shown while nothing is typed. */
  readonly paste: string;
  readonly hint: string;
  /** What is said of a secret that can be none; absent for what is said of a key. */
  readonly malformed?: string;
}

/** Props of KeyField. */
export interface KeyFieldProps {
  readonly id: string;
  /** Whether there is one already, and where. */
  readonly held: KeyState;
  /** Whose key it is, for what is said of it. */
  readonly owner: string;
  readonly words: KeyWords;
  /** Hands a key to the host. Gives null when it is stored, else why it is not. */
  readonly store: (key: string, place: KeyPlace) => Promise<BackendError | null>;
  /** Asks, then deletes the stored key. */
  readonly onDelete: () => void;
}

type Asking =
  | { readonly status: "shut" }
  | { readonly status: "open" }
  | { readonly status: "storing" }
  /** No keyring took the key: it is kept here, not in the page, until the person decides. */
  | { readonly status: "waiting"; readonly error: BackendError }
  | { readonly status: "refused"; readonly error: BackendError };

/** Stands for a key that waits; always as long, so that it tells nothing of the key. */
const dots = "•".repeat(26);

/**
 * The write-only field of a key (K4, K5). What is typed leaves the page's
 * elements when it is handed over and never comes back: a stored key is only
 * said to be there, to be replaced or deleted. Without a keyring nothing is
 * stored before the person has chosen where.
 */
export function KeyField({ id, held, owner, words, store, onDelete }: KeyFieldProps) {
  const asking = useSignal<Asking>({ status: held.place === "none" ? "open" : "shut" });
  const typed = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  /** The key while it waits for a decision. */
  const kept = useRef("");
  const attempt = useRef(0);
  const stored = held.place !== "none";

  useEffect(() => {
    if (!stored && asking.value.status === "shut") {
      asking.value = { status: "open" };
    }
  }, [stored, asking]);

  // Leaving the field drops a key that waits.
  useEffect(
    () => () => {
      attempt.current += 1;
      kept.current = "";
    },
    [],
  );

  const put = async (place: KeyPlace): Promise<void> => {
    const field = input.current;
    if (field?.value) {
      kept.current = field.value.trim();
      field.value = "";
      typed.value = false;
    }
    if (kept.current === "") {
      return;
    }
    attempt.current += 1;
    const mine = attempt.current;
    asking.value = { status: "storing" };
    const error = await store(kept.current, place);
    if (mine !== attempt.current) {
      return;
    }
    if (error === null) {
      kept.current = "";
      asking.value = { status: "shut" };
    } else if (isKeyringFault(error)) {
      asking.value = { status: "waiting", error };
    } else {
      kept.current = "";
      asking.value = { status: "refused", error };
      field?.focus();
    }
  };

  const giveUp = (): void => {
    attempt.current += 1;
    kept.current = "";
    typed.value = false;
    if (input.current) {
      input.current.value = "";
    }
    asking.value = { status: stored ? "shut" : "open" };
  };

  const state = asking.value;
  if (stored && state.status === "shut") {
    return (
      <>
        <span class="label" id={id}>
          {words.label}
        </span>
        {/* biome-ignore lint/a11y/useSemanticElements: a row of a form, not a fieldset with a frame */}
        <div class="v" role="group" aria-labelledby={id}>
          <div class="row">
            <span class="grow clip">{placeText(held)}</span>
            <button
              type="button"
              class="btn sm"
              onClick={() => {
                asking.value = { status: "open" };
                setTimeout(() => input.current?.focus());
              }}
            >
              {t("provider.key.replace")}
            </button>
            <button type="button" class="btn quiet bad sm" onClick={onDelete}>
              {t("provider.key.delete")}
            </button>
          </div>
          {held.place === "file" && (
            <div class="hint">
              {rich(t("provider.key.inFile.hint"), { path: () => <Path path={held.path} /> })}
            </div>
          )}
        </div>
      </>
    );
  }

  const waiting = state.status === "waiting";
  const busy = state.status === "storing";
  const wrong = state.status === "refused" ? refusal(state.error, owner, words) : "";
  return (
    <>
      <label for={id}>{words.label}</label>
      <div class="v">
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            void put("keyring");
          }}
        >
          <div class={`field grow${wrong !== "" ? " is-bad" : ""}`}>
            <Icon name="key-round" small />
            <input
              id={id}
              ref={input}
              type="password"
              autocomplete="off"
              spellcheck={false}
              placeholder={waiting || busy ? dots : words.paste}
              readOnly={busy}
              aria-describedby={`${id}-hint`}
              aria-invalid={wrong !== "" ? "true" : undefined}
              onInput={(event) => {
                typed.value = event.currentTarget.value !== "";
                if (waiting || wrong !== "") {
                  // Typing anew drops what waits.
                  kept.current = "";
                  asking.value = { status: "open" };
                }
              }}
              onKeyDown={(event) => {
                if (event.key === "Escape" && !event.isComposing && (stored || waiting)) {
                  event.stopPropagation();
                  giveUp();
                }
              }}
            />
          </div>
          <button type="submit" class="btn primary" disabled={busy || waiting || !typed.value}>
            {busy && <Icon name="loader-circle" small spin />}
            {t(busy ? "provider.key.storing" : "provider.key.store")}
          </button>
          {stored && (
            <button type="button" class="btn quiet" onClick={giveUp}>
              {t("provider.key.keep")}
            </button>
          )}
        </form>
        {wrong !== "" ? (
          <div class="err" role="alert" id={`${id}-hint`}>
            <Icon name="circle-alert" />
            {wrong}
          </div>
        ) : (
          <div class="hint" id={`${id}-hint`}>
            {waiting ? t("provider.key.waiting") : words.hint}
          </div>
        )}
      </div>
      {waiting && <NoKeyring error={state.error} path={held.path} put={put} />}
    </>
  );
}

interface NoKeyringProps {
  readonly error: BackendError;
  readonly path: string;
  readonly put: (place: KeyPlace) => Promise<void>;
}

/** Says that nothing has been stored, and where the key could go instead. */
function NoKeyring({ error, path, put }: NoKeyringProps) {
  const words = keyringWords(error);
  return (
    <Notice
      kind="warn"
      icon="key-round"
      title={t(words.title)}
      text={rich(t(words.text), { path: () => <Path path={path} /> })}
      actions={
        <>
          <button type="button" class="btn primary" onClick={() => void put("memory")}>
            {t("provider.keyring.untilQuit")}
          </button>
          <button type="button" class="btn" onClick={() => void put("file")}>
            {t("provider.keyring.plainText")}
          </button>
          <button type="button" class="btn quiet" onClick={() => void put("keyring")}>
            {t("provider.keyring.lookAgain")}
          </button>
        </>
      }
    />
  );
}

function keyringWords(error: BackendError): { readonly title: MessageKey; readonly text: MessageKey } {
  switch (error.code) {
    case "keyring_locked":
      return { title: "provider.keyring.locked", text: "provider.keyring.closed" };
    case "keyring_timeout":
      return { title: "provider.keyring.timeout", text: "provider.keyring.closed" };
    default:
      return { title: "provider.keyring.missing", text: "provider.keyring.lookedFor" };
  }
}

function refusal(error: BackendError, owner: string, words: KeyWords): string {
  if (error.code === "key_malformed" && words.malformed !== undefined) {
    return words.malformed;
  }
  const { title, text } = describeFault({ ...error, provider: owner });
  return `${title} ${text}`;
}

function isKeyringFault(error: BackendError): boolean {
  return (
    error.code === "keyring_missing" || error.code === "keyring_locked" || error.code === "keyring_timeout"
  );
}

function placeText(key: KeyState): string {
  switch (key.place) {
    case "keyring":
      return t("provider.key.inKeyring", { keyring: key.keyring, day: formatDay(key.storedAtMs) });
    case "memory":
      return t("provider.key.inMemory");
    default:
      return t("provider.key.inFile");
  }
}

/** A path or an address, in the face of code. */
export function Path({ path }: { readonly path: string }) {
  return <span class="mono">{path}</span>;
}

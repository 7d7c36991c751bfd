import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../i18n";
import { Icon } from "./icon";
import { useModal } from "./modal";

/** A row of a picker. */
export interface PickerRow {
  readonly id: string;
  /** It is there to be read, and cannot be chosen. */
  readonly off?: boolean;
  readonly content: ComponentChildren;
}

/** Rows under one name. */
export interface PickerGroup {
  readonly id: string;
  readonly label: string;
  readonly rows: readonly PickerRow[];
}

/** Props of Picker. */
export interface PickerProps {
  readonly title: string;
  /** What to type, shown while nothing is typed. */
  readonly find: string;
  /** What Enter does. */
  readonly run: string;
  readonly groups: readonly PickerGroup[];
  /** Said below the rows: that there are none, that more fit; "" for nothing. */
  readonly note: string;
  /** Rows are being looked for. */
  readonly busy?: boolean;
  /** What is typed, never while an input method composes. */
  readonly onQuery: (query: string) => void;
  readonly onRun: (id: string) => void;
  readonly onClose: () => void;
}

/** A field over a list of rows: Up and Down choose, Enter runs, Escape closes. */
export function Picker(props: PickerProps) {
  const { title, find, groups, note, busy = false, onQuery, onRun, onClose } = props;
  const id = useId();
  const ref = useRef<HTMLElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const query = useSignal("");
  const chosen = useSignal(0);
  useModal(ref, onClose);

  const rows = groups.flatMap((group) => group.rows);
  const at = Math.min(chosen.value, rows.length - 1);

  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView?.({ block: "nearest" });
  }, [at, query.value]);

  const run = (row: PickerRow | undefined): void => {
    if (row !== undefined && !row.off) {
      onRun(row.id);
    }
  };

  const ask = (typed: string): void => {
    if (typed !== query.peek()) {
      query.value = typed;
      chosen.value = 0;
      onQuery(typed);
    }
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing || event.keyCode === 229) {
      return;
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && rows.length > 0) {
      chosen.value = (at + step + rows.length) % rows.length;
    } else if (event.key === "Enter") {
      run(rows[at]);
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <>
      <div class="scrim" onPointerDown={onClose} />
      <section class="pop palette" role="dialog" aria-modal="true" aria-label={title} ref={ref}>
        <div class="q">
          <Icon name="search" />
          <input
            type="text"
            role="combobox"
            aria-expanded={true}
            aria-controls={id}
            aria-activedescendant={rows[at] && `${id}-${at}`}
            aria-autocomplete="list"
            aria-label={find}
            placeholder={find}
            autocomplete="off"
            spellcheck={false}
            data-first
            onInput={(event) => {
              if (!event.isComposing) {
                ask(event.currentTarget.value);
              }
            }}
            onCompositionEnd={(event) => ask(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
        </div>
        <div
          class="all scrolls"
          role="listbox"
          id={id}
          aria-label={title}
          aria-busy={busy || undefined}
          ref={list}
          tabIndex={-1}
        >
          {groups
            .filter((group) => group.rows.length > 0)
            .map((group) => [
              <div class="grp" key={`${group.id} name`} aria-hidden="true">
                {group.label}
              </div>,
              // biome-ignore lint/a11y/useSemanticElements: a group of options, not of fields
              <div class="rows" role="group" key={group.id} aria-label={group.label}>
                {group.rows.map((row) => {
                  const index = rows.indexOf(row);
                  return (
                    // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys
                    <div
                      key={row.id}
                      role="option"
                      id={`${id}-${index}`}
                      aria-selected={index === at}
                      aria-disabled={row.off ? "true" : undefined}
                      tabIndex={-1}
                      onPointerMove={() => {
                        chosen.value = index;
                      }}
                      onClick={() => run(row)}
                    >
                      {row.content}
                    </div>
                  );
                })}
              </div>,
            ])}
        </div>
        {note !== "" && (
          <p class="none" role="status">
            {note}
          </p>
        )}
        <div class="end" aria-hidden="true">
          <span>↑↓ {t("commands.choose")}</span>
          <span>⏎ {props.run}</span>
          <span class="grow" />
          <span>Esc {t("commands.close")}</span>
        </div>
      </section>
    </>
  );
}

/** A text with the places marked that were hit, as half-open ranges of UTF-16 units. */
export function marked(
  text: string,
  ranges: readonly (readonly [number, number])[],
): readonly ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const [from, to] of ranges) {
    out.push(text.slice(at, from), <mark key={from}>{text.slice(from, to)}</mark>);
    at = to;
  }
  return [...out, text.slice(at)];
}

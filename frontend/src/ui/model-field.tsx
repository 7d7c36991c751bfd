import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import type { ModelInfo } from "../backend";
import { formatNumber, t } from "../i18n";
import { Icon } from "./icon";
import type { ModelList } from "./settings-store";

/** Props of ModelField. */
export interface ModelFieldProps {
  readonly id: string;
  /** The model that is set; "" for none. */
  readonly value: string;
  /** What stands at the end of the field: the size of the model's context; "" for nothing. */
  readonly note: string;
  /** The models that are offered; undefined until somebody asked. */
  readonly list: ModelList | undefined;
  readonly favourites: readonly string[];
  /** Whether the list can be asked for: there is an address and a key. */
  readonly canList: boolean;
  /** Asks for the list, unless it is known. */
  readonly onOpen: () => void;
  readonly onCommit: (model: string) => void;
  readonly onFavourite: (model: string) => void;
}

/** The height of a row, in CSS pixels; the style sheet has the same. */
const rowHeight = 30;
/** How many rows are drawn above and below what can be seen. */
const spare = 8;
/** How much of the list is seen at most, in CSS pixels; the style sheet has the same. */
const mostHeight = 300;

/**
 * The field of a model: a name that is typed, or one of a list that opens below
 * it. Typing narrows the list down; Up and Down go through it, Enter takes a
 * row or what was typed, Mod+D stars the row, Esc shuts the list. Only the rows
 * in sight are in the page, so that hundreds of models stay fluid. A name that
 * is not in the list is taken as well.
 */
export function ModelField(props: ModelFieldProps) {
  const { id, value, list, favourites, onCommit } = props;
  const draft = useSignal(value);
  const open = useSignal(false);
  /** Words were typed since the list opened, and narrow it down. */
  const narrowed = useSignal(false);
  /** The chosen row; -1 for what is typed. */
  const at = useSignal(-1);
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();

  useEffect(() => {
    draft.value = value;
  }, [value, draft]);

  const rows = open.value ? rowsOf(list?.models ?? [], favourites, narrowed.value ? draft.value : "") : [];
  const row = rows[at.value];

  const show = (): void => {
    if (!open.peek()) {
      narrowed.value = false;
      open.value = true;
      at.value = -1;
      props.onOpen();
    }
  };
  const shut = (): void => {
    open.value = false;
    at.value = -1;
  };
  const commit = (model: string): void => {
    shut();
    draft.value = model;
    if (model !== value) {
      onCommit(model);
    }
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing || event.keyCode === 229) {
      return;
    }
    const mod = event.ctrlKey || event.metaKey;
    const page = Math.floor(mostHeight / rowHeight) - 1;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key] ?? 0;
    if (step !== 0 && !mod) {
      if (open.peek()) {
        at.value = Math.max(-1, Math.min(rows.length - 1, at.peek() + step));
      } else {
        show();
        at.value = rowsOf(list?.models ?? [], favourites, "").findIndex((r) => r.id === value);
      }
    } else if (event.key === "Enter") {
      commit(row?.id ?? draft.peek().trim());
    } else if (event.key === "Escape" && open.peek()) {
      shut();
      draft.value = value;
    } else if (mod && event.key.toLowerCase() === "d" && row !== undefined) {
      props.onFavourite(row.id);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      class="model-at grow"
      ref={box}
      onFocusOut={(event) => {
        if (event.relatedTarget instanceof Node && box.current?.contains(event.relatedTarget)) {
          return;
        }
        commit(draft.peek().trim());
      }}
    >
      <div class="field combo">
        <input
          id={id}
          ref={input}
          type="text"
          role="combobox"
          aria-expanded={open.value}
          aria-controls={open.value ? listId : undefined}
          aria-autocomplete="list"
          aria-activedescendant={row && `${listId}-${at.value}`}
          value={draft.value}
          autocomplete="off"
          spellcheck={false}
          placeholder={t("provider.model.type")}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
            show();
            narrowed.value = true;
            at.value = -1;
          }}
          onKeyDown={onKeyDown}
        />
        {props.note !== "" && !open.value && <span class="meta num">{props.note}</span>}
        <button
          type="button"
          class="ib sm"
          tabIndex={-1}
          aria-label={t("provider.model.choose")}
          aria-expanded={open.value}
          // The field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => {
            input.current?.focus();
            if (open.peek()) {
              shut();
            } else {
              show();
            }
          }}
        >
          <Icon name="chevrons-up-down" small />
        </button>
      </div>
      {open.value && (
        <Listed
          {...props}
          listId={listId}
          rows={rows}
          at={at.value}
          typed={narrowed.value ? draft.value.trim() : ""}
          onChoose={commit}
        />
      )}
    </div>
  );
}

function Listed({
  rows,
  listId,
  at,
  typed,
  value,
  list,
  favourites,
  canList,
  onChoose,
  onFavourite,
}: ModelFieldProps & {
  readonly rows: readonly ModelInfo[];
  readonly listId: string;
  readonly at: number;
  readonly typed: string;
  readonly onChoose: (model: string) => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const first = useComputed(() => Math.max(0, Math.floor(top.value / rowHeight) - spare)).value;
  const count = Math.ceil(mostHeight / rowHeight) + 2 * spare;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || at < 0) {
      return;
    }
    const from = at * rowHeight;
    const seen = element.clientHeight || mostHeight;
    if (element.scrollTop > from) {
      element.scrollTop = from;
    } else if (element.scrollTop < from + rowHeight - seen) {
      element.scrollTop = from + rowHeight - seen;
    }
    top.value = element.scrollTop;
  }, [at, top]);

  const loading = list?.status === "busy" && list.models.length === 0;
  const note =
    list === undefined
      ? canList
        ? ""
        : t("provider.model.needs")
      : list.status === "bad"
        ? t("provider.model.failed")
        : loading
          ? t("provider.model.loading")
          : rows.length > 0
            ? ""
            : typed !== ""
              ? t("provider.model.unlisted", { model: typed })
              : t("provider.model.none");
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a press on the list leaves the focus in the field
    <div class="pop models" onMouseDown={(event) => event.preventDefault()}>
      <div
        class="rows scrolls"
        role="listbox"
        id={listId}
        aria-label={t("provider.model.list")}
        aria-busy={loading || undefined}
        tabIndex={-1}
        ref={scroller}
        onScroll={(event) => {
          top.value = event.currentTarget.scrollTop;
        }}
      >
        <div class="all" style={{ blockSize: `${rows.length * rowHeight}px` }}>
          {rows.slice(first, first + count).map((model, n) => {
            const index = first + n;
            const starred = favourites.includes(model.id);
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys
              <div
                key={model.id}
                class="model-row"
                role="option"
                id={`${listId}-${index}`}
                aria-selected={index === at}
                aria-setsize={rows.length}
                aria-posinset={index + 1}
                aria-label={spoken(model, starred)}
                tabIndex={-1}
                style={{ insetBlockStart: `${index * rowHeight}px` }}
                onClick={() => onChoose(model.id)}
              >
                {model.id === value ? <Icon name="check" small /> : <span class="gap" />}
                <span class="clip">{model.id}</span>
                {model.name !== "" && model.name !== model.id && <span class="meta clip">{model.name}</span>}
                <span class="grow" />
                <span class="meta num">{abilities(model)}</span>
                {/* For the pointer; the keyboard has Mod+D, and the star beside the field. */}
                <span
                  class={`fav${starred ? " on" : ""}`}
                  aria-hidden="true"
                  title={t(starred ? "provider.model.unstar" : "provider.model.star")}
                  onClick={(event) => {
                    event.stopPropagation();
                    onFavourite(model.id);
                  }}
                >
                  <Icon name="star" small />
                </span>
              </div>
            );
          })}
        </div>
      </div>
      {loading && (
        <div class="skel" aria-hidden="true">
          <i />
          <i />
          <i />
        </div>
      )}
      {note !== "" && (
        <p class="none" role="status">
          {note}
        </p>
      )}
      {rows.length > 0 && (
        <div class="end" aria-hidden="true">
          <span>{t("provider.model.count", { n: rows.length })}</span>
          <span class="grow" />
          <span>↑↓ {t("commands.choose")}</span>
          <span>⏎ {t("provider.model.take")}</span>
          <span>{t("provider.model.starKey")}</span>
        </div>
      )}
    </div>
  );
}

/** The models that hold every word of a query, the favourites first, else in the provider's order. */
export function rowsOf(
  models: readonly ModelInfo[],
  favourites: readonly string[],
  query: string,
): readonly ModelInfo[] {
  const words = query
    .toLocaleLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const fits = words.length === 0 ? models : models.filter((m) => matches(m, words));
  const starred = new Set(favourites);
  return starred.size === 0
    ? fits
    : [...fits.filter((m) => starred.has(m.id)), ...fits.filter((m) => !starred.has(m.id))];
}

function matches({ id, name }: ModelInfo, words: readonly string[]): boolean {
  const text = `${id} ${name}`.toLocaleLowerCase();
  return words.every((word) => text.includes(word));
}

/** What a model is known to take and do: "tools · 64,000". */
function abilities(model: ModelInfo): string {
  return [
    model.tools === "no"
      ? t("provider.model.noTools")
      : model.tools === "yes"
        ? t("provider.model.tools")
        : "",
    model.reasoning === "yes" ? t("provider.model.reasons") : "",
    model.contextTokens > 0 ? formatNumber(model.contextTokens) : "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

function spoken(model: ModelInfo, starred: boolean): string {
  return [
    model.id,
    model.name !== model.id ? model.name : "",
    model.tools === "no"
      ? t("provider.model.noTools")
      : model.tools === "yes"
        ? t("provider.model.tools")
        : "",
    model.reasoning === "yes" ? t("provider.model.reasons") : "",
    model.contextTokens > 0 ? t("provider.context.tokens", { n: model.contextTokens }) : "",
    starred ? t("provider.model.favourite") : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
}

import { type Signal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./icon";
import { rovingIndex } from "./roving";

/** What every row of a long tree has. */
export interface LongRow {
  readonly key: string;
  /** From 1. */
  readonly level: 1 | 2;
  /** Among the rows of its parent, from 1. */
  readonly position: number;
  readonly size: number;
  /** Null for a row that holds no others. */
  readonly expanded: boolean | null;
  /** Null for a row without a tick. */
  readonly tick: "all" | "some" | "none" | null;
  /** What a screen reader says besides the row's content; "" for nothing. */
  readonly spoken: string;
  /** It cannot be opened or ticked. */
  readonly off: boolean;
}

/** Props of LongTree. */
export interface LongTreeProps<R extends LongRow> {
  readonly rows: readonly R[];
  readonly label: string;
  /** The key of the row that is current; "" for none yet. */
  readonly at: Signal<string>;
  readonly draw: (row: R) => ComponentChildren;
  /** Opens what a row stands for; `toText` when the text is to have the focus. */
  readonly onOpen: (row: R, toText: boolean) => void;
  readonly onToggle: (row: R) => void;
  readonly onTick?: (row: R) => void;
  /** Esc: back to the text. */
  readonly onLeave: () => void;
  /** It takes the focus when it comes in place of what had it. */
  readonly takesLostFocus?: boolean;
}

/** The height of a row, in CSS pixels; the style sheet has the same. */
const rowHeight = 26;

/** Rows that are drawn above and below what can be seen. */
const spare = 12;

/** The height that is taken for seen before it has been measured, in CSS pixels. */
const unmeasured = 800;

/**
 * A tree of two levels of which only the rows in sight are in the page, so that
 * many thousands stay fluid. The list has the focus and names its current row.
 * Up, Down, Page Up, Page Down, Home and End move; Right and Left open and shut
 * a row or go into and out of it; Enter opens, Space ticks, Esc leaves.
 */
export function LongTree<R extends LongRow>(props: LongTreeProps<R>) {
  const { rows, label, at, draw, onOpen, onToggle, onTick, onLeave } = props;
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(unmeasured);
  const first = useComputed(() => Math.max(0, Math.floor(top.value / rowHeight) - spare));
  const count = useComputed(() => Math.ceil(height.value / rowHeight) + 2 * spare);
  const current = rows.findIndex((row) => row.key === at.value);
  const page = Math.max(1, Math.floor(height.value / rowHeight) - 1);

  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) {
      return;
    }
    const measure = (): void => {
      height.value = element.clientHeight || unmeasured;
    };
    measure();
    if (typeof ResizeObserver === "undefined") {
      return;
    }
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [height]);

  const takesLostFocus = props.takesLostFocus === true;
  useEffect(() => {
    if (takesLostFocus && document.activeElement === document.body) {
      list.current?.focus();
    }
  }, [takesLostFocus]);

  // The current row is brought into sight when it becomes current, not when rows come above it.
  const seen = useRef("");
  useEffect(() => {
    const element = list.current;
    if (element === null || current < 0 || seen.current === at.value) {
      return;
    }
    seen.current = at.value;
    const from = current * rowHeight;
    const low = from + rowHeight - element.clientHeight;
    if (element.scrollTop > from) {
      element.scrollTop = from;
    } else if (element.scrollTop < low) {
      element.scrollTop = low;
    }
    top.value = element.scrollTop;
  }, [at.value, current, top]);

  const go = (index: number): void => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (row !== undefined) {
      at.value = row.key;
    }
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) {
      return;
    }
    // Not the one that was drawn: several presses may come before the next drawing.
    const current = rows.findIndex((other) => other.key === at.peek());
    const row = rows[current];
    const to = rovingIndex(event.key, Math.max(current, 0), rows.length, "vertical");
    if (to >= 0) {
      go(current < 0 && event.key === "ArrowDown" ? 0 : to);
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      go(current + (event.key === "PageDown" ? page : -page));
    } else if (event.key === "Escape") {
      onLeave();
    } else if (row === undefined) {
      return;
    } else if (event.key === "ArrowRight" && row.expanded !== null) {
      if (row.expanded) {
        go(current + 1);
      } else {
        onToggle(row);
      }
    } else if (event.key === "ArrowLeft") {
      if (row.expanded) {
        onToggle(row);
      } else {
        go(parentOf(rows, current));
      }
    } else if (event.key === "Enter") {
      if (row.expanded === null && !row.off) {
        onOpen(row, true);
      } else if (row.expanded !== null) {
        onToggle(row);
      }
    } else if (event.key === " ") {
      if (onTick !== undefined && row.tick !== null && !row.off) {
        onTick(row);
      }
    } else {
      return;
    }
    event.preventDefault();
  };

  const from = first.value;
  const shown = rows.slice(from, from + count.value);
  return (
    <div
      class="hits"
      role="tree"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={current < 0 ? undefined : `${id}-${current}`}
      ref={list}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
      onFocus={() => {
        if (current < 0) {
          go(0);
        }
      }}
      onKeyDown={onKeyDown}
    >
      <div role="none" class="sizer" style={{ blockSize: `${rows.length * rowHeight}px` }}>
        {shown.map((row, i) => drawAt(row, from + i))}
        {/* Named by the list, so it has to be there wherever it is. */}
        {current >= 0 && (current < from || current >= from + shown.length) && rows[current] !== undefined
          ? drawAt(rows[current], current)
          : null}
      </div>
    </div>
  );

  function drawAt(row: R, index: number) {
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
      // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names its current row
      <div
        key={row.key}
        id={`${id}-${index}`}
        role="treeitem"
        class={`${row.level === 1 ? "row-file" : "row-hit"}${row.off ? " is-off" : ""}`}
        style={{ insetBlockStart: `${index * rowHeight}px` }}
        aria-level={row.level}
        aria-posinset={row.position}
        aria-setsize={row.size}
        aria-expanded={row.expanded ?? undefined}
        aria-checked={row.tick === null ? undefined : row.tick === "some" ? "mixed" : row.tick === "all"}
        aria-current={index === current ? "true" : undefined}
        aria-disabled={row.off ? "true" : undefined}
        aria-description={row.spoken || undefined}
        onClick={() => {
          at.value = row.key;
          if (row.expanded !== null) {
            onToggle(row);
          } else if (!row.off) {
            onOpen(row, false);
          }
        }}
      >
        {row.expanded !== null && <Icon name={row.expanded ? "chevron-down" : "chevron-right"} small />}
        {row.tick !== null && (
          // For the pointer; the keyboard has Space, and the row says how it stands.
          <span
            class={`check${row.tick === "all" ? " on" : row.tick === "some" ? " mixed" : ""}`}
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              at.value = row.key;
              if (!row.off) {
                onTick?.(row);
              }
            }}
          >
            {row.tick === "all" && <Icon name="check" />}
          </span>
        )}
        {draw(row)}
      </div>
    );
  }
}

function parentOf(rows: readonly LongRow[], index: number): number {
  const level = rows[index]?.level ?? 1;
  for (let i = index - 1; i >= 0; i--) {
    if ((rows[i]?.level ?? 1) < level) {
      return i;
    }
  }
  return index;
}

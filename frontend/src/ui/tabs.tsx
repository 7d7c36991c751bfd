import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { Icon } from "./icon";
import { rovingIndex } from "./roving";
import { documentLabel } from "./tree-model";

/** A tab of the strip. */
export interface TabView {
  readonly id: string;
  /** The document's file name; "" for one that has none yet. */
  readonly name: string;
  /** Absolute; shown when the pointer rests on the tab. */
  readonly path: string;
  readonly dirty: boolean;
  readonly readOnly: boolean;
  /** The file changed while there is unsaved text. */
  readonly conflict: boolean;
  /** The file is gone. */
  readonly missing: boolean;
}

/** Props of Tabs. */
export interface TabsProps {
  readonly tabs: readonly TabView[];
  /** The id of the tab in front. */
  readonly current: string;
  /** The id of the element that shows what the tab stands for. */
  readonly controls: string;
  /** `focusText` is true when the pointer chose it: the text then gets the focus. */
  readonly onSelect: (id: string, focusText: boolean) => void;
  readonly onClose: (id: string) => void;
  /** A tab was dragged to another place, counted without it, from 0. */
  readonly onArrange: (id: string, index: number) => void;
}

/**
 * The tabs of the strip. Left, Right, Home and End move and show at once,
 * Enter goes to the text, Delete closes, as do a middle click and the cross
 * that the pointer brings up. A tab is dragged to another place; two commands
 * do it by keyboard.
 */
export function Tabs({ tabs, current, controls, onSelect, onClose, onArrange }: TabsProps) {
  const list = useRef<HTMLDivElement>(null);
  const dragged = useSignal("");
  /** Where what is dragged would go: before the tab of this index. */
  const before = useSignal(-1);

  useEffect(() => {
    list.current
      ?.querySelector("[aria-selected=true]")
      ?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [current, tabs.length]);

  const onKeyDown = (event: KeyboardEvent, tab: TabView, index: number): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) {
      return;
    }
    const to = rovingIndex(event.key, index, tabs.length, "horizontal", true);
    const next = tabs[to];
    if (next !== undefined) {
      const element = list.current?.children[to];
      if (element instanceof HTMLElement) {
        element.focus();
      }
      onSelect(next.id, false);
    } else if (event.key === "Delete") {
      onClose(tab.id);
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <div class="tabs" role="tablist" aria-label={t("window.tabs")} ref={list}>
      {tabs.map((tab, index) => {
        const selected = tab.id === current;
        return (
          <button
            type="button"
            key={tab.id}
            class={tabClass(tab, dragged.value === "" ? -1 : before.value, index, tabs.length)}
            role="tab"
            aria-selected={selected}
            aria-controls={selected ? controls : undefined}
            tabIndex={selected || (index === 0 && !tabs.some((other) => other.id === current)) ? 0 : -1}
            title={tab.path || undefined}
            draggable
            onDragStart={(event) => {
              dragged.value = tab.id;
              if (event.dataTransfer !== null) {
                event.dataTransfer.effectAllowed = "move";
                event.dataTransfer.setData("application/x-galley-tab", "");
              }
            }}
            onDragOver={(event) => {
              if (dragged.peek() !== "") {
                event.preventDefault();
                const { left, width } = event.currentTarget.getBoundingClientRect();
                before.value = event.clientX > left + width / 2 ? index + 1 : index;
              }
            }}
            onDrop={(event) => {
              event.preventDefault();
              const from = tabs.findIndex((other) => other.id === dragged.peek());
              if (from >= 0 && before.peek() >= 0) {
                onArrange(dragged.peek(), before.peek() - (from < before.peek() ? 1 : 0));
              }
            }}
            onDragEnd={() => {
              dragged.value = "";
              before.value = -1;
            }}
            onClick={() => onSelect(tab.id, true)}
            onAuxClick={(event) => {
              if (event.button === 1) {
                event.preventDefault();
                onClose(tab.id);
              }
            }}
            onKeyDown={(event) => onKeyDown(event, tab, index)}
          >
            <span class="clip">{documentLabel(tab.name) || t("tabs.untitled")}</span>
            <TabMark tab={tab} />
            {/* For the pointer; the keyboard has Delete and the close command. */}
            <span
              class="shut"
              aria-hidden="true"
              title={t("tabs.close", { name: documentLabel(tab.name) || t("tabs.untitled") })}
              onClick={(event) => {
                event.stopPropagation();
                onClose(tab.id);
              }}
            >
              <Icon name="x" small />
            </span>
          </button>
        );
      })}
    </div>
  );
}

/** The class of a tab; a line stands where what is dragged would go. */
function tabClass(tab: TabView, before: number, index: number, count: number): string {
  const line =
    before === index ? " drop-before" : before === count && index === count - 1 ? " drop-after" : "";
  return `tab${tab.missing ? " missing" : ""}${line}`;
}

function TabMark({ tab }: { readonly tab: TabView }) {
  const said = tab.conflict
    ? t("tabs.conflict")
    : tab.missing
      ? t("tabs.missing")
      : tab.readOnly
        ? t("tabs.readOnly")
        : tab.dirty
          ? t("tabs.unsaved")
          : "";
  return (
    <>
      {tab.conflict ? (
        <Icon name="triangle-alert" small />
      ) : tab.readOnly ? (
        <Icon name="lock" small />
      ) : (
        tab.dirty && <span class="dot" />
      )}
      {said !== "" && <span class="vh">{said}</span>}
    </>
  );
}

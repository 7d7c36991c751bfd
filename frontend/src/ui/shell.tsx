import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { Icon } from "./icon";
import { type Layout, widths } from "./layout";

/** Props of Shell. */
export interface ShellProps {
  readonly layout: Layout;
  /** The sidebar's content; null for a window without one, as on the first run. */
  readonly sidebar: ComponentChildren | null;
  /** The sidebar cannot be shut: there is no other way to what it holds. */
  readonly keepSidebar: boolean;
  /** The sidebar shows something that needs more room than the tree. */
  readonly wideSidebar?: boolean;
  /** The tabs. */
  readonly strip: ComponentChildren;
  /** Notices above the text. */
  readonly above: ComponentChildren;
  /** The id of the document whose text is below them; "" for none. */
  readonly textOf: string;
  /** What stands in the middle: the text, the settings, or neither. */
  readonly children: ComponentChildren;
  /** The panel's content; null when there is no panel. */
  readonly panel: ComponentChildren | null;
  readonly status: ComponentChildren;
  /** The toast, over the bottom of the middle. */
  readonly toast: ComponentChildren;
}

/** The window's grid: sidebar, middle column, panel. */
export function Shell({
  layout,
  sidebar,
  keepSidebar,
  wideSidebar = false,
  strip,
  above,
  textOf,
  children,
  panel,
  status,
  toast,
}: ShellProps) {
  const sidebarShown = sidebar !== null && (keepSidebar || layout.sidebarOpen.value);
  const panelShown = panel !== null && layout.panelOpen.value;
  const sidebarWidth = wideSidebar ? layout.searchWidth : layout.sidebarWidth;
  useNarrow(layout);
  return (
    <div class="win">
      {sidebarShown && (
        <nav
          class={`side${wideSidebar ? " is-wide" : ""}`}
          data-part="sidebar"
          aria-label={t("window.sidebar")}
          style={sidebarWidth.value === null ? undefined : { "--side-now": `${sidebarWidth.value}px` }}
        >
          {sidebar}
          <Splitter
            label={t("window.sidebarWidth")}
            width={sidebarWidth}
            limits={wideSidebar ? widths.search : widths.sidebar}
            grows={1}
          />
        </nav>
      )}
      <main class="mid">
        <header class="bar" data-part="strip">
          {!sidebarShown && <span class="lights" aria-hidden="true" />}
          {sidebar !== null && !sidebarShown && (
            <button
              type="button"
              class="ib"
              aria-label={t("window.showSidebar")}
              title={t("window.showSidebar")}
              onClick={() => {
                layout.sidebarOpen.value = true;
              }}
            >
              <Icon name="panel-left" />
            </button>
          )}
          {strip}
          <span class="grow" />
          {panel !== null && (
            <>
              <PanelButton layout={layout} history shown={panelShown} />
              <PanelButton layout={layout} shown={panelShown} />
            </>
          )}
        </header>
        <Above textOf={textOf}>{above}</Above>
        {children}
        {status}
        {toast}
      </main>
      {panelShown && (
        <>
          {/* For the pointer; the panel's own cross and its key shut it too. */}
          <div
            class="panel-scrim"
            aria-hidden="true"
            onPointerDown={() => {
              layout.panelOpen.value = false;
            }}
          />
          <aside
            class="panel"
            data-part="panel"
            aria-label={t("window.panel")}
            style={
              layout.panelWidth.value === null ? undefined : { "--panel-now": `${layout.panelWidth.value}px` }
            }
          >
            {panel}
            <Splitter
              label={t("window.panelWidth")}
              width={layout.panelWidth}
              limits={widths.panel}
              grows={-1}
            />
          </aside>
        </>
      )}
    </div>
  );
}

/** Notices that come and go leave the lines below where they are, unless the text is at its start. */
function Above({ textOf, children }: { readonly textOf: string; readonly children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const now = useRef(textOf);
  now.current = textOf;
  useEffect(() => {
    const element = box.current;
    if (element === null || typeof ResizeObserver === "undefined") {
      return;
    }
    let last = { height: element.offsetHeight, textOf: now.current };
    const observer = new ResizeObserver(() => {
      const { height, textOf } = last;
      last = { height: element.offsetHeight, textOf: now.current };
      const text = element.parentElement?.querySelector(".cm-scroller");
      // Another text has its own place.
      if (text && text.scrollTop > 0 && textOf === last.textOf) {
        text.scrollTop += last.height - height;
      }
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="above" ref={box}>
      {children}
    </div>
  );
}

/** Opens the panel at history, or at what else it shows, and shuts it again. */
function PanelButton({
  layout,
  history = false,
  shown,
}: {
  readonly layout: Layout;
  readonly history?: boolean;
  readonly shown: boolean;
}) {
  const pressed = shown && (layout.panelView.value === "history") === history;
  const label = t(history ? "history.title" : "window.panel");
  return (
    <button
      type="button"
      class="ib"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      onClick={() => {
        if ((layout.panelView.peek() === "history") !== history) {
          layout.panelView.value = history ? "history" : "conversation";
        }
        layout.panelOpen.value = !pressed;
      }}
    >
      <Icon name={history ? "history" : "message-square-text"} />
    </button>
  );
}

/** Under 900 px there is room for one side part: the sidebar shuts when the panel opens. */
function useNarrow(layout: Layout): void {
  const panelOpen = layout.panelOpen.value;
  useEffect(() => {
    if (panelOpen && window.matchMedia?.("(max-width: 899px)").matches) {
      layout.sidebarOpen.value = false;
    }
  }, [panelOpen, layout]);
}

interface SplitterProps {
  readonly label: string;
  readonly width: Signal<number | null>;
  readonly limits: { readonly usual: number; readonly min: number; readonly max: number };
  /** 1 when the part grows towards the end of the line, −1 when towards its start. */
  readonly grows: 1 | -1;
}

/** The edge of a side part: drawn with the pointer, or with the arrow keys; a double click undoes it. */
function Splitter({ label, width, limits, grows }: SplitterProps) {
  const start = useRef<{ readonly x: number; readonly width: number } | null>(null);
  const now = width.value ?? limits.usual;
  const set = (next: number): void => {
    width.value = Math.round(Math.min(limits.max, Math.max(limits.min, next)));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that can be moved is no hr
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={now}
      aria-valuemin={limits.min}
      aria-valuemax={limits.max}
      tabIndex={0}
      onPointerDown={(event) => {
        start.current = { x: event.clientX, width: event.currentTarget.parentElement?.offsetWidth ?? now };
        event.currentTarget.setPointerCapture?.(event.pointerId);
        event.preventDefault();
      }}
      onPointerMove={(event) => {
        if (start.current !== null) {
          set(start.current.width + grows * (event.clientX - start.current.x));
        }
      }}
      onLostPointerCapture={() => {
        start.current = null;
      }}
      onPointerUp={() => {
        start.current = null;
      }}
      onDblClick={() => {
        width.value = null;
      }}
      onKeyDown={(event) => {
        const step = event.key === "ArrowRight" ? 16 : event.key === "ArrowLeft" ? -16 : 0;
        if (step !== 0) {
          event.preventDefault();
          set(now + grows * step);
        }
      }}
    />
  );
}

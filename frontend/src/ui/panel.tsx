import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { t } from "../i18n";
import { Icon } from "./icon";
import type { Layout } from "./layout";
import { rovingIndex } from "./roving";

/** One view of the side panel. */
export interface PanelView {
  readonly id: string;
  readonly label: string;
  /** A number beside the label; 0 for none. */
  readonly count: number;
  /** Said of a dot beside the label: something in it waits. Absent for none. */
  readonly dot?: string;
  /** What the head has of it, as buttons, while it is shown. */
  readonly actions?: () => ComponentChildren;
  readonly content: () => ComponentChildren;
}

/** Props of Panel. */
export interface PanelProps {
  readonly layout: Layout;
  readonly views: readonly PanelView[];
  readonly onClose: () => void;
}

/** The side panel: its views under their tabs, one at a time. */
export function Panel({ layout, views, onClose }: PanelProps) {
  const tabs = useRef<HTMLDivElement>(null);
  const shown = views.find((view) => view.id === layout.panelView.value) ?? views[0];
  const onKeyDown = (event: KeyboardEvent, index: number): void => {
    const to = rovingIndex(event.key, index, views.length, "horizontal", true);
    const next = views[to];
    if (next !== undefined) {
      event.preventDefault();
      layout.panelView.value = next.id;
      tabs.current?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
    }
  };
  return (
    <>
      <div class="bar">
        <div class="seg" role="tablist" aria-label={t("window.panel")} ref={tabs}>
          {views.map(({ id, label, count, dot }, index) => (
            <button
              type="button"
              role="tab"
              key={id}
              aria-selected={id === shown?.id}
              aria-controls={id === shown?.id ? `panel-${id}` : undefined}
              tabIndex={id === shown?.id ? 0 : -1}
              onClick={() => {
                layout.panelView.value = id;
              }}
              onKeyDown={(event) => onKeyDown(event, index)}
            >
              {label}
              {count > 0 && <span class="num">{count}</span>}
              {dot !== undefined && <span class="tab-dot" role="img" aria-label={dot} title={dot} />}
            </button>
          ))}
        </div>
        {shown?.actions?.()}
        <button type="button" class="ib" aria-label={t("window.closePanel")} onClick={onClose}>
          <Icon name="x" />
        </button>
      </div>
      {shown !== undefined && (
        <div
          class="side-view"
          role="tabpanel"
          id={`panel-${shown.id}`}
          aria-label={shown.label}
          key={shown.id}
        >
          {shown.content()}
        </div>
      )}
    </>
  );
}

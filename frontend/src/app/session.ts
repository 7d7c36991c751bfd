/** How the window stands, told to the host for the next start, and put back at one. */

import { effect } from "@preact/signals";
import type { Backend, Layout as StoredLayout } from "../backend";
import type { Documents } from "../document";
import { type Layout, widths } from "../ui";

/** Keeps the session's record up to date. */
export interface Session {
  /** Puts the window's parts back as they were; nothing where none are kept. */
  readonly restore: (stored: StoredLayout | null) => void;
  /** Starts to tell how things stand. */
  readonly follow: () => void;
  /** Tells at once what is not told yet. */
  readonly flush: () => Promise<void>;
}

/** After how long of rest the host is told, in ms. */
const restMs = 500;

/** Makes it. */
export function createSession(backend: Backend, documents: Documents, layout: Layout): Session {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let told = "";

  function storedLayout(): StoredLayout {
    return {
      sidebar: layout.sidebarOpen.value,
      sidebarWidth: layout.sidebarWidth.value ?? 0,
      sidebarView: layout.sideView.value,
      panel: layout.panelOpen.value,
      panelWidth: layout.panelWidth.value ?? 0,
      panelView: layout.panelView.value,
    };
  }

  async function tell(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const report = { page: documents.page.peek(), layout: storedLayout(), views: documents.views() };
    const written = JSON.stringify(report);
    if (report.page === 0 || written === told) {
      return;
    }
    told = written;
    // Only for the next start; an older page has no say in it.
    await backend.documents.ReportView(report).catch(() => {});
  }

  function soon(): void {
    clearTimeout(timer);
    timer = setTimeout(() => void tell(), restMs);
  }

  return {
    restore: (stored) => {
      // A view always has a name; without one nothing was ever told.
      if (stored === null || stored.sidebarView === "") {
        return;
      }
      const fit = (width: number, { min, max }: { readonly min: number; readonly max: number }) =>
        width === 0 ? null : Math.min(max, Math.max(min, width));
      layout.sidebarOpen.value = stored.sidebar;
      layout.panelOpen.value = stored.panel;
      layout.sidebarWidth.value = fit(stored.sidebarWidth, widths.sidebar);
      layout.panelWidth.value = fit(stored.panelWidth, widths.panel);
      layout.sideView.value = stored.sidebarView;
      layout.panelView.value = stored.panelView || layout.panelView.peek();
    },
    follow: () => {
      effect(() => {
        storedLayout();
        documents.tabs.value;
        documents.current.value;
        documents.revision.value;
        soon();
      });
      documents.view.scrollDOM.addEventListener("scroll", soon, { passive: true });
      window.addEventListener("pagehide", () => void tell());
    },
    flush: tell,
  };
}

import { type ReadonlySignal, signal } from "@preact/signals";
import { Icon, type IconName } from "./icon";

/** Something that happened and needs no decision. Never a failure. */
export interface Toast {
  readonly text: string;
  readonly icon?: IconName;
  readonly action?: { readonly label: string; readonly key?: string; readonly run: () => void };
}

/** The toasts of the page: one at a time. */
export interface Toasts {
  /** Shows one, in place of another that may still be there. */
  readonly show: (toast: Toast) => void;
  readonly hide: () => void;
  /** Keeps it while a pointer or the focus is on it. */
  readonly hold: (held: boolean) => void;
  readonly current: ReadonlySignal<Toast | null>;
}

/** How long a toast stays, in ms. */
const staysMs = 6000;

/** Makes the toasts of a page. */
export function createToasts(): Toasts {
  const current = signal<Toast | null>(null);
  let timer: ReturnType<typeof setTimeout> | undefined;

  function start(): void {
    clearTimeout(timer);
    timer = setTimeout(hide, staysMs);
  }

  function hide(): void {
    clearTimeout(timer);
    current.value = null;
  }

  return {
    current,
    hide,
    show: (toast) => {
      current.value = toast;
      start();
    },
    hold: (held) => {
      if (held) {
        clearTimeout(timer);
      } else if (current.value !== null) {
        start();
      }
    },
  };
}

/** Shows the toast, at the bottom of the editor's column. */
export function ToastHost({ toasts }: { readonly toasts: Toasts }) {
  const toast = toasts.current.value;
  return (
    <div class="toasts" role="status">
      {toast && (
        <div
          class="pop toast"
          onPointerEnter={() => toasts.hold(true)}
          onPointerLeave={() => toasts.hold(false)}
          onFocusIn={() => toasts.hold(true)}
          onFocusOut={() => toasts.hold(false)}
        >
          <Icon name={toast.icon ?? "check"} small />
          <span class="grow">{toast.text}</span>
          {toast.action && (
            <button
              type="button"
              class="btn quiet sm"
              onClick={() => {
                toasts.hide();
                toast.action?.run();
              }}
            >
              {toast.action.label} {toast.action.key && <span class="key">{toast.action.key}</span>}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

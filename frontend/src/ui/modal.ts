import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** What is open over the window, the newest last. */
const stack: HTMLElement[] = [];

const reachable =
  'a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), [tabindex]:not([tabindex="-1"])';

/**
 * Makes an element modal while it is mounted: the window behind it is inert,
 * Tab stays inside, Escape calls `onEscape`, and the focus goes back to where
 * it came from. What is marked `data-first` gets the focus, else the first
 * element that can have it.
 */
export function useModal(ref: RefObject<HTMLElement | null>, onEscape: () => void): void {
  const leave = useRef(onEscape);
  leave.current = onEscape;
  // At once, so that no key that is typed on goes to what is behind.
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) {
      return;
    }
    const before = element.ownerDocument.activeElement;
    stack.push(element);
    fence(element.ownerDocument);
    (
      element.querySelector<HTMLElement>("[data-first]") ??
      element.querySelector<HTMLElement>(reachable) ??
      element
    ).focus();

    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.isComposing || event.keyCode === 229) {
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        leave.current();
      } else if (event.key === "Tab") {
        keepInside(element, event);
      }
    };
    element.addEventListener("keydown", onKeyDown);
    return () => {
      element.removeEventListener("keydown", onKeyDown);
      stack.splice(stack.indexOf(element), 1);
      fence(element.ownerDocument);
      if (before instanceof HTMLElement && before.isConnected) {
        before.focus();
      }
    };
  }, [ref]);
}

/** Reports whether something modal is open: the page's keymap then rests. */
export function isModalOpen(): boolean {
  return stack.length > 0;
}

function fence(document: Document): void {
  document.querySelector(".win")?.toggleAttribute("inert", stack.length > 0);
}

function keepInside(element: HTMLElement, event: KeyboardEvent): void {
  const all = [...element.querySelectorAll<HTMLElement>(reachable)];
  const first = all[0];
  const last = all.at(-1);
  const active = element.ownerDocument.activeElement;
  if (first === undefined || last === undefined) {
    event.preventDefault();
  } else if (event.shiftKey && (active === first || !element.contains(active))) {
    event.preventDefault();
    last.focus();
  } else if (!event.shiftKey && (active === last || !element.contains(active))) {
    event.preventDefault();
    first.focus();
  }
}

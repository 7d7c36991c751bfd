/** Puts components on a page in tests. */

import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";
import { afterEach } from "vitest";

let roots: HTMLElement[] = [];

afterEach(() => {
  for (const root of roots) {
    render(null, root);
    root.remove();
  }
  roots = [];
});

/** Draws a component; it is taken off after the test. */
export async function show(what: ComponentChild): Promise<HTMLElement> {
  const root = document.createElement("div");
  document.body.append(root);
  roots.push(root);
  await act(() => render(what, root));
  return root;
}

/** The one element of a selector. */
export function one<T extends Element = HTMLElement>(root: ParentNode, selector: string): T {
  const all = root.querySelectorAll<T>(selector);
  const [found] = all;
  if (found === undefined || all.length > 1) {
    throw new Error(`${all.length} elements are ${selector}`);
  }
  return found;
}

/** The one button with these words. */
export function button(root: ParentNode, words: string): HTMLButtonElement {
  const all = [...root.querySelectorAll("button")].filter((b) => b.textContent?.trim() === words);
  const [found] = all;
  if (found === undefined || all.length > 1) {
    throw new Error(`${all.length} buttons say ${words}`);
  }
  return found;
}

/** Presses a key on what has the focus. Gives the event, to see whether it was used up. */
export async function press(
  key: string,
  init: KeyboardEventInit & { readonly keyCode?: number } = {},
): Promise<KeyboardEvent> {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...init });
  await act(() => void document.activeElement?.dispatchEvent(event));
  return event;
}

/** Clicks an element. */
export async function click(element: Element, init: MouseEventInit = {}): Promise<void> {
  await act(
    () => void element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...init })),
  );
}

/** Types a text into a field, all at once. */
export async function type(field: HTMLInputElement | HTMLTextAreaElement, text: string): Promise<void> {
  field.focus();
  field.value = text;
  await act(() => void field.dispatchEvent(new InputEvent("input", { bubbles: true })));
}

/** Lets promises that are under way settle, and draws what came of them. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await act(() => Promise.resolve());
  }
}

/**
 * Input methods: telling a key that belongs to a composition from one that is
 * meant for us (D10).
 */

import type { EditorView } from "@codemirror/view";

/** What is asked of a keyboard event. */
export interface KeyLike {
  readonly isComposing: boolean;
  readonly keyCode: number;
}

/** Follows the compositions in one field. */
export interface CompositionWatch {
  /** Whether a composition is open. */
  readonly open: boolean;
  /** Whether this keydown belongs to a composition. Ask once for each keydown. */
  claims(event: KeyLike & { readonly timeStamp: number }): boolean;
  /** Stops listening. */
  stop(): void;
}

/** The key that ends a composition comes within this time after its end, in ms (WebKit's order). */
const afterEnd = 100;

/**
 * Follows the compositions in `field`. WebKit sends `compositionend` first and
 * then the keydown of the Enter, Esc or Tab that ended it, with nothing on it
 * that says so; that one keydown is claimed too. Its keyup, or a while, ends
 * the claim, so the next Enter is the person's.
 */
export function watchComposition(field: EventTarget): CompositionWatch {
  let open = false;
  let endedAt: number | null = null;
  const onStart = (): void => {
    open = true;
    endedAt = null;
  };
  const onEnd = (event: Event): void => {
    open = false;
    endedAt = event.timeStamp;
  };
  const onKeyUp = (): void => {
    endedAt = null;
  };
  field.addEventListener("compositionstart", onStart);
  field.addEventListener("compositionend", onEnd);
  field.addEventListener("keyup", onKeyUp);
  return {
    get open() {
      return open;
    },
    claims(event) {
      const ended = endedAt !== null && event.timeStamp - endedAt < afterEnd;
      endedAt = null;
      return open || ended || isComposingEvent(event);
    },
    stop() {
      field.removeEventListener("compositionstart", onStart);
      field.removeEventListener("compositionend", onEnd);
      field.removeEventListener("keyup", onKeyUp);
    },
  };
}

/**
 * Whether a keyboard event says of itself that it belongs to a composition.
 * WebKit's late Enter says nothing: a field that acts on Enter, Esc or Tab asks
 * a `watchComposition` of its own instead.
 */
export function isComposingEvent(event: KeyLike): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** Whether an input method is at work in the editor; review and commands wait for its end. */
export function isComposing(view: EditorView): boolean {
  return view.composing || view.compositionStarted;
}

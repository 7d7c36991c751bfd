/** Keys that are pressed while another part of the window has the focus are not the text's. */

import type { Extension } from "@codemirror/state";
import { EditorView, type PluginValue, ViewPlugin } from "@codemirror/view";

/**
 * Keeps what is typed elsewhere out of the text. WebKit types where the
 * selection is, not where the focus is, and a click on a button or a row leaves
 * the selection in the text: so it is taken from there when the focus goes.
 * CodeMirror has its own and puts it back.
 */
export function focusGuard(): Extension {
  return [
    ViewPlugin.define((view) => new FocusWatch(view)),
    EditorView.domEventHandlers({
      beforeinput: (event, view) => {
        if (view.root.activeElement === view.contentDOM) {
          return false;
        }
        event.preventDefault();
        return true;
      },
    }),
  ];
}

class FocusWatch implements PluginValue {
  private readonly document: Document;

  constructor(private readonly view: EditorView) {
    this.document = view.dom.ownerDocument;
    this.document.addEventListener("focusin", this.take);
  }

  destroy(): void {
    this.document.removeEventListener("focusin", this.take);
  }

  private readonly take = (): void => {
    const { contentDOM, root } = this.view;
    const selection = this.document.getSelection();
    // A field or a button in the text is the text's own.
    if (!contentDOM.contains(root.activeElement) && contentDOM.contains(selection?.anchorNode ?? null)) {
      selection?.removeAllRanges();
    }
  };
}

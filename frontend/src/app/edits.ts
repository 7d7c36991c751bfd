/** The edit commands, as the menu and the palette run them: on the text, or on the field that has the focus. */

import { redo, selectAll, undo } from "@codemirror/commands";
import { openSearchPanel } from "@codemirror/search";
import type { EditorView } from "@codemirror/view";
import type { Backend } from "../backend";
import type { Documents } from "../document";
import type { CommandAction, CommandId, SettingsTab } from "../ui";

/** Makes the actions of the edit commands. */
export function editActions(
  backend: Backend,
  documents: Documents,
  settingsTab: SettingsTab,
  /** Whether something else stands in place of the text. */
  isCovered: () => boolean,
): Readonly<Partial<Record<CommandId, CommandAction>>> {
  const { view } = documents;

  /** The field outside the text that has the focus; null for none. */
  function field(): HTMLInputElement | HTMLTextAreaElement | null {
    const active = document.activeElement;
    const isField = active instanceof HTMLInputElement || active instanceof HTMLTextAreaElement;
    return isField ? active : null;
  }

  // In a field only the engine knows the undo history and the selection.
  const edit = (command: string, inText: (view: EditorView) => void): CommandAction => ({
    off: () =>
      field() === null && (documents.current.value === null || settingsTab.front.value || isCovered())
        ? "off.noDocument"
        : "",
    run: () => {
      if (field() === null) {
        view.focus();
        inText(view);
      } else {
        document.execCommand(command);
      }
    },
  });

  async function paste(): Promise<void> {
    const text = await backend.readClipboard().catch(() => "");
    const into = field();
    if (text === "") {
      return;
    }
    if (into !== null) {
      into.focus();
      document.execCommand("insertText", false, text);
    } else if (!view.state.readOnly) {
      view.focus();
      view.dispatch(view.state.replaceSelection(view.state.toText(text)), {
        userEvent: "input.paste",
        scrollIntoView: true,
      });
    }
  }

  return {
    "edit.undo": edit("undo", undo),
    "edit.redo": edit("redo", redo),
    "edit.cut": edit("cut", () => document.execCommand("cut")),
    "edit.copy": edit("copy", () => document.execCommand("copy")),
    "edit.paste": { ...edit("paste", () => {}), run: () => void paste() },
    "edit.selectAll": edit("selectAll", selectAll),
    "edit.find": {
      off: () =>
        documents.current.value === null || settingsTab.front.value || isCovered() ? "off.noDocument" : "",
      run: () => openSearchPanel(view),
    },
  };
}

/** The words of the native menu bar: the host builds the menu, the page's table has the words and the keys. */

import type { Backend, MenuLabel } from "../backend";
import { type MessageKey, t } from "../i18n";
import { commands, gtkKey, keysOn, type Platform } from "../ui";

/** The menus of the bar. The ids are those of Go's MenuBar; a test compares them. */
const groups: readonly { readonly id: string; readonly label: MessageKey }[] = [
  { id: "menu.file", label: "commands.group.file" },
  { id: "menu.edit", label: "commands.group.edit" },
  { id: "menu.ai", label: "commands.group.ai" },
  { id: "menu.view", label: "commands.group.view" },
  { id: "menu.help", label: "commands.group.help" },
];

/** The labels of all menus and items, in the language of the interface. */
export function menuLabels(platform: Platform): readonly MenuLabel[] {
  const items = commands
    .filter((command) => command.menu)
    .map(({ id, label, keys }) => {
      const [key] = keysOn(keys, platform);
      return { id, label: t(label), key: key === undefined ? "" : gtkKey(key, platform) };
    });
  return [...groups.map(({ id, label }) => ({ id, label: t(label), key: "" })), ...items];
}

/** Shows the native menu in the page's words. A menu in English is no reason to stop. */
export async function labelMenu(backend: Backend, platform: Platform): Promise<void> {
  await backend.settings.SetMenu(menuLabels(platform)).catch((error: unknown) => console.error(error));
}

import { t } from "../i18n";
import type { Dialogs } from "../ui";

/** Says what this program is. */
export async function showAbout(dialogs: Dialogs, version: string): Promise<void> {
  await dialogs.ask({
    title: t("settings.version", { version }),
    text: `${t("dialogs.about.text")} ${t("dialogs.about.licence")}`,
    buttons: [],
    cancel: t("dialogs.close"),
  });
}

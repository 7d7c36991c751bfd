import { useSignal } from "@preact/signals";
import type { BackendError } from "../backend";
import { t } from "../i18n";
import { describeFault } from "./fault";
import { Icon } from "./icon";
import { Path } from "./key-field";
import { Notice } from "./notice";
import { rich } from "./rich";
import type { SettingsStore } from "./settings-store";

/**
 * Says that a keyring answers while keys lie in plain text, with the one button
 * that moves them there (K5). Nothing is there to be said otherwise.
 */
export function MoveKeysNotice({ settings }: { readonly settings: SettingsStore }) {
  const busy = useSignal(false);
  const failed = useSignal<BackendError | null>(null);
  const { canMoveKeys: keyring, providers } = settings.state.value;
  if (keyring === "") {
    return null;
  }
  const held = providers.find((p) => p.key.place === "file") ?? providers[0];
  const fault = failed.value && describeFault(failed.value);
  const move = async (): Promise<void> => {
    busy.value = true;
    failed.value = await settings.moveKeys();
    busy.value = false;
  };
  return (
    <div class="told">
      <Notice
        kind={fault ? "warn" : "plain"}
        icon="key-round"
        title={t(fault ? "provider.move.failed" : "provider.move.title", { keyring })}
        text={
          fault
            ? `${fault.title} ${t("provider.move.kept")}`
            : rich(t("provider.move.text"), { path: () => <Path path={held?.key.path ?? ""} /> })
        }
        actions={
          <button type="button" class="btn primary" disabled={busy.value} onClick={() => void move()}>
            {busy.value && <Icon name="loader-circle" small spin />}
            {t(busy.value ? "provider.move.moving" : fault ? "action.retry" : "provider.keyring.move")}
          </button>
        }
      />
    </div>
  );
}

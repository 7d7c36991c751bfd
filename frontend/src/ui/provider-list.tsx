import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { ProviderState } from "../backend";
import { t } from "../i18n";
import type { Dialogs } from "./dialog";
import { Icon } from "./icon";
import { hostOf, providerKinds } from "./kinds";
import { MenuButton, type MenuItem } from "./menu";
import type { SettingsStore } from "./settings-store";

/** Props of ProviderList. */
export interface ProviderListProps {
  readonly settings: SettingsStore;
  readonly dialogs: Dialogs;
  /** The id of the provider that is shown. */
  readonly current: string;
  readonly onSelect: (id: string) => void;
}

/**
 * The providers in the order of the person. One is moved by dragging its row,
 * by Alt+Up and Alt+Down on it, or by its menu; the mock stays at the end.
 */
export function ProviderList({ settings, dialogs, current, onSelect }: ProviderListProps) {
  const { providers, settings: chosen } = settings.state.value;
  const own = providers.filter((p) => p.kind !== "mock");
  const dragged = useSignal("");
  /** Where what is dragged would go: before the row of this index; -1 for nowhere. */
  const before = useSignal(-1);
  const said = useSignal("");
  const list = useRef<HTMLUListElement>(null);

  const move = async (id: string, to: number): Promise<void> => {
    const from = own.findIndex((p) => p.id === id);
    if (from < 0 || to < 0 || to >= own.length || to === from) {
      return;
    }
    if (await settings.moveProvider(id, to)) {
      said.value = t("provider.moved", { name: own[from]?.name ?? "", at: to + 1, of: own.length });
      // The row went elsewhere, and the focus with it.
      list.current?.querySelector<HTMLElement>(`[data-id="${id}"]`)?.focus();
    }
  };

  const choose = async (provider: ProviderState, what: string): Promise<void> => {
    const at = own.indexOf(provider);
    switch (what) {
      case "up":
        await move(provider.id, at - 1);
        return;
      case "down":
        await move(provider.id, at + 1);
        return;
      case "duplicate": {
        const id = await settings.duplicateProvider(provider.id, copyName(provider.name, providers));
        if (id !== "") {
          onSelect(id);
        }
        return;
      }
      case "delete":
        await deleteProvider(settings, dialogs, provider);
        return;
    }
  };

  return (
    <div>
      <ul class="prov" aria-label={t("provider.list")} ref={list}>
        {inOrder(providers).map((provider) => {
          const index = own.indexOf(provider);
          const line =
            dragged.value === "" || index < 0
              ? ""
              : before.value === index
                ? "drop-before"
                : before.value === own.length && index === own.length - 1
                  ? "drop-after"
                  : "";
          return (
            <li
              key={provider.id}
              class={line || undefined}
              draggable={index >= 0}
              onDragStart={(event) => {
                dragged.value = provider.id;
                if (event.dataTransfer !== null) {
                  event.dataTransfer.effectAllowed = "move";
                  event.dataTransfer.setData("application/x-galley-provider", "");
                }
              }}
              onDragOver={(event) => {
                if (dragged.peek() !== "" && index >= 0) {
                  event.preventDefault();
                  const { top, height } = event.currentTarget.getBoundingClientRect();
                  before.value = event.clientY > top + height / 2 ? index + 1 : index;
                }
              }}
              onDrop={(event) => {
                event.preventDefault();
                const from = own.findIndex((other) => other.id === dragged.peek());
                if (from >= 0 && before.peek() >= 0) {
                  void move(dragged.peek(), before.peek() - (from < before.peek() ? 1 : 0));
                }
              }}
              onDragEnd={() => {
                dragged.value = "";
                before.value = -1;
              }}
            >
              <button
                type="button"
                class="pick"
                data-id={provider.id}
                aria-current={provider.id === current ? "true" : undefined}
                aria-keyshortcuts={index >= 0 && own.length > 1 ? "Alt+ArrowUp Alt+ArrowDown" : undefined}
                onClick={() => onSelect(provider.id)}
                onKeyDown={(event) => {
                  const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
                  if (event.altKey && step !== 0 && index >= 0) {
                    event.preventDefault();
                    event.stopPropagation();
                    void move(provider.id, index + step);
                  }
                }}
              >
                <b class="clip">{provider.name}</b>
                <ReadyBadge provider={provider} />
                <span class="meta clip">
                  {whereText(provider)}
                  {provider.id === chosen.provider && ` · ${t("provider.inUse")}`}
                </span>
              </button>
              {index >= 0 && (
                <MenuButton
                  class="ib sm"
                  label={t("provider.menu", { name: provider.name })}
                  items={menuOf(index, own.length)}
                  onChoose={(what) => void choose(provider, what)}
                  end
                >
                  <Icon name="ellipsis" small />
                </MenuButton>
              )}
            </li>
          );
        })}
      </ul>
      <MenuButton
        class="btn quiet"
        items={catalogue()}
        onChoose={(kindId) => {
          const kind = providerKinds.find((k) => k.id === kindId);
          if (kind !== undefined) {
            void settings.addProvider(kind).then((id) => id !== "" && onSelect(id));
          }
        }}
      >
        <Icon name="plus" small />
        {t("provider.add")}
      </MenuButton>
      <div class="vh" role="status">
        {said.value}
      </div>
    </div>
  );
}

/** The providers as they are listed: the mock, which nobody added, stands at the end. */
export function inOrder(providers: readonly ProviderState[]): readonly ProviderState[] {
  return [...providers.filter((p) => p.kind !== "mock"), ...providers.filter((p) => p.kind === "mock")];
}

/** Asks, then deletes a provider. */
export async function deleteProvider(
  settings: SettingsStore,
  dialogs: Dialogs,
  provider: ProviderState,
): Promise<void> {
  const answer = await dialogs.ask({
    title: t("provider.deleteAsk", { provider: provider.name }),
    text: t("provider.deleteText"),
    buttons: [{ id: "delete", label: t("provider.delete"), kind: "bad" }],
  });
  if (answer === "delete") {
    await settings.deleteProvider(provider.id);
  }
}

/** A name for a copy that no provider has. */
function copyName(name: string, taken: readonly Pick<ProviderState, "name">[]): string {
  const free = (candidate: string): boolean => !taken.some((p) => p.name === candidate);
  let copy = t("provider.copyName", { name });
  for (let n = 2; !free(copy); n++) {
    copy = t("provider.copyName.more", { name, n });
  }
  return copy;
}

function menuOf(index: number, count: number): readonly MenuItem[] {
  return [
    { id: "up", label: t("provider.up"), icon: "chevron-up", off: index === 0 },
    { id: "down", label: t("provider.down"), icon: "chevron-down", off: index === count - 1 },
    { id: "duplicate", label: t("provider.duplicate"), icon: "copy", apart: true },
    { id: "delete", label: t("provider.delete"), icon: "trash-2" },
  ];
}

/** What can be added: each kind with the host that it asks. */
function catalogue(): readonly MenuItem[] {
  return providerKinds.map((kind, index): MenuItem => {
    const host = kind.group === "local" ? t("provider.local") : hostOf(kind.baseUrl);
    const before = providerKinds[index - 1];
    return {
      id: kind.id,
      label: t(kind.label),
      apart: before !== undefined && before.group !== kind.group,
      ...(host !== "" && { key: host }),
    };
  });
}

/** Reports whether a provider can be used as it is. */
export function isReady(provider: ProviderState): boolean {
  return provider.problem === "" && !(provider.needsKey && provider.key.place === "none");
}

function ReadyBadge({ provider }: { readonly provider: ProviderState }) {
  if (isReady(provider)) {
    return (
      <span class="badge good">
        <Icon name="check" />
        {t("provider.ready")}
      </span>
    );
  }
  return provider.problem !== "" ? (
    <span class="badge bad">{t("provider.addressWrong")}</span>
  ) : (
    <span class="badge">{t("provider.noKey")}</span>
  );
}

function whereText(provider: ProviderState): string {
  if (provider.kind === "mock") {
    return t("provider.offline");
  }
  const host = hostOf(provider.baseUrl);
  if (host !== "" && !provider.needsKey) {
    return t("provider.local");
  }
  return host || t("provider.noAddress");
}

import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import type { NetworkState, Provider, ProviderState } from "../backend";
import { t } from "../i18n";
import type { Dialogs } from "./dialog";
import { Select, TextField } from "./fields";
import { KeyField, Path } from "./key-field";
import { type AddressFault, addressFault, dialects, kindOf, providerKinds, withKind } from "./kinds";
import { deleteProvider } from "./provider-list";
import { ModelRows } from "./provider-model";
import { Parameters } from "./provider-parameters";
import { Prices } from "./provider-prices";
import { ConnectionRow } from "./provider-test";
import { rich } from "./rich";
import type { SettingsSection } from "./settings";
import { networkWords } from "./settings-network";
import { configOf, type SettingsStore } from "./settings-store";

/** Props of ProviderForm. */
export interface ProviderFormProps {
  readonly provider: ProviderState;
  /** Whether AI uses it. */
  readonly inUse: boolean;
  readonly settings: SettingsStore;
  readonly dialogs: Dialogs;
  readonly onSection: (section: SettingsSection) => void;
}

/** The form of a provider. A field is stored when it is left; there is no button for all. */
export function ProviderForm({ provider, inUse, settings, dialogs, onSection }: ProviderFormProps) {
  const id = useId();
  const nameWrong = useSignal(false);
  /** What is wrong with the address that was typed; the one before it stays stored. */
  const addressWrong = useSignal<AddressFault | null>(addressFault(provider.baseUrl));
  const kind = kindOf(provider);

  const save = (change: Partial<Provider>): void => {
    const before = configOf(provider);
    const next = { ...before, ...change };
    if (JSON.stringify(next) !== JSON.stringify(before)) {
      void settings.saveProvider(next);
    }
  };

  const saveAddress = (baseUrl: string): void => {
    addressWrong.value = addressFault(baseUrl);
    if (addressWrong.value === null) {
      save({ baseUrl });
    }
  };

  const deleteKey = async (): Promise<void> => {
    const answer = await dialogs.ask({
      title: t("provider.key.deleteAsk", { provider: provider.name }),
      text: t("provider.key.deleteText", { provider: provider.name }),
      buttons: [{ id: "delete", label: t("provider.key.delete"), kind: "bad" }],
    });
    if (answer === "delete") {
      await settings.deleteKey(provider.id);
    }
  };

  return (
    <div class="form">
      <label for={`${id}-name`}>{t("provider.name")}</label>
      <div class="v">
        <TextField
          id={`${id}-name`}
          value={provider.name}
          wrong={nameWrong.value ? t("provider.name.wrong") : ""}
          onCommit={(name) => {
            nameWrong.value = name.trim() === "";
            if (!nameWrong.value) {
              save({ name: name.trim() });
            }
          }}
        />
      </div>

      <label for={`${id}-kind`}>{t("provider.kind")}</label>
      <div class="v">
        <Select
          id={`${id}-kind`}
          value={kind.id}
          choices={providerKinds.map((k) => ({ id: k.id, label: t(k.label) }))}
          onChange={(kindId) => {
            const next = providerKinds.find((k) => k.id === kindId);
            if (next) {
              save(withKind(configOf(provider), next));
            }
          }}
        />
      </div>

      {kind.id === "compatible" && (
        <>
          <label for={`${id}-dialect`}>{t("provider.dialect")}</label>
          <div class="v">
            <Select
              id={`${id}-dialect`}
              value={provider.kind}
              choices={dialects.map((dialect) => ({ id: dialect.id, label: t(dialect.label) }))}
              onChange={(dialect) => save({ kind: dialect })}
            />
            <div class="hint">{t("provider.dialect.hint")}</div>
          </div>
        </>
      )}

      <label for={`${id}-address`}>{t("provider.address")}</label>
      <div class="v">
        <TextField
          id={`${id}-address`}
          value={provider.baseUrl}
          mode="url"
          example={kind.example}
          wrong={addressWrong.value === null ? "" : t(`provider.address.${addressWrong.value}`)}
          onCommit={(baseUrl) => saveAddress(baseUrl.trim())}
        />
        {addressWrong.value === null && provider.url !== "" && (
          <div class="hint">
            {rich(t("provider.address.goesTo"), { url: () => <Path path={provider.url} /> })}
          </div>
        )}
      </div>

      <KeyField
        key={`${provider.id} ${provider.key.place} ${provider.key.storedAtMs}`}
        id={`key-${provider.id}`}
        held={provider.key}
        owner={provider.name}
        words={{
          label: t("provider.key"),
          paste: t("provider.key.paste"),
          hint: t(provider.needsKey ? "provider.key.hint" : "provider.key.optional"),
        }}
        store={(key, place) => settings.setKey(provider.id, key, place)}
        onDelete={() => void deleteKey()}
      />

      <div class="sep" />

      <ModelRows id={id} provider={provider} settings={settings} save={save} />
      <Parameters id={id} provider={provider} save={save} />
      <Prices id={id} provider={provider} save={save} />

      <div class="sep" />

      <UseRow provider={provider} inUse={inUse} settings={settings} />
      <NetworkRow provider={provider} settings={settings} onSection={onSection} />
      <ConnectionRow
        provider={provider}
        settings={settings}
        onSection={onSection}
        onDelete={() => void deleteProvider(settings, dialogs, provider)}
      />
    </div>
  );
}

/** The provider that works offline: it is always there and has nothing to set up. */
export function MockForm({ provider, inUse, settings, onSection }: Omit<ProviderFormProps, "dialogs">) {
  return (
    <div class="form">
      <span class="label">{t("provider.name")}</span>
      <span class="val">{provider.name}</span>
      <span class="label">{t("provider.key")}</span>
      <span class="val">{t("provider.key.notNeeded")}</span>
      <span class="label">{t("provider.model")}</span>
      <span class="val">{provider.model}</span>
      <span class="label">{t("provider.context")}</span>
      <span class="val">{t("provider.context.tokens", { n: provider.contextTokens })}</span>
      <div class="sep" />
      <UseRow provider={provider} inUse={inUse} settings={settings} />
      <ConnectionRow provider={provider} settings={settings} onSection={onSection} />
    </div>
  );
}

/** Whether AI uses the provider, or the button that makes it so. */
function UseRow({ provider, inUse, settings }: Pick<ProviderFormProps, "provider" | "inUse" | "settings">) {
  return (
    <>
      <span class="label">{t("provider.use")}</span>
      <div class="v">
        <div class="row">
          {inUse ? (
            <span>{t("provider.use.now")}</span>
          ) : (
            <button type="button" class="btn" onClick={() => void settings.update({ provider: provider.id })}>
              {t("provider.use.this")}
            </button>
          )}
        </div>
      </div>
    </>
  );
}

/** How the provider is reached, and the way to where that is set. */
function NetworkRow({
  provider,
  settings,
  onSection,
}: Pick<ProviderFormProps, "provider" | "settings" | "onSection">) {
  const found = useSignal<NetworkState | null>(null);
  const { network } = settings.state.value.settings;
  const ready = provider.problem === "";
  useEffect(() => {
    let current = true;
    found.value = null;
    if (ready && provider.baseUrl !== "") {
      settings.network(provider.id).then(
        (state) => {
          if (current) {
            found.value = state;
          }
        },
        () => {},
      );
    }
    return () => {
      current = false;
    };
  }, [provider.id, provider.baseUrl, ready, network, settings, found]);
  return (
    <>
      <span class="label">{t("provider.network")}</span>
      <div class="v">
        <div class="row">
          <span class="val grow">{networkWords(network, found.value)}</span>
          <button type="button" class="btn sm" onClick={() => onSection("network")}>
            {t("provider.network.change")}
          </button>
        </div>
      </div>
    </>
  );
}

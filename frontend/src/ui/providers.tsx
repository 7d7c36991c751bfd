import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import type { Provider, ProviderState } from "../backend";
import { t } from "../i18n";
import type { Dialogs } from "./dialog";
import { FaultNotice } from "./fault-notice";
import { Icon } from "./icon";
import { KeyField, Path } from "./key-field";
import { type AddressFault, addressFault, hostOf, kindOf, providerKinds, withKind } from "./kinds";
import { MenuButton } from "./menu";
import { rich } from "./rich";
import { NumberField } from "./settings-number";
import type { SettingsStore } from "./settings-store";

/** The bounds of the size of a model's context, in tokens; the host has the same. */
const contextSize = { min: 1000, max: 10_000_000 } as const;

/** Props of Providers. */
export interface ProvidersProps {
  readonly settings: SettingsStore;
  readonly dialogs: Dialogs;
  /** The id of the provider that is shown; "" for the first. */
  readonly selected: string;
  readonly onSelect: (id: string) => void;
}

/** The providers: a list, and the form of one. */
export function Providers({ settings, dialogs, selected, onSelect }: ProvidersProps) {
  const { providers, settings: chosen } = settings.state.value;
  const current = providers.find((p) => p.id === selected) ?? providers[0];

  const add = async (kindId: string): Promise<void> => {
    const kind = providerKinds.find((k) => k.id === kindId);
    const id = kind && (await settings.addProvider(kind));
    if (id) {
      onSelect(id);
    }
  };

  return (
    <div class="cols">
      <div>
        <ul class="prov" aria-label={t("provider.list")}>
          {providers.map((provider) => (
            <li key={provider.id}>
              <button
                type="button"
                aria-current={provider === current ? "true" : undefined}
                onClick={() => onSelect(provider.id)}
              >
                <b class="clip">{provider.name}</b>
                <ReadyBadge provider={provider} />
                <span class="meta clip">
                  {whereText(provider)}
                  {provider.id === chosen.provider && ` · ${t("provider.inUse")}`}
                </span>
              </button>
            </li>
          ))}
        </ul>
        <MenuButton
          class="btn quiet"
          items={providerKinds.map((kind) => ({ id: kind.id, label: t(kind.label) }))}
          onChoose={(id) => void add(id)}
        >
          <Icon name="plus" small />
          {t("provider.add")}
        </MenuButton>
      </div>
      {current === undefined ? (
        <div class="empty">
          <b>{t("provider.empty.title")}</b>
          <span>{t("provider.empty.text")}</span>
        </div>
      ) : current.kind === "mock" ? (
        <MockForm provider={current} inUse={current.id === chosen.provider} settings={settings} />
      ) : (
        <ProviderForm
          key={current.id}
          provider={current}
          inUse={current.id === chosen.provider}
          settings={settings}
          dialogs={dialogs}
        />
      )}
    </div>
  );
}

/** Reports whether a provider can be used as it is. */
function isReady(provider: ProviderState): boolean {
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

interface FormProps {
  readonly provider: ProviderState;
  readonly inUse: boolean;
  readonly settings: SettingsStore;
  readonly dialogs: Dialogs;
}

function ProviderForm({ provider, inUse, settings, dialogs }: FormProps) {
  const id = useId();
  const nameWrong = useSignal(false);
  /** What is wrong with the address that was typed; the one before it stays stored. */
  const addressWrong = useSignal<AddressFault | null>(addressFault(provider.baseUrl));

  const save = (change: Partial<Provider>): void => {
    const next = { ...configOf(provider), ...change };
    if (JSON.stringify(next) !== JSON.stringify(configOf(provider))) {
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

  const deleteProvider = async (): Promise<void> => {
    const answer = await dialogs.ask({
      title: t("provider.deleteAsk", { provider: provider.name }),
      text: t("provider.deleteText"),
      buttons: [{ id: "delete", label: t("provider.delete"), kind: "bad" }],
    });
    if (answer === "delete") {
      await settings.deleteProvider(provider.id);
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
          value={kindOf(provider).id}
          choices={providerKinds.map((kind) => ({ id: kind.id, label: t(kind.label) }))}
          onChange={(kindId) => {
            const kind = providerKinds.find((k) => k.id === kindId);
            if (kind) {
              save(withKind(configOf(provider), kind));
            }
          }}
        />
      </div>

      <label for={`${id}-address`}>{t("provider.address")}</label>
      <div class="v">
        <TextField
          id={`${id}-address`}
          value={provider.baseUrl}
          mode="url"
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
        provider={provider}
        store={(key, place) => settings.setKey(provider.id, key, place)}
        onDelete={() => void deleteKey()}
      />

      <div class="sep" />

      <ModelRow
        id={`${id}-model`}
        provider={provider}
        settings={settings}
        onCommit={(model) => save({ model })}
      />

      <label for={`${id}-context`}>{t("provider.context")}</label>
      <div class="v">
        <NumberField
          id={`${id}-context`}
          value={provider.contextTokens}
          min={contextSize.min}
          max={contextSize.max}
          empty
          hint={t("provider.context.hint")}
          wrong={t("provider.context.wrong", contextSize)}
          onNumber={(contextTokens) => save({ contextTokens })}
        />
      </div>

      <UseRow provider={provider} inUse={inUse} settings={settings} />

      <ConnectionRow provider={provider} settings={settings} onDelete={() => void deleteProvider()} />
    </div>
  );
}

/** The provider that works offline: it is always there and has nothing to set up. */
function MockForm({ provider, inUse, settings }: Omit<FormProps, "dialogs">) {
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
      <ConnectionRow provider={provider} settings={settings} />
    </div>
  );
}

/** Whether AI uses the provider, or the button that makes it so. */
function UseRow({ provider, inUse, settings }: Omit<FormProps, "dialogs">) {
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

function ModelRow({
  id,
  provider,
  settings,
  onCommit,
}: {
  readonly id: string;
  readonly provider: ProviderState;
  readonly settings: SettingsStore;
  readonly onCommit: (model: string) => void;
}) {
  const test = settings.tests.value.get(provider.id);
  const models = test?.status === "good" ? test.result.models : [];
  return (
    <>
      <label for={id}>{t("provider.model")}</label>
      <div class="v">
        <div class="row">
          <TextField id={id} value={provider.model} wrong="" onCommit={(model) => onCommit(model.trim())} />
          {models.length > 0 && (
            <MenuButton
              class="ib"
              label={t("provider.model.choose")}
              items={models.map(({ id: model }) => ({
                id: model,
                label: model,
                checked: model === provider.model,
              }))}
              onChoose={onCommit}
              end
            >
              <Icon name="chevrons-up-down" small />
            </MenuButton>
          )}
        </div>
        {models.length === 0 && <div class="hint">{t("provider.model.hint")}</div>}
      </div>
    </>
  );
}

function ConnectionRow({
  provider,
  settings,
  onDelete,
}: {
  readonly provider: ProviderState;
  readonly settings: SettingsStore;
  /** Absent for one that cannot be deleted. */
  readonly onDelete?: () => void;
}) {
  const test = settings.tests.value.get(provider.id);
  const hasAddress = provider.problem === "";
  const ready = isReady(provider);
  const busy = test?.status === "busy";
  const focusOn = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();
  return (
    <>
      <span class="label">{t("provider.connection")}</span>
      <div class="v">
        <div class="row">
          <button
            type="button"
            class="btn"
            disabled={!ready || busy}
            onClick={() => void settings.test(provider.id)}
          >
            {busy && <Icon name="loader-circle" small spin />}
            {t(busy ? "provider.testing" : "provider.test")}
          </button>
          {!ready && (
            <span class="hint">
              {t(hasAddress ? "provider.test.needsKey" : "provider.test.needsAddress")}
            </span>
          )}
          <span role="status">
            {test?.status === "good" && (
              <span class="ok">
                <Icon name="check" small />
                {t("provider.test.good", { n: test.result.models.length })}
              </span>
            )}
          </span>
          <span class="grow" />
          {onDelete && (
            <button type="button" class="btn quiet bad" onClick={onDelete}>
              {t("provider.delete")}
            </button>
          )}
        </div>
      </div>
      {test?.status === "bad" && (
        <FaultNotice
          fault={{
            code: test.error.code,
            detail: test.error.detail,
            retryAfterMs: test.error.retryAfterMs,
            provider: provider.name,
            model: provider.model,
          }}
          actions={{
            retry: () => void settings.test(provider.id),
            replaceKey: () => focusOn(".form [id^=key-], .form .v .btn.sm"),
            addKey: () => focusOn(".form [id^=key-]"),
            openSettings: () => focusOn(".form input[inputmode=url]"),
            chooseModel: () => focusOn(".form input[id$=-model]"),
            chooseOtherModel: () => focusOn(".form input[id$=-model]"),
          }}
        />
      )}
    </>
  );
}

interface TextFieldProps {
  readonly id: string;
  readonly value: string;
  readonly mode?: "text" | "url";
  /** What would be right, when it is wrong; "" when it is not. */
  readonly wrong: string;
  /** Called when the field is left, or Enter is pressed. */
  readonly onCommit: (value: string) => void;
}

function TextField({ id, value, mode = "text", wrong, onCommit }: TextFieldProps) {
  const draft = useSignal(value);
  useEffect(() => {
    draft.value = value;
  }, [value, draft]);
  return (
    <>
      <div class={`field grow${wrong !== "" ? " is-bad" : ""}`}>
        <input
          id={id}
          type="text"
          inputMode={mode}
          value={draft.value}
          autocomplete="off"
          spellcheck={false}
          aria-invalid={wrong !== "" ? "true" : undefined}
          aria-describedby={wrong !== "" ? `${id}-wrong` : undefined}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onBlur={() => onCommit(draft.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.isComposing && event.keyCode !== 229) {
              onCommit(draft.value);
            }
          }}
        />
      </div>
      {wrong !== "" && (
        <div class="err" id={`${id}-wrong`}>
          <Icon name="circle-alert" />
          {wrong}
        </div>
      )}
    </>
  );
}

/** Props of Select. */
export interface SelectProps {
  readonly id: string;
  readonly value: string;
  readonly choices: readonly { readonly id: string; readonly label: string }[];
  readonly onChange: (id: string) => void;
}

/** A field of which one of several values is chosen: the system's own, in our dress. */
export function Select({ id, value, choices, onChange }: SelectProps) {
  return (
    <div class="field">
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map((choice) => (
          <option key={choice.id} value={choice.id} selected={choice.id === value}>
            {choice.label}
          </option>
        ))}
      </select>
      <span class="thru">
        <Icon name="chevrons-up-down" small />
      </span>
    </div>
  );
}

function configOf(state: ProviderState): Provider {
  const { needsKey: _, key: __, url: ___, problem: ____, modelsUrl: _____, ...provider } = state;
  return provider;
}

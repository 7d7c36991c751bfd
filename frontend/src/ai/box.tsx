import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ModelRef } from "../backend";
import { type CompositionWatch, previewSegments, type Segment, watchComposition } from "../editor";
import { t } from "../i18n";
import { countText, isCountedByCharacter, totalOf } from "../ui/count";
import type { FaultAction } from "../ui/fault";
import { FaultNotice } from "../ui/fault-notice";
import { Icon } from "../ui/icon";
import { kindOf } from "../ui/kinds";
import { MenuButton, type MenuItem } from "../ui/menu";
import { refOfRow } from "../ui/model-choices";
import { presets } from "../ui/presets";
import { isUnderWay, type Phase, type Rewrite } from "./rewrites";
import type { Target, Wish } from "./wish";

/** Props of RewriteBox. */
export interface RewriteBoxProps {
  readonly rewrite: Rewrite;
  /** The model that a wish goes to; null for none. Reads signals. */
  readonly targetOf: (wish: Wish) => Target | null;
  /** The models to choose from, of which one may be chosen; "manage" leads to the settings. Reads signals. */
  readonly models: (chosen: ModelRef | null) => readonly MenuItem[];
  readonly onRun: (wish: Wish) => void;
  /** A model was chosen for what is wished; it is not run yet. */
  readonly onModel: (wish: Wish) => void;
  readonly onStop: () => void;
  readonly onClose: () => void;
  /** Opens the settings: of the provider that is asked, or of the network. */
  readonly onSettings: (section?: "network") => void;
  /** Opens a page of the web. */
  readonly onLink: (url: string) => void;
  readonly onRestart: () => void;
}

/** A still-waiting answer is said to be slow after this time, in seconds (R8). */
const slowAfter = 20;

/**
 * The rewrite box: a line of the page under the selection. Enter runs, a preset
 * runs at once, Esc stops and a second Esc closes. No key does anything while
 * an input method is composing (D10).
 */
export function RewriteBox({
  rewrite,
  targetOf,
  models,
  onRun,
  onModel,
  onStop,
  onClose,
  onSettings,
  onLink,
  onRestart,
}: RewriteBoxProps) {
  const input = useRef<HTMLInputElement>(null);
  const watch = useRef<CompositionWatch | null>(null);
  const instruction = useSignal(rewrite.wish.peek().instruction);
  const chosen = useSignal(rewrite.wish.peek().preset);
  /** The model that was chosen in this box; undefined for that of the preset. */
  const model = useSignal(rewrite.wish.peek().model);
  const phase = rewrite.phase.value;
  const seconds = useSeconds(phase);
  const under = isUnderWay(phase);
  const selected = useComputed(() => selectionWords(rewrite.selection.value));

  useEffect(() => {
    if (input.current === null) {
      return;
    }
    watch.current = watchComposition(input.current);
    return () => watch.current?.stop();
  }, []);

  const run = (preset: string): void => {
    chosen.value = preset;
    // A chip is off while its answer comes, and would take the focus, and Esc, with it.
    input.current?.focus();
    onRun({ preset, instruction: instruction.peek(), model: model.peek() });
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (watch.current?.claims(event) === true) {
      return;
    }
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (under) {
        onStop();
      } else {
        onClose();
      }
    } else if (event.key === "Enter" && event.target === input.current && !under) {
      event.preventDefault();
      // Words of one's own are the whole wish; with none the preset is.
      run(instruction.peek().trim() === "" ? chosen.peek() : "");
    }
  };

  // While it runs, where it went; else where Enter would send it.
  const preset = instruction.value.trim() === "" ? chosen.value : "";
  const target = targetOf(
    phase.status === "asking"
      ? { preset, instruction: instruction.value, model: model.value }
      : { ...rewrite.wish.value, model: model.value },
  );
  const name = target === null ? "" : targetLabel(target);
  const list = (): void => {
    // After the notice is gone.
    setTimeout(() => rewrite.dom.querySelector<HTMLElement>(".ask .menu-at > button")?.click());
  };
  return (
    <section class="pop rewrite" role="dialog" aria-label={t("rewrite.box")} onKeyDown={onKeyDown}>
      <div class="ask">
        <Icon name="pencil-line" />
        <input
          ref={input}
          class="grow"
          type="text"
          autocomplete="off"
          spellcheck={false}
          aria-label={t(rewrite.selection.value === "" ? "rewrite.askAtCaret" : "rewrite.ask")}
          placeholder={t(rewrite.selection.value === "" ? "rewrite.askAtCaret" : "rewrite.ask")}
          readOnly={under}
          value={instruction.value}
          onInput={(event) => {
            instruction.value = event.currentTarget.value;
          }}
        />
        <span class="meta">{selected.value}</span>
        {name !== "" && (
          <MenuButton
            class="btn quiet sm model"
            label={t("rewrite.model", {
              name: target?.ofPreset === true ? t("rewrite.model.preset", { name }) : name,
            })}
            items={under ? [] : models(target && { providerId: target.provider.id, model: target.model })}
            onChoose={(id) => {
              const ref = refOfRow(id);
              if (ref === null) {
                onSettings();
              } else {
                model.value = ref;
                onModel({ preset: chosen.peek(), instruction: instruction.peek(), model: ref });
                input.current?.focus();
              }
            }}
            end
          >
            <span class="clip">{name}</span>
            <Icon name="chevron-down" small />
          </MenuButton>
        )}
      </div>
      <div class="chips" role="radiogroup" aria-label={t("rewrite.presets")}>
        {presets.map((preset) => (
          // biome-ignore lint/a11y/useSemanticElements: a chip runs at once, which a radio input does not say
          <button
            type="button"
            key={preset.id}
            role="radio"
            aria-checked={chosen.value === preset.id}
            disabled={under}
            onClick={() => run(preset.id)}
          >
            {t(preset.label)}
          </button>
        ))}
      </div>
      {rewrite.partial.value !== "" && phase.status !== "nothing" && (
        <Preview rewrite={rewrite} caret={under} />
      )}
      {phase.status === "failed" ? (
        <FaultNotice
          fault={{ ...facts(phase), provider: target?.provider.name, model: target?.model }}
          actions={actionsOf({
            onSettings,
            onRestart,
            onClose,
            onList: list,
            ...(target !== null && { billing: kindOf(target.provider).billing }),
            onLink,
            run: () => run(instruction.peek().trim() === "" ? chosen.peek() : ""),
            input,
          })}
        />
      ) : (
        <div class="end">
          <span class="meta grow" role="status">
            {footText(phase, seconds.value, name)}
          </span>
          {under ? (
            <button type="button" class="btn" disabled={phase.status === "stopping"} onClick={onStop}>
              {phase.status === "stopping" ? (
                <Icon name="loader-circle" small spin />
              ) : (
                <Icon name="square" small />
              )}
              {t(phase.status === "stopping" ? "rewrite.stopping" : "rewrite.stop")}
              <span class="key">Esc</span>
            </button>
          ) : (
            <>
              <button type="button" class="btn quiet" onClick={onClose}>
                {t("rewrite.close")}
              </button>
              <button
                type="button"
                class="btn primary"
                onClick={() => run(instruction.peek().trim() === "" ? chosen.peek() : "")}
              >
                {t(phase.status === "asking" ? "rewrite.run" : "rewrite.again")}
                <span class="key">⏎</span>
              </button>
            </>
          )}
        </div>
      )}
    </section>
  );
}

/** What will change, as far as the answer has come. Nothing of it is in the text. */
function Preview({ rewrite, caret }: { readonly rewrite: Rewrite; readonly caret: boolean }) {
  const segments = useComputed(() => previewSegments(rewrite.selection.value, rewrite.partial.value)).value;
  const waiting = segments.filter((segment) => segment.type === "waiting");
  return (
    <div class="body" aria-hidden="true">
      {segments.filter((segment) => segment.type !== "waiting").map(piece)}
      {caret && <span class="caret" />}
      {waiting.map(piece)}
    </div>
  );
}

function piece({ type, text }: Segment) {
  switch (type) {
    case "ins":
    case "del": {
      // Blanks at the ends are not marked, as in the text.
      const [, before = "", middle = "", after = ""] = /^([ \t]*)(.*?)([ \t]*)$/s.exec(text) ?? [];
      const Mark = type;
      return middle === "" ? (
        <Mark>{text}</Mark>
      ) : (
        <>
          {before}
          <Mark>{middle}</Mark>
          {after}
        </>
      );
    }
    case "waiting":
      return <span class="wait">{text}</span>;
    case "equal":
      return <span>{text}</span>;
  }
}

function facts(phase: Extract<Phase, { status: "failed" }>) {
  const { code, detail, retryAfterMs } = phase.error;
  return { code, detail, retryAfterMs };
}

function actionsOf(can: {
  readonly onSettings: (section?: "network") => void;
  readonly onRestart: () => void;
  readonly onClose: () => void;
  /** Opens the list of models. */
  readonly onList: () => void;
  /** Where the account is topped up; "" or absent for nowhere known. */
  readonly billing?: string;
  readonly onLink: (url: string) => void;
  readonly run: () => void;
  readonly input: { readonly current: HTMLInputElement | null };
}): Readonly<Partial<Record<FaultAction, () => void>>> {
  const { billing = "" } = can;
  const toSettings = (): void => can.onSettings();
  const toNetwork = (): void => can.onSettings("network");
  return {
    addProvider: toSettings,
    addKey: toSettings,
    replaceKey: toSettings,
    chooseModel: toSettings,
    chooseOtherModel: can.onList,
    useOtherModel: can.onList,
    useLargerModel: can.onList,
    openSettings: toSettings,
    networkSettings: toNetwork,
    addCertificate: toNetwork,
    ...(billing !== "" && { openBilling: () => can.onLink(billing) }),
    retry: can.run,
    regenerate: can.run,
    restart: can.onRestart,
    editRequest: () => can.input.current?.focus(),
    shorten: can.onClose,
    dismiss: can.onClose,
  };
}

function footText(phase: Phase, seconds: number, name: string): string {
  switch (phase.status) {
    case "asking":
      return name === "" ? "" : t("rewrite.goesTo", { name });
    case "starting":
      return t("rewrite.starting");
    case "waiting":
      return t(
        phase.thinking
          ? "rewrite.thinking"
          : seconds >= slowAfter
            ? "rewrite.waitingLong"
            : "rewrite.waiting",
        { seconds },
      );
    case "streaming":
      return t("rewrite.streaming", { seconds });
    case "stopping":
      return t("rewrite.stopping");
    case "stopped":
      return t("rewrite.stopped");
    case "nothing":
      return t(
        phase.outcome === "empty"
          ? "rewrite.empty"
          : phase.outcome === "no_change"
            ? "rewrite.noChange"
            : "rewrite.refused",
      );
    case "failed":
      return "";
  }
}

/** Whole seconds since the run was sent; 0 while none is under way. */
function useSeconds(phase: Phase): ReadonlySignal<number> {
  const seconds = useSignal(0);
  const since = phase.status === "waiting" || phase.status === "streaming" ? phase.sinceMs : 0;
  useEffect(() => {
    seconds.value = 0;
    if (since === 0) {
      return;
    }
    const tick = (): void => {
      seconds.value = Math.floor((Date.now() - since) / 1000);
    };
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [since, seconds]);
  return seconds;
}

function selectionWords(text: string): string {
  const counts = countText(text);
  return t(isCountedByCharacter(counts) ? "rewrite.selected.characters" : "rewrite.selected.words", {
    n: totalOf(counts),
  });
}

/** "DeepSeek, deepseek-chat"; the name alone when they say the same. */
function targetLabel({ provider, model }: Target): string {
  return model === "" || provider.kind === "mock" ? provider.name : `${provider.name}, ${model}`;
}

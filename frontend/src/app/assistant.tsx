/** AI in the window: its panel, its box, its commands, and what the status bar says of it. */

import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { render } from "preact";
import {
  type Agent,
  createAgent,
  createProposals,
  createRewrites,
  isUnderWay,
  type Proposals,
  ReviewPanel,
  type Rewrite,
  RewriteBox,
  type Rewrites,
  reviewLabels,
  targetOf,
} from "../ai";
import type { Backend, Events, Proposal } from "../backend";
import type { Documents } from "../document";
import { goToHunk, type ReviewAction, type ReviewEvent, runReviewAction, setTicked } from "../editor";
import { language, t } from "../i18n";
import {
  type CommandAction,
  type CommandBoard,
  type CommandId,
  commands,
  keyLabel,
  type Layout,
  modelChoices,
  modelRows,
  Notice,
  type PanelView,
  type SettingsStore,
  type SettingsTab,
  type Slots,
  showSettings,
  type Toasts,
} from "../ui";

/** AI as the window and the boot use it. */
export interface Assistant {
  readonly actions: Readonly<Partial<Record<CommandId, CommandAction>>>;
  /** How many tasks are under way. */
  readonly runs: () => number;
  readonly attach: () => Promise<void>;
  readonly agent: Agent;
  readonly proposals: Proposals;
  /** Brings a proposal to the front: its document, the review, and its first open change. Rejects when its document cannot be opened. */
  readonly showProposal: (id: string) => Promise<void>;
  /** What asks the conversation again for a proposal that has no place any more; null for nothing. */
  readonly askAgain: Signal<((proposal: Proposal) => void) | null>;
  readonly handleReview: (event: ReviewEvent) => void;
  /** The review, as a view of the side panel. */
  readonly panel: () => PanelView;
  /** A notice about an accept that was refused; null for none. */
  readonly Refusal: () => preact.JSX.Element | null;
}

/** What AI needs of the window. */
export interface AssistantConfig {
  readonly backend: Backend;
  readonly events: Events;
  readonly documents: Documents;
  readonly settings: SettingsStore;
  readonly settingsTab: SettingsTab;
  readonly board: CommandBoard;
  readonly layout: Layout;
  readonly slots: Slots;
  readonly toasts: Toasts;
  readonly online: ReadonlySignal<boolean>;
  /** Whether the text shows a difference that is not a proposal, and can be gone through as one. */
  readonly isOtherReview: () => boolean;
  /** Whether something else stands in place of the text. */
  readonly isCovered: () => boolean;
  /** Does something that may fail, and says so when it does. */
  readonly attempt: (what: () => Promise<unknown>) => void;
}

/** Makes it, and fills the window's slots. */
export function createAssistant(config: AssistantConfig): Assistant {
  const { backend, events, documents, settings, board, layout, slots, toasts } = config;
  const refused = signal<"stale" | "fidelity" | "cut_off" | null>(null);
  const agent = createAgent({ backend, events, settings: settings.state, online: config.online });

  const askAgain = signal<((proposal: Proposal) => void) | null>(null);
  const proposals = createProposals({
    backend,
    documents,
    agent,
    labels: reviewLabels,
    onShown: () => {
      config.settingsTab.front.value = false;
      layout.panelView.value = "review";
      layout.panelOpen.value = true;
      // What was pressed may be gone with the view it was in.
      documents.view.focus();
    },
    onReceipt: (n, bytes) => {
      refused.value = null;
      toasts.show({
        text: t("review.receipt", { n, bytes }),
        action: { label: t("review.undo"), key: keyOf("edit.undo"), run: () => board.run("edit.undo") },
      });
    },
    onRefused: (reason) => {
      refused.value = reason;
    },
  });
  const rewrites: Rewrites = createRewrites({
    backend,
    documents,
    agent,
    settings: settings.state,
    language: () => language.peek(),
    proposals,
    onClipped: () => toasts.show({ text: t("panel.clipped.rewrite") }),
    draw: (rewrite) => draw(rewrite),
  });
  agent.onMessage((message) => {
    if (message.type === "runner.changed" && message.payload.status === "ready") {
      proposals.retry();
    }
  });

  function draw(rewrite: Rewrite): () => void {
    render(
      <RewriteBox
        rewrite={rewrite}
        targetOf={(wish) => targetOf(settings.state.value, wish)}
        models={(chosen) => modelRows(modelChoices(settings.state.value, settings.recent.value), chosen)}
        onRun={(wish) => void rewrites.run(rewrite, wish)}
        onModel={(wish) => rewrites.choose(rewrite, wish)}
        onStop={() => rewrites.stop(rewrite)}
        onClose={() => rewrites.close(rewrite)}
        onSettings={(section) => {
          const target = targetOf(settings.state.peek(), rewrite.wish.peek());
          showSettings(config.settingsTab, section ?? "providers", target?.provider.id ?? "");
        }}
        onLink={(url) => config.attempt(() => backend.workspace.OpenLink(url))}
        onRestart={() => void backend.agent.RestartRunner().catch(() => {})}
      />,
      rewrite.dom,
    );
    return () => render(null, rewrite.dom);
  }

  function keyOf(id: CommandId): string {
    const command = commands.find((row) => row.id === id);
    return command === undefined ? "" : keyLabel(command, board.platform.value);
  }

  const focusText = (): void => documents.view.focus();
  const panel = (): PanelView => ({
    id: "review",
    label: t("review.title"),
    count: proposals.count.value,
    content: () => (
      <ReviewPanel
        proposals={proposals}
        again={rewrites.again}
        rewriteKey={keyOf("ai.rewrite")}
        acceptAllKey={keyOf("ai.review.acceptAll")}
        onGo={(hunk) => goToHunk(documents.view, hunk)}
        onTick={(hunk, ticked) => setTicked(documents.view, hunk, ticked)}
        onAction={(action) => runReviewAction(documents.view, action)}
        onRegenerate={(remark) => rewrites.regenerate(remark)}
        onAskAgain={askAgain.value ?? undefined}
        onDismiss={(id) => config.attempt(() => proposals.dismiss(id))}
        onShow={(id) => config.attempt(() => proposals.show(id))}
        onLeave={focusText}
      />
    ),
  });

  sayWhatIsDone(rewrites, proposals, slots);

  const isStale = (hunk: string | null): boolean =>
    proposals.review.value?.hunks.some((h) => h.id === hunk && h.status === "stale") === true;

  /** Regenerating begins with a remark, which may stay empty; only a stale change is asked for anew at once. */
  const askForRemark = (): void => {
    layout.panelView.value = "review";
    layout.panelOpen.value = true;
    // After the panel is there.
    setTimeout(() => document.querySelector<HTMLElement>(".panel .foot input")?.focus());
  };

  const inReview = (action: Exclude<ReviewAction, "leave">): CommandAction => ({
    off: () => (proposals.review.value === null && !config.isOtherReview() ? "off.noReview" : ""),
    run: () => runReviewAction(documents.view, action),
  });

  return {
    runs: () => [...agent.view.peek().runs.values()].filter((run) => run.endedAtMs === 0).length,
    attach: () => agent.attach(),
    agent,
    proposals,
    showProposal: (id) => proposals.show(id),
    askAgain,
    panel,
    handleReview: (event) => {
      if (event.type !== "requested") {
        proposals.handleReview(event);
      } else if (event.request === "regenerate") {
        if (isStale(event.hunk)) {
          rewrites.regenerate("");
        } else {
          askForRemark();
        }
      }
    },
    Refusal: () =>
      refused.value && (
        <Notice
          kind="warn"
          title={t(
            refused.value === "cut_off"
              ? "review.refused.cutOff"
              : refused.value === "stale"
                ? "review.refused.stale"
                : "review.refused.fidelity",
          )}
          actions={
            <button
              type="button"
              class="btn sm"
              onClick={() => {
                refused.value = null;
              }}
            >
              {t("action.dismiss")}
            </button>
          }
        />
      ),
    actions: {
      "ai.rewrite": {
        off: () =>
          documents.current.value === null || config.settingsTab.front.value || config.isCovered()
            ? "off.noDocument"
            : documents.current.value.info.value.readOnly !== ""
              ? "off.readOnly"
              : "",
        run: () => rewrites.ask(),
      },
      "ai.review.next": inReview("next"),
      "ai.review.previous": inReview("previous"),
      "ai.review.accept": inReview("accept"),
      "ai.review.reject": inReview("reject"),
      "ai.review.acceptAll": inReview("accept_ticked"),
      "ai.review.rejectAll": inReview("reject_all"),
      "ai.regenerate": inReview("regenerate"),
      "view.panel": {
        run: () => {
          // The key goes to the AI panel; history has its own button.
          const shown = layout.panelOpen.peek() && layout.panelView.peek() !== "history";
          const last = layout.panelView.peek() === "history" ? "conversation" : layout.panelView.peek();
          // It opens at what can be gone on with.
          layout.panelView.value = !shown && proposals.count.peek() > 0 ? "review" : last;
          layout.panelOpen.value = !shown;
          if (shown) {
            focusText();
          } else {
            // After the panel is there.
            setTimeout(() => document.querySelector<HTMLElement>(".panel .compose textarea")?.focus());
          }
        },
        checked: () => layout.panelOpen.value && layout.panelView.value !== "history",
      },
    },
  };
}

/** The start of the status bar: how long a rewrite takes, else which change is current. */
function sayWhatIsDone(rewrites: Rewrites, proposals: Proposals, slots: Slots): void {
  const seconds = signal(0);
  effect(() => {
    const phase = rewrites.current.value?.phase.value;
    if (phase === undefined || !isUnderWay(phase) || !("sinceMs" in phase)) {
      return;
    }
    const tick = (): void => {
      seconds.value = Math.max(0, Math.round((Date.now() - phase.sinceMs) / 1000));
    };
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  });
  effect(() => {
    const phase = rewrites.current.value?.phase.value;
    if (phase !== undefined && "sinceMs" in phase) {
      slots.run.value = t("rewrite.status", { seconds: seconds.value });
      return;
    }
    if (phase?.status === "stopping") {
      slots.run.value = t("rewrite.stopping");
      return;
    }
    const review = proposals.review.value;
    const current = review?.hunks.find((hunk) => hunk.id === review.current);
    slots.run.value =
      current === undefined ? "" : t("review.change", { number: current.number, total: current.total });
  });
}

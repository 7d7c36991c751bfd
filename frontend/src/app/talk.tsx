/** Conversations in the window: their panel, their place in the status bar, and what leads out of them. */

import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import {
  type ComposerOff,
  ConversationPanel,
  type Conversations,
  createConversations,
  hostOf,
  offLabel,
  plainWords,
  type RowActions,
  SessionList,
  targetFolder,
  type Viewed,
  Viewer,
  waitingCalls,
} from "../ai";
import type { Backend, Events, ModelRef } from "../backend";
import type { Documents } from "../document";
import { isComposing } from "../editor";
import { language, t } from "../i18n";
import {
  chosenModel,
  type Dialogs,
  detailKey,
  joinPath,
  type Layout,
  modelChoices,
  modelRows,
  type PanelView,
  refOfRow,
  type SettingsStore,
  type SettingsTab,
  type Slots,
  showSettings,
  type Toasts,
} from "../ui";
import { Icon } from "../ui/icon";
import type { Assistant } from "./assistant";

/** Conversations as the window and the boot use them. */
export interface Talk {
  readonly conversations: Conversations;
  /** The conversation, as a view of the side panel. */
  readonly panel: () => PanelView;
  /** Reads what may have been missed; after every attach of the agent. */
  readonly attach: () => Promise<void>;
  /** What stands over the window; null for nothing. */
  readonly Over: () => preact.JSX.Element | null;
  /** Shows the panel with the field that a message is written in. */
  readonly show: () => void;
}

/** What conversations need of the window. */
export interface TalkConfig {
  readonly backend: Backend;
  readonly events: Events;
  readonly assistant: Pick<Assistant, "agent" | "proposals" | "showProposal" | "askAgain">;
  readonly documents: Documents;
  readonly settings: SettingsStore;
  readonly settingsTab: SettingsTab;
  readonly layout: Layout;
  readonly slots: Slots;
  readonly toasts: Toasts;
  readonly dialogs: Dialogs;
  /** The path of the open folder; "" for none. */
  readonly folder: ReadonlySignal<string>;
  /** Does something that may fail, and says so when it does. */
  readonly attempt: (what: () => Promise<unknown>) => void;
}

/** Makes them, and fills the window's slots. */
export function createTalk(config: TalkConfig): Talk {
  const { backend, events, assistant, documents, settings, layout, slots, dialogs } = config;
  const { agent, proposals } = assistant;
  const listing = signal(false);
  const viewed = signal<Viewed | null>(null);
  const said = signal("");
  const checking = signal<ReadonlySet<string>>(new Set());
  const runner = computed(() => agent.view.value.runner);

  const conversations = createConversations({
    backend,
    events,
    agent,
    documents,
    folder: config.folder,
    language: () => language.peek(),
    isComposing: () => isComposing(documents.view),
    onAsking: (commandId) => proposals.track(commandId),
    onRefused: (commandId) => proposals.release(commandId),
  });

  events.on("runner.recovered", ({ payload }) => {
    checking.value = new Set(payload.runs);
  });

  const providerOf = (ref: ModelRef) =>
    settings.state.value.providers.find((p) => p.id === ref.providerId) ?? null;
  // What is known of the model that would answer. Nobody is asked for it: that would be sent unasked.
  effect(() => {
    const ref = chosenModel(settings.state.value);
    if (ref.model !== "" && runner.value.status === "ready" && !settings.details.peek().has(detailKey(ref))) {
      void settings.describe(ref, false);
    }
  });
  const canUseTools = computed(() => {
    const ref = chosenModel(settings.state.value);
    const known =
      settings.details.value.get(detailKey(ref))?.capabilities ??
      settings.models.value.get(ref.providerId)?.models.find((m) => m.id === ref.model);
    return known?.tools !== "no";
  });

  // A refusal has taught something of the model.
  agent.onMessage((message) => {
    if (message.type === "run.failed" && message.payload.fault?.code === "unsupported_by_model") {
      void settings.describe(chosenModel(settings.state.peek()), false);
    }
  });

  const modelName = (ref: ModelRef): string => {
    const provider = providerOf(ref);
    return provider?.kind === "mock" ? provider.name : ref.model || provider?.name || ref.providerId;
  };

  const toNetwork = (): void => showSettings(config.settingsTab, "network");
  const toSettings = (): void => {
    showSettings(config.settingsTab, "providers", settings.state.peek().settings.provider);
  };
  const restart = (): void => void backend.agent.RestartRunner().catch(() => {});

  function off(): ComposerOff | null {
    const { status } = runner.value;
    const reason = agent.off.value;
    if (reason === null && status === "starting") {
      return { words: t("panel.off.starting"), action: null };
    }
    if (reason === null) {
      // A conversation needs tools; a rewrite does not.
      return !canUseTools.value
        ? { words: t("panel.off.noTools"), action: { label: t("action.chooseOtherModel"), run: toSettings } }
        : null;
    }
    const words = t(offLabel(reason));
    switch (reason) {
      case "no_provider":
        return { words, action: { label: t("action.addProvider"), run: toSettings } };
      case "no_key":
        return { words, action: { label: t("action.addKey"), run: toSettings } };
      case "offline":
        return { words, action: null };
      case "busy":
        return { words, action: null };
      case "runner_gone":
      case "store_failed":
      case "disk_full":
        return { words, action: { label: t("action.restart"), run: restart } };
      default:
        return { words, action: { label: t("action.openSettings"), run: toSettings } };
    }
  }

  /** The page cannot be left; where words and target disagree it is asked first (X2). */
  async function openLink(target: string, words: string): Promise<void> {
    const host = hostOf(target).toLowerCase();
    const named = /(?:https?:\/\/)?([\w-]+(?:\.[\w-]+)+)/i.exec(words)?.[1]?.toLowerCase() ?? "";
    if (named !== "" && host !== "" && named !== host && `www.${named}` !== host) {
      const answer = await dialogs.ask({
        title: t("panel.link.title", { host }),
        text: t("panel.link.text", { target }),
        buttons: [{ id: "open", label: t("panel.link.open"), kind: "plain" }],
      });
      if (answer !== "open") {
        return;
      }
    }
    await backend.workspace.OpenLink(target);
  }

  const actions: RowActions = {
    onLink: (target, words) => config.attempt(() => openLink(target, words)),
    onCopy: (text) =>
      config.attempt(async () => {
        await backend.writeClipboard(text);
        config.toasts.show({ text: t("panel.copied") });
      }),
    textOf: async (messageId) => {
      const parts = await conversations.message(conversations.current.peek().id.peek(), messageId);
      const of = (type: "text" | "reasoning"): string =>
        parts
          .filter((part) => part.type === type)
          .map((part) => part.text ?? "")
          .join("\n\n");
      return { text: of("text"), thinking: of("reasoning") };
    },
    modelName: ({ model }) => modelName(model),
    answerOf: (id) => conversations.current.value.answers.value.get(id),
    onAnswer: (approval, answer) => void conversations.answer(approval, answer),
    onShow: (title, text) => {
      viewed.value = { title, read: async () => ({ text, next: 0 }) };
    },
    onShowArtifact: (call) => {
      viewed.value = {
        title: call.name,
        read: (offset) => backend.agent.ArtifactText(call.artifactId, offset),
      };
    },
    callOf: (id) => conversations.call(id),
    proposalOf: (id) => conversations.proposal(id),
    onLook: (call) =>
      config.attempt(() => {
        const id = conversations.current.peek().id.peek();
        const session = agent.view.peek().sessions.get(id);
        const folder = session?.workspaceId || config.folder.peek();
        const below = targetFolder(call);
        return backend.workspace.Reveal(below === "" ? folder : joinPath(folder, below));
      }),
    onReconcile: (callId, verdict) => void conversations.reconcile(callId, verdict),
    onReview: ([first]) => {
      if (first !== undefined) {
        config.attempt(() => assistant.showProposal(first.id));
      }
    },
    standing: (id) => proposals.standing(id),
  };

  assistant.askAgain.value = (proposal) => {
    const session = agent.view.peek().runs.get(proposal.runId)?.sessionId;
    if (session !== undefined) {
      conversations.open(session);
    }
    listing.value = false;
    show();
    toField();
    const { draft } = conversations.current.peek();
    if (draft.peek().trim() === "") {
      draft.value = t("panel.askAgain", { summary: proposal.patch.summary });
    }
  };

  const models = () =>
    modelRows(modelChoices(settings.state.value, settings.recent.value), chosenModel(settings.state.value));

  const leave = (): void => documents.view.focus();
  const toField = (): void => {
    // After it is there.
    setTimeout(() => document.querySelector<HTMLElement>(".panel .compose textarea")?.focus());
  };

  async function remove(sessionId: string, title: string): Promise<void> {
    const answer = await dialogs.ask({
      title: t("panel.delete.title", { title }),
      text: t("panel.delete.text"),
      buttons: [{ id: "delete", label: t("panel.delete.button"), kind: "bad" }],
    });
    if (answer === "delete") {
      await conversations.remove(sessionId);
    }
  }

  const content = () =>
    listing.value ? (
      <SessionList
        rows={conversations.rows.value}
        archived={conversations.archived.value}
        current={conversations.current.value.id.value}
        problem={conversations.current.value.problem}
        now={() => Date.now()}
        modelName={(row) => modelName(row.run?.model ?? row.session.model)}
        onOpen={(id) => {
          listing.value = false;
          conversations.open(id);
          toField();
        }}
        onRename={(id, title) => void conversations.rename(id, title)}
        onArchive={(id, away) => void conversations.archive(id, away)}
        onDelete={({ session }) => void remove(session.id, session.title || t("panel.session.untitled"))}
        onLeave={() => {
          listing.value = false;
          toField();
        }}
      />
    ) : (
      <ConversationPanel
        conversations={conversations}
        actions={actions}
        checking={checking}
        off={off}
        offText={() => (runner.value.status === "elsewhere" ? t("panel.off.elsewhere.text") : "")}
        model={() => modelName(chosenModel(settings.state.value))}
        models={models}
        onModel={(id) => {
          const ref = refOfRow(id);
          if (ref === null) {
            toSettings();
          } else {
            void settings.chooseModel(ref);
          }
        }}
        provider={providerOf}
        onBilling={(url) => config.attempt(() => backend.workspace.OpenLink(url))}
        steps={{
          addProvider: toSettings,
          addKey: toSettings,
          replaceKey: toSettings,
          chooseModel: toSettings,
          chooseOtherModel: toSettings,
          useOtherModel: toSettings,
          useLargerModel: toSettings,
          openSettings: toSettings,
          networkSettings: toNetwork,
          addCertificate: toNetwork,
          restart,
          shorten: () => conversations.startNew(),
        }}
        said={said}
        onLeave={leave}
      />
    );

  const panel = (): PanelView => ({
    id: "conversation",
    label: t("panel.conversation"),
    count: 0,
    ...(conversations.waiting.value > 0 && { dot: t("panel.waits") }),
    content,
    actions: () => (
      <>
        <button
          type="button"
          class="ib"
          aria-label={t("panel.new")}
          title={t("panel.new")}
          onClick={() => {
            listing.value = false;
            conversations.startNew();
            toField();
          }}
        >
          <Icon name="square-pen" />
        </button>
        <button
          type="button"
          class="ib"
          aria-label={t("panel.sessions")}
          title={t("panel.sessions")}
          aria-pressed={listing.value}
          onClick={() => {
            listing.value = !listing.peek();
          }}
        >
          <Icon name="history" />
        </button>
      </>
    ),
  });

  const show = (): void => {
    layout.panelView.value = "conversation";
    layout.panelOpen.value = true;
  };

  followStatus(conversations, slots, () => {
    // The session that waits, or else the one that runs.
    const rows = conversations.rows.peek();
    const active = conversations.active.peek();
    const row = rows.find((r) => r.waiting) ?? rows.find((r) => r.session.id === active?.sessionId);
    if (row !== undefined) {
      conversations.open(row.session.id);
    }
    listing.value = false;
    show();
    toField();
  });
  sayWhatSettled(conversations, said);

  return {
    conversations,
    panel,
    attach: () => conversations.attach(),
    show,
    Over: () =>
      viewed.value && (
        <Viewer
          viewed={viewed.value}
          onClose={() => {
            viewed.value = null;
          }}
        />
      ),
  };
}

/** What the status bar says of conversations; a press leads to the one it is about. */
function followStatus(conversations: Conversations, slots: Slots, run: () => void): void {
  effect(() => {
    const n = conversations.waiting.value;
    const active = conversations.active.value;
    slots.talk.value =
      n > 0
        ? { text: t("panel.status.waiting", { n }), asks: true, run }
        : active === null
          ? null
          : {
              text: t(active.state === "cancelling" ? "panel.status.stopping" : "panel.status.running"),
              asks: false,
              run,
            };
  });
}

/** A screen reader is told of what is settled: an answer, a question, an end. Words as they stream are not. */
function sayWhatSettled(conversations: Conversations, said: { value: string }): void {
  let known = { id: "", count: -1, asked: "" };
  effect(() => {
    const conversation = conversations.current.value;
    const { items, sessionId } = conversation.timeline.value;
    const asking = waitingCalls(conversation.timeline.value).at(-1);
    const asked = asking?.key ?? "";
    const before = known;
    known = { id: sessionId, count: items.length, asked };
    // What was there when the session was opened is read by whoever goes there.
    if (before.id !== sessionId || conversation.loading.peek() !== "") {
      said.value = "";
      return;
    }
    const words = items.slice(before.count).flatMap((item) => plainWords(item));
    if (asking !== undefined && asked !== before.asked) {
      words.push(...plainWords(asking));
    }
    if (words.length > 0) {
      said.value = words.join(" ");
    }
  });
}

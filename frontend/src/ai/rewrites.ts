import { computed, effect, type ReadonlySignal, type Signal, signal, untracked } from "@preact/signals";
import {
  type Backend,
  BackendError,
  type FaultCode,
  isFaultCode,
  type Message,
  type RunChanged,
  type SettingsState,
} from "../backend";
import type { Documents, Tab } from "../document";
import {
  boxRange,
  forgetBase,
  goToHunk,
  hideBox,
  isOpen,
  makeCurrent,
  proposalsOf,
  showBox,
  startBase,
  versionOf,
} from "../editor";
import type { Agent } from "./agent";
import { createHeld } from "./held";
import type { OpenProposal, Proposals } from "./review-proposals";
import { type AgentMessage, applyPreview, type Shown } from "./state";
import { type Target, targetOf, type Wish } from "./wish";

/** Where a rewrite stands, as its box shows it. */
export type Phase =
  | { readonly status: "asking" }
  | { readonly status: "starting" }
  | { readonly status: "waiting"; readonly sinceMs: number; readonly thinking: boolean }
  | { readonly status: "streaming"; readonly sinceMs: number }
  | { readonly status: "stopping" }
  | { readonly status: "stopped" }
  | { readonly status: "failed"; readonly error: BackendError }
  | { readonly status: "nothing"; readonly outcome: "empty" | "no_change" | "refused" };

/** The rewrite of one document whose box is open. */
export interface Rewrite {
  readonly tab: Tab;
  /** The element the editor shows as a line under the selection. */
  readonly dom: HTMLElement;
  readonly phase: ReadonlySignal<Phase>;
  readonly wish: Signal<Wish>;
  /** The words that are rewritten, as they were when the run started. */
  readonly selection: ReadonlySignal<string>;
  /** What of the answer has arrived, cleaned. */
  readonly partial: ReadonlySignal<string>;
}

interface OwnRewrite extends Rewrite {
  readonly phase: Signal<Phase>;
  readonly selection: Signal<string>;
  readonly partial: Signal<string>;
  /** The id of the base and of the command of the run under way. */
  commandId: string;
  runId: string;
  supersedes: string;
  shown: Shown;
}

/** What rewrites need. */
export interface RewritesConfig {
  readonly backend: Backend;
  readonly documents: Documents;
  readonly agent: Agent;
  readonly settings: ReadonlySignal<SettingsState | null>;
  readonly language: () => string;
  readonly proposals: Proposals;
  /** Told when a server cut what it was sent, without a word. */
  readonly onClipped?: () => void;
  /** Draws the box; the result takes it off. */
  readonly draw: (rewrite: Rewrite) => () => void;
  readonly newId?: () => string;
  readonly now?: () => number;
}

/** The rewrites of this page. */
export interface Rewrites {
  /** The rewrite of the document in front; null when its box is closed. */
  readonly current: ReadonlySignal<Rewrite | null>;
  /** The proposal that could be asked for anew: that of the current change, when it was a rewrite. */
  readonly again: ReadonlySignal<OpenProposal | null>;
  /** Opens the box for the selection, or focuses the one that is open. */
  readonly ask: () => void;
  readonly run: (rewrite: Rewrite, wish: Wish) => Promise<void>;
  /** Takes another wish, which is not run yet: a model was chosen. Nothing happens while a run is under way. */
  readonly choose: (rewrite: Rewrite, wish: Wish) => void;
  /** Stops a run, or closes the box when none is under way. */
  readonly stop: (rewrite: Rewrite) => void;
  readonly close: (rewrite: Rewrite) => void;
  /** Asks again for the passage of the current change as it is now. */
  readonly regenerate: (remark: string) => void;
}

const nothing: Shown = { attempt: 0, text: "" };

/** How often a submit waits for typing to pause before it gives up. */
const mostAttempts = 50;

type RunMessage = AgentMessage | Message<"preview">;

/** Makes the rewrites of this page: one box a document. */
export function createRewrites(config: RewritesConfig): Rewrites {
  const { backend, documents, agent, settings, proposals } = config;
  const newId = config.newId ?? (() => crypto.randomUUID());
  const now = config.now ?? (() => Date.now());
  const held = createHeld<RunMessage>();
  const open = signal<readonly OwnRewrite[]>([]);
  const drawn = new Map<OwnRewrite, () => void>();

  const current = signal<OwnRewrite | null>(null);

  /** Why AI cannot do what is wished; null when it can. */
  const offFor = (wish: Wish): FaultCode | null => {
    const target = targetOf(settings.peek(), wish);
    return untracked(() => (target === null ? agent.off.value : agent.offFor(target.provider.id)));
  };

  effect(() => {
    const tab = documents.current.value;
    current.value = open.value.find((r) => r.tab.id === tab?.id) ?? null;
  });

  agent.onMessage((message) => {
    if (message.type === "runner.changed") {
      handleRunner(message.payload.status);
    } else if (message.runId !== "" && held.take(message)) {
      handle(message);
    }
  });

  function handleRunner(status: string): void {
    if (status !== "stopped" && status !== "failed") {
      return;
    }
    for (const rewrite of open.value) {
      if (rewrite.runId !== "" || rewrite.phase.peek().status === "starting") {
        end(rewrite, { status: "failed", error: new BackendError("runner_gone") });
      }
    }
  }

  function handle(message: RunMessage): void {
    const rewrite = open.value.find((r) => r.runId === message.runId);
    if (rewrite === undefined) {
      return;
    }
    const phase = rewrite.phase.peek();
    switch (message.type) {
      case "preview":
        if (phase.status !== "waiting" && phase.status !== "streaming") {
          return;
        }
        rewrite.shown = applyPreview(rewrite.shown, message.payload);
        rewrite.partial.value = rewrite.shown.text;
        rewrite.phase.value =
          rewrite.partial.peek() === ""
            ? { status: "waiting", sinceMs: phase.sinceMs, thinking: message.payload.thinking }
            : { status: "streaming", sinceMs: phase.sinceMs };
        return;
      case "run.cancelling":
        rewrite.phase.value = { status: "stopping" };
        return;
      case "run.cancelled":
        end(rewrite, { status: "stopped" });
        return;
      case "run.failed":
      case "run.interrupted":
      case "run.succeeded":
        void finish(rewrite, message.runId, message.payload);
        return;
      default:
        return;
    }
  }

  async function finish(rewrite: OwnRewrite, runId: string, change: RunChanged): Promise<void> {
    if (change.clipped === true) {
      config.onClipped?.();
    }
    let made = [...agent.view.peek().proposals.values()].find((p) => p.runId === runId);
    if (made === undefined) {
      end(rewrite, endOf(change));
      return;
    }
    if (made.hunks.length === 0) {
      try {
        made = await backend.agent.Proposal(made.id);
      } catch (error) {
        end(rewrite, { status: "failed", error: asBackendError(error) });
        return;
      }
    }
    if (rewrite.runId !== runId) {
      return;
    }
    const { tab, commandId } = rewrite;
    const wish = rewrite.wish.peek();
    held.forget(runId);
    const watched = rewrite.dom.contains(document.activeElement);
    shut(rewrite);
    proposals.place(tab, made, commandId, wish);
    if (documents.current.peek()?.id !== tab.id) {
      return;
    }
    const { view } = documents;
    // The marks speak of the passage now; a selection over them would hide them.
    view.dispatch({ selection: { anchor: view.state.selection.main.from } });
    view.focus();
    const first = proposals.review.peek()?.hunks.find((hunk) => hunk.review === made?.id && isOpen(hunk));
    if (first !== undefined) {
      if (watched) {
        goToHunk(view, first.id);
      } else {
        view.dispatch({ effects: makeCurrent(first.id) });
      }
    }
  }

  function endOf(change: RunChanged): Phase {
    if (change.fault !== undefined) {
      const { code, detail, retryAfterMs } = change.fault;
      const known = isFaultCode(code) ? code : "internal";
      return { status: "failed", error: new BackendError(known, detail, retryAfterMs) };
    }
    switch (change.outcome) {
      case "empty":
      case "no_change":
      case "refused":
        return { status: "nothing", outcome: change.outcome };
      default:
        return {
          status: "failed",
          error: new BackendError(change.state === "interrupted" ? "interrupted" : "internal"),
        };
    }
  }

  /** The run is over; the box stays and says how it ended. */
  function end(rewrite: OwnRewrite, phase: Phase): void {
    if (rewrite.runId !== "") {
      held.forget(rewrite.runId);
    }
    if (documents.tabs.peek().includes(rewrite.tab)) {
      documents.change(rewrite.tab.id, { effects: forgetBase.of(rewrite.commandId) });
    }
    rewrite.runId = "";
    rewrite.phase.value = phase;
  }

  function ask(): void {
    const tab = documents.current.peek();
    if (tab === null || tab.info.peek().readOnly !== "") {
      return;
    }
    const known = open.value.find((r) => r.tab.id === tab.id);
    if (known !== undefined) {
      focusBox(known);
      return;
    }
    const { from, to } = documents.view.state.selection.main;
    begin(tab, from, to, "");
  }

  function begin(tab: Tab, from: number, to: number, supersedes: string): OwnRewrite {
    const dom = document.createElement("div");
    const rewrite: OwnRewrite = {
      tab,
      dom,
      phase: signal<Phase>({ status: "asking" }),
      wish: signal<Wish>({ preset: lastPreset, instruction: "" }),
      selection: signal(documents.view.state.sliceDoc(from, to)),
      partial: signal(""),
      commandId: "",
      runId: "",
      supersedes,
      shown: nothing,
    };
    const off = offFor(rewrite.wish.peek());
    if (off !== null) {
      rewrite.phase.value = { status: "failed", error: new BackendError(off) };
    }
    open.value = [...open.value, rewrite];
    drawn.set(rewrite, config.draw(rewrite));
    showBox(documents.view, { from, to, dom });
    focusBox(rewrite);
    return rewrite;
  }

  let lastPreset = "improve";

  function choose(given: Rewrite, wish: Wish): void {
    const rewrite = open.value.find((r) => r === given);
    if (rewrite === undefined || isUnderWay(rewrite.phase.peek())) {
      return;
    }
    rewrite.wish.value = wish;
    const off = offFor(wish);
    rewrite.partial.value = "";
    rewrite.phase.value =
      off === null ? { status: "asking" } : { status: "failed", error: new BackendError(off) };
  }

  async function run(given: Rewrite, wish: Wish): Promise<void> {
    const rewrite = open.value.find((r) => r === given);
    if (rewrite === undefined || isUnderWay(rewrite.phase.peek())) {
      return;
    }
    rewrite.wish.value = wish;
    if (wish.preset !== "") {
      lastPreset = wish.preset;
    }
    const off = offFor(wish);
    if (off !== null) {
      rewrite.phase.value = { status: "failed", error: new BackendError(off) };
      return;
    }
    rewrite.phase.value = { status: "starting" };
    rewrite.partial.value = "";
    rewrite.shown = nothing;
    rewrite.commandId = newId();
    proposals.claim(rewrite.commandId);
    held.expect();
    try {
      const runId = await submit(rewrite, wish);
      const waited = held.settle(runId);
      rewrite.runId = runId;
      if (rewrite.phase.peek().status === "starting") {
        rewrite.phase.value = { status: "waiting", sinceMs: now(), thinking: false };
      } else {
        // Stopped before the host had answered: what it accepted is told now.
        void cancel(rewrite);
      }
      for (const message of waited) {
        handle(message);
      }
    } catch (error) {
      held.settle(null);
      end(rewrite, { status: "failed", error: asBackendError(error) });
    }
  }

  async function submit(rewrite: OwnRewrite, wish: Wish): Promise<string> {
    const { tab, commandId } = rewrite;
    const target: Target | null = targetOf(settings.peek(), wish);
    if (target === null) {
      throw new BackendError("no_provider");
    }
    // The base, the positions and the host's mirror must be of one version.
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      const version = await documents.flush(tab.id);
      const { view } = documents;
      if (documents.current.peek()?.id !== tab.id) {
        throw new BackendError("cancelled");
      }
      const range = boxRange(view.state);
      if (versionOf(view.state) !== version || range === null) {
        if (range === null) {
          throw new BackendError("cancelled");
        }
        continue;
      }
      rewrite.selection.value = view.state.sliceDoc(range.from, range.to);
      startBase(view, commandId);
      const { runId } = await backend.agent.SubmitRewrite({
        commandId,
        documentId: tab.id,
        version,
        from: range.from,
        to: range.to,
        preset: wish.preset,
        instruction: wish.instruction,
        providerId: target.provider.id,
        model: target.model,
        language: config.language(),
        supersedes: rewrite.supersedes,
      });
      return runId;
    }
    throw new BackendError("busy");
  }

  function stop(given: Rewrite): void {
    const rewrite = open.value.find((r) => r === given);
    if (rewrite === undefined) {
      return;
    }
    const { status } = rewrite.phase.peek();
    if (status === "stopping") {
      return;
    }
    if (!isUnderWay(rewrite.phase.peek())) {
      close(rewrite);
      return;
    }
    rewrite.phase.value = { status: "stopping" };
    if (rewrite.runId !== "") {
      void cancel(rewrite);
    }
  }

  async function cancel(rewrite: OwnRewrite): Promise<void> {
    const { runId } = rewrite;
    try {
      const receipt = await backend.agent.Cancel({ commandId: newId(), runId });
      // "Stopped" is said by the event; only a queued run is stopped at once.
      if (receipt.state === "cancelled" && rewrite.runId === runId) {
        end(rewrite, { status: "stopped" });
      }
    } catch (error) {
      if (rewrite.runId === runId) {
        end(rewrite, { status: "failed", error: asBackendError(error) });
      }
    }
  }

  function close(given: Rewrite): void {
    const rewrite = open.value.find((r) => r === given);
    if (rewrite === undefined) {
      return;
    }
    if (rewrite.runId !== "") {
      backend.agent.Cancel({ commandId: newId(), runId: rewrite.runId }).catch(() => {});
      held.forget(rewrite.runId);
    }
    shut(rewrite);
    documents.view.focus();
  }

  /** Takes the box away. */
  function shut(rewrite: OwnRewrite): void {
    open.value = open.value.filter((r) => r !== rewrite);
    drawn.get(rewrite)?.();
    drawn.delete(rewrite);
    if (documents.current.peek()?.id === rewrite.tab.id) {
      hideBox(documents.view);
    } else {
      orphans.add(rewrite.tab.id);
    }
  }

  /** Documents whose box was shut while they were not in front. */
  const orphans = new Set<string>();
  effect(() => {
    const tab = documents.current.value;
    if (tab !== null && orphans.delete(tab.id)) {
      hideBox(documents.view);
    }
  });

  const again = computed(() => {
    const review = proposals.review.value;
    const id = review?.hunks.find((hunk) => hunk.id === review.current)?.review;
    const shown = proposals.front.value.find(({ proposal }) => proposal.id === id);
    return shown === undefined || shown.wish === null ? null : shown;
  });

  function regenerate(remark: string): void {
    const shown = again.peek();
    if (shown === null || shown.wish === null || shown.tab.id !== documents.current.peek()?.id) {
      return;
    }
    const { wish } = shown;
    const range = rangeNow(shown);
    proposals.withdraw(shown.proposal.id);
    const rewrite = begin(shown.tab, range.from, range.to, shown.proposal.id);
    const instruction = [wish.instruction, remark].filter((s) => s.trim() !== "").join("\n");
    void run(rewrite, { ...wish, instruction });
  }

  /** The lines that the proposal is about, as they are now. */
  function rangeNow(shown: OpenProposal): { readonly from: number; readonly to: number } {
    const { state } = documents.view;
    const all = proposalsOf(state)?.hunks ?? [];
    const hunks = all.filter((hunk) => hunk.review === shown.proposal.id);
    const from = Math.min(...hunks.map((h) => h.from), state.doc.length);
    const to = Math.max(...hunks.map((h) => h.to), 0);
    if (from > to) {
      const { main } = state.selection;
      return { from: main.from, to: main.to };
    }
    return { from: state.doc.lineAt(from).from, to: state.doc.lineAt(to).to };
  }

  return { current, again, ask, run, choose, stop, close, regenerate };
}

/** Whether a run is under way. */
export function isUnderWay(phase: Phase): boolean {
  switch (phase.status) {
    case "starting":
    case "waiting":
    case "streaming":
    case "stopping":
      return true;
    case "asking":
    case "stopped":
    case "failed":
    case "nothing":
      return false;
  }
}

function focusBox(rewrite: Rewrite): void {
  // The box is put into the page by the editor's next update.
  requestAnimationFrame(() => rewrite.dom.querySelector<HTMLElement>("input, textarea")?.focus());
}

function asBackendError(error: unknown): BackendError {
  return error instanceof BackendError ? error : new BackendError("internal");
}

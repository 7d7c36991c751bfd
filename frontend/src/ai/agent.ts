import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Backend, Events, FaultCode, Message, SettingsState } from "../backend";
import { isFaultCode } from "../backend";
import { type AgentMessage, type AgentView, noAgent, reduce, viewOf } from "./state";

/** The agent host as the page follows it. */
export interface Agent {
  readonly view: ReadonlySignal<AgentView>;
  /** Why AI cannot be used now; null when it can (K8). */
  readonly off: ReadonlySignal<FaultCode | null>;
  /** As `off`, of another provider than the one that AI uses. Reads signals. */
  readonly offFor: (providerId: string) => FaultCode | null;
  /** Gets the state from the host; also after a gap in the events. */
  readonly attach: () => Promise<void>;
  /** Called for each message about runs, proposals and the Runner, after the view has it. */
  readonly onMessage: (listener: (message: AgentMessage | Message<"preview">) => void) => () => void;
}

/** What the agent needs. */
export interface AgentConfig {
  readonly backend: Backend;
  readonly events: Pick<Events, "on">;
  readonly settings: ReadonlySignal<SettingsState | null>;
  readonly online: ReadonlySignal<boolean>;
}

const followed = [
  "run.accepted",
  "run.started",
  "run.waiting",
  "run.resumed",
  "run.cancelling",
  "run.cancelled",
  "run.succeeded",
  "run.failed",
  "run.interrupted",
  "proposal.created",
  "proposal.decided",
  "session.created",
  "session.changed",
  "session.deleted",
  "approval.asked",
  "approval.decided",
  "runner.changed",
] as const;

/** Follows the agent host. */
export function createAgent(config: AgentConfig): Agent {
  const { backend, events, settings, online } = config;
  const view = signal<AgentView>(noAgent);
  const listeners = new Set<(message: AgentMessage | Message<"preview">) => void>();

  function tell(message: AgentMessage | Message<"preview">): void {
    for (const listener of [...listeners]) {
      listener(message);
    }
  }

  function handle(message: AgentMessage): void {
    const before = view.peek();
    view.value = reduce(before, message);
    if (view.peek() !== before || message.type === "runner.changed") {
      tell(message);
    }
  }

  for (const type of followed) {
    if (type !== "runner.changed") {
      events.on(type, handle);
    }
  }
  events.on("runner.changed", (message) => {
    const before = view.peek().runner.status;
    if (message.payload.status !== "ready" || before === "ready") {
      handle(message);
      return;
    }
    // What the Runner knows is there only now; whoever listens hears of it after.
    attach().then(
      () => handle(message),
      () => handle(message),
    );
  });
  events.on("preview", (message) => tell(message));

  async function attach(): Promise<void> {
    view.value = viewOf(await backend.agent.Attach(view.peek().cursor));
  }

  return {
    view,
    off: computed(() => offReason(settings.value, view.value, online.value)),
    offFor: (providerId) => offReason(settings.value, view.value, online.value, providerId),
    attach,
    onMessage: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/**
 * Why AI is off, the nearest cause first; null when it is on. Busy means that
 * a command line has the agent of this home. Without a provider's id it is the
 * one that AI uses.
 */
export function offReason(
  settings: SettingsState | null,
  view: Pick<AgentView, "runner">,
  online: boolean,
  providerId = settings?.settings.provider ?? "",
): FaultCode | null {
  const provider = settings?.providers.find((p) => p.id === providerId);
  if (provider === undefined) {
    return "no_provider";
  }
  if (provider.needsKey && provider.key.place === "none") {
    return "no_key";
  }
  if (isFaultCode(provider.problem)) {
    return provider.problem;
  }
  if (view.runner.status === "failed" || view.runner.status === "stopped") {
    return isFaultCode(view.runner.code) ? view.runner.code : "runner_gone";
  }
  if (view.runner.status === "elsewhere") {
    // What is running is watched; new runs wait until the command line is done.
    return "busy";
  }
  if (!online && !isLocal(provider.url)) {
    return "offline";
  }
  return null;
}

/** Whether an address needs no network; the mock provider has none at all. */
function isLocal(url: string): boolean {
  if (url === "") {
    return true;
  }
  try {
    const { hostname } = new URL(url);
    return hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
  } catch {
    return false;
  }
}
